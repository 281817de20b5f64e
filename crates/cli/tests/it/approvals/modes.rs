//! Approval modes and sandboxes: what they let run, what they ask for, what they refuse.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::{Desk, FENCES};
use crate::tell;

const LIMIT: Duration = Duration::from_secs(60);

/// A command that says, truly or not, that the sandbox stopped it.
const POISONED: &str = "echo again >> runs; echo 'x: Read-only file system' >&2; exit 1";

#[test]
fn not_asking_never_leaves_the_sandbox() {
    for fence in FENCES {
        for (arguments, start) in [
            (vec!["--sandbox", fence, "--yolo"], json!({})),
            (
                vec!["--sandbox", fence],
                json!({"approvalPolicy": "never", "sandbox": "workspace-write"}),
            ),
        ] {
            tell(LIMIT, async {
                let mut desk = Desk::open(&arguments, start).await?;
                ensure!(desk.opened["approvalPolicy"] == "never", "{}", desk.opened);
                let call = desk.bash(POISONED, "accept").await?;
                ensure!(!call.asked(), "{call:?}");
                ensure!(
                    call.output().contains("the sandbox stopped this"),
                    "{call:?}"
                );
                let runs = std::fs::read_to_string(desk.scratch.workspace().join("runs"))?;
                ensure!(runs == "again\n", "{fence}: it ran again: {runs:?}");

                let outside = desk.scratch.user().join("outside");
                let wish = json!({"command": format!("touch {}", outside.display()),
                                  "escalate": "outside", "reason": "it is needed"});
                let call = desk.call("bash", wish, "accept").await?;
                ensure!(!call.asked() && !outside.exists(), "{fence}: {call:?}");
                ensure!(call.output().contains("nobody is asked"), "{call:?}");
                Ok(())
            });
        }
    }
}

#[test]
fn never_refuses_what_would_ask_and_runs_what_the_sandbox_holds() {
    tell(LIMIT, async {
        let start = json!({"approvalPolicy": "never"});
        let mut desk = Desk::open(&[], start).await?;
        let call = desk.bash("touch made && rm -rf other", "accept").await?;
        ensure!(!call.asked() && !desk.has("made"), "{call:?}");
        ensure!(
            call.output().contains("this thread asks nobody"),
            "{call:?}"
        );
        let call = desk.bash("touch made", "accept").await?;
        ensure!(!call.asked() && desk.has("made"), "{call:?}");
        Ok(())
    });
}

#[test]
fn a_thread_that_may_only_read_changes_nothing_without_a_person() {
    for fence in FENCES {
        tell(LIMIT, async {
            let start = json!({"approvalPolicy": "on-request", "sandbox": "read-only"});
            let mut desk = Desk::open(&["--sandbox", fence], start).await?;
            let told = json!({"type": "readOnly", "networkAccess": false});
            ensure!(desk.opened["sandbox"] == told, "{}", desk.opened);
            let call = desk.bash("touch made", "accept").await?;
            ensure!(!call.asked() && !desk.has("made"), "{fence}: {call:?}");
            ensure!(
                call.output().contains("the sandbox stopped this"),
                "{call:?}"
            );
            let input = json!({"filePath": "written", "content": "x"});
            let call = desk.call("write", input.clone(), "decline").await?;
            ensure!(call.asked() && !desk.has("written"), "{fence}: {call:?}");
            let call = desk.call("write", input, "accept").await?;
            ensure!(call.asked() && desk.has("written"), "{fence}: {call:?}");
            // With a person's word a command writes, too.
            let wish = json!({"command": "touch made", "escalate": "write", "reason": "to begin"});
            let call = desk.call("bash", wish, "accept").await?;
            ensure!(call.asked() && desk.has("made"), "{fence}: {call:?}");
            Ok(())
        });
    }
}

#[test]
fn a_person_reads_why_more_is_wanted_and_what_runs_is_what_they_saw() {
    for fence in FENCES {
        tell(LIMIT, async {
            let mut desk = Desk::open(&["--sandbox", fence], json!({})).await?;
            let outside = desk.scratch.user().join("outside");
            let command = format!("echo one # a note\ntouch {}", outside.display());
            let wish = json!({"command": command, "escalate": "outside",
                              "reason": "the tool\nis  installed there"});
            let call = desk.call("bash", wish.clone(), "decline").await?;
            ensure!(!outside.exists(), "{fence}: {call:?}");
            let ask = &call.asks[0];
            let shown = format!("/bin/bash -c '{command}'");
            ensure!(ask["command"] == shown, "{ask}");
            let reason = "wants to run outside the sandbox: the tool is installed there";
            ensure!(ask["reason"] == reason, "{ask}");
            desk.call("bash", wish, "accept").await?;
            ensure!(outside.exists(), "{fence}");
            Ok(())
        });
    }
}

#[test]
fn without_a_sandbox_every_command_asks() {
    tell(LIMIT, async {
        let mut desk = Desk::open(&["--sandbox", "off"], json!({})).await?;
        let told = json!({"type": "dangerFullAccess"});
        ensure!(desk.opened["sandbox"] == told, "{}", desk.opened);
        for command in ["git status", "ls", "echo hello", "cargo test"] {
            let call = desk.bash(command, "decline").await?;
            ensure!(call.asked(), "{command}: {call:?}");
        }
        // What is so already may be asked for, and is then sent back with every turn.
        let start = json!({"sandbox": "danger-full-access"});
        let desk = Desk::open(&["--sandbox", "off"], start).await?;
        ensure!(desk.opened["sandbox"] == told, "{}", desk.opened);
        Ok(())
    });
}

#[test]
fn full_access_is_refused_where_a_sandbox_holds() {
    tell(LIMIT, async {
        let start = json!({"sandbox": "danger-full-access"});
        let refused = Desk::open(&[], start).await.err();
        let message = refused.map(|error| error.to_string()).unwrap_or_default();
        ensure!(message.contains("no full access"), "{message}");
        Ok(())
    });
}

#[test]
fn on_request_does_not_take_yolo_away_and_untrusted_does() {
    tell(LIMIT, async {
        let start = json!({"approvalPolicy": "on-request"});
        let mut desk = Desk::open(&["--yolo"], start).await?;
        ensure!(desk.opened["approvalPolicy"] == "never", "{}", desk.opened);
        let call = desk.bash("touch a; rm -rf a", "decline").await?;
        ensure!(!call.asked(), "{call:?}");
        let start = json!({"approvalPolicy": "untrusted"});
        let mut desk = Desk::open(&["--yolo"], start).await?;
        ensure!(
            desk.opened["approvalPolicy"] == "untrusted",
            "{}",
            desk.opened
        );
        let call = desk.bash("cat README.md", "decline").await?;
        ensure!(call.asked(), "{call:?}");
        Ok(())
    });
}

#[test]
fn a_host_is_asked_for_once_unless_the_user_names_it() {
    let call = |path: &str| {
        let input = json!({"url": format!("https://pages.invalid/{path}")});
        format!("turn\n call webFetch {input}\nnext\n say done\n")
    };
    let script = call("a?secret=1") + &call("b") + &call("c");
    tell(LIMIT, async {
        let mut desk = Desk::open_with(&[], json!({}), Some(&script)).await?;
        let named = desk.say("read pages.invalid for me", "decline").await?;
        ensure!(!named.asked(), "{named:?}");
        let first = desk.say("go on", "accept").await?;
        ensure!(first.asked(), "{first:?}");
        let reason = "this sends a request to pages.invalid";
        ensure!(first.asks[0]["reason"] == reason, "{first:?}");
        let again = desk.say("go on", "decline").await?;
        ensure!(!again.asked(), "{again:?}");

        let never = json!({"approvalPolicy": "never"});
        let mut desk = Desk::open_with(&[], never, Some(&script)).await?;
        let refused = desk.say("go on", "accept").await?;
        ensure!(!refused.asked(), "{refused:?}");
        let words = refused.item.to_string();
        ensure!(words.contains("this thread asks nobody"), "{refused:?}");
        Ok(())
    });
}
