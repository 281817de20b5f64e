//! The list: which sessions, by which names, on a terminal and for programs.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::terminal::WatchedTerminal;

use super::{LIMIT, badly, json as said_json, sessions, well};
use crate::checkpoints::terminal::printed;
use crate::{Site, Visitor, tell};

#[test]
fn sessions_are_named_by_their_ends_and_listed_for_programs() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let scratch = &site.scratch;
        assert_eq!(
            said_json(scratch, &["list"]).await?,
            json!({ "sessions": [] })
        );
        let mut visitors = Vec::new();
        for text in ["echo first", "echo second"] {
            let mut visitor = Visitor::arrive(&site.server).await?;
            visitor.converse(text).await?;
            visitors.push(visitor);
        }
        let mut listed = said_json(scratch, &[]).await?;
        let newest = listed["sessions"][0].clone();
        let id = newest["id"].as_str().unwrap_or_default();
        let short = newest["shortId"].as_str().unwrap_or_default();
        ensure!(
            id.ends_with(short) && (6..12).contains(&short.len()),
            "{newest}"
        );
        assert_eq!(id, visitors[1].session);
        for name in [id, short, "last"] {
            let shown = said_json(scratch, &["show", name]).await?;
            assert_eq!(shown["session"], id, "{name}");
            assert_eq!(shown["transcript"][0]["text"], "echo second");
        }
        let session = &mut listed["sessions"][0];
        for field in ["id", "shortId", "createdAt", "updatedAt", "directory"] {
            ensure!(session[field].is_string(), "{session}");
            session[field] = json!("…");
        }
        let expected = json!({
            "id": "…", "shortId": "…", "clientId": null, "title": session["title"], "directory": "…",
            "workspace": "000000000000000000000", "provider": "rehearsal", "model": "rehearsal-1",
            "messages": 2, "state": "idle", "costMicroDollars": session["costMicroDollars"],
            "tokens": session["tokens"], "archived": false, "createdAt": "…", "updatedAt": "…",
        });
        assert_eq!(*session, expected);

        let said = badly(scratch, &["show", "nothing-ends-so"]).await?;
        ensure!(
            said.contains("there is no session nothing-ends-so; `dragoman sessions list"),
            "{said}"
        );
        let elsewhere = scratch.user().to_string_lossy().into_owned();
        let none = said_json(scratch, &["list", "--workspace", &elsewhere]).await?;
        assert_eq!(none, json!({ "sessions": [] }));
        let here = said_json(scratch, &["list", "--workspace", ".", "--limit", "1"]).await?;
        assert_eq!(here["sessions"].as_array().map(Vec::len), Some(1));

        // One that waits says so, and one that is put away is not there.
        visitors[0].say("show me an approval").await?;
        visitors[0].client.until_type("approval").await?;
        well(scratch, &["archive", id]).await?;
        let listed = said_json(scratch, &["list"]).await?;
        let states: Vec<&Value> = listed["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(states.len(), 1, "{listed}");
        assert_eq!(states[0]["state"], "waiting");
        let all = well(scratch, &["list", "--archived"]).await?;
        ensure!(all.contains("archived") && all.contains("waiting"), "{all}");
        drop(visitors);
        site.server.terminate().await?;
        Ok(())
    });
}

#[test]
fn several_that_end_alike_are_named() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        // So many that two end in the same letter.
        for _ in 0..17 {
            let mut visitor = Visitor::arrive(&site.server).await?;
            visitor.converse("echo x").await?;
        }
        let listed = said_json(&site.scratch, &["list"]).await?;
        let ids = listed["sessions"].as_array().into_iter().flatten();
        let ids: Vec<&str> = ids.filter_map(|it| it["id"].as_str()).collect();
        assert_eq!(ids.len(), 17);
        let ending = |letter: &char| ids.iter().filter(|id| id.ends_with(*letter)).count();
        let letter = "0123456789abcdef".chars().find(|letter| ending(letter) > 1);
        let letter = letter.context("two of seventeen end alike")?;
        let said = badly(&site.scratch, &["delete", &letter.to_string(), "--yes"]).await?;
        let expected = format!("{} sessions end in {letter}:\n", ending(&letter));
        ensure!(said.contains(&expected), "{said}");
        assert_eq!(said.lines().count(), 1 + ending(&letter).min(11), "{said}");
        site.server.terminate().await?;
        Ok(())
    });
}

#[test]
fn a_terminal_has_colours_and_lines_that_fit() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor
            .converse(&format!("echo {}", "long ".repeat(60)))
            .await?;
        visitor.say("show me an approval").await?;
        visitor.client.until_type("approval").await?;
        let mut terminal = WatchedTerminal::start(sessions(&site.scratch, &["list"]), "dragoman:")?;
        terminal.sees("waiting").await?;
        ensure!(terminal.end().await?.success(), "{}", terminal.screen());
        let screen = terminal.screen();
        let lines: Vec<&str> = screen
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        assert_eq!(lines.len(), 2, "{screen}");
        ensure!(
            lines[0].starts_with("SESSION") && lines[1].contains('…'),
            "{screen}"
        );
        let coloured = printed(sessions(&site.scratch, &["list"])).await?;
        ensure!(coloured.contains("\x1b[33mwaiting\x1b[0m"), "{coloured:?}");
        let mut plain = sessions(&site.scratch, &["list"]);
        plain.env("NO_COLOR", "1");
        let plain = printed(plain).await?;
        ensure!(
            plain.contains("waiting") && !plain.contains('\x1b'),
            "{plain:?}"
        );
        let shown = printed(sessions(&site.scratch, &["show", "last"])).await?;
        ensure!(shown.contains("\x1b[1m## Agent\x1b[0m\n"), "{shown:?}");
        drop(visitor);
        site.server.terminate().await?;
        Ok(())
    });
}
