//! What is sent to another process comes back the same.

mod calls;
mod directories;
mod orders;
mod replies;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;
use crate::{
    Caller, FileChangeKind, FilePreview, FileSubject, ItemFact, ItemId, McpAuthMode, McpAuthState,
    McpChangeKind, McpLayer, McpRunning, McpScope, McpServer, McpServerState, McpTransport,
    ModelRef, Notice, Refusal, Subject, ThreadId, Timestamp, ToolOutcome, TurnId, TurnOutcome, Why,
    Workspace, WorkspaceChange, WorkspaceDirectory, WorkspaceId,
};

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(sent: &T) {
    let text = serde_json::to_string(sent).expect("written");
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(back, *sent, "{text}");
}

/// Sends all of them; fails unless there is one for each of `count` places.
fn all_come_back<T>(samples: &[T], count: usize, place: impl Fn(&T) -> usize)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    samples.iter().for_each(comes_back);
    let places: BTreeSet<usize> = samples.iter().map(place).collect();
    assert_eq!(places, (0..count).collect(), "one without a sample");
}

fn thread_id() -> ThreadId {
    ThreadId(uuid::Uuid::from_u128(7))
}

fn model() -> ModelRef {
    ModelRef {
        provider: "p".to_owned(),
        model: "m".to_owned(),
    }
}

fn tag(part: u32) -> StreamTag {
    StreamTag {
        turn: TurnId::new("t"),
        model: Some(Arc::new(model())),
        step: 2,
        part,
    }
}

/// A call with everything that the log leaves out.
fn call() -> Arc<ToolCall> {
    Arc::new(ToolCall {
        item: ItemId::new("i"),
        call_id: "c".to_owned(),
        name: "edit".to_owned(),
        input: json!({"path": "a"}),
        subject: Subject::Files(vec![FileSubject {
            path: "a".to_owned(),
            preview: Some(FilePreview {
                kind: FileChangeKind::Update,
                diff: "+b".to_owned(),
            }),
        }]),
        effects: Default::default(),
        native: None,
        problem: None,
        by_user: false,
        agent: None,
    })
}

fn event(fact: Fact) -> Event {
    Event {
        seq: Seq(9),
        at: Timestamp(5),
        by: Some(Arc::new(Person::from(&Caller::local()))),
        fact,
    }
}

fn finished() -> Fact {
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t"),
        outcome: TurnOutcome::Completed,
        text: "done".to_owned(),
        reasoning: vec![(ReasoningKind::Summary, "because".to_owned())],
        usage: None,
        model: Some(Arc::new(model())),
        started_at: None,
    })
}

/// An event of every kind that the log keeps less of.
fn events() -> Vec<Event> {
    let ended = ToolFact::Finished {
        outcome: ToolOutcome::NotRun {
            why: "no".to_owned(),
        },
        duration_ms: None,
    };
    let of_call = [ToolFact::Planned { content: 1 }, ToolFact::Started, ended];
    let of_call = of_call.map(|what| Fact::tool(tag(4), call(), what));
    let grew = Fact::Item {
        tag: tag(5),
        item: ItemId::new("i"),
        content: 0,
        what: ItemFact::Grew {
            growth: crate::Growth::Text,
            delta: "d".to_owned(),
        },
    };
    let facts = of_call.into_iter().chain([grew, finished()]);
    facts.map(event).collect()
}

#[test]
fn an_event_comes_back_whole() {
    events().iter().for_each(comes_back);
}

#[test]
fn the_log_still_leaves_out_what_it_need_not_keep() {
    for event in events() {
        let logged = serde_json::to_string(&event.fact).expect("written");
        for left_out in ["diff", "part", "because"] {
            assert!(!logged.contains(left_out), "{left_out} in {logged}");
        }
    }
}

#[test]
fn every_refusal_comes_back() {
    let all = [
        Why::Busy,
        Why::UnknownThread,
        Why::UnknownAsk,
        Why::UnknownCheckpoint,
        Why::UnknownFile,
        Why::AlreadyAnswered,
        Why::invalid("field"),
        Why::BlankAnswer,
        Why::NoRunningTurn,
        Why::Conflict,
        Why::Forbidden,
        Why::Unauthenticated,
        Why::OwnedElsewhere,
        Why::NotAvailable,
        Why::Provider,
        Why::ShuttingDown,
        Why::InsufficientCredits,
        Why::Storage,
        Why::Internal,
    ];
    let refusals: Vec<_> = all.map(|why| Refusal::new(why, "no")).into();
    all_come_back(&refusals, 19, |refusal| match refusal.why {
        Why::Busy => 0,
        Why::UnknownThread => 1,
        Why::UnknownAsk => 2,
        Why::UnknownCheckpoint => 3,
        Why::UnknownFile => 4,
        Why::AlreadyAnswered => 5,
        Why::Invalid { .. } => 6,
        Why::BlankAnswer => 7,
        Why::NoRunningTurn => 8,
        Why::Conflict => 9,
        Why::Forbidden => 10,
        Why::Unauthenticated => 11,
        Why::OwnedElsewhere => 12,
        Why::NotAvailable => 13,
        Why::Provider => 14,
        Why::ShuttingDown => 15,
        Why::Storage => 16,
        Why::Internal => 17,
        Why::InsufficientCredits => 18,
    });
}

fn workspace() -> Workspace {
    Workspace {
        id: WorkspaceId::new("w"),
        name: "n".to_owned(),
        is_active: true,
        is_current: false,
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
        directory: WorkspaceDirectory::Managed,
    }
}

fn mcp_state() -> McpServerState {
    McpServerState {
        server: McpServer {
            name: "n".to_owned(),
            transport: McpTransport::Http {
                url: "https://a".to_owned(),
                headers: Default::default(),
            },
            required: None,
            retries: None,
            auth: None,
        },
        layer: McpLayer::User,
        auth: McpAuthState {
            mode: McpAuthMode::None,
            scope: McpScope::User,
            message: "m".to_owned(),
        },
        running: McpRunning::Starting,
        switched_off: true,
    }
}

#[test]
fn every_notice_comes_back() {
    let thread = || Box::new(replies::thread());
    let notices = [
        Notice::ThreadAdded { thread: thread() },
        Notice::ThreadChanged { thread: thread() },
        Notice::ThreadRemoved {
            thread: thread_id(),
        },
        Notice::WorkspaceChanged {
            what: WorkspaceChange::Created,
            workspace: Box::new(workspace()),
        },
        Notice::TreeChanged {
            workspace: WorkspaceId::new("w"),
        },
        Notice::ThreadStatusChanged { thread: thread() },
        Notice::SkillsChanged {
            version: 1,
            at: Timestamp(2),
            change: Box::new(replies::skill_change()),
        },
        Notice::McpChanged {
            workspaces: vec![WorkspaceId::new("w")],
            version: 2,
            name: "n".to_owned(),
            what: McpChangeKind::Switched,
        },
        Notice::McpServerChanged {
            workspaces: vec![WorkspaceId::new("w")],
            version: 3,
            state: Box::new(mcp_state()),
        },
        Notice::Reload,
        Notice::TracingChanged {
            state: Default::default(),
        },
        Notice::ShuttingDown {
            reason: Cow::Borrowed("restart"),
        },
    ];
    all_come_back(&notices, 12, |notice| match notice {
        Notice::ThreadAdded { .. } => 0,
        Notice::ThreadChanged { .. } => 1,
        Notice::ThreadRemoved { .. } => 2,
        Notice::WorkspaceChanged { .. } => 3,
        Notice::TreeChanged { .. } => 4,
        Notice::Reload => 5,
        Notice::ShuttingDown { .. } => 6,
        Notice::TracingChanged { .. } => 7,
        Notice::ThreadStatusChanged { .. } => 8,
        Notice::SkillsChanged { .. } => 9,
        Notice::McpChanged { .. } => 10,
        Notice::McpServerChanged { .. } => 11,
    });
}
