//! Coming back while an answer is being written, and threads that end while others are heard.

use serde_json::json;
use vocabulary::{
    Call, Entry, Event, Fact, Growing, ItemId, LiveItem, PlanStep, PlanStepStatus, ReasoningKind,
    Refusal, Reply, RunningTurn, Seq, StartedTurn, Status, ThreadView, ToolEvent, ToolFact,
    TurnFact, TurnId, UserInput,
};

use super::stub::{NOW, Stub, THREAD, approval, bash, open, tag, thread, view};
use crate::codex::Endpoint;
use crate::{Ending, Heard, Variant};

fn input() -> UserInput {
    UserInput {
        images: Vec::new(),
        item: ItemId::new("u1"),
        text: "Go".to_owned(),
        display: None,
        client_id: None,
        pieces: Vec::new(),
    }
}

fn growing(item: LiveItem) -> Growing {
    Growing {
        began: None,
        tag: tag(),
        part: 0,
        item,
    }
}

/// A turn in which a thought, a message and the output of a command grow.
fn writing() -> ThreadView {
    let facts = [
        Fact::Turn(TurnFact::Started {
            turn: TurnId::new("t1"),
            cause: vocabulary::Cause::UserMessage,
            input: input(),
            model: tag().model,
        }),
        Fact::Tool(ToolEvent {
            tag: tag(),
            call: bash().into(),
            what: ToolFact::Planned { content: 0 },
        }),
    ];
    let entries = (1..).zip(facts).map(|(seq, fact)| Entry {
        ordinal: seq,
        message: seq - 1,
        event: Event {
            seq: Seq(seq),
            at: NOW,
            by: None,
            fact,
        },
    });
    let mut view = view();
    view.thread.status = Status::Running;
    view.recent = entries.collect();
    view.turn = Some(RunningTurn {
        turn: TurnId::new("t1"),
        started_at: NOW,
        input: input(),
        text: Vec::new(),
        reasoning: Vec::new(),
        calls: Vec::new(),
        step: Some(tag()),
        live: vec![
            growing(LiveItem::Output {
                call: bash().into(),
                text: "half a li".to_owned(),
            }),
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
        ],
        events: Vec::new(),
        unplaced: Vec::new(),
    });
    view
}

#[test]
fn a_read_has_what_is_being_written_as_a_resume_has_it() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::ready(endpoint);
        let params = json!({ "threadId": THREAD, "includeTurns": true });
        stub.ask(1, "thread/read", params);
        let wanted = Call::ReadThread {
            thread: thread().card.id,
            recent: u32::MAX,
        };
        assert_eq!(*stub.call(), wanted);
        stub.reply(Ok(Reply::View(Box::new(writing()))));
        let read = stub.take().remove(0)["result"]["thread"].take();
        let items = &read["turns"][0]["items"];
        let kinds: Vec<_> = (0..4).map(|at| items[at]["type"].clone()).collect();
        assert_eq!(
            kinds,
            [
                "userMessage",
                "commandExecution",
                "reasoning",
                "agentMessage"
            ]
        );
        assert_eq!(items[1]["aggregatedOutput"], "half a li");
        let thought = match endpoint {
            Endpoint::Codex => "summary",
            Endpoint::Zane => "content",
        };
        assert_eq!(items[2][thought], json!(["hm"]));
        assert_eq!(items[3]["text"], "so far");

        stub.ask(2, "thread/resume", json!({ "threadId": THREAD }));
        stub.reply(Ok(Reply::View(Box::new(writing()))));
        let resumed = stub.take().remove(0)["result"]["thread"].take();
        assert_eq!(resumed["turns"], read["turns"]);
        assert_eq!(resumed["status"], read["status"]);
    }
}

#[test]
fn who_wants_no_turns_is_told_what_is_being_written() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let params = json!({ "threadId": THREAD, "excludeTurns": true });
    stub.ask(1, "thread/resume", params);
    let mut without = writing();
    without.recent.clear();
    stub.reply(Ok(Reply::View(Box::new(without))));
    let sent = stub.take();
    assert_eq!(sent[0]["result"]["thread"]["turns"], json!([]));
    let told = sent[1..].iter().map(|frame| {
        let (method, params) = (&frame["method"], &frame["params"]);
        let delta = &params["delta"];
        (
            method.clone(),
            delta.as_str().unwrap_or_default().to_owned(),
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (json!("item/started"), String::new()),
            (json!("item/reasoning/summaryPartAdded"), String::new()),
            (json!("item/reasoning/summaryTextDelta"), "hm".to_owned()),
            (json!("item/started"), String::new()),
            (json!("item/agentMessage/delta"), "so far".to_owned()),
        ]
    );
}

#[test]
fn who_resumes_is_told_the_plan_of_the_turn_that_made_it() {
    let mut view = view();
    view.plan = vec![PlanStep {
        content: "Do it".to_owned(),
        status: PlanStepStatus::InProgress,
        active_form: "Doing it".to_owned(),
    }];
    view.plan_turn = Some(TurnId::new("t0"));
    for (endpoint, status) in [
        (Endpoint::Codex, "inProgress"),
        (Endpoint::Zane, "InProgress"),
    ] {
        let mut stub = Stub::ready(endpoint);
        stub.ask(1, "thread/resume", json!({ "threadId": THREAD }));
        stub.reply(Ok(Reply::View(Box::new(view.clone()))));
        let sent = stub.take();
        assert_eq!(sent[0]["id"], 1);
        assert_eq!(sent[1]["method"], "turn/plan/updated");
        let plan = &sent[1]["params"];
        assert_eq!(plan["turnId"], "t0");
        assert_eq!(plan["plan"][0]["step"], "Do it");
        assert_eq!(plan["plan"][0]["status"], status);
    }
}

#[test]
fn a_thread_that_fails_is_closed_and_the_connection_goes_on() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        stub.hear(Heard::Ended(Ending::Failed));
        let sent = stub.take();
        let methods: Vec<_> = sent.iter().map(|frame| frame["method"].clone()).collect();
        assert_eq!(methods, ["thread/status/changed", "thread/closed"]);
        assert_eq!(sent[1]["params"], json!({ "threadId": THREAD }));
        assert_eq!(stub.closed, None);
        // It is not heard any more, so whoever starts a turn in it listens again.
        let input = json!([{ "type": "text", "text": "Go" }]);
        stub.ask(
            2,
            "turn/start",
            json!({ "threadId": THREAD, "input": input }),
        );
        let thread = thread().card.id;
        assert_eq!(stub.call(), &Call::ReadThread { thread, recent: 0 });
        stub.reply(Ok(Reply::View(Box::new(view()))));
        let Call::StartTurn(start) = stub.call() else {
            panic!("{:?}", stub.calls)
        };
        let audience = match endpoint {
            Endpoint::Codex => Variant::Codex.audience(),
            Endpoint::Zane => Variant::Zane.audience(),
        };
        assert_eq!((start.thread, start.listen), (thread, Some(audience)));
    }
}

#[test]
fn who_starts_a_turn_hears_its_thread_and_one_that_is_refused_is_not_heard() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let input = json!([{ "type": "text", "text": "Go" }]);
    let params = json!({ "threadId": THREAD, "input": input });
    stub.ask(2, "turn/start", params.clone());
    stub.reply(Ok(Reply::View(Box::new(view()))));
    stub.reply(Err(Refusal::busy()));
    assert_eq!(stub.take()[0]["error"]["message"], "Agent is busy");

    stub.ask(3, "turn/start", params.clone());
    stub.reply(Ok(Reply::View(Box::new(view()))));
    let mut joined = view();
    joined.asks.push(open(approval(7)));
    stub.reply(Ok(Reply::Turn(StartedTurn {
        turn: TurnId::new("t9"),
        again: true,
        joined: Some(Box::new(joined)),
    })));
    let sent = stub.take();
    assert_eq!(sent[0]["id"], 7, "what waits is asked again");
    assert_eq!(sent[1]["result"]["turn"]["id"], "t9");

    stub.ask(4, "turn/start", params);
    assert!(matches!(stub.call(), Call::StartTurn(start) if start.listen.is_none()));
}

#[test]
fn a_deletion_is_told_once_and_closes_nothing() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.hear(Heard::Ended(Ending::Deleted));
    stub.notice(&vocabulary::Notice::ThreadRemoved {
        thread: thread().card.id,
    });
    let sent = stub.take();
    assert_eq!(
        sent,
        [json!({ "method": "thread/deleted", "params": { "threadId": THREAD } })]
    );
    assert_eq!(stub.closed, None);
}

#[test]
fn who_hears_a_thread_that_is_reset_is_told_that_it_starts_again() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        stub.take();
        let reset = super::stub::event(Fact::Thread(vocabulary::ThreadFact::Reset));
        stub.hear(Heard::Live(&reset));
        let thread = view().thread.card.id;
        let recent = u32::MAX;
        assert_eq!(*stub.call(), Call::ReadThread { thread, recent });
        stub.reply(Ok(Reply::View(Box::new(view()))));
        let sent = stub.take();
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert_eq!(sent[0]["method"], "thread/started");
        assert_eq!(sent[0]["params"]["threadId"], THREAD);
        assert_eq!(sent[0]["params"]["thread"]["turns"], json!([]));

        // What has begun meanwhile is in it: nothing of it is told again.
        stub.hear(Heard::Live(&reset));
        stub.reply(Ok(Reply::View(Box::new(writing()))));
        let turns = stub.take().remove(0)["params"]["thread"]["turns"].take();
        assert_eq!(turns[0]["id"], "t1");
    }
}
