//! A fork with the files of its moment, in a directory of its own; the other thread's stay as they are.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::approvals::{Desk, DeskStart};
use crate::tell;

const LIMIT: Duration = Duration::from_secs(60);

/// Has the agent run a command.
fn runs(command: &str) -> String {
    format!("tool bash {}", json!({ "command": command }))
}

/// Where the fork works, or what was said instead.
async fn fork(desk: &mut Desk, more: Value) -> anyhow::Result<Result<PathBuf, String>> {
    let mut params = json!({"threadId": desk.thread, "withFiles": true});
    let fields = more.as_object().cloned().unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        params.extend(fields);
    }
    let answer = desk.request("thread/fork", params).await?;
    Ok(match answer["result"]["cwd"].as_str() {
        Some(cwd) => Ok(PathBuf::from(cwd)),
        None => Err(answer["error"]["message"].to_string()),
    })
}

/// The names of what lies below a directory, from there on.
fn below(top: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_fork_has_the_files_of_its_last_turn_and_the_other_thread_keeps_its_own() {
    tell(LIMIT, async {
        let desk = DeskStart::new(&[])?;
        desk.scratch.write("start.txt", "begun")?;
        let run = desk.scratch.write("run.sh", "run")?;
        std::fs::set_permissions(run, std::fs::Permissions::from_mode(0o750))?;
        let workspace = desk.scratch.workspace().to_owned();
        let mut desk = desk.open(json!({"approvalPolicy": "never"})).await?;
        let made = runs("printf one > a.txt; mkdir -p deep/empty; ln -s a.txt link");
        let first = desk.turn(&made, json!({}), "decline").await?.end;
        let made = runs("printf two > a.txt");
        let second = desk.turn(&made, json!({}), "decline").await?.end;
        let named = desk.scratch.user().join("elsewhere/copy");
        let at = fork(&mut desk, json!({ "cwd": named })).await?;
        ensure!(at == Ok(named.clone()), "{at:?}");
        ensure!(std::fs::read_to_string(named.join("a.txt"))? == "two");
        // A person goes on in the meantime.
        std::fs::write(workspace.join("a.txt"), "three")?;

        let at = fork(&mut desk, json!({"lastTurnId": first["id"]})).await?;
        let at = at.map_err(anyhow::Error::msg)?;
        ensure!(
            at.starts_with(
                desk.scratch
                    .user()
                    .join(".local/share/dragoman/forks/project")
            ),
            "{at:?}"
        );
        ensure!(
            below(&at) == ["a.txt", "deep", "link", "run.sh", "start.txt"],
            "{:?}",
            below(&at)
        );
        ensure!(std::fs::read_to_string(at.join("a.txt"))? == "one");
        ensure!(std::fs::read_link(at.join("link"))? == Path::new("a.txt"));
        ensure!(at.join("deep/empty").is_dir());
        let mode = at.join("run.sh").metadata()?.permissions().mode() & 0o777;
        ensure!(mode == 0o750, "{mode:o}");
        ensure!(std::fs::read_to_string(workspace.join("a.txt"))? == "three");

        let at = fork(&mut desk, json!({"beforeTurnId": first["id"]})).await?;
        let at = at.map_err(anyhow::Error::msg)?;
        ensure!(below(&at) == ["run.sh", "start.txt"], "{:?}", below(&at));

        let at = fork(&mut desk, json!({"lastTurnId": second["id"]})).await?;
        let at = at.map_err(anyhow::Error::msg)?;
        ensure!(std::fs::read_to_string(at.join("a.txt"))? == "two");
        Ok(())
    });
}

#[test]
fn what_the_fork_does_stays_in_its_own_directory() {
    tell(LIMIT, async {
        let mut desk = Desk::open(&[], json!({"approvalPolicy": "never"})).await?;
        desk.turn(&runs("printf one > a.txt"), json!({}), "decline")
            .await?;
        let answer = json!({"threadId": desk.thread, "withFiles": true});
        let answer = desk.request("thread/fork", answer).await?;
        let at = PathBuf::from(answer["result"]["cwd"].as_str().context("no cwd")?);
        desk.thread = answer["result"]["thread"]["id"]
            .as_str()
            .context("no id")?
            .to_owned();
        ensure!(answer["result"]["thread"]["cwd"] == json!(at), "{answer}");
        desk.turn(&runs("printf 'its own' > a.txt"), json!({}), "decline")
            .await?;
        desk.bash("echo x > b.txt", "decline").await?;
        ensure!(std::fs::read_to_string(at.join("a.txt"))? == "its own");
        ensure!(at.join("b.txt").exists());
        ensure!(desk.scratch.read("a.txt") == "one" && !desk.has("b.txt"));
        // Its own files are kept, too: a fork of the fork begins with them.
        let again = fork(&mut desk, json!({}))
            .await?
            .map_err(anyhow::Error::msg)?;
        ensure!(std::fs::read_to_string(again.join("a.txt"))? == "its own");
        Ok(())
    });
}

#[test]
fn where_it_cannot_be_had_nothing_is_made() {
    tell(LIMIT, async {
        let mut desk = Desk::open(&[], json!({"approvalPolicy": "never"})).await?;
        let first = desk
            .turn(&runs("printf one > a.txt"), json!({}), "decline")
            .await?
            .end;
        let full = desk.scratch.user().join("full");
        std::fs::create_dir(&full)?;
        std::fs::write(full.join("mine"), "x")?;
        let places = [
            full.clone(),
            desk.scratch.workspace().join("in"),
            desk.scratch.home().join("in"),
        ];
        for place in places {
            let refused = fork(&mut desk, json!({ "cwd": place })).await?.err();
            let refused = refused.with_context(|| place.display().to_string())?;
            ensure!(refused.contains("where nothing lies yet"), "{refused}");
        }
        ensure!(below(&full) == ["mine"], "{:?}", below(&full));
        ensure!(below(desk.scratch.workspace()) == ["a.txt"]);
        // What the fork has of another's past, it has no files of.
        let answer = json!({"threadId": desk.thread, "lastTurnId": first["id"]});
        let answer = desk.request("thread/fork", answer).await?;
        desk.thread = answer["result"]["thread"]["id"]
            .as_str()
            .context("no id")?
            .to_owned();
        let turn = first["id"].clone();
        for more in [
            json!({"lastTurnId": turn}),
            json!({"beforeTurnId": turn}),
            json!({"lastTurnId": "t9"}),
        ] {
            let refused = fork(&mut desk, more.clone()).await?.err();
            refused.with_context(|| more.to_string())?;
        }
        ensure!(below(&desk.scratch.user().join(".local/share/dragoman/forks")).is_empty());

        let mut desk = Desk::open(
            &["--checkpoints", "off"],
            json!({"approvalPolicy": "never"}),
        )
        .await?;
        desk.turn(&runs("printf one > a.txt"), json!({}), "decline")
            .await?;
        let refused = fork(&mut desk, json!({}))
            .await?
            .err()
            .context("it was done")?;
        ensure!(refused.contains("checkpoints"), "{refused}");
        Ok(())
    });
}
