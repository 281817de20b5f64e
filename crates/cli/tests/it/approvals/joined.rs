//! Who joins while an edit waits for a person sees it as whoever was there from the start.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::DeskStart;
use crate::tell;

const LIMIT: Duration = Duration::from_secs(60);

/// The change to a file, of an item of that kind.
fn diff(item: &Value) -> Option<&str> {
    let change = (item["type"] == "fileChange").then(|| &item["changes"][0]["diff"]);
    change.and_then(Value::as_str)
}

#[test]
fn a_waiting_edit_has_its_true_lines_for_who_comes_later() {
    tell(LIMIT, async {
        let desk = DeskStart::new(&[])?;
        desk.scratch
            .write("notes.txt", "1\n2\n3\n4\n5\n6\nkeep\n8\n")?;
        let start = json!({"sandbox": "read-only", "approvalPolicy": "on-request"});
        let mut desk = desk.open(start).await?;
        desk.call("read", json!({"filePath": "notes.txt"}), "accept")
            .await?;
        let edit = json!({"filePath": "notes.txt", "oldString": "keep", "newString": "lost"});
        let params = json!({"threadId": desk.thread,
            "input": [{"type": "text", "text": format!("tool edit {edit}")}]});
        desk.request("turn/start", params).await?;
        let begun = desk.client.until(|frame| {
            frame["method"] == "item/started" && diff(&frame["params"]["item"]).is_some()
        });
        let begun = begun.await?;
        let shown = diff(&begun["params"]["item"])
            .context("no diff")?
            .to_owned();
        ensure!(shown.contains("@@ -4,"), "{shown}");
        desk.client
            .until(|frame| frame["method"] == "item/fileChange/requestApproval")
            .await?;

        let mut other = desk.another().await?;
        for method in ["thread/resume", "thread/read"] {
            let params = json!({"threadId": desk.thread, "includeTurns": true});
            other
                .send_json(&json!({"id": method, "method": method, "params": params}))
                .await?;
            let answer = other.until(|frame| frame["id"] == method).await?;
            let turns = &answer["result"]["thread"]["turns"];
            let turn = turns
                .as_array()
                .and_then(|turns| turns.last())
                .context("no turn")?;
            let items = turn["items"].as_array().context("no items")?;
            let joined = items.iter().find_map(diff).context(answer.to_string())?;
            ensure!(joined == shown, "{method}: {joined}");
        }
        Ok(())
    });
}
