//! Coming back while an answer is being written, and threads that end.

use serde_json::{Value, json};
use vocabulary::{
    Event, Fact, Growing, ItemId, LiveItem, PlannedCall, ReasoningKind, Reply, RunningTurn, Seq,
    Subject, ThreadView, ToolCall, ToolEvent, ToolFact, TurnId, UserInput,
};

use super::samples::{NOW, THREAD, WORKSPACE, bash, tag, thread, view};
use super::stub::Stub;
use crate::{Ending, Heard};

fn growing(item: LiveItem) -> Growing {
    Growing {
        began: None,
        tag: tag(),
        part: 0,
        item,
    }
}

fn planned(call: &ToolCall, finished: bool) -> PlannedCall {
    PlannedCall {
        call: call.into(),
        started: true,
        finished,
    }
}

fn output(call: &ToolCall, text: &str) -> Growing {
    growing(LiveItem::Output {
        call: call.clone().into(),
        text: text.to_owned(),
    })
}

/// A command, and another tool, that write; one more that has ended.
fn working() -> ThreadView {
    let run = bash("make");
    let fetch = ToolCall {
        item: ItemId::new("i2"),
        name: "webFetch".to_owned(),
        subject: Subject::Other,
        ..bash("")
    };
    let ended = ToolCall {
        item: ItemId::new("i3"),
        ..bash("ls")
    };
    let events = [&run, &fetch, &ended].map(|call| Event {
        seq: Seq(3),
        at: NOW,
        by: None,
        fact: Fact::Tool(ToolEvent {
            tag: tag(),
            call: call.clone().into(),
            what: ToolFact::Planned { content: 0 },
        }),
    });
    let turn = RunningTurn {
        turn: TurnId::new("t1"),
        started_at: NOW,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u1"),
            text: "Go".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        text: Vec::new(),
        reasoning: Vec::new(),
        calls: vec![
            planned(&run, false),
            planned(&fetch, false),
            planned(&ended, true),
        ],
        step: None,
        live: vec![output(&run, "half a li"), output(&fetch, "10 %")],
        events: events.to_vec(),
        unplaced: Vec::new(),
    };
    ThreadView {
        turn: Some(turn),
        ..view()
    }
}

/// What is told behind the answer and `thread/started`.
fn joined(view: ThreadView) -> Vec<Value> {
    let mut stub = Stub::opened(false);
    let params = json!({ "thread_id": THREAD, "workspace_id": WORKSPACE });
    stub.say("thread/start", params);
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view))));
    let mut sent = stub.take();
    assert_eq!(sent[1]["method"], "thread/started");
    sent.split_off(2)
}

fn brief(frame: &Value) -> (&str, &str, &str) {
    let params = &frame["params"];
    let id = params["item"]["id"].as_str().or(params["item_id"].as_str());
    let method = frame["method"].as_str().unwrap_or_default();
    let delta = params["delta"].as_str().unwrap_or_default();
    (method, id.unwrap_or_default(), delta)
}

#[test]
fn what_is_being_written_is_told_so_far() {
    let mut writing = working();
    if let Some(turn) = &mut writing.turn {
        turn.calls.clear();
        turn.live = vec![
            growing(LiveItem::Reasoning {
                item: ItemId::new("r1"),
                content: 0,
                kind: ReasoningKind::Reasoning,
                text: "hm".to_owned(),
                breaks: Vec::new(),
            }),
            growing(LiveItem::Text {
                item: ItemId::new("m1"),
                content: 1,
                text: "so far".to_owned(),
            }),
        ];
    }
    let sent = joined(writing);
    let told: Vec<_> = sent.iter().map(brief).collect();
    assert_eq!(
        told,
        [
            // Thoughts have no deltas here: they come when they are whole.
            ("item/started", "r1", ""),
            ("item/started", "m1", ""),
            ("item/agent_message/delta", "m1", "so far"),
        ]
    );
}

#[test]
fn calls_under_way_are_told_with_what_they_have_written() {
    let sent = joined(working());
    let told: Vec<_> = sent.iter().map(brief).collect();
    assert_eq!(
        told,
        [
            ("item/started", "i1", ""),
            ("item/started", "i2", ""),
            ("item/command_execution/output_delta", "i1", "half a li"),
            ("item/tool/progress", "i2", "10 %"),
        ]
    );
}

#[test]
fn a_thread_that_ends_is_closed_and_the_connection_goes_on() {
    for ending in [Ending::Deleted, Ending::Failed] {
        let mut stub = Stub::subscribed(false);
        stub.hear(Heard::Ended(ending));
        let closed = json!({ "workspaceId": WORKSPACE, "threadId": THREAD });
        let sent = stub.take();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0]["method"], "thread/closed");
        assert_eq!(sent[0]["params"], closed);
        assert!(!stub.closed);
    }
}
