//! Every message of cowork while a turn runs: which are refused, and which are answered all the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);
/// The names of all messages, as the protocol lists them.
const NAMES: &str = "../../xtask/src/tidy/protocols/cowork_names.txt";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhileBusy {
    /// `Agent is busy`, and nothing else happens.
    Refused,
    /// As ever, with this event.
    Answered(&'static str),
    /// Nothing answers it, busy or not.
    Silent,
    /// It ends the turn, or the session with it.
    Ends,
}

use WhileBusy::{Answered, Ends, Refused, Silent};

fn table() -> Vec<(&'static str, WhileBusy, Value)> {
    let key = || json!({ "provider": "openai", "methodId": "api_key", "apiKey": "sk-0123456789" });
    let oauth = || json!({ "provider": "codex-cli", "methodId": "oauth_cli" });
    let server = || json!({ "server": { "name": "x", "transport": { "type": "stdio", "command": "true" } } });
    let named = || json!({ "name": "x" });
    let skill = || json!({ "skillName": "commit" });
    let checkpoint = || json!({ "checkpointId": "cp-0001" });
    let harness = || {
        json!({
            "runId": "run-1",
            "objective": "Wait",
            "acceptanceCriteria": [],
            "constraints": [],
        })
    };
    let none = || json!({});
    vec![
        ("client_hello", Silent, json!({ "client": "test" })),
        ("user_message", Refused, json!({ "text": "more" })),
        (
            "ask_response",
            Answered("log"),
            json!({ "requestId": "req-9", "answer": "x" }),
        ),
        (
            "approval_response",
            Answered("log"),
            json!({ "requestId": "req-9", "approved": true }),
        ),
        (
            "set_model",
            Refused,
            json!({ "model": "rehearsal/rehearsal-1" }),
        ),
        (
            "refresh_provider_status",
            Answered("provider_status"),
            none(),
        ),
        ("provider_catalog_get", Answered("provider_catalog"), none()),
        (
            "provider_auth_methods_get",
            Answered("provider_auth_methods"),
            none(),
        ),
        ("provider_auth_authorize", Refused, oauth()),
        ("provider_auth_callback", Refused, oauth()),
        ("provider_auth_set_api_key", Refused, key()),
        ("list_tools", Answered("tools"), none()),
        ("list_commands", Answered("commands"), none()),
        ("execute_command", Refused, json!({ "name": "review" })),
        ("list_skills", Answered("skills_list"), none()),
        ("read_skill", Answered("skill_content"), skill()),
        ("disable_skill", Refused, skill()),
        ("enable_skill", Refused, skill()),
        ("delete_skill", Refused, skill()),
        ("set_enable_mcp", Refused, json!({ "enableMcp": false })),
        ("mcp_servers_get", Answered("mcp_servers"), none()),
        ("mcp_server_upsert", Refused, server()),
        ("mcp_server_delete", Refused, named()),
        ("mcp_server_validate", Refused, named()),
        ("mcp_server_auth_authorize", Refused, named()),
        ("mcp_server_auth_callback", Refused, named()),
        (
            "mcp_server_auth_set_api_key",
            Refused,
            json!({ "name": "x", "apiKey": "k" }),
        ),
        (
            "mcp_servers_migrate_legacy",
            Refused,
            json!({ "scope": "workspace" }),
        ),
        ("get_messages", Answered("messages"), none()),
        (
            "set_session_title",
            Answered("session_info"),
            json!({ "title": "Busy" }),
        ),
        ("list_sessions", Answered("sessions"), none()),
        (
            "delete_session",
            Answered("session_deleted"),
            json!({ "targetSessionId": "nobody" }),
        ),
        (
            "set_config",
            Answered("session_config"),
            json!({ "config": { "maxSteps": 9 } }),
        ),
        (
            "upload_file",
            Refused,
            json!({ "filename": "a.txt", "contentBase64": "aGk=" }),
        ),
        (
            "session_backup_get",
            Answered("session_backup_state"),
            none(),
        ),
        ("session_backup_checkpoint", Refused, none()),
        ("session_backup_restore", Refused, none()),
        ("session_backup_delete_checkpoint", Refused, checkpoint()),
        ("harness_context_get", Answered("harness_context"), none()),
        (
            "harness_context_set",
            Answered("harness_context"),
            json!({ "context": harness() }),
        ),
        ("reset", Refused, none()),
        ("ping", Answered("pong"), none()),
        ("cancel", Ends, none()),
        ("session_close", Ends, none()),
    ]
}

async fn running() -> anyhow::Result<(Site, Visitor)> {
    let site = Site::open().await?;
    let mut visitor = Visitor::arrive(&site.server).await?;
    visitor.say("slow 100000").await?;
    visitor.client.until_type("model_stream_chunk").await?;
    Ok((site, visitor))
}

#[test]
fn the_table_has_every_message() {
    let names = Path::new(env!("CARGO_MANIFEST_DIR")).join(NAMES);
    let names = std::fs::read_to_string(names).expect("the names");
    let section = names.split("[cowork client]\n").nth(1).expect("a section");
    let section = section.split("\n\n").next().unwrap_or_default();
    let all: BTreeSet<&str> = section.lines().collect();
    let known: BTreeSet<&str> = table().iter().map(|row| row.0).collect();
    assert_eq!(known, all);
}

#[test]
fn a_running_turn_refuses_what_would_change_it_and_nothing_else() {
    tell(LIMIT, async {
        let (_site, mut visitor) = running().await?;
        for (kind, expected, fields) in table() {
            let wanted = match expected {
                Refused => "error",
                Answered(answer) => answer,
                Silent | Ends => continue,
            };
            visitor.send(kind, fields).await?;
            // Its own checkpoint is told later; a turn that runs tells of none.
            let meant = |frame: &Value| frame["type"] == wanted || frame["type"] == "error";
            let told = visitor.client.until(meant).await;
            let told = told.with_context(|| format!("{kind} is not answered"))?;
            ensure!(told["type"] == wanted, "{kind}: {told}");
            if expected == Refused {
                let why = (&told["message"], &told["code"], &told["source"]);
                let busy = (&json!("Agent is busy"), &json!("busy"), &json!("session"));
                ensure!(why == busy, "{kind}: {told}");
            }
        }
        visitor
            .send("client_hello", json!({ "client": "x" }))
            .await?;
        visitor.send("cancel", json!({})).await?;
        let end = visitor.rest().await?;
        assert_eq!(end["outcome"], "cancelled");
        Ok(())
    });
}

#[test]
fn closing_ends_a_running_turn() {
    tell(LIMIT, async {
        let (site, mut visitor) = running().await?;
        visitor.send("session_close", json!({})).await?;
        assert_eq!(visitor.client.until_closed().await?.code, 1000);
        let again = Visitor::resume(&site.server, &visitor.session).await?;
        assert_eq!(again.hello["isResume"], true);
        assert_eq!(again.hello["busy"], false);
        assert_eq!(again.hello["messageCount"], 2, "what was said is kept");
        Ok(())
    });
}
