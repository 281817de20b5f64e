//! A thread that has everything in it, exported, deleted and imported again: no client can tell.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::tongue::{Deed, LANGUAGES, OrderDeed, PastDeed, SettingDeed, Signal, language};
use testkit::{Process, Scratch};

use super::{LIMIT, exported, json as said_json, well};
use crate::together::{Guest, HOST};
use crate::{DRAGOMAN, tell};

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const TITLE: &str = "Everything at once";

const SCRIPT: &str = r#"
turn thoughts, a command, an edit
think I should look first.
say I will look.
call bash {"command":"echo found; echo trouble >&2; exit 3"}
next
call write {"filePath":"notes.md","content":"one\n"}
next
call edit {"filePath":"notes.md","oldString":"one","newString":"two"}
next
say It is changed.
usage 120 4 2500
turn a plan
call todoWrite {"todos":[{"content":"Read","status":"completed","activeForm":"Reading"},{"content":"Fix","status":"in_progress","activeForm":"Fixing"}]}
next
say It is planned.
turn a question
call ask {"question":"Which one?","options":["left","right"]}
next
say You chose: {result}
turn a sub-agent
call spawnAgent {"task":"Count the files.","kind":"general"}
next
say It found: {result}
turn a steer
say I make a file.
call bash {"command":"touch made.txt && chmod 600 made.txt"}
next
say You said: {user}
turn *
say So you say: {user}
task
say I count.
call bash {"command":"ls"}
next
say There are some files.
"#;

/// Fields that differ each time: who connects and when, and numbers that go on at every waking.
const VOLATILE: [&str; 6] = [
    "checkedAt",
    "clientId",
    "lastSeq",
    "toSeq",
    "ts",
    "updatedAt",
];
/// Tells of checkpoints, which are kept beside a thread and go with it.
const OF_CHECKPOINTS: &str = "session_backup_state";

#[test]
fn a_thread_with_everything_is_the_same_for_every_client_after_a_round_trip() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let script = scratch.user().join("script.txt");
        std::fs::write(&script, SCRIPT)?;
        let launch = Launch::new(DRAGOMAN, &scratch).rehearsal(&script);
        let (thread, other) = live_through(&launch, &scratch).await?;
        let seen = Seen::twice(&launch, &thread, &other).await?;
        let rows = rows(&scratch, &thread)?;

        let file = exported(&scratch, &thread).await?;
        let before = std::fs::read_to_string(&file)?;
        for part in [
            "created",
            "reasoning",
            "plan_changed",
            "steered",
            "compacted",
            "reverted",
            "uploaded",
            "image",
            "archived",
            TITLE,
            "\"folders\":[{",
            "\"section\":{\"section\":{\"id\":\"",
        ] {
            ensure!(before.contains(part), "no {part} in it");
        }
        well(&scratch, &["delete", &thread, "--yes"]).await?;
        let listed = said_json(&scratch, &["list", "--archived"]).await?;
        ensure!(!listed.to_string().contains(&thread), "{listed}");
        let from = file.to_string_lossy().into_owned();
        let imported = said_json(&scratch, &["import", "--from", &from]).await?;
        assert_eq!(imported["taken"], json!([thread]), "{imported}");

        let again = std::fs::read_to_string(exported(&scratch, &thread).await?)?;
        ensure!(before == again, "the file is another one");
        // What is folded from the file is what was written event by event.
        for (before, after) in rows.iter().zip(self::rows(&scratch, &thread)?) {
            assert_eq!(*before, after);
        }
        seen.is_the_same(&launch, &thread, &other).await
    });
}

/// Lets it all happen, in the dialects that have a word for it; gives the thread, and one that is archived.
async fn live_through(launch: &Launch, scratch: &Scratch) -> anyhow::Result<(String, String)> {
    let mut server = Process::start(launch).await?;
    let known = |name: &str| language(name).context("a dialect");
    // By an id of the client's own.
    let mut pioneer = Guest::seat(known("pioneer")?, &server, None).await?;
    pioneer.say(&Deed::Say("Look around".to_owned())).await?;
    pioneer.hear(&Signal::Rest).await?;
    let listed = said_json(scratch, &["list"]).await?;
    let thread = listed["sessions"][0]["id"].as_str().context("a session")?;
    let thread = thread.to_owned();
    let name = listed["sessions"][0]["clientId"].clone();
    let workspace = listed["sessions"][0]["workspace"].clone();

    let mut codex = Guest::seat(known("codex")?, &server, Some(&thread)).await?;
    codex.say(&Deed::Say("Plan it".to_owned())).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Say("Ask me".to_owned())).await?;
    codex.hear(&Signal::Asked).await?;
    codex.say(&Deed::Answer("left".to_owned())).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Say("Have it counted".to_owned())).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Say("Make a file".to_owned())).await?;
    codex.hear(&Signal::Asked).await?;
    codex.say(&Deed::Steer("And be quick".to_owned())).await?;
    codex.hear(&Signal::Done).await?;
    codex.say(&Deed::Approve).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Order(OrderDeed::Compact)).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Say("Forget this".to_owned())).await?;
    codex.hear(&Signal::Rest).await?;
    codex.say(&Deed::Past(PastDeed::Rollback(1))).await?;
    codex.hear(&Signal::Done).await?;
    let picture = json!({
        "id": 901, "method": "turn/start", "params": { "threadId": thread, "input": [
            { "type": "text", "text": "See this" }, { "type": "image", "url": PICTURE } ] },
    });
    codex.client.send_json(&picture).await?;
    codex.hear(&Signal::Rest).await?;
    for deed in [
        Deed::Title(TITLE.to_owned()),
        Deed::Archive,
        Deed::Unarchive,
    ] {
        codex.say(&deed).await?;
        codex.hear(&Signal::Done).await?;
    }

    let mut cowork = Guest::seat(known("cowork")?, &server, Some(&thread)).await?;
    let upload = SettingDeed::Upload("upload.txt aGVsbG8=".to_owned());
    cowork.say(&Deed::Setting(upload)).await?;
    cowork.hear(&Signal::Done).await?;

    for (number, parent) in [(801, None), (802, Some(801))] {
        let parent = parent.map(|of: u32| folder_id(&pioneer, of)).transpose()?;
        let params = json!({ "workspace_id": workspace, "name": format!("Folder {number}"),
            "parent_folder_id": parent });
        rpc(&mut pioneer, number, "thread/folder/create", params).await?;
    }
    let inner = folder_id(&pioneer, 802)?;
    let params = json!({ "workspace_id": workspace, "thread_id": name, "folder_id": inner });
    rpc(&mut pioneer, 803, "thread/move", params).await?;

    let mut second = Guest::seat(known("codex")?, &server, None).await?;
    second.say(&Deed::Say("Put me away".to_owned())).await?;
    second.hear(&Signal::Rest).await?;
    let other = second.tongue.thread().context("a thread")?.to_owned();
    let garden = json!({ "name": "Garden" });
    let garden = rpc(&mut second, 804, "threadSection/create", garden).await?;
    let garden = garden["result"]["section"]["id"].clone();
    for (number, thread) in [(805, &other), (806, &thread)] {
        let params = json!({ "threadId": thread, "sectionId": garden,
            "beforeThreadId": (number == 806).then_some(&other) });
        rpc(&mut second, number, "thread/section/move", params).await?;
    }
    server.terminate().await?;
    well(scratch, &["archive", &other]).await?;
    Ok((thread, other))
}

/// Makes a JSON-RPC request and waits for its answer.
async fn rpc(guest: &mut Guest, id: u32, method: &str, params: Value) -> anyhow::Result<Value> {
    let id = id.to_string();
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    guest.client.send_json(&request).await?;
    let heard = guest.client.until(|frame| frame["id"] == id);
    let answer = heard.await.context(method.to_owned())?;
    ensure!(answer.get("error").is_none(), "{method}: {answer}");
    guest.frames.push(answer.to_string());
    Ok(answer)
}

/// All rows of a thread but its log, each table in its order.
fn rows(scratch: &Scratch, thread: &str) -> anyhow::Result<Vec<String>> {
    let db = Connection::open(scratch.home().join("sessions.db"))?;
    let of = "thread = (SELECT number FROM threads WHERE id = ?1)";
    let queries = [
        "SELECT json_array(summary, tenant, workspace, client_id, updated_at, archived, created_at, active_at,
            directory) FROM threads WHERE id = ?1".to_owned(),
        format!("SELECT json_array(last_seq, unfinished, CAST(state AS TEXT)) FROM thread_state WHERE {of}"),
        format!("SELECT json_array(ordinal, message, seq) FROM entries WHERE {of} ORDER BY ordinal"),
        format!(
            "SELECT json_array(number, turn, first_seq, first_ordinal, started_at, last_seq, last_ordinal, ended_at,
                outcome) FROM turns WHERE {of} ORDER BY number"
        ),
        format!("SELECT json_array(kind, client_id, hex(hash), answer) FROM receipts WHERE {of} ORDER BY 1"),
        "SELECT json_array(kind, id, CAST(value AS TEXT)) FROM records WHERE kind <> 'grant' AND ?1 <> ''
            ORDER BY kind, id".to_owned(),
    ];
    let mut rows = Vec::new();
    for query in queries {
        let mut query = db.prepare(&query)?;
        let found = query.query_map([thread], |row| row.get::<_, String>(0))?;
        let found: Vec<String> = found.collect::<Result<_, _>>()?;
        ensure!(!found.is_empty(), "nothing to compare");
        rows.push(found.join("\n"));
    }
    Ok(rows)
}

/// The folder that a request made.
fn folder_id(guest: &Guest, request: u32) -> anyhow::Result<String> {
    let id = request.to_string();
    let frames = guest.frames.iter();
    let mut frames = frames.filter_map(|frame| serde_json::from_str::<Value>(frame).ok());
    let answer = frames.find(|frame| frame["id"] == id && frame.get("result").is_some());
    let answer = answer.context("an answer")?;
    let result = &answer["result"];
    let folder = [
        &result["folder"]["folder_id"],
        &result["folder"]["id"],
        &result["folder_id"],
    ];
    let folder = folder.iter().find_map(|it| it.as_str());
    Ok(folder
        .with_context(|| format!("no folder: {answer}"))?
        .to_owned())
}

type Frames = BTreeMap<&'static str, Vec<Value>>;

/// What clients of every dialect see of a thread, and which fields differ each time.
struct Seen {
    frames: Frames,
    volatile: BTreeSet<String>,
}

impl Seen {
    async fn twice(launch: &Launch, thread: &str, other: &str) -> anyhow::Result<Self> {
        let frames = look(launch, thread, other).await?;
        let again = look(launch, thread, other).await?;
        let mut volatile = BTreeSet::new();
        for (name, frames) in &frames {
            for (place, before, after) in differences(name, frames, &again[name])? {
                let field = place
                    .rsplit('/')
                    .find(|part| part.parse::<usize>().is_err());
                let field = field.unwrap_or_default();
                ensure!(VOLATILE.contains(&field), "{place}: {before} and {after}");
                volatile.insert(place);
            }
        }
        Ok(Self { frames, volatile })
    }

    async fn is_the_same(&self, launch: &Launch, thread: &str, other: &str) -> anyhow::Result<()> {
        let again = look(launch, thread, other).await?;
        for (name, frames) in &self.frames {
            for (place, before, after) in differences(name, frames, &again[name])? {
                let is_volatile = self.volatile.contains(&place);
                ensure!(is_volatile, "{place}: {before}, and now {after}");
            }
        }
        Ok(())
    }
}

/// Each dialect's client comes to a server of its own, reads the thread and the lists.
async fn look(launch: &Launch, thread: &str, other: &str) -> anyhow::Result<Frames> {
    let mut seen = BTreeMap::new();
    for language in LANGUAGES {
        let mut server = Process::start(launch).await?;
        // One that makes its session with its connection knows no other.
        let joined = (language.name != HOST).then_some(thread);
        let mut guest = Guest::seat(language, &server, joined).await?;
        for deed in [Deed::Read, Deed::List] {
            if joined.is_some() && guest.tongue.say(&deed)?.is_some() {
                guest.say(&deed).await?;
                let read = guest.hear(&Signal::Done).await;
                read.with_context(|| format!("{} {deed:?}", language.name))?;
            }
        }
        if language.name == "codex" {
            let params = json!({ "archived": true, "limit": 25 });
            let list = json!({ "id": 902, "method": "thread/list", "params": params });
            guest.client.send_json(&list).await?;
            let answer = guest.client.until(|frame| frame["id"] == 902).await?;
            ensure!(answer.to_string().contains(other), "{answer}");
            guest.frames.push(answer.to_string());
        }
        let tongue = &guest.tongue;
        let own = guest.frames.iter().filter(|frame| !tongue.aside(frame));
        let own = own.map(|frame| serde_json::from_str(frame));
        let mut own: Vec<Value> = own.collect::<Result<_, _>>()?;
        own.retain(|frame| frame["type"] != OF_CHECKPOINTS);
        if joined.is_some() {
            let all = serde_json::to_string(&own)?;
            ensure!(
                all.contains("It is changed."),
                "{}: no history",
                language.name
            );
            ensure!(all.contains(TITLE), "{}: no title", language.name);
            ensure!(
                !all.contains("Forget this"),
                "{}: not reverted",
                language.name
            );
            seen.insert(language.name, own);
        }
        drop(guest);
        server.terminate().await?;
    }
    Ok(seen)
}

type Difference = (String, String, String);

/// Where frames differ, by their path; there must be as many of them.
fn differences(name: &str, one: &[Value], two: &[Value]) -> anyhow::Result<Vec<Difference>> {
    let kinds = |frames: &[Value]| {
        let kind = |frame: &Value| format!("{}{}", frame["type"], frame["method"]);
        frames.iter().map(kind).collect::<Vec<_>>()
    };
    ensure!(
        kinds(one) == kinds(two),
        "{name}: {:?} and {:?}",
        kinds(one),
        kinds(two)
    );
    let mut found = Vec::new();
    for (place, (one, two)) in one.iter().zip(two).enumerate() {
        compare(&format!("{name}/{place}"), one, two, &mut found);
    }
    Ok(found)
}

fn compare(place: &str, one: &Value, two: &Value, found: &mut Vec<Difference>) {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) if one.keys().eq(two.keys()) => {
            for (key, value) in one {
                compare(&format!("{place}/{key}"), value, &two[key], found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (number, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{place}/{number}"), one, two, found);
            }
        }
        (one, two) if one == two => {}
        (one, two) => found.push((place.to_owned(), one.to_string(), two.to_string())),
    }
}
