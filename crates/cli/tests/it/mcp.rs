//! `dragoman mcp` as its user meets it: files, tables, JSON, exit codes.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::{DRAGOMAN, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(90);
const CREDENTIALS: &str = ".cowork/auth/mcp-credentials.json";

struct McpRun {
    ok: bool,
    out: String,
    err: String,
}

async fn mcp(scratch: &Scratch, words: &[&str], input: &str) -> anyhow::Result<McpRun> {
    let mut child = Command::new(DRAGOMAN)
        .arg("mcp")
        .args(words)
        .current_dir(scratch.workspace())
        .env_clear()
        .env("HOME", scratch.user())
        .env("DRAGOMAN_HOME", scratch.home())
        .env("TOKEN", "from-the-environment")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await?;
    }
    let output = child.wait_with_output().await?;
    Ok(McpRun {
        ok: output.status.success(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

#[tokio::test]
async fn servers_are_added_shown_and_removed() -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let empty = mcp(&scratch, &[], "").await?;
    ensure!(empty.ok && empty.out.starts_with("No MCP server is configured here."));

    let words = [
        "add", "files", "--env", "TOKEN", "--", "npx", "-y", "server", ".",
    ];
    let added = mcp(&scratch, &words, "").await?;
    ensure!(added.ok, "{}", added.err);
    ensure!(!added.out.contains("from-the-environment"), "{}", added.out);
    let path = scratch.workspace().join(".cowork/mcp-servers.json");
    let file: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let transport = json!({
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "server", "."],
        "env": { "TOKEN": "from-the-environment" },
    });
    let expected = json!({ "servers": [{ "name": "files", "transport": transport }] });
    assert_eq!(file, expected);
    assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);

    let words = [
        "add",
        "grep",
        "--url",
        "https://mcp.example",
        "--auth",
        "api-key",
        "--user",
    ];
    ensure!(mcp(&scratch, &words, "").await?.ok);
    let shown = mcp(&scratch, &["list"], "").await?;
    let table = "NAME   FROM       RUNS OR REACHES      SIGN-IN\n\
                 files  workspace  npx -y server .      -\n\
                 grep   user       https://mcp.example  API key required.\n";
    assert_eq!((shown.ok, shown.out.as_str()), (true, table));

    let shown = mcp(&scratch, &["list", "--json"], "").await?;
    ensure!(!shown.out.contains("from-the-environment"), "{}", shown.out);
    let shown: Value = serde_json::from_str(&shown.out)?;
    assert_eq!(shown["servers"][0]["transport"]["env"], json!(["TOKEN"]));
    assert_eq!(shown["servers"][1]["authMode"], "missing");

    let refused = mcp(&scratch, &["remove", "grep"], "").await?;
    ensure!(
        !refused.ok && refused.err.contains("Add --user"),
        "{}",
        refused.err
    );
    ensure!(mcp(&scratch, &["remove", "grep", "--user"], "").await?.ok);
    ensure!(mcp(&scratch, &["remove", "files"], "").await?.ok);
    let unknown = mcp(&scratch, &["remove", "files"], "").await?;
    ensure!(!unknown.ok && unknown.err.contains("MCP server \"files\" not found."));
    Ok(())
}

#[tokio::test]
async fn a_key_is_saved_for_its_scope_and_shown_to_nobody() -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    // Nothing listens there: the key is saved, and the check says that the server does not work.
    let words = [
        "add",
        "a",
        "--url",
        "http://127.0.0.1:1/",
        "--auth",
        "api-key",
        "--user",
    ];
    ensure!(mcp(&scratch, &words, "").await?.ok);
    let saved = mcp(&scratch, &["login", "a", "--key-stdin"], "sk-secret\n").await?;
    ensure!(
        !saved.ok && saved.out.starts_with("API key saved.\n"),
        "{}",
        saved.err
    );
    ensure!(!format!("{}{}", saved.out, saved.err).contains("sk-secret"));
    let path = scratch.home().join("auth/mcp-credentials.json");
    assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);
    let file: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    assert_eq!(file["servers"]["a"]["apiKey"]["value"], "sk-secret");
    let shown = mcp(&scratch, &["--json"], "").await?;
    ensure!(!shown.out.contains("sk-secret"));
    let shown: Value = serde_json::from_str(&shown.out)?;
    assert_eq!(shown["servers"][0]["authMode"], "api_key");
    Ok(())
}

#[tokio::test]
async fn what_came_with_a_workspace_is_not_run_by_looking_around() -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let words = ["add", "touch", "--", "touch", "was-run"];
    ensure!(mcp(&scratch, &words, "").await?.ok);
    let checked = mcp(&scratch, &["check"], "").await?;
    ensure!(
        checked.ok && checked.out == "There is nothing to check.\n",
        "{}",
        checked.err
    );
    ensure!(
        checked.err.contains("`dragoman mcp check touch` runs it"),
        "{}",
        checked.err
    );
    ensure!(!scratch.workspace().join("was-run").exists());

    std::fs::write(scratch.workspace().join(".cowork/mcp-servers.json"), "{")?;
    let shown = mcp(&scratch, &[], "").await?;
    ensure!(shown.ok && shown.err.contains("Ignoring malformed workspace config"));
    let refused = mcp(&scratch, &words, "").await?;
    ensure!(!refused.ok && refused.err.contains("is malformed and was not changed"));
    Ok(())
}

/// One story over a socket, from a legacy file to an empty one of ours.
#[test]
fn a_client_looks_after_the_servers_of_its_workspace() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let legacy = json!({ "servers": [entry("old", "http://127.0.0.1:1/")] });
        let directory = scratch.workspace().join(".agent");
        std::fs::create_dir(&directory)?;
        std::fs::write(directory.join("mcp-servers.json"), legacy.to_string())?;
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        let mut visitor = Visitor::arrive(&server).await?;

        visitor.send("mcp_servers_get", json!({})).await?;
        let servers = visitor.client.until_type("mcp_servers").await?;
        assert_eq!(servers["servers"][0]["source"], "workspace_legacy");
        assert_eq!(servers["legacy"]["workspace"]["exists"], true);

        let migrate = json!({ "scope": "workspace" });
        visitor.send("mcp_servers_migrate_legacy", migrate).await?;
        let said = visitor.client.until_type("assistant_message").await?;
        let text = said["text"].as_str().unwrap_or_default();
        ensure!(text.contains("1 imported"), "{text}");
        let servers = visitor.client.until_type("mcp_servers").await?;
        assert_eq!(servers["servers"][0]["source"], "workspace");

        let renamed =
            json!({ "server": entry("new", "http://127.0.0.1:2/"), "previousName": "old" });
        visitor.send("mcp_server_upsert", renamed).await?;
        let servers = visitor.client.until_type("mcp_servers").await?;
        assert_eq!(servers["servers"].as_array().map(Vec::len), Some(1));
        assert_eq!(servers["servers"][0]["name"], "new");
        // Nothing listens there.
        let tried = visitor.client.until_type("mcp_server_validation").await?;
        assert_eq!(
            (&tried["name"], &tried["ok"]),
            (&json!("new"), &json!(false))
        );

        let key = json!({ "name": "new", "apiKey": "sk-secret" });
        visitor.send("mcp_server_auth_set_api_key", key).await?;
        let result = visitor.client.until_type("mcp_server_auth_result").await?;
        assert_eq!(
            (&result["ok"], &result["mode"]),
            (&json!(true), &json!("api_key"))
        );
        let tried = visitor.client.until_type("mcp_server_validation").await?;
        assert_eq!(tried["name"], "new");

        visitor
            .send("mcp_server_validate", json!({ "name": "old" }))
            .await?;
        let error = visitor.client.until_type("error").await?;
        assert_eq!(error["message"], "MCP server \"old\" not found.");
        let tried = visitor.client.until_type("mcp_server_validation").await?;
        assert_eq!(tried["mode"], "error");

        visitor
            .send("mcp_server_delete", json!({ "name": "new" }))
            .await?;
        let servers = visitor.client.until_type("mcp_servers").await?;
        assert_eq!(servers["servers"], json!([]));
        let heard = visitor.client.heard().join("\n");
        ensure!(!heard.contains("sk-secret"), "a key was told");
        let kept = std::fs::read_to_string(scratch.workspace().join(CREDENTIALS))?;
        ensure!(!kept.contains("sk-secret"), "a key outlived its server");
        Ok(())
    });
}

fn entry(name: &str, url: &str) -> Value {
    let transport = json!({ "type": "http", "url": url });
    json!({ "name": name, "transport": transport, "auth": { "type": "api_key" } })
}
