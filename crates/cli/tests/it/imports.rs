//! Sessions of another program: snapshots at start, a database on request; nobody starts from zero.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};

use crate::{DRAGOMAN, Visitor, command, tell};

const LIMIT: Duration = Duration::from_secs(60);
const FIRST: &str = "6f1c2a9e-1111-4222-8333-444455556666";
const SECOND: &str = "6f1c2a9e-1111-4222-8333-444455557777";

/// Runs `dragoman`; says whether it ended well, and all that it said.
pub async fn dragoman(scratch: &Scratch, words: &[&str]) -> anyhow::Result<(bool, String)> {
    let output = command::run(scratch, words).await?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8(said)?))
}

fn messages() -> Value {
    json!([
        {"role": "user", "content": "what is here?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool-call", "toolCallId": "call-1", "toolName": "bash", "input": {"command": "ls"}},
        ]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "call-1", "toolName": "bash",
            "output": {"type": "text", "value": "notes.txt"}, "isError": false}]},
        {"role": "assistant", "content": [{"type": "text", "text": "A file of notes."}]},
    ])
}

/// A file as the other program's older versions wrote it.
fn snapshot(scratch: &Scratch, id: &str) -> Value {
    json!({
        "version": 1, "sessionId": id,
        "createdAt": "2026-02-19T18:00:00.000Z", "updatedAt": "2026-02-19T18:05:00.000Z",
        "session": {
            "title": "Looking around", "titleSource": "manual", "titleModel": null,
            "provider": "openai", "model": "gpt-5.2", "enableMcp": false,
            "workingDirectory": scratch.workspace(),
        },
        "context": {
            "system": "", "messages": messages(),
            "todos": [{"content": "Read", "status": "pending", "activeForm": "Reading"}],
        },
    })
}

fn write_snapshots(scratch: &Scratch) -> anyhow::Result<()> {
    let folder = scratch.home().join("sessions");
    std::fs::create_dir_all(&folder)?;
    for id in [FIRST, "not-a-uuid"] {
        let text = snapshot(scratch, id).to_string();
        std::fs::write(folder.join(format!("{id}.json")), text)?;
    }
    Ok(std::fs::write(
        folder.join("torn.json"),
        "{\"sessionId\": \"t",
    )?)
}

/// A database as the other program makes it, its newest session only in its log.
fn write_database(path: &Path, workspace: &Path) -> anyhow::Result<Connection> {
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE sessions (session_id TEXT PRIMARY KEY, title TEXT, title_source TEXT,
            title_model TEXT, provider TEXT, model TEXT, working_directory TEXT, output_directory TEXT,
            uploads_directory TEXT, enable_mcp INTEGER, created_at TEXT, updated_at TEXT, status TEXT,
            has_pending_ask INTEGER, has_pending_approval INTEGER, message_count INTEGER,
            last_event_seq INTEGER);
         CREATE TABLE session_state (session_id TEXT PRIMARY KEY, system_prompt TEXT, messages_json TEXT,
            todos_json TEXT, harness_context_json TEXT);
         PRAGMA wal_checkpoint(TRUNCATE);",
    )?;
    for id in [FIRST, SECOND] {
        let row = "INSERT INTO sessions (session_id, title, title_source, provider, model,
            working_directory, enable_mcp, created_at, updated_at, status)
            VALUES (?1, 'From the database', 'model', 'google', 'gemini', ?2, 1,
            '2026-02-19T18:00:00.000Z', '2026-02-19T18:05:00.000Z', 'active')";
        db.execute(row, [id, &workspace.to_string_lossy()])?;
        let state = "INSERT INTO session_state VALUES (?1, 'prompt', ?2, '[]', NULL)";
        db.execute(state, [id, &messages().to_string()])?;
    }
    Ok(db)
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for file in folder.read_dir()? {
        let file = file?.path();
        found.push((file.display().to_string(), std::fs::read(&file)?));
    }
    found.sort();
    Ok(found)
}

/// The history that a client is told, without what belongs to the server alone.
async fn history(visitor: &mut Visitor) -> anyhow::Result<Value> {
    visitor.send("get_messages", json!({})).await?;
    let told = visitor.client.until_type("messages").await?;
    Ok(told["messages"].clone())
}

#[test]
fn snapshots_are_imported_once_at_start_and_never_altered() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        write_snapshots(&scratch)?;
        let before = contents(&scratch.home().join("sessions"))?;
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        let mut control = Visitor::arrive(&server).await?;
        // In the background: the server answers at once.
        while control.list().await?.len() < 2 {
            tokio::task::yield_now().await;
        }
        let mut visitor = Visitor::resume(&server, FIRST).await?;
        assert_eq!(visitor.hello["isResume"], true);
        assert_eq!(visitor.hello["resumedFromStorage"], true);
        assert_eq!(visitor.hello["messageCount"], 4, "{}", visitor.hello);
        assert_eq!(history(&mut visitor).await?, messages());
        // It goes on as any other does.
        let model = json!({ "provider": "openai", "model": "rehearsal/rehearsal-1" });
        visitor.send("set_model", model).await?;
        assert_eq!(visitor.converse("echo on").await.context("a turn")?, "on");
        let delete = json!({ "targetSessionId": FIRST });
        control.send("delete_session", delete).await?;
        control.client.until_type("session_deleted").await?;
        server.restart().await?;
        let mut control = Visitor::arrive(&server).await?;
        // What follows is behind the import in the log.
        control.converse("echo again").await?;
        let listed = control.list().await?;
        ensure!(!listed.contains(&FIRST.to_owned()), "deleted and back");
        assert_eq!(contents(&scratch.home().join("sessions"))?, before);
        Ok(())
    });
}

#[test]
fn another_programs_database_is_taken_over_on_request_and_never_altered() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let foreign = scratch.user().join("foreign");
        std::fs::create_dir(&foreign)?;
        let path = foreign.join("sessions.db");
        // Its program runs.
        let _open = write_database(&path, scratch.workspace())?;
        let before = contents(&foreign)?;
        let from = path.to_string_lossy().into_owned();
        let import = ["sessions", "import", "--from", &from, "--json"];
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        let mut control = Visitor::arrive(&server).await?;

        let (_, said) = dragoman(&scratch, &[&import[..], &["--dry-run"]].concat()).await?;
        let told: Value = serde_json::from_str(&said)?;
        assert_eq!(told["taken"], json!([FIRST, SECOND]));
        assert_eq!(control.list().await?, Vec::<String>::new());

        for taken in [json!([FIRST, SECOND]), json!([])] {
            let (well, said) = dragoman(&scratch, &import).await?;
            ensure!(well, "{said}");
            let told: Value = serde_json::from_str(&said)?;
            assert_eq!(told["taken"], taken, "{said}");
        }
        assert_eq!(contents(&foreign)?, before);
        let mut listed = control.list().await?;
        listed.sort();
        assert_eq!(listed, [FIRST, SECOND]);
        let mut visitor = Visitor::resume(&server, SECOND).await?;
        assert_eq!(history(&mut visitor).await?, messages());
        let (well, said) = dragoman(&scratch, &["sessions"]).await?;
        ensure!(
            well && said.contains(&FIRST[FIRST.len() - 6..]) && said.contains("From the database"),
            "{said}"
        );
        Ok(())
    });
}

#[test]
fn a_foreign_database_in_the_data_directory_stays_and_the_way_over_is_said() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        std::fs::create_dir_all(scratch.home())?;
        let path = scratch.home().join("sessions.db");
        drop(write_database(&path, scratch.workspace())?);
        let before = std::fs::read(&path)?;
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        Visitor::arrive(&server)
            .await?
            .converse("echo ours")
            .await?;
        let log = server.log();
        ensure!(log.contains("dragoman sessions import --from"), "{log}");
        let home = scratch.home().to_string_lossy().into_owned();
        let (well, said) = dragoman(&scratch, &["sessions", "import", "--from", &home]).await?;
        ensure!(well && said.contains("2 sessions taken over"), "{said}");
        assert_eq!(std::fs::read(&path)?, before);
        let (well, said) =
            dragoman(&scratch, &["sessions", "import", "--from", "/nowhere"]).await?;
        ensure!(
            !well && said.contains("neither a file nor a directory"),
            "{said}"
        );
        Ok(())
    });
}
