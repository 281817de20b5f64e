//! The answer to a request comes before what it caused is told, for every method, while others keep the
//! same thread busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Process;

use super::managing::{WORKSPACE, from, packed, upload};
use super::{Asker, LIMIT};
use crate::{Site, tell};

const HAMMERED: &str = "hammered";

/// A request, and how one knows what it caused: a method, and a value somewhere in its params.
struct Cause {
    method: &'static str,
    params: Value,
    told: &'static str,
    at: &'static str,
    is: Value,
}

fn cause(
    method: &'static str,
    params: Value,
    told: &'static str,
    at: &'static str,
    is: impl Into<Value>,
) -> Cause {
    let is = is.into();
    Cause {
        method,
        params,
        told,
        at,
        is,
    }
}

impl Cause {
    fn is_told_by(&self, frame: &Value) -> bool {
        frame["method"] == self.told && frame["params"].pointer(self.at) == Some(&self.is)
    }

    /// Asks, and holds what comes against the rule.
    async fn holds(&self, asker: &mut Asker) -> anyhow::Result<Value> {
        let id = asker.send(self.method, &self.params).await?;
        let mut answer = None;
        loop {
            let frame = asker.client.json().await?;
            if frame["id"] == id {
                ensure!(frame.get("error").is_none(), "{}: {frame}", self.method);
                answer = Some(frame["result"].clone());
            } else if self.is_told_by(&frame) {
                let early = format!("{} was told before its answer: {frame}", self.method);
                return answer.context(early);
            }
        }
    }
}

/// Keeps a thread busy: turns, and all reads of it.
async fn hammer(mut asker: Asker, number: usize, stop: Arc<AtomicBool>) -> anyhow::Result<usize> {
    asker.ask("thread/start", start(HAMMERED)).await?;
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let turn = format!("turn-{number}-{round}");
        // One at a time runs in a thread; the others are refused.
        asker
            .try_ask("turn/start", said(HAMMERED, &turn, "echo load"))
            .await?;
        for method in ["thread/get", "thread/history"] {
            asker.ask(method, json!({ "thread_id": HAMMERED })).await?;
        }
        asker
            .ask("thread/tree", json!({ "workspace_id": WORKSPACE }))
            .await?;
        asker.told.clear();
    }
    Ok(round)
}

fn start(thread: &str) -> Value {
    json!({ "thread_id": thread, "workspace_id": WORKSPACE, "mode": "Agent" })
}

fn said(thread: &str, turn: &str, text: &str) -> Value {
    let input = json!([{ "type": "text", "text": text, "textElements": [] }]);
    json!({ "thread_id": thread, "turn_id": turn, "input": input })
}

/// Methods of workspaces, threads and turns, in an order in which each can be done.
fn of_threads() -> Vec<Cause> {
    let other = |name: &str| json!({ "workspace_id": "other", "name": name });
    let current = json!({ "workspace_id": WORKSPACE, "make_current": true });
    vec![
        cause(
            "workspace/create",
            other("One"),
            "workspace/changed",
            "/workspace/id",
            "other",
        ),
        cause(
            "workspace/update",
            other("Two"),
            "workspace/changed",
            "/workspace/name",
            "Two",
        ),
        cause(
            "workspace/select",
            json!({ "workspace_id": "other", "make_current": true }),
            "workspace/changed",
            "/kind",
            "current_changed",
        ),
        cause(
            "workspace/select",
            current,
            "workspace/changed",
            "/workspace/id",
            WORKSPACE,
        ),
        cause(
            "thread/start",
            start("mine"),
            "thread/started",
            "/thread/id",
            "mine",
        ),
        cause(
            "turn/start",
            said("mine", "t1", "slow 100000"),
            "turn/started",
            "/turn/id",
            "t1",
        ),
        cause(
            "turn/cancel",
            json!({ "thread_id": "mine", "turn_id": "t1" }),
            "turn/completed",
            "/turn/id",
            "t1",
        ),
        cause(
            "thread/unsubscribe",
            json!({ "threadId": "mine" }),
            "thread/closed",
            "/threadId",
            "mine",
        ),
    ]
}

/// Of the tree, in a workspace where nobody else changes it.
async fn trees(asker: &mut Asker) -> anyhow::Result<()> {
    asker
        .ask("workspace/select", json!({ "workspace_id": "other" }))
        .await?;
    let params = json!({ "thread_id": "placed", "workspace_id": "other" });
    cause(
        "thread/start",
        params,
        "thread/started",
        "/thread/id",
        "placed",
    )
    .holds(asker)
    .await?;
    let tree = |method: &'static str, more: Value| {
        let mut params = more;
        params["workspace_id"] = json!("other");
        cause(
            method,
            params,
            "thread/tree/changed",
            "/workspace_id",
            "other",
        )
    };
    let made = tree("thread/folder/create", json!({ "name": "Ideas" }))
        .holds(asker)
        .await?;
    let folder = made["folder"]["id"].clone();
    for (method, params) in [
        (
            "thread/move",
            json!({ "thread_id": "placed", "folder_id": folder }),
        ),
        ("thread/folder/move", json!({ "folder_id": folder })),
        ("thread/folder/delete", json!({ "folder_id": folder })),
    ] {
        tree(method, params).holds(asker).await?;
    }
    asker
        .ask("workspace/select", json!({ "workspace_id": WORKSPACE }))
        .await?;
    Ok(())
}

/// Skills and servers.
async fn managed(asker: &mut Asker, site: &Site) -> anyhow::Result<()> {
    let folder = site.scratch.user().to_path_buf();
    let skill = |method: &'static str, params: Value, reason: &str| {
        cause(method, params, "skills/changed", "/reason", reason)
    };
    let (bytes, sum) = packed(&folder, "ordered", "one")?;
    let id = upload(asker, &bytes, &sum).await?;
    skill("skills/install", from(&id), "install")
        .holds(asker)
        .await?;
    let id = upload(asker, &bytes, &sum).await?;
    let mut update = from(&id);
    update["slug"] = json!("ordered");
    skill("skills/update", update, "update")
        .holds(asker)
        .await?;
    let off = json!({ "workspace_id": WORKSPACE, "skill_slug": "ordered", "enabled": false });
    skill("skills/policy/set", off, "policy")
        .holds(asker)
        .await?;
    let gone = json!({ "workspace_id": WORKSPACE, "slug": "ordered" });
    skill("skills/uninstall", gone, "uninstall")
        .holds(asker)
        .await
        .map(drop)
}

/// A server that fails to start tells of it; nobody else uses the directory of this workspace.
async fn servers(asker: &mut Asker) -> anyhow::Result<()> {
    asker
        .ask("workspace/select", json!({ "workspace_id": "other" }))
        .await?;
    let config = json!({ "broken": { "command": "/bin/false" } }).to_string();
    let one = json!({ "workspace_id": "other", "name": "broken" });
    let mut off = one.clone();
    off["enabled"] = json!(false);
    let (changed, action) = ("mcp/changed", "/changed/0/action");
    for each in [
        cause(
            "mcp/install",
            json!({ "workspace_id": "other", "config_json": config }),
            changed,
            action,
            "install",
        ),
        cause(
            "mcp/server/restart",
            one.clone(),
            "mcp/server/status_changed",
            "/server/name",
            "broken",
        ),
        cause("mcp/policy/set", off, changed, action, "policy"),
        cause("mcp/uninstall", one, changed, action, "uninstall"),
    ] {
        each.holds(asker).await?;
    }
    asker
        .ask("workspace/select", json!({ "workspace_id": WORKSPACE }))
        .await?;
    Ok(())
}

async fn hammering(
    server: &Process,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Vec<tokio::task::JoinHandle<anyhow::Result<usize>>>> {
    let mut hammers = Vec::new();
    for number in 0..3 {
        let asker = Asker::connect(server, "pioneer").await?;
        hammers.push(tokio::spawn(hammer(asker, number, Arc::clone(stop))));
    }
    Ok(hammers)
}

#[test]
fn what_a_request_causes_is_told_behind_its_answer() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut asker = Asker::connect(&site.server, "pioneer").await?;
        asker.ask("workspace/default", json!({})).await?;
        asker.ask("thread/start", start(HAMMERED)).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let hammers = hammering(&site.server, &stop).await?;
        for each in of_threads() {
            each.holds(&mut asker).await?;
        }
        trees(&mut asker).await?;
        servers(&mut asker).await?;
        managed(&mut asker, &site).await?;
        stop.store(true, Ordering::Relaxed);
        for hammer in hammers {
            let rounds = hammer.await??;
            ensure!(rounds > 0, "nobody hammered");
        }
        Ok(())
    });
}
