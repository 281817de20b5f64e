//! Tests of jobs with real processes. Nothing sleeps: each wait is for an event.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use vocabulary::{Subject, ToolOutput};

use super::*;
use crate::bash::BashTool;
use crate::job::JobTool;
use crate::scratch::{Scratch, Witness};
use crate::{Failure, Judgement, Risk, Tool, ToolCx};

/// Long enough for a busy machine; only a failing test waits it out.
const PATIENCE: Duration = Duration::from_secs(30);

async fn text(cx: &ToolCx, tool: &dyn Tool, input: Value) -> String {
    let ran = tokio::time::timeout(PATIENCE, tool.run(cx, input)).await;
    match ran.expect("it ends") {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

async fn bash(cx: &ToolCx, input: Value) -> String {
    text(cx, &BashTool, input).await
}

async fn job(cx: &ToolCx, input: Value) -> String {
    text(cx, &JobTool, input).await
}

/// With `T s` for every time.
fn timeless(text: &str) -> String {
    let parts = text.split(" · ").map(|part| match part.split_once(" s") {
        Some((number, rest)) if number.parse::<f32>().is_ok() => format!("T s{rest}"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(" · ")
}

async fn gone(pid: &str) {
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
        .expect("it is gone");
}

#[tokio::test]
async fn a_command_that_passes_its_timeout_is_moved_and_its_end_can_be_waited_for() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let command = "mkfifo go; echo begun; read line < go; echo $line; exit 7";
    let moved = bash(&cx, json!({"command": command, "timeout": 1})).await;
    assert_eq!(
        timeless(&moved),
        "still running as job 1 · T s\nbegun\n[it runs on in the background; tool job with id 1: wait, \
         output, stop]"
    );
    let look = job(&cx, json!({"action": "output", "id": 1})).await;
    assert_eq!(look, "job 1 · running\n[no new output]");
    std::fs::write(scratch.path("go"), "on\n").unwrap();
    let waited = job(&cx, json!({"action": "wait", "id": 1})).await;
    assert_eq!(timeless(&waited), "job 1 · exit 7 · T s\non");
    assert_eq!(cx.jobs.take_news(), [""; 0], "the model has seen the end");
    let end = tokio::time::timeout(PATIENCE, cx.jobs.next_end())
        .await
        .unwrap();
    let note = end.note;
    assert!(
        note.starts_with("[job] job 1 ended: exit 7 after "),
        "{note}"
    );
    assert!(cx.jobs.at_rest());
}

#[tokio::test]
async fn the_model_is_told_once_of_an_end_that_it_has_not_seen() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let command = "mkfifo go; read line < go";
    bash(&cx, json!({"command": command, "background": true})).await;
    assert_eq!(cx.jobs.take_news(), [""; 0]);
    let running = cx.jobs.still_running();
    assert_eq!(
        timeless(&running[0]),
        "job 1 · running · T s · mkfifo go; read line < go"
    );
    std::fs::write(scratch.path("go"), "on\n").unwrap();
    tokio::time::timeout(PATIENCE, cx.jobs.next_end())
        .await
        .unwrap();
    let news = cx.jobs.take_news();
    assert!(
        news[0].starts_with("job 1 ended: exit 0 after "),
        "{news:?}"
    );
    assert_eq!(cx.jobs.take_news(), [""; 0]);
    assert_eq!(cx.jobs.still_running(), [""; 0]);
}

#[tokio::test]
async fn a_job_is_written_to_until_its_input_is_closed() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let command = "while read line; do echo \"got $line\"; done; echo end";
    bash(&cx, json!({"command": command, "background": true})).await;
    let answered = job(&cx, json!({"action": "write", "id": 1, "input": "a\n"})).await;
    assert_eq!(answered, "job 1 · running\ngot a");
    let closed = json!({"action": "write", "id": 1, "input": "b\n", "close": true});
    let answered = job(&cx, closed.clone()).await;
    assert_eq!(timeless(&answered), "job 1 · exit 0 · T s\ngot b\nend");
    let Err(Failure::Error(message)) = JobTool.run(&cx, closed).await else {
        panic!("it was written to");
    };
    assert_eq!(message, "job: cannot write to job 1: it has ended");
}

#[tokio::test]
async fn what_was_moved_has_no_input() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    bash(
        &cx,
        json!({"command": "mkfifo go; cat; read l < go", "timeout": 1}),
    )
    .await;
    let write = json!({"action": "write", "id": 1, "input": "x"});
    let Err(Failure::Error(message)) = JobTool.run(&cx, write).await else {
        panic!("it was written to");
    };
    assert!(message.contains("it has no input"), "{message}");
}

#[tokio::test]
async fn stopping_ends_the_whole_group() {
    for trap in ["", "trap '' TERM;"] {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        let command = format!("{trap} (sleep 1000 & echo $!; wait) & echo $$; wait; wait");
        let started = bash(&cx, json!({"command": command, "background": true})).await;
        let pids: Vec<&str> = started
            .lines()
            .filter(|line| line.parse::<u32>().is_ok())
            .collect();
        assert_eq!(pids.len(), 2, "{started}");
        let stopped = job(&cx, json!({"action": "stop", "id": 1})).await;
        assert!(stopped.starts_with("job 1 · exit 143 · "), "{stopped}");
        for pid in pids {
            gone(pid).await;
        }
    }
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_own_command_and_no_job() {
    let (scratch, host) = (Scratch::new(), Arc::new(Witness::default()));
    let mut cx = scratch.cx(&host);
    let started = bash(
        &cx,
        json!({"command": "echo $$; sleep 1000", "background": true}),
    )
    .await;
    let pid = started.lines().nth(1).unwrap().to_owned();
    let cancel = cx.cancel.clone();
    let wait = JobTool.run(&cx, json!({"action": "wait", "id": 1}));
    let both = async { tokio::join!(wait, async { cancel.cancel() }) };
    let (outcome, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(matches!(outcome, Err(Failure::Cancelled(_))), "{outcome:?}");
    cx.cancel = Default::default();
    let look = job(&cx, json!({"action": "output", "id": 1})).await;
    assert_eq!(look, "job 1 · running\n[no new output]");
    let jobs = Arc::clone(&cx.jobs);
    drop(cx);
    // The last who has them goes: they end.
    drop(jobs);
    gone(&pid).await;
}

#[tokio::test]
async fn all_end_with_their_thread() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    for _ in 0..2 {
        bash(&cx, json!({"command": "sleep 1000", "background": true})).await;
    }
    let list = job(&cx, json!({"action": "list"})).await;
    assert_eq!(
        timeless(&list),
        "job 1 · running · T s · sleep 1000\njob 2 · running · T s · sleep 1000"
    );
    assert!(!cx.jobs.at_rest());
    let end = cx.jobs.end("ended with the conversation");
    tokio::time::timeout(PATIENCE, end).await.unwrap();
    let list = job(&cx, json!({"action": "list"})).await;
    let ended = "exit 143 · T s · ended with the conversation · sleep 1000";
    assert_eq!(timeless(&list), format!("job 1 · {ended}\njob 2 · {ended}"));
}

#[tokio::test]
async fn one_more_job_than_there_may_be_is_refused() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let input = json!({"command": "sleep 1000", "background": true});
    let mut all = tokio::task::JoinSet::new();
    let cx = Arc::new(cx);
    for _ in 0..JOBS_MAX {
        let (cx, input) = (Arc::clone(&cx), input.clone());
        all.spawn(async move { BashTool.run(&cx, input).await.unwrap() });
    }
    all.join_all().await;
    let Err(Failure::Error(message)) = BashTool.run(&cx, input).await else {
        panic!("it ran");
    };
    assert_eq!(message, format!("bash: nothing has run: {FULL}"));
    // What is waited for has no room to be moved to.
    let late = json!({"command": "echo begun; sleep 1000", "timeout": 1});
    let Ok(ToolOutput::Command {
        exit_code: 124,
        model_text,
        ..
    }) = BashTool.run(&cx, late).await
    else {
        panic!("it was not ended");
    };
    assert!(
        model_text
            .unwrap()
            .ends_with(&format!("begun\n[ended: {FULL}]"))
    );
    cx.jobs.end("over").await;
    bash(&cx, json!({"command": "sleep 1000", "background": true})).await;
    assert_eq!(
        cx.jobs.all().len(),
        JOBS_MAX,
        "one that has ended made room"
    );
}

#[tokio::test]
async fn writing_to_a_job_is_judged_by_what_holds_it() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    bash(&cx, json!({"command": "cat", "background": true})).await;
    let write = json!({"action": "write", "id": 1, "input": "rm -rf /\n"});
    let judged = JobTool.judge_with(&cx.scope, &cx.jobs, &write);
    assert!(
        matches!(
            judged,
            Judgement::Ask {
                risk: Risk::ManualReview,
                dangerous: true,
                ..
            }
        ),
        "no sandbox holds it: {judged:?}"
    );
    let line = "rm -rf /\n".to_owned();
    let directory = None;
    assert_eq!(
        JobTool.subject(&write),
        Subject::Command { line, directory }
    );
    for harmless in [
        json!({"action": "stop", "id": 1}),
        json!({"action": "list"}),
    ] {
        let judged = JobTool.judge_with(&cx.scope, &cx.jobs, &harmless);
        assert_eq!(judged, Judgement::Allow);
        assert_eq!(JobTool.subject(&harmless), Subject::Other);
    }
    let (job, mut scope) = (cx.jobs.find(1).unwrap(), scratch.scope());
    let asks = |reach, scope: &Scope| {
        let fence = JobFence {
            reach,
            scope: scratch.scope(),
            mode: job.fence.mode,
            takes_input: true,
        };
        why_writing_asks(scope, &fence).is_some()
    };
    assert!(asks(JobReach::Escalated, &scope));
    assert!(!asks(JobReach::Fenced, &scope));
    scope.read_only = true;
    assert!(
        asks(JobReach::Fenced, &scope),
        "it may do more than a command now"
    );
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let scratch = Scratch::new();
    let table = [
        (
            json!({"action": "output", "id": 3}),
            "job: there is no job 3 (there is none)",
        ),
        (
            json!({"action": "wait"}),
            "job: \"id\" must be the number of a job",
        ),
        (
            json!({"action": "poke", "id": 1}),
            "job: \"action\" must be one of output, wait",
        ),
        (
            json!({"action": "wait", "id": 1, "seconds": 601}),
            "job: \"seconds\" must be a whole number from 0 to 600",
        ),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&JobTool, input).await;
        assert!(message.starts_with(expected), "{message}");
    }
}
