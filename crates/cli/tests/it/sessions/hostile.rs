//! Files that are not what our own programs write: each is refused with its place, and leaves nothing.

use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};
use tokio::io::AsyncWriteExt as _;

use super::{LIMIT, badly, exported, json as said_json, sessions, spoken, well};
use crate::{DRAGOMAN, Visitor, tell};

/// More events than are held in memory, so that an import is staged.
const MANY_EVENTS: u64 = 6_000;

/// A line of the file, changed.
fn edited(
    lines: &[String],
    place: usize,
    edit: impl FnOnce(&mut Value),
) -> anyhow::Result<Vec<u8>> {
    let mut lines = lines.to_vec();
    let mut line: Value = serde_json::from_str(&lines[place])?;
    edit(&mut line);
    lines[place] = line.to_string();
    Ok(joined(&lines))
}

fn joined(lines: &[String]) -> Vec<u8> {
    format!("{}\n", lines.join("\n")).into_bytes()
}

/// Files that are wrong, and what is said of each.
fn wrong_files(lines: &[String], home: &str) -> anyhow::Result<Vec<(Vec<u8>, &'static str)>> {
    let whole = joined(lines);
    let last = lines.len() - 1;
    let without = |place: usize| {
        let mut lines = lines.to_vec();
        lines.remove(place);
        joined(&lines)
    };
    let mut swapped = lines.to_vec();
    swapped.swap(2, 3);
    let mut doubled = lines.to_vec();
    doubled.push(lines[last].clone());
    let mut raw = whole.clone();
    let place = raw
        .iter()
        .position(|byte| *byte == b'\n')
        .context("a line")?;
    raw[place + 20] = 0xff;
    let mut huge = joined(&lines[..2]);
    huge.resize(huge.len() + (65 << 20), b'x');
    Ok(vec![
        (Vec::new(), "line 1: the file is empty"),
        (
            b"Dear diary\n".to_vec(),
            "line 1: this is no exported session",
        ),
        (
            edited(lines, 0, |it| it["version"] = json!(9))?,
            "line 1: the file is of version 9",
        ),
        (
            edited(lines, 0, |it| it["dragoman"] = json!("tenant"))?,
            "line 1: this is an exported tenant",
        ),
        (
            edited(lines, 0, |it| it["extra"] = json!(1))?,
            "line 1: this is no header of an exported session: unknown field `extra`",
        ),
        (
            edited(lines, 0, |it| it["highWater"] = json!(1))?,
            "line 1: `highWater` is below",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["title"]["text"] = json!("Another")
            })?,
            "line 1: `thread.title` is not what the events come to",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["card"]["tenant"] = json!("acme")
            })?,
            "line 1: the session belongs to tenant `acme`",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["card"]["directory"] = json!("../elsewhere")
            })?,
            "line 1: `thread.card.directory` must be an absolute path",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["card"]["directory"] = json!("/a/../etc")
            })?,
            "line 1: `thread.card.directory` must be an absolute path",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["card"]["directory"] = json!(home)
            })?,
            "line 1: `thread.card.directory` lies in the data directory",
        ),
        (
            edited(lines, 0, |it| {
                it["thread"]["card"]["id"] = json!("00000000-0000-7000-8000-000000000001")
            })?,
            "line 2: this session is not the one that the first line names",
        ),
        (
            edited(
                lines,
                0,
                |it| it["place"] = json!({"folders": [{"id": "a", "workspace": "w", "name": "n", "created_at": 1, "updated_at": 1}]}),
            )?,
            "line 1: `place.folders` do not lie in each other",
        ),
        (
            edited(lines, 2, |it| it["at"] = json!(-5))?,
            "line 3: `at` is no time",
        ),
        (
            edited(lines, 2, |it| {
                it.as_object_mut().map(|it| it.remove("seq"));
            })?,
            "line 3: an event has `seq` and `at`",
        ),
        (
            edited(lines, 2, |it| {
                it["event"] = json!({"v": 2, "fact": {"turn": {"danced": {}}}})
            })?,
            "line 3: this program does not understand this event",
        ),
        (
            edited(lines, 2, |it| {
                it["event"] = json!({"v": 9, "fact": {"turn": {"danced": {}}}})
            })?,
            "line 3: this program does not understand this event",
        ),
        (
            edited(lines, 2, |it| {
                it["event"] = json!({"v": 2, "fact": {"note": {"logged": {"line": "x"}}}})
            })?,
            "line 3: an event of this kind is in no log",
        ),
        (
            edited(lines, 2, |it| {
                it["event"]["fact"]["turn"]["started"]["input"]["images"] =
                    json!([{"path": "/etc/passwd"}])
            })?,
            "line 3: a picture is in the log itself",
        ),
        (
            edited(
                lines,
                3,
                |it| it["event"] = json!({"v": 2, "fact": {"thread": {"reverted": {"point": {"turn": "t", "number": 7, "seq": 1, "entry": 99, "message_count": 0}}}}}),
            )?,
            "line 4: it takes back turns that are not there",
        ),
        (
            edited(lines, 3, |it| {
                it["event"] =
                    serde_json::from_str::<Value>(&lines[1]).unwrap_or_default()["event"].clone()
            })?,
            "line 4: a session is created only once",
        ),
        (
            edited(lines, last, |it| it["end"]["events"] = json!(3))?,
            "the file is not whole",
        ),
        (joined(&swapped), "comes after event"),
        (joined(&doubled), "there is more behind the end"),
        (
            without(1),
            "line 2: the first event is the session's creation",
        ),
        (
            without(last),
            "the file is cut off: its last line is missing",
        ),
        (
            whole[..whole.len() / 2].to_vec(),
            "the file is cut off in the middle of this line",
        ),
        (raw, "line 2: byte 20 is not UTF-8"),
        (huge, "line 3: the line has more than 64 MiB"),
    ])
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_place_and_leaves_nothing() {
    tell(LIMIT, async {
        let (scratch, session) = spoken(&["echo one", "echo two"]).await?;
        let file = exported(&scratch, &session).await?;
        well(&scratch, &["delete", &session, "--yes"]).await?;
        let lines: Vec<String> = std::fs::read_to_string(&file)?
            .lines()
            .map(str::to_owned)
            .collect();
        let home = scratch.home().join("config").to_string_lossy().into_owned();
        let folder = scratch.user().join("wrong");
        std::fs::create_dir(&folder)?;
        let files = wrong_files(&lines, &home)?;
        for (number, (bytes, _)) in files.iter().enumerate() {
            std::fs::write(folder.join(format!("{number:03}.jsonl")), bytes)?;
        }
        // What a link names was not put there.
        std::os::unix::fs::symlink(&file, folder.join("999.jsonl"))?;
        let from = folder.to_string_lossy().into_owned();
        let said = badly(&scratch, &["import", "--from", &from]).await?;
        let told: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("not taken over"))
            .collect();
        assert_eq!(told.len(), files.len(), "{said}");
        for (number, (line, (_, why))) in told.iter().zip(&files).enumerate() {
            ensure!(
                line.contains(&format!("{number:03}.jsonl: ")) && line.contains(why),
                "expected `{why}`, got: {line}"
            );
        }
        ensure!(said.contains("0 sessions taken over."), "{said}");
        assert_eq!(rows(&scratch)?, 0);
        let dry = said_json(
            &scratch,
            &["import", "--from", &file.to_string_lossy(), "--dry-run"],
        )
        .await?;
        assert_eq!((&dry["taken"], rows(&scratch)?), (&json!([session]), 0));
        Ok(())
    });
}

/// How many threads there are, hidden ones too.
fn rows(scratch: &Scratch) -> anyhow::Result<i64> {
    let db = Connection::open(scratch.home().join("sessions.db"))?;
    Ok(db.query_row("SELECT count(*) FROM threads", [], |row| row.get(0))?)
}

/// The same session, with many more events that change nothing.
fn lengthened(text: &str) -> anyhow::Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut header: Value = serde_json::from_str(&lines[0])?;
    let first = header["lastSeq"].as_u64().context("a number")? + 1;
    let events = lines
        .iter()
        .filter(|line| line.starts_with("{\"seq\""))
        .count();
    let at = header["thread"]["updated_at"].clone();
    let more = (first..first + MANY_EVENTS).map(|seq| {
        format!("{{\"seq\":{seq},\"at\":{at},\"event\":{{\"v\":2,\"fact\":{{\"thread\":{{\"archived\":{{\"archived\":false}}}}}}}}}}")
    });
    lines.splice(events + 1..events + 1, more);
    header["lastSeq"] = json!(first + MANY_EVENTS - 1);
    header["highWater"] = json!(first + MANY_EVENTS + 1_000);
    lines[0] = header.to_string();
    let last = lines.len() - 1;
    let mut end: Value = serde_json::from_str(&lines[last])?;
    end["end"]["events"] = json!(events as u64 + MANY_EVENTS);
    lines[last] = end.to_string();
    Ok(format!("{}\n", lines.join("\n")))
}

#[test]
fn a_long_session_is_staged_and_a_killed_import_leaves_nothing_to_see() {
    tell(LIMIT, async {
        let (scratch, session) = spoken(&["echo one"]).await?;
        let file = exported(&scratch, &session).await?;
        well(&scratch, &["delete", &session, "--yes"]).await?;
        let long = lengthened(&std::fs::read_to_string(&file)?)?;
        let half = &long[..long.len() / 10 * 9];

        let mut command = sessions(&scratch, &["import", "--from", "-"]);
        let mut importing = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut input = importing.stdin.take().context("its input")?;
        input.write_all(half.as_bytes()).await?;
        input.flush().await?;
        while rows(&scratch)? == 0 {
            tokio::task::yield_now().await;
        }
        importing.kill().await?;
        let listed = said_json(&scratch, &["list", "--archived", "--all"]).await?;
        assert_eq!(listed, json!({ "sessions": [] }));
        // What it staged goes when a server comes.
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        while rows(&scratch)? > 0 {
            tokio::task::yield_now().await;
        }
        let mut control = Visitor::arrive(&server).await?;
        assert_eq!(control.list().await?, Vec::<String>::new());

        // Whole, while that server runs: it is there at once, as long as it is.
        let place = scratch.user().join("long.jsonl");
        std::fs::File::create(&place)?.write_all(long.as_bytes())?;
        let from = place.to_string_lossy().into_owned();
        well(&scratch, &["import", "--from", &from]).await?;
        assert_eq!(rows(&scratch)?, 1);
        assert_eq!(control.list().await?, std::slice::from_ref(&session));
        let again = std::fs::read_to_string(exported(&scratch, &session).await?)?;
        ensure!(again == long, "the file is another one");
        let mut visitor = Visitor::resume(&server, &session).await?;
        assert_eq!(visitor.converse("echo on").await?, "on");
        server.terminate().await?;
        Ok(())
    });
}
