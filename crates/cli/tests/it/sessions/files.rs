//! Sessions as files: where they are written, what a person reads in them, what an import does with what is there.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::ensure;
use serde_json::json;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{LIMIT, badly, exported, json as said_json, spoken, well};
use crate::{DRAGOMAN, Site, Visitor, tell};

#[test]
fn files_are_for_their_owner_and_replaced_only_by_force() {
    tell(LIMIT, async {
        let (scratch, session) = spoken(&["echo one"]).await?;
        let file = exported(&scratch, &session).await?;
        assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
        let to = file.to_string_lossy().into_owned();
        std::fs::write(&file, "mine")?;
        let said = badly(&scratch, &["export", "last", "--output", &to]).await?;
        ensure!(
            said.contains("is there already; --force replaces it"),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(&file)?, "mine");
        exported(&scratch, &session).await?;
        // On standard output the same.
        let told = well(&scratch, &["export", "last"]).await?;
        assert_eq!(std::fs::read_to_string(&file)?, told);

        let folder = scratch.user().join("all");
        let to = folder.to_string_lossy().into_owned();
        let said = said_json(&scratch, &["export", "--all", "--output", &to]).await?;
        let place = folder.join(format!("{session}.jsonl"));
        assert_eq!(
            said["exported"],
            json!([{ "session": session, "file": place }])
        );
        assert_eq!(folder.metadata()?.permissions().mode() & 0o777, 0o700);
        // Nothing else is left there.
        assert_eq!(folder.read_dir()?.count(), 1);
        let said = badly(&scratch, &["export", "--all"]).await?;
        ensure!(said.contains("name one with --output"), "{said}");
        Ok(())
    });
}

#[test]
fn what_is_there_is_skipped_and_a_copy_has_an_id_of_its_own() {
    tell(LIMIT, async {
        let (scratch, session) = spoken(&["echo one", "echo two"]).await?;
        let file = exported(&scratch, &session).await?;
        let from = file.to_string_lossy().into_owned();
        let said = well(&scratch, &["import", "--from", &from]).await?;
        ensure!(said.contains("0 sessions taken over.\n"), "{said}");
        ensure!(
            said.contains(&format!("skipped: {session} is there already; --as-new")),
            "{said}"
        );

        let copied = said_json(&scratch, &["import", "--from", &from, "--as-new"]).await?;
        let copy = copied["taken"][0].as_str().unwrap_or_default().to_owned();
        ensure!(copy != session && copy.len() == session.len(), "{copied}");
        let shown = said_json(&scratch, &["show", &copy]).await?;
        let original = said_json(&scratch, &["show", &session]).await?;
        assert_eq!(shown["transcript"], original["transcript"]);
        // What was deleted may be brought back by who wants it back.
        for _ in 0..2 {
            well(&scratch, &["delete", &session, "--yes"]).await?;
            let back = said_json(&scratch, &["import", "--from", &from]).await?;
            assert_eq!(back["taken"], json!([session]));
        }
        Ok(())
    });
}

#[test]
fn a_person_reads_it_in_markdown() {
    tell(LIMIT, async {
        let command = r#"tool bash {"command":"echo '```'; echo done"}"#;
        let edit = r#"tool write {"filePath":"notes.md","content":"one\n"}"#;
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch).argument("--yolo");
        let mut server = Process::start(&launch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        for text in ["echo **bold** answer", command, edit] {
            visitor.converse(text).await?;
        }
        let session = visitor.session.clone();
        drop(visitor);
        server.terminate().await?;
        well(&scratch, &["archive", &session]).await?;
        let text = well(&scratch, &["export", &session, "--format", "markdown"]).await?;
        let directory = format!("- directory: {}\n", scratch.workspace().display());
        for part in [
            "- model: rehearsal/rehearsal-1\n",
            "- cost: ",
            "- archived: yes\n",
            &directory,
            "\n## User (",
            "\n## Agent\n\n**bold** answer\n",
            "```sh\necho '```'; echo done\n",
            "````\n```\ndone\n````\n",
            "Files: notes.md\n",
        ] {
            ensure!(text.contains(part), "no {part:?} in {text}");
        }
        let shown = well(&scratch, &["show", &session, "--turns", "1"]).await?;
        ensure!(
            shown.contains("notes.md") && !shown.contains("Agent\n\n**bold**"),
            "{shown}"
        );
        ensure!(!shown.contains('\x1b'), "{shown:?}");
        Ok(())
    });
}

#[test]
fn one_that_waits_for_an_answer_goes_on_waiting_here_and_elsewhere() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.say("show me an approval").await?;
        visitor.client.until_type("approval").await?;
        let session = visitor.session.clone();
        drop(visitor);
        site.server.terminate().await?;
        let file = exported(&site.scratch, &session).await?;
        let from = file.to_string_lossy().into_owned();
        let copy = well(&site.scratch, &["import", "--from", &from, "--as-new"]).await;
        let refused = copy
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        ensure!(
            refused.contains("and so does another one here"),
            "{refused}"
        );
        well(&site.scratch, &["delete", &session, "--yes"]).await?;
        let elsewhere = Scratch::new()?;
        for scratch in [&site.scratch, &elsewhere] {
            well(scratch, &["import", "--from", &from]).await?;
            let mut server = Process::start(&Launch::new(DRAGOMAN, scratch)).await?;
            let mut visitor = Visitor::resume(&server, &session).await?;
            assert_eq!(
                visitor.hello["hasPendingApproval"], true,
                "{}",
                visitor.hello
            );
            let asked = visitor.client.until_type("approval").await?;
            let answer = json!({ "requestId": asked["requestId"], "approved": true });
            visitor.send("approval_response", answer).await?;
            visitor.client.until_type("assistant_message").await?;
            server.terminate().await?;
        }
        Ok(())
    });
}
