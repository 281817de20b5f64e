//! Defaults of a project, over real sockets and a restart.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::{DRAGOMAN, tell};

const LIMIT: Duration = Duration::from_secs(60);

/// What a socket is greeted with: `config`, `enableMcp` and the runtime configuration.
async fn greeting(client: &mut Client) -> anyhow::Result<(String, Value)> {
    let hello = client.until_type("server_hello").await?;
    let settings = client.until_type("session_settings").await?;
    let config = client.until_type("session_config").await?;
    let session = hello["sessionId"].as_str().unwrap_or_default().to_owned();
    let told = json!({
        "provider": hello["config"]["provider"],
        "model": hello["config"]["model"],
        "output": hello["config"]["outputDirectory"],
        "mcp": settings["enableMcp"],
        "sub": config["config"]["subAgentModel"],
        "observed": config["config"]["observabilityEnabled"],
    });
    Ok((session, told))
}

async fn greeted(server: &Process) -> anyhow::Result<Value> {
    let mut client = Client::connect(server.url()).await?;
    Ok(greeting(&mut client).await?.1)
}

#[test]
fn a_second_socket_is_greeted_with_what_the_first_one_set() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        scratch.write(".agent/config.json", r#"{"outputDirectory": "results"}"#)?;
        // The environment names no model, and the user's settings only the usual one.
        let launch = Launch::new(DRAGOMAN, &scratch).variable("DRAGOMAN_MODEL", "");
        let config = scratch.home().join("config");
        std::fs::create_dir_all(&config)?;
        std::fs::write(
            config.join("config.toml"),
            "model = \"rehearsal/rehearsal-1\"\n",
        )?;
        let mut server = Process::start(&launch).await?;
        let mut first = Client::connect(server.url()).await?;
        let (session, told) = greeting(&mut first).await?;
        ensure!(told["model"] == "rehearsal/rehearsal-1", "{told}");
        let output = told["output"].as_str().unwrap_or_default().to_owned();
        ensure!(output.ends_with("/results"), "{told}");
        for (kind, mut fields) in [
            (
                "set_model",
                json!({ "provider": "openai", "model": "gpt-5.1" }),
            ),
            ("set_enable_mcp", json!({ "enableMcp": false })),
            (
                "set_config",
                json!({ "config": { "subAgentModel": "gpt-5-mini", "observabilityEnabled": false } }),
            ),
        ] {
            fields["type"] = json!(kind);
            fields["sessionId"] = json!(session);
            first.send_json(&fields).await?;
        }
        first.until_type("session_config").await?;
        // Answered once all before it is done, the writing included.
        let read = json!({ "type": "get_messages", "sessionId": session });
        first.send_json(&read).await?;
        first.until_type("messages").await?;
        let expected = json!({
            "provider": "openai",
            "model": "gpt-5.1",
            "output": output,
            "mcp": false,
            "sub": "gpt-5-mini",
            "observed": false,
        });
        let told = greeted(&server).await?;
        ensure!(told == expected, "{told}");
        server.restart().await?;
        let told = greeted(&server).await?;
        ensure!(told == expected, "after a restart: {told}");
        // A file that is broken changes nothing for the session that is open.
        scratch.write(".cowork/config.json", "{ broken")?;
        let mut third = Client::connect(server.url()).await?;
        let (session, _) = greeting(&mut third).await?;
        let set =
            json!({ "type": "set_model", "sessionId": session, "model": "rehearsal/rehearsal-1" });
        third.send_json(&set).await?;
        let updated = third.until_type("config_updated").await?;
        ensure!(
            updated["config"]["model"] == "rehearsal/rehearsal-1",
            "{updated}"
        );
        let error = third.until_type("error").await?;
        ensure!(error["code"] == "internal_error", "{error}");
        ensure!(scratch.read(".cowork/config.json") == "{ broken");
        Ok(())
    });
}
