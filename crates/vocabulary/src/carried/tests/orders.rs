//! What is done with a past, ordered of a thread, and run for a client itself.

use super::thread_id;
use crate::{
    BackgroundTerminal, Call, Changes, ExecCommand, ExecOutput, ForkPlace, ForkThread, ItemId,
    Reply, RevertThread, RevertTo, ReviewTarget, RunShell, SandboxMode, StartReview, TerminalCall,
    TerminalReply, TurnId,
};

pub(super) fn calls() -> Vec<Call> {
    let (thread, turn) = (thread_id(), || TurnId::new("t"));
    let fork = |upto| ForkThread {
        thread,
        upto,
        directory: Some("/a".into()),
        files: true,
        changes: Changes::default(),
        instructions: Some("i".into()),
        ephemeral: true,
    };
    let places = [
        ForkPlace::Rest,
        ForkPlace::After(turn()),
        ForkPlace::Before(turn()),
    ];
    let forks = places.map(|upto| Call::ForkThread(Box::new(fork(upto))));
    let reverts = [RevertTo::Before(turn()), RevertTo::Newest(2)].map(|to| {
        let files = true;
        Call::RevertThread(RevertThread { thread, to, files })
    });
    let terminals = [
        TerminalCall::List,
        TerminalCall::End { process: Some(1) },
        TerminalCall::Write {
            process: 1,
            text: "y".to_owned(),
        },
    ];
    let terminals = terminals.map(|call| Call::Terminals { thread, call });
    let orders = [
        Call::CompactThread { thread },
        Call::StartReview(StartReview {
            thread,
            target: ReviewTarget::BaseBranch {
                branch: "main".to_owned(),
            },
        }),
        Call::RunShell(RunShell {
            thread,
            command: "ls".to_owned(),
            timeout_ms: Some(1),
        }),
        Call::Exec(Box::new(ExecCommand {
            words: vec!["ls".to_owned()],
            directory: None,
            sandbox: Some(SandboxMode::ReadOnly),
            environment: vec![("A".to_owned(), None)],
            timeout_ms: None,
            output_bytes_max: Some(3),
        })),
    ];
    forks
        .into_iter()
        .chain(reverts)
        .chain(terminals)
        .chain(orders)
        .collect()
}

pub(super) fn replies() -> Vec<Reply> {
    let terminal = BackgroundTerminal {
        process: 1,
        item: Some(ItemId::new("i")),
        line: "ls".to_owned(),
        directory: "/a".into(),
    };
    vec![
        Reply::Terminals(TerminalReply::List(vec![terminal])),
        Reply::Terminals(TerminalReply::Ended(2)),
        Reply::Terminals(TerminalReply::Written),
        Reply::Exec(Box::new(ExecOutput {
            exit_code: 1,
            stdout: "o".to_owned(),
            stderr: "e".to_owned(),
        })),
    ]
}
