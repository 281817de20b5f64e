//! A whole session as the desktop client drives it: one control socket and one socket for each thread.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Heard, Process, Scratch};

use crate::{DRAGOMAN, resume_url, tell};

const LIMIT: Duration = Duration::from_secs(90);
const MODEL: &str = "rehearsal/rehearsal-1";

/// One socket of the desktop client.
struct Desk {
    client: Client,
    session: String,
    hello: Value,
}

impl Desk {
    /// Says who it is as soon as the socket is open, and goes on at the hello: it does not wait for the rest of
    /// the greeting.
    async fn open(url: &str, name: &str) -> anyhow::Result<Self> {
        let mut client = Client::connect(url).await?;
        let hello = json!({ "type": "client_hello", "client": name, "version": "1.0.0" });
        client.send_json(&hello).await?;
        let hello = client.until_type("server_hello").await?;
        let session = hello["sessionId"].as_str().context("a session")?.to_owned();
        Ok(Self {
            client,
            session,
            hello,
        })
    }

    async fn send(&mut self, kind: &str, mut fields: Value) -> anyhow::Result<()> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(self.session);
        self.client.send_json(&fields).await
    }

    /// Hears on until it has one of this type; an error is one that nobody expects here.
    async fn until(&mut self, kind: &str) -> anyhow::Result<Value> {
        self.until_meant(kind, |_| true).await
    }

    async fn until_meant(
        &mut self,
        kind: &str,
        meant: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let wanted =
            |frame: &Value| frame["type"] == "error" || (frame["type"] == kind && meant(frame));
        let frame = self.client.until(wanted).await;
        let frame = frame.with_context(|| format!("waits for {kind}"))?;
        ensure!(frame["type"] == kind, "waits for {kind}, got {frame}");
        Ok(frame)
    }

    async fn asks(&mut self, kind: &str, fields: Value, answer: &str) -> anyhow::Result<Value> {
        self.send(kind, fields).await?;
        self.until(answer).await
    }

    async fn until_rest(&mut self) -> anyhow::Result<()> {
        let end = self.until_meant("session_busy", |frame| frame["busy"] == false);
        ensure!(end.await?["outcome"] == "completed");
        // The turn's checkpoint is told behind it.
        let kept = |frame: &Value| frame["reason"] == "auto_checkpoint";
        self.until_meant("session_backup_state", kept).await?;
        Ok(())
    }

    async fn sessions(&mut self) -> anyhow::Result<Vec<String>> {
        let answer = self.asks("list_sessions", json!({}), "sessions").await?;
        let sessions = answer["sessions"].as_array().context("sessions")?;
        let ids = sessions
            .iter()
            .filter_map(|each| each["sessionId"].as_str());
        let mut ids: Vec<String> = ids.map(str::to_owned).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn no_errors(&self) -> anyhow::Result<()> {
        let heard = self.client.heard().iter();
        let mut errors = heard.filter(|frame| frame.starts_with(r#"{"type":"error""#));
        match errors.next() {
            Some(error) => anyhow::bail!("{error}"),
            None => Ok(()),
        }
    }
}

/// The server as a desktop starts it: `--json`, any port, the desktop's variables.
async fn sidecar(scratch: &Scratch) -> anyhow::Result<Process> {
    let launch = Launch::new(DRAGOMAN, scratch)
        .variable("COWORK_DESKTOP_BUNDLE", "1")
        .variable("COWORK_BUILTIN_DIR", &scratch.user().to_string_lossy());
    Process::start(&launch).await
}

/// The control socket asks for all of this at once, and so does the terminal client for its part.
async fn control(server: &Process) -> anyhow::Result<Desk> {
    let mut control = Desk::open(server.url(), "desktop-control").await?;
    let asked = [
        ("list_skills", "skills_list"),
        ("provider_catalog_get", "provider_catalog"),
        ("provider_auth_methods_get", "provider_auth_methods"),
        ("refresh_provider_status", "provider_status"),
        ("mcp_servers_get", "mcp_servers"),
        ("list_commands", "commands"),
        ("harness_context_get", "harness_context"),
        ("list_sessions", "sessions"),
    ];
    for (kind, _) in asked {
        control.send(kind, json!({})).await?;
    }
    // The last five of the greeting come in between; who asked hears each of them again.
    control.until("session_backup_state").await?;
    control.send("ping", json!({})).await?;
    control.until("pong").await?;
    for (kind, answer) in asked {
        let begins = format!(r#"{{"type":"{answer}""#);
        let has = |desk: &Desk| {
            let mut heard = desk.client.heard().iter();
            heard.any(|frame| frame.starts_with(&begins))
        };
        while !has(&control) {
            let heard = control.client.recv().await;
            let heard = heard.with_context(|| format!("{kind} is not answered"))?;
            ensure!(matches!(heard, Heard::Frame(_)), "closed");
        }
    }
    control.no_errors()?;
    Ok(control)
}

/// A thread's socket sends its settings and the first message without waiting for anything.
async fn thread(server: &Process, number: usize) -> anyhow::Result<Desk> {
    let mut desk = Desk::open(server.url(), "desktop").await?;
    let model = json!({ "provider": "openai", "model": MODEL });
    desk.send("set_model", model).await?;
    let config = json!({ "config": { "observabilityEnabled": false, "maxSteps": 50 } });
    desk.send("set_config", config).await?;
    let mcp = json!({ "enableMcp": true });
    desk.send("set_enable_mcp", mcp).await?;
    let said = json!({
        "text": format!("echo thread {number}"),
        "clientMessageId": format!("message-{number}"),
    });
    desk.send("user_message", said).await?;
    Ok(desk)
}

async fn hears_its_turn(desk: &mut Desk, number: usize) -> anyhow::Result<()> {
    let echo = desk.until("user_message").await?;
    ensure!(echo["clientMessageId"] == format!("message-{number}"));
    let answer = desk.until("assistant_message").await?;
    ensure!(answer["text"] == format!("thread {number}"), "{answer}");
    desk.until_rest().await?;
    desk.no_errors()
}

async fn uploads(desk: &mut Desk) -> anyhow::Result<()> {
    let file = json!({ "filename": "../notes.txt", "contentBase64": "aGVsbG8=" });
    let told = desk.asks("upload_file", file, "file_uploaded").await?;
    ensure!(told["filename"] == "notes.txt", "{told}");
    let path = told["path"].as_str().context("a path")?;
    ensure!(std::fs::read_to_string(path)? == "hello", "{path}");
    Ok(())
}

async fn switches_model(desk: &mut Desk) -> anyhow::Result<()> {
    for (provider, model) in [("anthropic", "claude-opus-4-6"), ("openai", MODEL)] {
        let fields = json!({ "provider": provider, "model": model });
        let told = desk.asks("set_model", fields, "config_updated").await?;
        ensure!(told["config"]["model"] == model, "{told}");
        desk.until("provider_catalog").await?;
    }
    Ok(())
}

async fn switches_mcp(desk: &mut Desk) -> anyhow::Result<()> {
    for enabled in [false, true, false] {
        let fields = json!({ "enableMcp": enabled });
        let told = desk
            .asks("set_enable_mcp", fields, "session_settings")
            .await?;
        ensure!(told["enableMcp"] == enabled, "{told}");
    }
    Ok(())
}

async fn keeps_and_restores(desk: &mut Desk, scratch: &Scratch) -> anyhow::Result<()> {
    let file = scratch.workspace().join("plan.txt");
    std::fs::write(&file, "first")?;
    desk.send("session_backup_checkpoint", json!({})).await?;
    let kept = |frame: &Value| frame["reason"] == "manual_checkpoint";
    let told = desk.until_meant("session_backup_state", kept).await?;
    let checkpoints = told["backup"]["checkpoints"].as_array();
    let last = checkpoints.and_then(|all| all.last()).context("one")?;
    std::fs::write(&file, "second")?;
    let fields = json!({ "checkpointId": last["id"] });
    desk.send("session_backup_restore", fields).await?;
    let restored = |frame: &Value| frame["reason"] == "restore";
    desk.until_meant("session_backup_state", restored).await?;
    ensure!(std::fs::read_to_string(&file)? == "first");
    Ok(())
}

/// "Delete history": the thread's socket closes its session, and the control socket deletes it at once.
async fn closes_and_deletes(mut desk: Desk, control: &mut Desk) -> anyhow::Result<()> {
    let fields = json!({ "targetSessionId": desk.session });
    desk.send("session_close", json!({})).await?;
    control.send("delete_session", fields).await?;
    let told = control.until("session_deleted").await?;
    ensure!(told["targetSessionId"] == desk.session, "{told}");
    let closed = desk.client.until_closed().await?;
    ensure!(closed.code == 1000, "{closed}");
    Ok(())
}

#[test]
fn a_whole_session_as_the_desktop_client_drives_it() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let mut server = sidecar(&scratch).await?;
        let mut desks = control(&server).await?;
        let mut first = thread(&server, 1).await?;
        let mut second = thread(&server, 2).await?;
        let mut third = thread(&server, 3).await?;
        tokio::try_join!(
            hears_its_turn(&mut first, 1),
            hears_its_turn(&mut second, 2),
            hears_its_turn(&mut third, 3),
        )?;
        uploads(&mut first).await?;
        switches_model(&mut second).await?;
        switches_mcp(&mut third).await?;
        keeps_and_restores(&mut first, &scratch).await?;
        closes_and_deletes(second, &mut desks).await?;
        for desk in [&desks, &first, &third] {
            desk.no_errors()?;
        }
        let mut left = vec![first.session.clone(), third.session.clone()];
        left.sort_unstable();
        assert_eq!(desks.sessions().await?, left);
        let status = server.terminate().await?;
        assert_eq!(status.code(), Some(0));

        let server = sidecar(&scratch).await?;
        let mut desks = control(&server).await?;
        assert_eq!(desks.hello["config"]["model"], MODEL);
        resumes(&server, &first.session).await?;
        assert_eq!(
            desks.sessions().await?,
            left,
            "control sockets leave no rows"
        );
        let mut server = server;
        assert_eq!(server.terminate().await?.code(), Some(0));
        Ok(())
    });
}

/// What one thread chose greets the next socket, also after a restart.
#[test]
fn saved_defaults_greet_the_next_socket() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let mut server = sidecar(&scratch).await?;
        let mut first = thread(&server, 1).await?;
        hears_its_turn(&mut first, 1).await?;
        switches_mcp(&mut first).await?;
        server.terminate().await?;
        let server = sidecar(&scratch).await?;
        let desks = control(&server).await?;
        assert_eq!(desks.hello["config"]["model"], MODEL);
        let settings = |frame: &Value| frame["type"] == "session_settings";
        let saved = heard(&desks, settings).context("settings")?;
        assert_eq!(saved["enableMcp"], false, "as the thread left it");
        Ok(())
    });
}

fn heard(desk: &Desk, meant: impl Fn(&Value) -> bool) -> Option<Value> {
    let frames = desk.client.heard().iter();
    let mut frames = frames.filter_map(|frame| serde_json::from_str(frame).ok());
    frames.find(|frame| meant(frame))
}

/// From storage, with what was said and the settings that it had.
async fn resumes(server: &Process, session: &str) -> anyhow::Result<()> {
    let mut desk = Desk::open(&resume_url(server, session), "desktop").await?;
    assert_eq!(desk.session, session);
    assert_eq!(desk.hello["isResume"], true);
    assert_eq!(desk.hello["resumedFromStorage"], true);
    assert_eq!(desk.hello["messageCount"], 2);
    let config = desk.until("session_config").await?;
    assert_eq!(config["config"]["maxSteps"], 50);
    desk.send("user_message", json!({ "text": "echo again" }))
        .await?;
    let answer = desk.until("assistant_message").await?;
    assert_eq!(answer["text"], "again");
    desk.until_rest().await?;
    desk.no_errors()
}
