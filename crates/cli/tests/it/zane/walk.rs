//! Both versions of the client, from sign-in to the end, in the orders that were recorded.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch, http};

use super::{LIMIT, Page};
use crate::{DRAGOMAN, tell};

/// What every page does with a thread, whichever version it is of.
async fn work(page: &mut Page, thread: &str, extra: &Value) -> anyhow::Result<()> {
    // A word, and thoughts.
    assert_eq!(
        page.converse(thread, "echo hello there").await?,
        "Completed"
    );
    assert_eq!(page.completed("agentMessage")[0]["text"], "hello there");
    assert_eq!(
        page.converse(thread, "show me reasoning").await?,
        "Completed"
    );
    let thought = &page.completed("reasoning")[0];
    ensure!(
        thought["summary"].is_array() && thought["content"].is_array(),
        "{thought}"
    );

    // A command, with the further field that the first versions send with an answer.
    page.say(thread, "show me an approval").await?;
    let request = page.until("item/commandExecution/requestApproval").await?;
    ensure!(request["params"]["itemId"].is_string() && request["params"]["reason"].is_string());
    ensure!(request["id"].as_u64() >= Some(1), "no id is nothing");
    let mut result = json!({ "decision": "accept" });
    if let Some(extra) = extra.as_object() {
        result
            .as_object_mut()
            .context("an object")?
            .extend(extra.clone());
    }
    page.answer(&request, result).await?;
    page.until("serverRequest/resolved").await?;
    assert_eq!(page.rest().await?, "Completed");
    let command = &page.completed("commandExecution")[0];
    assert_eq!(command["exitCode"], 0, "{command}");

    // A patch: its diff comes before the item is done, and with it.
    page.say(thread, "show me a file edit").await?;
    let delta = page.until("item/fileChange/outputDelta").await?;
    ensure!(
        delta["params"]["delta"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{delta}"
    );
    assert_eq!(page.rest().await?, "Completed");
    let change = &page.completed("fileChange")[0]["changes"][0];
    ensure!(
        change["path"].is_string() && change["diff"].is_string(),
        "{change}"
    );

    // A plan of steps, in the words that are compared letter by letter.
    page.say(thread, "show me a plan").await?;
    let plan = page.until("turn/plan/updated").await?;
    let status = plan["params"]["plan"][0]["status"].as_str();
    ensure!(
        ["Pending", "InProgress", "Completed"].contains(&status.unwrap_or_default()),
        "{plan}"
    );
    assert_eq!(page.rest().await?, "Completed");

    // A question.
    page.say(thread, "show me a question").await?;
    let request = page.until("item/tool/requestUserInput").await?;
    let question = &request["params"]["questions"][0];
    let (id, options) = (
        question["id"].as_str().context("an id")?,
        &question["options"],
    );
    let label = options[0]["label"].as_str().context("an option")?;
    page.answer(
        &request,
        json!({ "answers": { id: { "answers": [label] } } }),
    )
    .await?;
    assert_eq!(page.rest().await?, "Completed");

    // Something is said meanwhile, and it is stopped.
    let turn = page.say(thread, "slow 2000").await?;
    page.until("item/agentMessage/delta").await?;
    let input = json!([{ "type": "text", "text": "go on", "text_elements": [] }]);
    let steer = json!({ "threadId": thread, "input": input, "expectedTurnId": turn });
    let steered = page.ask("turn/steer", steer).await?;
    assert_eq!(steered["turnId"], turn.as_str());
    page.ask(
        "turn/interrupt",
        json!({ "threadId": thread, "turnId": turn }),
    )
    .await?;
    assert_eq!(page.rest().await?, "Interrupted");
    Ok(())
}

/// A reload: the page connects anew and reads the thread whole.
async fn reload(page: &mut Page, thread: &str) -> anyhow::Result<()> {
    page.subscribe(thread).await?;
    let resumed = page
        .ask("thread/resume", json!({ "threadId": thread }))
        .await?;
    let read = page
        .ask(
            "thread/read",
            json!({ "threadId": thread, "includeTurns": true }),
        )
        .await?;
    for answer in [&resumed, &read] {
        let turns = answer["thread"]["turns"].as_array().context("turns")?;
        assert_eq!(turns.len(), 7);
        let items = turns
            .iter()
            .flat_map(|turn| turn["items"].as_array())
            .flatten();
        let kinds: Vec<_> = items.filter_map(|item| item["type"].as_str()).collect();
        for kind in [
            "userMessage",
            "agentMessage",
            "reasoning",
            "commandExecution",
            "fileChange",
        ] {
            ensure!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
    }
    Ok(())
}

async fn put_away(page: &mut Page, thread: &str) -> anyhow::Result<()> {
    let name = json!({ "threadId": thread, "name": "A walk" });
    page.ask("thread/name/set", name).await?;
    let is_listed = async |page: &mut Page| {
        let listed = page
            .ask("thread/list", json!({ "cursor": null, "limit": 25 }))
            .await?;
        let data = listed["data"].as_array().context("data")?.clone();
        let mut found = data.into_iter().filter(|entry| entry["id"] == thread);
        anyhow::Ok(found.next())
    };
    let listed = is_listed(page).await?.context("it is listed")?;
    assert_eq!(listed["name"], "A walk");
    ensure!(
        listed["createdAt"]
            .as_i64()
            .is_some_and(|at| at < 100_000_000_000),
        "seconds"
    );
    page.ask("thread/archive", json!({ "threadId": thread }))
        .await?;
    ensure!(is_listed(page).await?.is_none());
    page.ask("thread/unarchive", json!({ "threadId": thread }))
        .await?;
    ensure!(is_listed(page).await?.is_some());
    Ok(())
}

#[test]
fn the_client_of_the_first_versions_walks_from_sign_in_to_archive() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch).argument("--listen=zane=0");
        let server = Process::start(&launch).await?;
        let port = server.listeners().first().context("a listener")?.port;
        let (status, session) = http::get(port, "/auth/session").await?;
        let session: Value = serde_json::from_str(&session)?;
        assert_eq!((status, &session["authenticated"]), (200, &json!(true)));
        let url = format!("ws://127.0.0.1:{port}/ws/client?clientId=first");
        let mut page = Page::at(&url).await?;
        let models = page.ask("model/list", json!({})).await?;
        ensure!(models["data"][0]["id"].is_string());
        page.control(json!({ "type": "orbit.list-anchors" }))
            .await?;
        let anchors = page.socket.until_type("orbit.anchors").await?;
        let anchor = &anchors["anchors"][0];
        for field in ["id", "hostname", "platform", "connectedAt"] {
            ensure!(
                anchor[field].as_str().is_some_and(|text| !text.is_empty()),
                "{anchors}"
            );
        }
        page.ask("thread/list", json!({ "limit": 50 })).await?;
        let modes = page.ask("collaborationMode/list", json!({})).await?;
        let modes = modes["data"].as_array().context("modes")?;
        ensure!(modes.iter().any(|mode| mode["mode"] == "code"), "{modes:?}");

        let cwd = scratch.workspace().display().to_string();
        let thread = page.start_thread(&cwd).await?;
        let extra = json!({ "collaborationMode": { "mode": "code", "settings": {} } });
        work(&mut page, &thread, &extra).await?;
        let mut page = Page::at(&url).await?;
        reload(&mut page, &thread).await?;
        put_away(&mut page, &thread).await?;
        page.control(json!({ "type": "orbit.unsubscribe", "threadId": thread }))
            .await?;
        page.control(json!({ "type": "ping" })).await?;
        page.socket.until_type("pong").await?;
        Ok(())
    });
}

#[test]
fn todays_client_walks_in_local_mode_from_the_picker_to_the_end() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        std::fs::write(scratch.workspace().join("notes.md"), "x")?;
        let launch = Launch::new(DRAGOMAN, &scratch).argument("--listen=zane=0");
        let server = Process::start(&launch).await?;
        let port = server.listeners().first().context("a listener")?.port;
        let (status, _) = http::get(port, "/health").await?;
        assert_eq!(status, 200);
        let url = format!("ws://127.0.0.1:{port}/ws?clientId=today");
        let mut page = Page::at(&url).await?;
        for (method, params) in [
            ("model/list", json!({})),
            ("account/read", json!({})),
            ("account/rateLimits/read", json!({})),
            ("thread/list", json!({ "cursor": null, "limit": 25 })),
            ("collaborationMode/list", json!({})),
            ("collaborationMode/list", json!({})),
        ] {
            page.ask(method, params).await?;
        }
        // The picker.
        let home = page.ask("anchor.listDirs", json!({ "path": "" })).await?;
        let up = home["parent"].as_str().context("a parent")?;
        page.ask("anchor.listDirs", json!({ "path": up })).await?;
        let cwd = scratch.workspace().canonicalize()?.display().to_string();
        page.ask("anchor.git.inspect", json!({ "path": cwd }))
            .await?;

        let thread = page.start_thread(&cwd).await?;
        page.ask("skills/list", json!({})).await?;
        work(&mut page, &thread, &json!({})).await?;
        let found = page
            .ask("fuzzyFileSearch", json!({ "query": "note", "limit": 8 }))
            .await?;
        assert_eq!(found["data"][0]["path"], "notes.md");
        page.ask("mcpServerStatus/list", json!({})).await?;
        let mut page = Page::at(&url).await?;
        reload(&mut page, &thread).await?;
        put_away(&mut page, &thread).await?;
        Ok(())
    });
}
