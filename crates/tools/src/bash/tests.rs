//! Tests of `bash` with real processes. Nothing sleeps: each wait is for an event.

#![allow(clippy::unwrap_used)]

mod model_text;

use std::sync::Arc;

use super::*;
use crate::scratch::{Scratch, Witness};
use vocabulary::OutputStream;

/// Long enough for a busy machine; only a failing test waits it out.
const PATIENCE: Duration = Duration::from_secs(30);

struct Ran {
    stdout: String,
    stderr: String,
    exit_code: i32,
    model_text: String,
}

fn ran(output: ToolOutput) -> Ran {
    match output {
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            model_text,
            ..
        } => Ran {
            stdout,
            stderr,
            exit_code,
            model_text: model_text.unwrap(),
        },
        other => panic!("{other:?}"),
    }
}

async fn bash(scratch: &Scratch, command: &str) -> Ran {
    let run = scratch.run(&BashTool, json!({"command": command}));
    ran(tokio::time::timeout(PATIENCE, run).await.unwrap().unwrap())
}

/// Waits until the process is gone; a zombie is gone too.
async fn wait_until_gone(pid: &str) {
    let gone = async {
        loop {
            match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Ok(stat) if !stat.contains(") Z ") => tokio::task::yield_now().await,
                _ => return,
            }
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("the process is gone");
}

#[tokio::test]
async fn a_command_tells_its_output_and_exit_code() {
    let scratch = Scratch::new();
    let ran = bash(&scratch, "pwd; echo oh >&2; cat; exit 3").await;
    let directory = std::fs::canonicalize(scratch.path("")).unwrap();
    assert_eq!(ran.stdout.trim(), directory.to_str().unwrap());
    assert_eq!(ran.stderr, "oh\n");
    assert_eq!(ran.exit_code, 3);
    let killed = bash(&scratch, "kill -9 $$").await;
    assert_eq!(killed.exit_code, 137);
}

#[tokio::test]
async fn output_is_shown_as_it_comes() {
    let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
    let cx = scratch.cx(&host);
    // The command goes on only after its first line was seen.
    let command = "mkfifo go; echo first; read line < go; echo second";
    let tool = BashTool;
    let run = tool.run(&cx, json!({"command": command}));
    let watch = async {
        host.wait_for(|text| text == "first\n").await;
        std::fs::write(scratch.path("go"), "on\n").unwrap();
    };
    let both = async { tokio::join!(run, watch) };
    let (output, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(ran(output.unwrap()).stdout, "first\nsecond\n");
    assert_eq!(host.heard(OutputStream::Stdout), "first\nsecond\n");
}

#[tokio::test]
async fn long_output_is_cut_with_a_note() {
    let scratch = Scratch::new();
    let ran = bash(
        &scratch,
        "head -c 40000 /dev/zero | tr '\\0' x; head -c 10001 /dev/zero | tr '\\0' y >&2",
    )
    .await;
    let cut = |more| format!("\n[{more} more characters were cut; ask for less]");
    assert!(ran.stdout.ends_with(&cut(10_000)), "no place for the rest");
    assert!(ran.stderr.ends_with(&cut(1)));
}

#[tokio::test]
async fn the_rest_of_long_output_can_be_read_on() {
    let (scratch, place) = (Scratch::new(), Scratch::new());
    let mut cx = scratch.cx(&Arc::default());
    cx.scope.spill = Some(place.path("spill"));
    let input = json!({"command": "seq 1 20000"});
    let ran = ran(BashTool.run(&cx, input).await.unwrap());
    let (_, note) = ran.stdout.rsplit_once("all of it is in ").expect("a note");
    let (path, _) = note.split_once(", read on there").expect("a path");
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept.starts_with("1\n2\n") && kept.ends_with("19999\n20000\n"));
}

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    for trap in ["", "trap '' TERM;"] {
        let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
        let cx = scratch.cx(&host);
        // The grandchild is not waited for by anybody but the pipe.
        let command = format!("{trap} (sleep 1000 & echo $!; wait) & echo $$; wait; wait");
        let tool = BashTool;
        let run = tool.run(&cx, json!({"command": command}));
        let cancel = async {
            let heard = host.wait_for(|text| text.lines().count() == 2).await;
            cx.cancel.cancel();
            heard
        };
        let both = async { tokio::join!(run, cancel) };
        let (outcome, pids) = tokio::time::timeout(PATIENCE, both).await.unwrap();
        let Err(Failure::Cancelled(output)) = outcome else {
            panic!("{outcome:?}");
        };
        let ran = ran(output);
        assert_eq!(ran.exit_code, 130);
        assert!(ran.stderr.ends_with("Command aborted."), "{}", ran.stderr);
        for pid in pids.lines() {
            wait_until_gone(pid).await;
        }
    }
}

#[tokio::test]
async fn what_is_cancelled_before_it_starts_never_starts() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    cx.cancel.cancel();
    let outcome = BashTool.run(&cx, json!({"command": "touch made"})).await;
    let Err(Failure::Cancelled(output)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(ran(output).stderr, "Command aborted.");
    assert!(!scratch.path("made").exists());
}

/// `git status` runs without asking, and `write` can make all these files.
#[tokio::test]
async fn files_that_look_like_a_repository_run_nothing() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("objects")).unwrap();
    std::fs::create_dir(scratch.path("refs")).unwrap();
    std::fs::write(scratch.path("HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n\
                  fsmonitor = \"touch made; false\"\n";
    std::fs::write(scratch.path("config"), config).unwrap();
    let ran = bash(&scratch, "git status").await;
    assert_ne!(ran.exit_code, 0, "{}", ran.stdout);
    assert!(!scratch.path("made").exists());
}

#[tokio::test]
async fn dropping_the_run_ends_the_whole_group() {
    let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
    let cx = scratch.cx(&host);
    let tool = BashTool;
    let run = tool.run(&cx, json!({"command": "sleep 1000 & echo $!; wait"}));
    let pid = tokio::select! {
        output = run => panic!("{output:?}"),
        pid = host.wait_for(|text| text.ends_with('\n')) => pid,
    };
    wait_until_gone(pid.trim()).await;
}

#[tokio::test]
async fn a_background_process_that_holds_the_output_is_not_waited_for() {
    let scratch = Scratch::new();
    let ran = bash(&scratch, "sleep 1000 & echo $!").await;
    assert_eq!(ran.exit_code, 0);
    assert!(
        ran.stderr.contains("still holds the output"),
        "{}",
        ran.stderr
    );
    // It runs on, as its user meant it to; the test cleans up.
    let pid = ran.stdout.trim();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    bash(&scratch, &format!("kill {pid}")).await;
    wait_until_gone(pid).await;
}

#[tokio::test]
async fn a_command_runs_in_the_directory_that_it_names() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("deeper")).unwrap();
    let input = json!({"command": "basename $(pwd)", "cwd": "deeper", "description": "Where?"});
    let output = scratch.run(&BashTool, input.clone()).await.unwrap();
    assert_eq!(ran(output).stdout, "deeper\n");
    assert_eq!(crate::normalize::ignored(&BashTool, &input), None);
    let Judgement::Ask { command, .. } = BashTool.judge(&scratch.scope(), &input) else {
        panic!("nobody is asked");
    };
    assert_eq!(
        command, "cd -- deeper || exit\nbasename $(pwd)",
        "a person sees where"
    );
}

#[test]
fn a_grant_is_for_the_command_and_where_it_runs() {
    let key = |input: Value| BashTool.grant_key(&input);
    let plain = key(json!({"command": "make"}));
    let said = json!({"command": "make", "timeout": 600, "description": "Builds it"});
    assert_eq!(key(said), plain);
    assert_ne!(key(json!({"command": "make", "cwd": "a"})), plain);
}

#[test]
fn a_timeout_in_milliseconds_is_understood() {
    let wait = |input: Value| BashOrder::parse(&input).unwrap().wait.as_secs();
    assert_eq!(wait(json!({"command": "a"})), 120);
    assert_eq!(wait(json!({"command": "a", "timeout": 3_600})), 3_600);
    assert_eq!(wait(json!({"command": "a", "timeout": 300_000})), 300);
}

#[tokio::test]
async fn bad_input_is_judged_harmless_and_refused() {
    let scratch = Scratch::new();
    let table = [
        (json!({}), "bash: \"command\" must be a text, got nothing"),
        (
            json!({"command": "  "}),
            "bash: \"command\" must be a text that is not empty",
        ),
        (
            json!({"command": "a\0b"}),
            "bash: \"command\" must be a text without NUL",
        ),
        (
            json!({"command": "true", "timeout": 0}),
            "bash: \"timeout\" must be a whole number from 1",
        ),
        (
            json!({"command": "ls", "cwd": "missing"}),
            "bash: \"cwd\" must be a directory of the workspace; there is none at missing",
        ),
        (
            json!({"command": "ls", "cwd": "/etc"}),
            "bash blocked: /etc is outside the workspace",
        ),
    ];
    let tool = BashTool;
    for (input, expected) in table {
        assert_eq!(tool.judge(&scratch.scope(), &input), Judgement::Allow);
        let message = scratch.refusal(&tool, input).await;
        assert!(message.contains(expected), "{message}");
    }
    let judgement = tool.judge(&scratch.scope(), &json!({"command": "touch rehearsal.txt"}));
    assert!(matches!(
        judgement,
        Judgement::Ask {
            dangerous: false,
            ..
        }
    ));
}
