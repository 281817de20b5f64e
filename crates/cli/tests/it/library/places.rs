//! A workspace is a directory: what one dialect starts in it the others see there.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{Asker, LIMIT, texts};
use crate::{DRAGOMAN, Site, tell};

/// Waits for the end of a turn, and gives what its tools and the agent wrote.
async fn turn(asker: &mut Asker, thread: &str, id: &str, text: &str) -> anyhow::Result<String> {
    let input = json!([{ "type": "text", "text": text, "textElements": [] }]);
    let params = json!({ "thread_id": thread, "turn_id": id, "input": input });
    asker.ask("turn/start", params).await?;
    let mut written = String::new();
    loop {
        let frame = asker.client.json().await?;
        let of_turn = frame["params"]["turn"]["id"] == id;
        match frame["method"].as_str() {
            Some("item/completed") => written.push_str(&frame["params"]["item"].to_string()),
            Some("turn/completed" | "turn/failed") if of_turn => return Ok(written),
            Some(_) | None => {}
        }
    }
}

#[test]
fn the_threads_of_a_directory_are_in_its_workspace_whoever_started_them() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let project = site.scratch.user().join("apart");
        std::fs::create_dir(&project)?;
        let (server, cwd) = (&site.server, project.to_string_lossy().into_owned());
        let mut pioneer = Asker::connect(server, "pioneer").await?;
        pioneer.ask("workspace/default", json!({})).await?;
        pioneer.told("workspace/changed").await?;
        let mut codex = Asker::connect(server, "codex").await?;
        // Codex comes first: its directory becomes a workspace.
        let started = codex.ask("thread/start", json!({ "cwd": cwd })).await?;
        let thread = started["thread"]["id"].clone();
        let input = json!([{ "type": "text", "text": "echo from codex" }]);
        let params = json!({ "threadId": thread, "input": input });
        codex.ask("turn/start", params).await?;
        codex.told("turn/completed").await?;
        let made = pioneer.told("workspace/changed").await?;
        let workspace = made["params"]["workspace"].clone();
        ensure!(
            made["params"]["kind"] == "created" && workspace["name"] == "apart",
            "{made}"
        );
        ensure!(
            workspace["path"] == json!(project.canonicalize()?),
            "{workspace}"
        );
        let id = workspace["id"].clone();
        let tree = pioneer
            .ask("thread/tree", json!({ "workspace_id": id }))
            .await?;
        ensure!(tree["threads"][0]["id"] == thread, "{tree}");
        // Pioneer's thread in the same workspace is codex's in the same directory.
        let params = json!({ "thread_id": "of-pioneer", "workspace_id": id });
        pioneer.ask("thread/start", params).await?;
        turn(&mut pioneer, "of-pioneer", "t1", "echo from pioneer").await?;
        let listed = codex.ask("thread/list", json!({ "cwd": cwd })).await?;
        ensure!(texts(&listed["data"], "id")?.len() == 2, "{listed}");
        let all = pioneer.ask("workspace/list", json!({})).await?;
        ensure!(texts(&all["workspaces"], "id")?.len() == 2, "{all}");
        // A thread that is hidden here is in no list there.
        let params = json!({
            "thread_id": "a-task", "workspace_id": id, "origin_kind": "task_run",
            "sidebar_visibility": "hidden", "agent_nickname": "Finch", "agent_role": "explorer",
        });
        pioneer.ask("thread/start", params).await?;
        turn(&mut pioneer, "a-task", "t2", "echo unseen").await?;
        let listed = codex.ask("thread/list", json!({ "cwd": cwd })).await?;
        ensure!(texts(&listed["data"], "id")?.len() == 2, "{listed}");
        let tree = pioneer
            .ask("thread/tree", json!({ "workspace_id": id }))
            .await?;
        let mut threads = tree["threads"].as_array().into_iter().flatten();
        let task = threads.find(|thread| thread["id"] == "a-task");
        ensure!(
            task.is_some_and(|task| task["agent_nickname"] == "Finch"),
            "{tree}"
        );
        Ok(())
    });
}

#[test]
fn an_inactive_workspace_is_read_and_nothing_starts_in_it() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        asker.ask("workspace/default", json!({})).await?;
        let other = json!({ "workspace_id": "other", "make_current": true });
        asker.ask("workspace/create", other).await?;
        let start = json!({ "thread_id": "kept", "workspace_id": "other" });
        asker.ask("thread/start", start.clone()).await?;
        turn(&mut asker, "kept", "t1", "echo before").await?;
        let off = json!({ "workspace_id": "other", "is_active": false });
        let changed = asker.ask("workspace/update", off).await?;
        ensure!(changed["workspace"]["is_active"] == false, "{changed}");
        let words = asker.refused(
            "workspace/select",
            json!({ "workspace_id": "other" }),
            -32602,
        );
        let words = words.await?;
        ensure!(
            words.ends_with("workspace `other` is not active"),
            "{words}"
        );
        let new = json!({ "thread_id": "new", "workspace_id": "other" });
        asker.refused("thread/start", new, -32602).await?;
        let input = json!([{ "type": "text", "text": "echo x", "textElements": [] }]);
        let params = json!({ "thread_id": "kept", "turn_id": "t2", "input": input });
        let words = asker.refused("turn/start", params, -32600).await?;
        ensure!(
            words == "failed to start turn: workspace `other` is not active",
            "{words}"
        );
        let read = asker
            .ask("thread/history", json!({ "thread_id": "kept" }))
            .await?;
        ensure!(
            read["events"]
                .as_array()
                .is_some_and(|events| !events.is_empty()),
            "{read}"
        );
        asker
            .ask("thread/tree", json!({ "workspace_id": "other" }))
            .await?;
        let default = asker.ask("workspace/default", json!({})).await?;
        ensure!(
            default["workspace"]["id"] == "000000000000000000000",
            "{default}"
        );
        let on = json!({ "workspace_id": "other", "is_active": true });
        asker.ask("workspace/update", on).await?;
        turn(&mut asker, "kept", "t3", "echo after").await?;
        Ok(())
    });
}

#[test]
fn a_workspace_is_any_open_directory_or_one_of_the_servers() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let user = site.scratch.user();
        std::fs::create_dir(user.join("mine"))?;
        std::fs::write(user.join("file"), "x")?;
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        for path in [
            Value::from("relative"),
            json!(user.join("nowhere")),
            json!(user.join("file")),
            json!(site.scratch.home()),
        ] {
            let params = json!({ "workspace_id": "w", "path": path });
            let words = asker.refused("workspace/create", params, -32602).await?;
            ensure!(words.contains("path: there is no directory"), "{words}");
        }
        let params = json!({ "workspace_id": "w", "path": user.join("mine") });
        asker.ask("workspace/create", params.clone()).await?;
        asker.ask("workspace/create", params).await?;
        std::fs::create_dir(user.join("other"))?;
        let params = json!({ "workspace_id": "w", "path": user.join("other") });
        let words = asker.refused("workspace/create", params, -32602).await?;
        ensure!(words.contains("has another directory"), "{words}");
        // Tools read and write in both kinds.
        asker
            .ask("workspace/create", json!({ "workspace_id": "managed" }))
            .await?;
        for workspace in ["w", "managed"] {
            let params = json!({
                "thread_id": workspace, "workspace_id": workspace, "mode": "Agent",
            });
            asker.ask("thread/start", params).await?;
            let written = turn(&mut asker, workspace, "t1", "show me a file edit").await?;
            ensure!(written.contains("fileChange"), "{workspace}: {written}");
            ensure!(
                !written.contains("private to the server"),
                "{workspace}: {written}"
            );
        }
        let managed = site.scratch.home().join("workspaces/managed");
        for directory in [user.join("mine"), managed] {
            let note = directory.join("rehearsal-notes.md");
            ensure!(note.is_file(), "{} is missing", note.display());
        }
        let unknown = [
            ("thread/tree", json!({ "workspace_id": "unknown" })),
            ("workspace/select", json!({ "workspace_id": "unknown" })),
            (
                "workspace/update",
                json!({ "workspace_id": "unknown", "name": "x" }),
            ),
            (
                "thread/start",
                json!({ "workspace_id": "unknown", "thread_id": "t" }),
            ),
            (
                "thread/folder/create",
                json!({ "workspace_id": "unknown", "name": "f" }),
            ),
            (
                "thread/folder/move",
                json!({ "workspace_id": "unknown", "folder_id": "f" }),
            ),
            (
                "thread/folder/delete",
                json!({ "workspace_id": "unknown", "folder_id": "f" }),
            ),
            ("skills/list", json!({ "workspace_id": "unknown" })),
            ("mcp/list", json!({ "workspace_id": "unknown" })),
        ];
        for (method, params) in unknown {
            let words = asker.refused(method, params, -32602).await?;
            ensure!(
                words.contains("workspace `unknown` does not exist"),
                "{method}: {words}"
            );
        }
        // Who was refused is bound as before.
        asker.told.clear();
        let params = json!({ "workspace_id": "managed", "name": "Ideas" });
        let mut other = Asker::connect(&site.server, "pioneer").await?;
        other.ask("thread/folder/create", params).await?;
        let told = asker.told("thread/tree/changed").await?;
        ensure!(told["params"]["workspace_id"] == "managed", "{told}");
        Ok(())
    });
}

#[test]
fn a_server_for_another_directory_has_its_threads_in_a_workspace_of_their_own() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let other = scratch.user().join("other");
        std::fs::create_dir(&other)?;
        let launch = Launch::new(DRAGOMAN, &scratch);
        let left = Process::start(&launch).await?;
        let right = Process::start(&launch.clone().workspace(&other)).await?;
        let mut asker = Asker::connect(&left, "pioneer").await?;
        asker.ask("workspace/default", json!({})).await?;
        asker.told("workspace/changed").await?;
        let mut visitor = crate::Visitor::arrive(&right).await?;
        visitor.converse("echo there").await?;
        let made = asker.told("workspace/changed").await?;
        let workspace = &made["params"]["workspace"];
        ensure!(workspace["path"] == json!(other.canonicalize()?), "{made}");
        let params = json!({ "workspace_id": workspace["id"] });
        let tree = asker.ask("thread/tree", params).await?;
        ensure!(
            tree["threads"][0]["id"] == visitor.session.as_str(),
            "{tree}"
        );
        Ok(())
    });
}
