//! Which frame each fact is, and what stands in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    ApprovalAnswer, AskFact, Event, Fact, Growth, LONE_MEMBER, Person, SubAgent, ToolOutcome,
    ToolOutput, TurnErrorKind, TurnId, TurnOutcome,
};

use super::facts;
use crate::cowork::tests::samples::{
    NOW, SESSION, card, event, json as parsed, model as facts_model,
};
use crate::diminuendo::Form;
use crate::diminuendo::tell::{Spelled, spell, tell};

fn told(fact: Fact, form: Form) -> Vec<Value> {
    let frames = tell(&card(), &event(fact), form);
    frames.iter().map(parsed).collect()
}

/// The only frame, without what every numbered frame has.
fn only(fact: Fact) -> Value {
    let mut frames = told(fact, Form::Snake);
    assert_eq!(frames.len(), 1);
    let mut frame = frames.remove(0);
    let fields = frame.as_object_mut().expect("an object");
    assert_eq!(fields.remove("sessionId"), Some(json!(SESSION)));
    if let Some(seq) = fields.remove("seq") {
        assert_eq!(seq, 10);
        assert_eq!(fields.remove("ts"), Some(json!(NOW.millis())));
    }
    frame
}

#[test]
fn an_event_has_at_most_one_number_and_says_whether() {
    for fact in facts::all() {
        let happened = event(fact.clone());
        let numbered = matches!(spell(SESSION, &happened), Some(Spelled::Numbered(_)));
        let frames = told(fact, Form::Snake);
        let has_seq = |frame: &&Value| frame.get("seq").is_some();
        let numbers = frames.iter().filter(has_seq).count();
        assert_eq!(numbers, usize::from(numbered), "{frames:?}");
    }
}

#[test]
fn a_turn_ends_in_one_of_two_ways() {
    let complete = json!({"type": "turn_complete", "turnId": "t1", "finalText": "All of it."});
    for outcome in [TurnOutcome::Completed, TurnOutcome::Cancelled] {
        assert_eq!(only(facts::turn_finished(outcome)), complete);
    }
    for (kind, code) in [
        (TurnErrorKind::Provider, "AGENT_ERROR"),
        (TurnErrorKind::Internal, "AGENT_ERROR"),
        (TurnErrorKind::Budget, "BUDGET_EXHAUSTED"),
        (TurnErrorKind::InsufficientCredits, "InsufficientCredits"),
        (TurnErrorKind::StepLimit, "STEP_LIMIT"),
        (TurnErrorKind::Loop, "LOOP"),
        (TurnErrorKind::OutputLimit, "OUTPUT_LIMIT"),
        (TurnErrorKind::EmptyAnswer, "EMPTY_ANSWER"),
        (TurnErrorKind::ContextFull, "CONTEXT_FULL"),
        (TurnErrorKind::AgentLost, "AGENT_DISCONNECTED"),
        (TurnErrorKind::ServerRestart, "SERVER_RESTART"),
    ] {
        assert_eq!(
            only(facts::turn_finished(facts::failed(kind))),
            json!({"type": "turn_error", "turnId": "t1", "message": "it broke", "code": code})
        );
    }
}

#[test]
fn a_tool_succeeds_fails_or_breaks() {
    let command = |exit_code, stderr: &str| {
        ToolOutcome::Succeeded(ToolOutput::Command {
            stdout: "out\n".to_owned(),
            stderr: stderr.to_owned(),
            exit_code,
            duration_ms: 1,
            model_text: None,
        })
    };
    let result = |status: &str, output: &str| {
        json!({"type": "tool_result", "turnId": "t1", "toolCallId": "call_1",
               "status": status, "output": output})
    };
    let outcome = |outcome| only(facts::tool_finished(outcome));
    assert_eq!(outcome(command(0, "")), result("success", "out\n"));
    assert_eq!(outcome(command(2, "err")), result("error", "out\nerr"));
    let denied = ToolOutcome::Denied(ToolOutput::Text("no".to_owned()));
    assert_eq!(outcome(denied), result("error", "no"));
    let broken = ToolOutcome::Failed {
        error: "no file".to_owned(),
    };
    assert_eq!(
        outcome(broken),
        json!({"type": "tool_error", "turnId": "t1", "toolCallId": "call_1", "error": "no file"})
    );
}

#[test]
fn a_permission_is_asked_and_resolved() {
    assert_eq!(
        only(facts::asked(7, false)),
        json!({"type": "permission_requested", "requestId": "req-7", "toolName": "bash",
               "description": "rm -rf build",
               "reason": "this command is not known to be harmless"})
    );
    for (answer, approved) in [
        (ApprovalAnswer::Once, true),
        (ApprovalAnswer::ForSession, true),
        (ApprovalAnswer::Deny, false),
    ] {
        assert_eq!(
            only(facts::closed(7, false, answer)),
            json!({"type": "approval_resolved", "requestId": "req-7", "approved": approved})
        );
    }
}

#[test]
fn usage_is_told_with_what_is_known() {
    let model = facts_model();
    let mut used = json!({"type": "usage_update", "sessionId": SESSION, "turnId": "t1",
        "model": model.model, "provider": model.provider,
        "inputTokens": 100, "outputTokens": 20, "cachedTokens": 60});
    let unpriced = facts::step_finished(facts::usage(None), None);
    assert_eq!(told(unpriced, Form::Snake), [used.clone()]);
    used["costMicroDollars"] = json!(7);
    let context = json!({"type": "usage_context", "sessionId": SESSION, "turnId": "t1",
        "contextSize": 120, "maxContextSize": 1000});
    for form in [Form::Snake, Form::Dotted] {
        let priced = facts::step_finished(facts::usage(Some(7)), Some(1000));
        assert_eq!(told(priced, form), [used.clone(), context.clone()]);
    }
    let beside = facts::added(Some(TurnId::new("t1")));
    assert_eq!(told(beside, Form::Snake), [used]);
    assert!(told(facts::added(None), Form::Snake).is_empty());
}

#[test]
fn everyone_joined_hears_what_was_said_to_a_running_turn() {
    assert_eq!(
        told(facts::steered(), Form::Snake),
        [json!({"type": "steer_sent", "sessionId": SESSION, "steerId": "u2", "content": "Left"})]
    );
}

#[test]
fn a_question_has_no_number() {
    assert_eq!(
        told(facts::asked(7, true), Form::Snake),
        [
            json!({"type": "question_requested", "sessionId": SESSION, "requestId": "req-7",
                "questions": [{"id": "q-Which?", "question": "Which?",
                               "options": [{"label": "yes"}],
                               "multiSelect": false, "required": true}],
                "context": "asked by the tool bash, which waits for it"})
        ]
    );
}

#[test]
fn a_question_says_who_wants_to_know_where_that_is_not_the_agent_itself() {
    let context = |name: &str, kind: Option<&str>| {
        let mut fact = facts::asked(7, true);
        let Fact::Ask {
            what: AskFact::Opened { ask },
            ..
        } = &mut fact
        else {
            panic!("no ask")
        };
        ask.call.name = name.to_owned();
        ask.call.agent = kind.map(|kind| {
            Box::new(SubAgent {
                parent: vocabulary::ItemId::new("p"),
                kind: kind.to_owned(),
                depth: 1,
            })
        });
        told(fact, Form::Snake).remove(0)["context"].clone()
    };
    assert_eq!(context("ask", None), serde_json::Value::Null);
    let sub_agent = context("ask", Some("explore"));
    assert_eq!(sub_agent, "asked by a sub-agent: explore");
    let tool = context("mcp__notes__add", Some("explore"));
    assert_eq!(
        tool,
        "asked by the tool mcp__notes__add of a sub-agent: explore"
    );
}

#[test]
fn dotted_twins_have_the_number_of_their_event() {
    for (fact, kind) in [
        (facts::grew(Growth::Text), "message.delta"),
        (
            facts::turn_finished(TurnOutcome::Completed),
            "message.complete",
        ),
    ] {
        let frames = told(fact, Form::Dotted);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[1]["type"], kind);
        assert_eq!(frames[0]["seq"], frames[1]["seq"]);
        assert_eq!(frames[0]["ts"], frames[1]["ts"]);
    }
    let failed = facts::turn_finished(facts::failed(TurnErrorKind::Provider));
    assert_eq!(told(failed, Form::Dotted).len(), 1);
}

#[test]
fn who_did_it_is_named_unless_there_is_nobody_else() {
    let named = |member: &str| -> Vec<(String, Value)> {
        let by = Person {
            member: member.to_owned(),
            via: None,
        };
        let answered = facts::closed(7, false, ApprovalAnswer::Once);
        let all = facts::all().into_iter().chain([answered]);
        let frames = all.flat_map(|fact| {
            let happened = Event {
                by: Some(Arc::new(by.clone())),
                ..event(fact)
            };
            tell(&card(), &happened, Form::Snake)
        });
        let frames = frames.map(|frame| parsed(&frame));
        let kind = |frame: &Value| frame["type"].as_str().unwrap_or_default().to_owned();
        let named = frames.filter(|frame| frame.get("userId").is_some());
        named
            .map(|frame| (kind(&frame), frame["userId"].clone()))
            .collect()
    };
    assert_eq!(named(LONE_MEMBER), []);
    let told: BTreeSet<String> = named("alice")
        .into_iter()
        .inspect(|(_, user)| assert_eq!(*user, "alice"))
        .map(|(kind, _)| kind)
        .collect();
    let expected = ["approval_resolved", "steer_sent", "turn_started"];
    assert_eq!(told, BTreeSet::from(expected.map(str::to_owned)));
}
