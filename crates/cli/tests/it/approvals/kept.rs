//! Plan mode and permissions that a client chooses: kept, told, and refused where they cannot be.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Desk, FENCES};
use crate::tell;

const LIMIT: Duration = Duration::from_secs(60);

fn mode(mode: &str) -> Value {
    json!({"collaborationMode": {"mode": mode, "settings": {"model": "rehearsal-1"}}})
}

/// The kinds and texts of what was written in a turn.
fn told(items: &[Value]) -> Vec<(String, String)> {
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    let said = items
        .iter()
        .map(|item| (text(item, "type"), text(item, "text")));
    said.filter(|(kind, _)| kind != "userMessage").collect()
}

#[test]
fn a_plan_is_proposed_and_then_carried_out() {
    const SCRIPT: &str = "turn\n call bash {\"command\": \"touch made\"}\nnext\n \
         say Here it is:\\n\\n<proposed_plan>\\n# Make it\\n1. touch made\\n</proposed_plan>\\n\n\
         turn\n call bash {\"command\": \"touch made\"}\nnext\n say <proposed_plan>\\nx\n";
    tell(LIMIT, async {
        let start = json!({"approvalPolicy": "on-request", "sandbox": "workspace-write"});
        let mut desk = Desk::open_with(&[], start, Some(SCRIPT)).await?;
        let planned = desk.turn("plan it", mode("plan"), "accept").await?;
        ensure!(!desk.has("made"), "{planned:?}");
        let said = told(&planned.items);
        let plan = ("plan".to_owned(), "# Make it\n1. touch made\n".to_owned());
        ensure!(said.contains(&plan), "{said:?}");
        let around = ("agentMessage".to_owned(), "Here it is:\n\n".to_owned());
        ensure!(said.contains(&around), "{said:?}");
        let item = planned.items.iter().find(|item| item["type"] == "plan");
        let id = item.map(|item| item["id"].clone()).context("no plan")?;
        let deltas = planned.deltas.iter().filter(|delta| delta["itemId"] == id);
        let streamed: String = deltas.filter_map(|delta| delta["delta"].as_str()).collect();
        ensure!(streamed == plan.1, "{streamed:?}");
        // It is in the history, too.
        let read = json!({"threadId": desk.thread, "includeTurns": true});
        let read = desk.request("thread/read", read).await?;
        let items = read["result"]["thread"]["turns"][0]["items"]
            .as_array()
            .cloned();
        let items = items.unwrap_or_default();
        ensure!(told(&items).contains(&plan), "{items:?}");

        let done = desk
            .turn("Implement the plan.", mode("default"), "decline")
            .await?;
        ensure!(desk.has("made") && done.asks.is_empty(), "{done:?}");
        // Who does not plan says what it says.
        let text = ("agentMessage".to_owned(), "<proposed_plan>\nx".to_owned());
        ensure!(told(&done.items).contains(&text), "{done:?}");
        Ok(())
    });
}

#[test]
fn settings_are_changed_between_turns_and_told() {
    tell(LIMIT, async {
        let start = json!({"approvalPolicy": "never", "sandbox": "workspace-write"});
        let mut desk = Desk::open(&[], start).await?;
        let profile = &desk.opened["activePermissionProfile"]["id"];
        ensure!(profile == ":workspace", "{}", desk.opened);
        let profiles = desk.request("permissionProfile/list", json!({})).await?;
        let profiles = &profiles["result"]["data"];
        ensure!(profiles[0]["allowed"] == true, "{profiles}");
        ensure!(profiles[2]["allowed"] == false, "{profiles}");
        for (permissions, name, is_there) in [(":read-only", "a", false), (":workspace", "b", true)]
        {
            let params = json!({"threadId": desk.thread, "permissions": permissions});
            let done = desk.request("thread/settings/update", params).await?;
            ensure!(done["result"] == json!({}), "{done}");
            let is_told = |frame: &Value| frame["method"] == "thread/settings/updated";
            let told = desk.client.until(is_told).await?;
            let told = &told["params"]["threadSettings"];
            ensure!(
                told["activePermissionProfile"]["id"] == permissions,
                "{told}"
            );
            let call = desk.bash(&format!("touch {name}"), "decline").await?;
            ensure!(desk.has(name) == is_there, "{call:?}");
        }
        let full = json!({"threadId": desk.thread, "permissions": ":danger-full-access"});
        let refused = desk.request("thread/settings/update", full).await?;
        let message = refused["error"]["message"].to_string();
        ensure!(message.contains("--allow-full-access"), "{message}");
        Ok(())
    });
}

#[test]
fn full_access_is_what_it_says_where_the_owner_allows_it() {
    tell(LIMIT, async {
        let start = json!({"approvalPolicy": "never", "sandbox": "danger-full-access"});
        let mut desk = Desk::open(&["--allow-full-access"], start).await?;
        let told = &desk.opened["sandbox"];
        ensure!(*told == json!({"type": "dangerFullAccess"}), "{told}");
        let outside = desk.scratch.user().join("outside");
        let call = desk
            .bash(&format!("touch '{}'", outside.display()), "decline")
            .await?;
        ensure!(outside.exists() && !call.asked(), "{call:?}");
        let file = desk.scratch.user().join("written");
        let input = json!({"filePath": file, "content": "x"});
        let call = desk.call("write", input, "decline").await?;
        ensure!(file.exists(), "{call:?}");
        let call = desk
            .bash("touch made; rm -rf / --no-preserve-root", "decline")
            .await?;
        ensure!(!desk.has("made"), "what destroys is refused: {call:?}");
        // The server's own data stays closed to file tools.
        let own = desk.scratch.home().join("written");
        let input = json!({"filePath": own, "content": "x"});
        desk.call("write", input, "decline").await?;
        ensure!(!own.exists());
        // Another thread of the same server is held.
        let mut held =
            Desk::open(&["--allow-full-access"], json!({"approvalPolicy": "never"})).await?;
        let outside = held.scratch.user().join("outside");
        held.bash(&format!("touch '{}'", outside.display()), "decline")
            .await?;
        ensure!(!outside.exists());
        Ok(())
    });
}

#[test]
fn a_thread_is_given_the_network_and_another_is_not() {
    for fence in FENCES {
        tell(LIMIT, async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
            let port = listener.local_addr()?.port();
            let start = json!({"approvalPolicy": "on-failure", "sandbox": "workspace-write"});
            let mut desk = Desk::open(&["--sandbox", fence], start).await?;
            let reach = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && touch reached");
            let line = json!({"command": reach});
            desk.call("bash", line.clone(), "decline").await?;
            ensure!(!desk.has("reached"), "{fence}: it was closed");
            let policy = json!({"type": "workspaceWrite", "networkAccess": true});
            let params = json!({"threadId": desk.thread, "sandboxPolicy": policy});
            let done = desk.request("thread/settings/update", params).await?;
            ensure!(done["result"] == json!({}), "{done}");
            let call = desk.call("bash", line, "decline").await?;
            ensure!(desk.has("reached"), "{fence}: {call:?}");
            let outside = desk.scratch.user().join("outside");
            desk.bash(&format!("touch '{}'", outside.display()), "decline")
                .await?;
            ensure!(!outside.exists(), "{fence}: the rest is held");
            Ok(())
        });
    }
}

#[test]
fn on_failure_asks_for_what_the_sandbox_stopped_and_nothing_else() {
    for fence in FENCES {
        tell(LIMIT, async {
            let start = json!({"approvalPolicy": "on-failure", "sandbox": "workspace-write"});
            let mut desk = Desk::open(&["--sandbox", fence], start).await?;
            let inside = desk
                .bash("touch a b && rm -rf b && chmod 600 a", "decline")
                .await?;
            ensure!(!inside.asked() && desk.has("a"), "{fence}: {inside:?}");
            let outside = desk.scratch.user().join("outside");
            let line = format!("touch '{}'", outside.display());
            let no = desk.bash(&line, "decline").await?;
            ensure!(no.asks.len() == 1 && !outside.exists(), "{fence}: {no:?}");
            ensure!(no.output().contains("the sandbox stopped this"), "{no:?}");
            let reason = no.asks[0]["reason"].to_string();
            ensure!(reason.contains("outside of it"), "{reason}");
            let yes = desk.bash(&line, "accept").await?;
            ensure!(yes.asks.len() == 1 && outside.exists(), "{fence}: {yes:?}");
            ensure!(yes.output().contains("let it run outside"), "{yes:?}");
            Ok(())
        });
    }
}
