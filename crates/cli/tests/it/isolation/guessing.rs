//! Every message of every dialect, aimed at what the other tenant has, and at what nobody has: the
//! answers are the same, byte for byte, but for the names.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::http;
use testkit::tongue::{Deed, LANGUAGES, Language, Signal, language};

use super::samples::{Names, Samples};
use super::{Guest, TENANTS, TwoTenants};
use crate::tell;

const LIMIT: Duration = Duration::from_secs(120);
const NORTH: usize = 0;
const SOUTH: usize = 1;

fn known(name: &str) -> anyhow::Result<&'static Language> {
    language(name).with_context(|| format!("no tongue {name}"))
}

/// What nobody has.
fn unknown(site: &TwoTenants) -> Names {
    let place = site.scratch.home().join("tenants/nobody/workspaces");
    Names {
        thread: "019a0000-0000-7000-8000-00000000abcd".to_owned(),
        turn: "019a0000-0000-7000-8000-00000000abce".to_owned(),
        workspace: "019a0000-0000-7000-8000-00000000abcf".to_owned(),
        folder: "019a0000-0000-7000-8000-00000000abd0".to_owned(),
        ask: "req-987654".to_owned(),
        cursor: "c1794848140869.019a0000-0000-7000-8000-00000000abd1".to_owned(),
        path: place.join("secret.txt").display().to_string(),
        member: "somebody-else".to_owned(),
    }
}

/// What the first tenant has: threads with turns, one of which waits for an answer, a workspace, a
/// folder, a file.
async fn settle(site: &TwoTenants) -> anyhow::Result<Names> {
    let word = TENANTS[NORTH];
    let mut guest = site.client(NORTH, known("diminuendo")?, None).await?;
    guest.until(Signal::Connected).await?;
    guest.converse(&format!("echo {word}")).await?;
    let thread = guest.tongue.thread().context("a thread")?.to_owned();
    let heard = guest.client.heard().to_vec();
    let turn = find(&heard, &["turnId"]).context("a turn")?;

    let mut waiting = site.client(NORTH, known("cowork")?, None).await?;
    waiting.until(Signal::Connected).await?;
    let said = waiting
        .tongue
        .say(&Deed::Say("show me an approval".to_owned()))?;
    waiting.send_all(said.into_iter().collect()).await?;
    waiting.until(Signal::Asked).await?;
    let ask = find(waiting.client.heard(), &["requestId"]).context("an ask")?;

    let mut rpc = site.client(NORTH, known("pioneer")?, None).await?;
    rpc.until(Signal::Connected).await?;
    let workspace = format!("{word}-workspace");
    let made = json!({"workspace_id": workspace, "name": word, "make_current": true});
    call(&mut rpc, "workspace/create", made).await?;
    let folder = json!({"workspace_id": workspace, "name": word});
    let folder = call(&mut rpc, "thread/folder/create", folder).await?;
    let folder = find(&[folder.to_string()], &["folder_id", "id"]).context("a folder")?;

    let mut codex = site.client(NORTH, known("codex")?, None).await?;
    codex.until(Signal::Connected).await?;
    codex.converse(&format!("echo {word}")).await?;
    let page = call(&mut codex, "thread/list", json!({"limit": 1})).await?;
    let cursor = page["result"]["nextCursor"].as_str();
    let cursor = cursor
        .with_context(|| format!("no cursor: {page}"))?
        .to_owned();
    let place = site
        .scratch
        .home()
        .join("tenants")
        .join(word)
        .join("workspaces")
        .join(&thread);
    std::fs::write(place.join("secret.txt"), word)?;
    Ok(Names {
        thread,
        turn,
        workspace,
        folder,
        ask,
        cursor,
        path: place.join("secret.txt").display().to_string(),
        member: format!("owner-of-{word}"),
    })
}

/// Makes a JSON-RPC call and waits for its answer.
async fn call(guest: &mut Guest, method: &str, params: Value) -> anyhow::Result<Value> {
    let id = 4242;
    let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    guest.client.send(frame.to_string()).await?;
    guest.client.until(|frame| frame["id"] == id).await
}

/// The last of these fields that was told, wherever it stood.
fn find(frames: &[String], fields: &[&str]) -> Option<String> {
    fn search(value: &Value, field: &str) -> Option<String> {
        match value {
            Value::Object(map) => {
                let own = map.get(field).and_then(|found| match found {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    // tidy: wildcard, because nothing else is a name.
                    _ => None,
                });
                own.or_else(|| map.values().find_map(|inner| search(inner, field)))
            }
            Value::Array(all) => all.iter().find_map(|inner| search(inner, field)),
            // tidy: wildcard, because the rest has no fields.
            _ => None,
        }
    }
    let parsed = || {
        frames
            .iter()
            .rev()
            .filter_map(|frame| serde_json::from_str(frame).ok())
    };
    fields
        .iter()
        .find_map(|field| parsed().find_map(|frame: Value| search(&frame, field)))
}

/// A message after whose answer all answers to those before it are there, and that answer.
fn fence(dialect: &str, session: &str) -> (Value, fn(&Value) -> bool) {
    match dialect {
        "cowork" | "cowork1" => (
            json!({"type": "list_tools", "sessionId": session}),
            |frame| frame["type"] == "tools",
        ),
        "diminuendo" => (
            json!({"type": "get_events", "sessionId": session, "limit": 1}),
            |frame| frame["type"] == "events",
        ),
        "pioneer" => (
            json!({"jsonrpc": "2.0", "id": 4242, "method": "provider/list", "params": {}}),
            |frame| frame["id"] == 4242,
        ),
        _ => (
            json!({"id": 4242, "method": "collaborationMode/list", "params": {}}),
            |frame| frame["id"] == 4242,
        ),
    }
}

/// All that a client hears because of one message.
async fn answers(guest: &mut Guest, dialect: &str, sample: &Value) -> anyhow::Result<Vec<String>> {
    guest.client.send(sample.to_string()).await?;
    // Calls run at the same time in codex: its own answer may come after the fence's.
    let mut waits = sample.get("method").is_some() && sample["id"] == 7;
    let session = guest.tongue.thread().unwrap_or_default().to_owned();
    let (ping, is_pong) = fence(dialect, &session);
    guest.client.send(ping.to_string()).await?;
    let (mut heard, mut is_fenced) = (Vec::new(), false);
    while !is_fenced || waits {
        let frame = guest.client.json().await?;
        waits &= frame["id"] != 7;
        match is_pong(&frame) {
            true => is_fenced = true,
            false => heard.push(frame),
        }
    }
    if matches!(dialect, "codex" | "zane" | "pioneer") {
        // What it tells besides comes when it pleases.
        heard.retain(|frame| frame.get("method").is_none());
    }
    let heard = heard.iter().map(Value::to_string).collect();
    Ok(heard)
}

/// Reads up to the answer of a fence.
async fn drain(guest: &mut Guest, dialect: &str) -> anyhow::Result<()> {
    let (_, is_pong) = fence(dialect, "");
    guest.client.until(is_pong).await.map(drop)
}

/// A frame without what is new each time.
fn steady(value: &mut Value) {
    match value {
        Value::String(text) => {
            let hex = |from: &str| {
                from.bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
            };
            let is_id = text.len() == 36 && hex(text);
            let is_time = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
            if is_id || is_time {
                *text = "NEW".to_owned();
            }
        }
        Value::Number(number) if number.as_f64().is_some_and(|each| each > 1e9) => {
            *value = json!("NEW")
        }
        Value::Array(all) => all.iter_mut().for_each(steady),
        Value::Object(map) => map.values_mut().for_each(steady),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shown(frames: &[String], names: &Names) -> Vec<String> {
    let show = |frame: &String| {
        let hidden = names.hidden_in(frame);
        let mut value = serde_json::from_str(&hidden).unwrap_or(Value::String(hidden));
        steady(&mut value);
        value.to_string()
    };
    frames.iter().map(show).collect()
}

/// What makes something under a name that its client chose makes it for whoever asks, and comes last.
fn makes(sample: &Value) -> bool {
    let kind = sample["method"].as_str().or(sample["type"].as_str());
    matches!(
        kind,
        Some("workspace/create" | "thread/start" | "create_session" | "thread/folder/create")
    )
}

/// These end the connection, or show a token.
fn is_of_the_door(sample: &Value) -> bool {
    matches!(
        sample["type"].as_str(),
        Some("authenticate" | "session_close")
    )
}

/// Stands for the session that a client is in.
const OWN: &str = "OWN";

/// In cowork a connection is its session, and few messages name anything else: those once more, in
/// the client's own session.
fn within_own(pairs: &[(Value, Value)]) -> Vec<(Value, Value)> {
    let names_more = |sample: &Value| {
        let fields = ["targetSessionId", "requestId"];
        fields.iter().any(|field| sample.get(field).is_some())
    };
    let own = |sample: &Value| {
        let mut sample = sample.clone();
        sample["sessionId"] = json!(OWN);
        sample
    };
    let wanted = pairs.iter().filter(|(sample, _)| names_more(sample));
    wanted.map(|(one, other)| (own(one), own(other))).collect()
}

/// With the session that it is about.
fn complete(mut sample: Value, own: Option<&str>, names: &Names, language: &Language) -> Value {
    if sample["sessionId"] == OWN {
        sample["sessionId"] = json!(own);
    } else if language.name == "cowork1" {
        // Its schema leaves out what all of its messages have.
        sample["sessionId"] = json!(names.thread);
    } else if language.name == "pioneer" {
        sample["jsonrpc"] = json!("2.0");
    }
    sample
}

async fn guess(
    site: &TwoTenants,
    language: &Language,
    names: &[Names; 2],
) -> anyhow::Result<usize> {
    let samples = Samples::of(language.name)?;
    let mut pairs: Vec<_> = samples
        .all(&names[0])
        .into_iter()
        .zip(samples.all(&names[1]))
        .collect();
    ensure!(pairs.len() > 5, "no samples of {}", language.name);
    pairs.retain(|(sample, _)| !is_of_the_door(sample));
    pairs.sort_by_key(|(sample, _)| makes(sample));
    if language.name.starts_with("cowork") {
        let own = within_own(&pairs);
        pairs.extend(own);
    }
    let count = pairs.len();
    for (foreign, missing) in pairs {
        // One client for both: what it does before must not make a difference. Another for each pair:
        // some take no more than so many messages at once.
        let mut guest = site.client(SOUTH, language, None).await?;
        guest.until(Signal::Connected).await?;
        // What comes of arriving is no answer.
        let (quiet, _) = fence(language.name, guest.tongue.thread().unwrap_or_default());
        guest.client.send(quiet.to_string()).await?;
        drain(&mut guest, language.name).await?;
        let mut said = Vec::new();
        for (sample, names) in [(foreign.clone(), &names[0]), (missing, &names[1])] {
            let sample = complete(sample, guest.tongue.thread(), names, language);
            let heard = answers(&mut guest, language.name, &sample).await;
            let heard = heard.with_context(|| format!("{} {sample}", language.name))?;
            let mut heard = shown(&heard, names);
            if makes(&sample) {
                // What was made is the client's own, and another each time.
                heard.retain(|frame| frame.contains("error"));
            }
            said.push(heard);
        }
        guest.client.close().await?;
        ensure!(
            said[0] == said[1],
            "{} tells what is another's from what is not there:\n  {foreign}\n  {:?}\n  {:?}",
            language.name,
            said[0],
            said[1]
        );
        ensure!(
            !said[0].iter().any(|frame| frame.contains(TENANTS[NORTH])),
            "{} hears of the other: {foreign}: {:?}",
            language.name,
            said[0]
        );
    }
    Ok(count)
}

/// All that the first tenant has, as its own clients see it.
async fn inventory(site: &TwoTenants, names: &Names) -> anyhow::Result<Vec<String>> {
    let mut guest = site.client(NORTH, known("codex")?, None).await?;
    guest.until(Signal::Connected).await?;
    let read = json!({"threadId": names.thread, "includeTurns": true});
    let thread = call(&mut guest, "thread/read", read).await?;
    let mut rpc = site.client(NORTH, known("pioneer")?, None).await?;
    rpc.until(Signal::Connected).await?;
    let workspaces = call(&mut rpc, "workspace/list", json!({})).await?;
    let tree = json!({"workspace_id": names.workspace});
    let tree = call(&mut rpc, "thread/tree", tree).await?;
    Ok([thread, workspaces, tree]
        .iter()
        .map(Value::to_string)
        .collect())
}

#[test]
fn what_another_has_is_answered_like_what_nobody_has() {
    tell(LIMIT, async {
        let site = TwoTenants::open().await?;
        let names = [settle(&site).await?, unknown(&site)];
        let before = inventory(&site, &names[0]).await?;
        for language in LANGUAGES {
            let count = guess(&site, language, &names).await?;
            println!("{}: {count} messages", language.name);
        }
        ensure!(
            inventory(&site, &names[0]).await? == before,
            "something changed"
        );
        let file = std::fs::read_to_string(&names[0].path)?;
        ensure!(file == TENANTS[NORTH], "the file has changed");
        Ok(())
    });
}

/// The way into a session by the address of the socket.
#[test]
fn coming_back_to_a_session_of_another_is_coming_back_to_none() {
    tell(LIMIT, async {
        let site = TwoTenants::open().await?;
        let names = [settle(&site).await?, unknown(&site)];
        let mut greetings = Vec::new();
        for names in &names {
            let mut guest = site
                .client(SOUTH, known("cowork")?, Some(&names.thread))
                .await?;
            guest.until(Signal::Connected).await?;
            ensure!(guest.tongue.thread() != Some(names.thread.as_str()));
            greetings.push(shown(guest.client.heard(), names));
        }
        let kinds = |frames: &[String]| frames.len();
        ensure!(
            kinds(&greetings[0]) == kinds(&greetings[1]),
            "{greetings:?}"
        );
        Ok(())
    });
}

#[test]
fn metrics_are_for_who_runs_the_server_and_name_no_tenant() {
    tell(LIMIT, async {
        let site = TwoTenants::open().await?;
        settle(&site).await?;
        let port = site.server.port();
        let asked = format!("/metrics?token={}", site.tokens[NORTH]);
        let (status, body) = http::get(port, &asked).await?;
        ensure!(status == 403, "{status} {body}");
        ensure!(!body.contains("dragoman_"), "{body}");
        Ok(())
    });
}
