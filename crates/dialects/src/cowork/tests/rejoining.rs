//! Coming back while an answer is being written: nothing of it is missing.

use serde_json::{Value, json};
use vocabulary::{
    Fact, Growing, ItemId, LiveItem, PlanStep, PlanStepStatus, ReasoningKind, Reply, RunningTurn,
    ThreadView, TurnFact, TurnId, UserInput,
};

use super::samples::{NOW, SESSION, tag, view};
use super::stub::Stub;
use crate::{Ending, Heard, Reason};

fn growing(part: u32, grew: u32, item: LiveItem) -> Growing {
    Growing {
        began: None,
        tag: tag(part),
        part: grew,
        item,
    }
}

fn writing(live: Vec<Growing>) -> ThreadView {
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
        calls: Vec::new(),
        step: Some(tag(4)),
        live,
        events: Vec::new(),
        unplaced: Vec::new(),
    };
    ThreadView {
        turn: Some(turn),
        ..view()
    }
}

fn resumed(view: ThreadView) -> Stub {
    let mut stub = Stub::opened(&[("resumeSessionId", SESSION)]);
    stub.reply(Ok(Reply::View(Box::new(view))));
    stub
}

/// The chunks of what was sent, as number, type and part.
fn chunks(sent: &[Value]) -> Vec<(u64, &str, &Value)> {
    let chunk = |frame: &'_ Value| frame["type"] == "model_stream_chunk";
    let chunks = sent.iter().filter(|frame| chunk(frame));
    chunks
        .map(|frame| {
            let number = frame["index"].as_u64().unwrap_or(u64::MAX);
            let kind = frame["partType"].as_str().unwrap_or_default();
            (number, kind, &frame["part"])
        })
        .collect()
}

#[test]
fn what_is_being_written_is_told_so_far_before_more_of_it_comes() {
    let item = ItemId::new("m1");
    let text = growing(
        6,
        31,
        LiveItem::Text {
            item: item.clone(),
            content: 0,
            text: "so far and ".to_owned(),
        },
    );
    let mut stub = resumed(writing(vec![text]));
    let sent = stub.take();
    assert_eq!(sent[4]["type"], "observability_status");
    let request = json!({"model": "gpt-5.2", "provider": "openai"});
    let step = json!({"stepNumber": 1, "request": request});
    let told = [
        (4, "start_step", &step),
        (5, "start", &json!({})),
        (6, "text_start", &json!({"id": "s0"})),
        (
            31,
            "text_delta",
            &json!({"id": "s0", "text": "so far and "}),
        ),
    ];
    assert_eq!(chunks(&sent[5..]), told);
}

#[test]
fn each_part_of_a_thought_is_told_so_far_with_a_number_of_its_own() {
    let thought = LiveItem::Reasoning {
        item: ItemId::new("r1"),
        content: 0,
        kind: ReasoningKind::Summary,
        text: "one\n\ntwo".to_owned(),
        breaks: vec![5],
    };
    let mut stub = resumed(writing(vec![growing(6, 12, thought)]));
    let sent = stub.take();
    let told = sent.iter().filter_map(|frame| {
        let text = frame["part"]["text"].as_str()?;
        Some((frame["index"].as_u64()?, text.to_owned()))
    });
    let told: Vec<_> = told.collect();
    let expected = [(10, "one"), (11, "\n\n"), (12, "two")];
    assert_eq!(told, expected.map(|(index, text)| (index, text.to_owned())));
}

#[test]
fn thoughts_and_the_arguments_of_a_call_are_told_so_far_as_well() {
    let thought = LiveItem::Reasoning {
        item: ItemId::new("r1"),
        content: 0,
        kind: ReasoningKind::Summary,
        text: "hm".to_owned(),
        breaks: Vec::new(),
    };
    let call = LiveItem::ToolInput {
        item: ItemId::new("c1"),
        content: 1,
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
        json: "{\"comm".to_owned(),
    };
    // Nothing of it yet: its beginning is all there is to tell.
    let text = LiveItem::Text {
        item: ItemId::new("m1"),
        content: 2,
        text: String::new(),
    };
    let live = vec![
        growing(6, 7, thought),
        growing(8, 9, call),
        growing(10, 10, text),
    ];
    let mut stub = resumed(writing(live));
    let sent = stub.take();
    let told = [
        (
            6,
            "reasoning_start",
            &json!({"id": "s0", "mode": "summary"}),
        ),
        (
            7,
            "reasoning_delta",
            &json!({"id": "s0", "mode": "summary", "text": "hm"}),
        ),
        (
            8,
            "tool_input_start",
            &json!({"id": "call_1", "toolName": "bash"}),
        ),
        (
            9,
            "tool_input_delta",
            &json!({"id": "call_1", "delta": "{\"comm"}),
        ),
        (10, "text_start", &json!({"id": "s2"})),
    ];
    assert_eq!(chunks(&sent)[2..], told);
}

fn plan(content: &str) -> Vec<PlanStep> {
    vec![PlanStep {
        content: content.to_owned(),
        status: PlanStepStatus::InProgress,
        active_form: "Doing".to_owned(),
    }]
}

#[test]
fn the_plan_is_told_behind_the_ten_unless_it_changed_meanwhile() {
    let mut with_plan = view();
    with_plan.plan = plan("Do it");
    let mut stub = resumed(with_plan.clone());
    stub.take();
    stub.answer_connect_calls();
    let sent = stub.take();
    let todo = json!({"content": "Do it", "status": "in_progress", "activeForm": "Doing"});
    assert_eq!(
        sent[5..],
        [json!({"type": "todos", "sessionId": SESSION, "todos": [todo]})]
    );

    let mut stub = resumed(with_plan);
    stub.take();
    stub.tell(Fact::Turn(TurnFact::PlanChanged {
        turn: None,
        steps: plan("Do another thing"),
    }));
    stub.answer_connect_calls();
    assert_eq!(stub.take().len(), 5);
}

#[test]
fn a_connection_ends_with_its_session() {
    for (ending, code) in [
        (Ending::Asleep, Reason::GOING_AWAY),
        (Ending::Deleted, Reason::NORMAL),
        (Ending::HandedOver, Reason::TRY_AGAIN_LATER),
        (Ending::Failed, Reason::TRY_AGAIN_LATER),
    ] {
        let mut stub = Stub::connected();
        stub.hear(Heard::Ended(ending));
        assert_eq!(stub.closed.map(|reason| reason.code), Some(code));
    }
}
