//! Ways to write besides the calls of a turn: external agents, reviews, a person's own commands, commands of
//! a client, forks, and terminals that were opened when more was allowed.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Desk, DeskStart, FENCES};
use crate::tell;

const LIMIT: Duration = Duration::from_secs(60);

/// An external agent that writes by itself when it starts, and through us when it is spoken to.
const AGENT: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) touch "$ALONE"; r='{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}' ;;
    *'"session/new"'*) r='{"sessionId":"s"}' ;;
    *'"session/prompt"'*)
      prompt=$id
      printf '{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{"sessionId":"s","path":"%s","content":"x"}}\n' "$MADE"
      continue ;;
    *'"id":"w"'*) printf '%s' "$line" > "$TOLD"; id=$prompt; r='{"stopReason":"end_turn"}' ;;
    *) r='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

fn plan() -> Value {
    json!({"collaborationMode": {"mode": "plan", "settings": {"model": "rehearsal-1"}}})
}

/// A desk where an external agent is known, and what it leaves.
fn with_agent(made: &Path) -> anyhow::Result<DeskStart> {
    let desk = DeskStart::new(&[])?;
    let user = desk.scratch.user();
    std::fs::write(user.join("agent.sh"), AGENT)?;
    let config = json!({"MADE": made, "ALONE": user.join("alone"), "TOLD": user.join("told")});
    let fields = config.as_object().context("an object")?;
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let text = format!(
        "[agents.writer]\ncommand = \"sh\"\nargs = [{}]\nenv = {{ {} }}\n",
        json!(user.join("agent.sh")),
        fields.join(", ")
    );
    let config = desk.scratch.home().join("config");
    std::fs::create_dir_all(&config)?;
    std::fs::write(config.join("config.toml"), text)?;
    Ok(desk)
}

#[test]
fn an_external_agent_is_not_even_started_where_nothing_may_be_changed() {
    tell(LIMIT, async {
        for is_planning in [false, true] {
            let sandbox = match is_planning {
                true => "workspace-write",
                false => "read-only",
            };
            let desk = with_agent(Path::new("made"))?;
            let start = json!({"model": "writer/default", "sandbox": sandbox});
            let mut desk = desk.open(start).await?;
            let mut more = json!({});
            if is_planning {
                more = plan();
                more["collaborationMode"]["settings"]["model"] = json!("writer/default");
            }
            let done = desk.turn("go", more, "accept").await?;
            ensure!(done.end["status"] == "failed", "{:?}", done.end);
            ensure!(
                !desk.scratch.user().join("alone").exists(),
                "{sandbox}: it was started"
            );
        }
        Ok(())
    });
}

/// It is not in our sandbox, and frames say so; what it writes through us stays in the workspace.
#[test]
fn an_external_agent_writes_nothing_outside_of_the_workspace_through_us() {
    tell(LIMIT, async {
        for is_inside in [true, false] {
            let desk = with_agent(Path::new("/"))?;
            let made = match is_inside {
                true => desk.scratch.workspace().join("made"),
                false => desk.scratch.user().join("made"),
            };
            let config = desk.scratch.home().join("config/config.toml");
            let text = std::fs::read_to_string(&config)?;
            let named = format!("MADE = {}", json!(made));
            std::fs::write(&config, text.replace("MADE = \"/\"", &named))?;
            let start = json!({"model": "writer/default", "sandbox": "workspace-write"});
            let mut desk = desk.open(start).await?;
            ensure!(
                desk.opened["sandbox"]["type"] == "dangerFullAccess",
                "{}",
                desk.opened
            );
            desk.turn("go", json!({}), "accept").await?;
            let told = std::fs::read_to_string(desk.scratch.user().join("told"))?;
            ensure!(made.exists() == is_inside, "{told}");
            ensure!(told.contains("error") != is_inside, "{told}");
        }
        Ok(())
    });
}

/// The reviewer, and what a person runs beside it, in a thread that may write.
#[test]
fn a_review_writes_nothing_whatever_a_person_says() {
    let wish = json!({"command": "echo x > made", "escalate": "outside", "reason": "it is needed"});
    let calls: [(&str, Value); 4] = [
        ("bash", json!({"command": "echo x > made; echo seen"})),
        ("bash", wish),
        (
            "bash",
            json!({"command": "echo x > made", "background": true}),
        ),
        ("write", json!({"filePath": "made", "content": "x"})),
    ];
    let line = |(tool, input): &(&str, Value)| format!("call {tool} {input}\n");
    let calls: String = calls.iter().map(line).collect();
    // The reviewer has a task of its own.
    let script = format!("turn\nsay nothing\n\ntask\n{calls}next\nsay tried\n");
    for fence in FENCES {
        tell(LIMIT, async {
            let start = json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"});
            let arguments = ["--sandbox", fence];
            let mut desk = Desk::open_with(&arguments, start, Some(&script)).await?;
            let target = json!({"type": "custom", "instructions": "look at it"});
            let params = json!({"threadId": desk.thread, "target": target});
            let answer = desk.request("review/start", params).await?;
            ensure!(answer.get("result").is_some(), "{answer}");
            let done = desk.rest("accept").await?;
            let ran = done
                .items
                .iter()
                .any(|item| item.to_string().contains("seen"));
            ensure!(ran, "{:?}", done.items);
            ensure!(!desk.has("made"), "{fence}: {:?}", done.items);
            Ok(())
        });
    }
}

/// A person's own command is held as the agent's: nobody is asked, and nothing more is allowed.
#[test]
fn a_persons_own_command_writes_nothing_where_the_thread_may_not() {
    tell(LIMIT, async {
        for (sandbox, is_planning) in [("read-only", false), ("workspace-write", true)] {
            let mut desk = Desk::open(&[], json!({"sandbox": sandbox})).await?;
            if is_planning {
                desk.turn("echo hello", plan(), "accept").await?;
            }
            let outside = desk.scratch.user().join("made");
            let command = format!("echo seen; echo x > made; echo x > '{}'", outside.display());
            let params = json!({"threadId": desk.thread, "command": command});
            let answer = desk.request("thread/shellCommand", params).await?;
            ensure!(answer["result"] == json!({}), "{answer}");
            let done = desk.rest("accept").await?;
            let ran = done
                .items
                .iter()
                .any(|item| item.to_string().contains("seen"));
            ensure!(ran, "{:?}", done.items);
            ensure!(!desk.has("made") && !outside.exists(), "{sandbox}");
        }
        Ok(())
    });
}

#[test]
fn a_command_of_a_client_writes_no_further_than_its_policy() {
    tell(LIMIT, async {
        let mut desk = Desk::open(&[], json!({})).await?;
        let outside = desk.scratch.user().join("made");
        let line = format!("echo seen; echo x > made; echo x > '{}'", outside.display());
        let policies = [
            (Value::Null, Some(false)),
            (json!({"type": "readOnly"}), Some(false)),
            (json!({"type": "workspaceWrite"}), Some(true)),
            (
                json!({"type": "workspaceWrite", "writableRoots": [desk.scratch.user()]}),
                None,
            ),
            (json!({"type": "dangerFullAccess"}), None),
        ];
        for (policy, written) in policies {
            let params = json!({"command": ["sh", "-c", line], "cwd": desk.scratch.workspace(),
                                "sandboxPolicy": policy});
            let answer = desk.request("command/exec", params).await?;
            let ran = answer["result"]["stdout"] == "seen\n";
            ensure!(ran == written.is_some(), "{policy}: {answer}");
            ensure!(
                desk.has("made") == (written == Some(true)),
                "{policy}: {answer}"
            );
            ensure!(!outside.exists(), "{policy}: {answer}");
            if written == Some(true) {
                std::fs::remove_file(desk.scratch.workspace().join("made"))?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_fork_of_a_thread_that_plans_plans() {
    tell(LIMIT, async {
        let mut desk = Desk::open(&[], json!({"sandbox": "workspace-write"})).await?;
        desk.turn("echo hello", plan(), "accept").await?;
        let answer = desk
            .request("thread/fork", json!({"threadId": desk.thread}))
            .await?;
        let fork = answer["result"]["thread"]["id"]
            .as_str()
            .context("no fork")?;
        desk.thread = fork.to_owned();
        for call in [
            ("write", json!({"filePath": "made", "content": "x"})),
            ("bash", json!({"command": "echo x > made"})),
        ] {
            let call = desk.call(call.0, call.1, "accept").await?;
            ensure!(!call.asked() && !desk.has("made"), "{call:?}");
        }
        Ok(())
    });
}

#[test]
fn a_terminal_that_may_write_is_not_typed_to_once_the_thread_may_not() {
    for fence in FENCES {
        tell(LIMIT, async {
            let start = json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"});
            let mut desk = Desk::open(&["--sandbox", fence], start).await?;
            let shell = json!({"command": "exec bash", "background": true});
            desk.call("bash", shell, "accept").await?;
            let typed = |text: &str| {
                let input = json!({"action": "write", "id": 1, "input": format!("{text}\n")});
                format!("tool job {input}")
            };
            let planned = desk.turn(&typed("echo x > made"), plan(), "accept").await?;
            ensure!(planned.asks.is_empty(), "{planned:?}");
            let read_only = json!({"sandboxPolicy": {"type": "readOnly"},
                "collaborationMode": {"mode": "default", "settings": {"model": "rehearsal-1"}}});
            let asked = desk
                .turn(&typed("echo x > made"), read_only, "decline")
                .await?;
            ensure!(asked.asks.len() == 1, "{asked:?}");
            // It does what it is told in its order: by its end all of it is done.
            let write = json!({"sandboxPolicy": {"type": "workspaceWrite"}});
            desk.turn(&typed("echo x > after; exit"), write, "accept")
                .await?;
            let wait = json!({"action": "wait", "id": 1, "seconds": 30});
            desk.call("job", wait, "accept").await?;
            ensure!(desk.has("after") && !desk.has("made"), "{fence}");
            Ok(())
        });
    }
}
