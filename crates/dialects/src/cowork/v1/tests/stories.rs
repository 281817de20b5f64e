//! A session from its hello to its end.

use std::collections::BTreeMap;

use serde_json::json;
use vocabulary::{
    Answer, AskFact, AskId, Call, Changed, Fact, ItemId, Refusal, Reply, StepFact, SubAgent,
    ThreadFact, ThreadSettings, Title, ToolCall, ToolEvent, ToolFact, TurnErrorKind, TurnFact,
    TurnId, TurnOutcome, UserInput, Why,
};

use super::stub::Stub;
use crate::Variant;
use crate::cowork::tests::samples::{
    SESSION, approval, bash, model, questions, settings, tag, thread_id,
};
use crate::diminuendo::tests::facts;

#[test]
fn the_hello_says_where_work_and_output_go_and_nothing_follows() {
    let mut stub = Stub::opened();
    stub.say(json!({"type": "client_hello", "client": "early"}));
    stub.greet();
    assert_eq!(
        stub.take(),
        [
            json!({"type": "server_hello", "sessionId": SESSION, "config": {
                "provider": "openai", "model": "gpt-5.2",
                "workingDirectory": "/home/user/project",
                "outputDirectory": "/home/user/project/output"}})
        ]
    );
    assert!(stub.calls.is_empty());
}

#[test]
fn a_turn_is_an_echo_a_beginning_an_answer_and_an_end() {
    let mut stub = Stub::connected();
    stub.tell(facts::turn_started());
    stub.tell(facts::grew(vocabulary::Growth::Text));
    stub.tell(facts::turn_finished(TurnOutcome::Completed));
    let session = json!(SESSION);
    assert_eq!(
        stub.take(),
        [
            json!({"type": "user_message", "sessionId": session, "text": "Hello"}),
            json!({"type": "session_busy", "sessionId": session, "busy": true}),
            json!({"type": "assistant_message", "sessionId": session, "text": "All of it."}),
            json!({"type": "session_busy", "sessionId": session, "busy": false}),
        ]
    );
}

#[test]
fn a_turn_that_gave_up_says_its_last_words_and_why() {
    let mut stub = Stub::connected();
    stub.tell(facts::turn_started());
    stub.sent.clear();
    let outcome = facts::failed(TurnErrorKind::StepLimit);
    stub.tell(facts::turn_finished(outcome));
    let session = json!(SESSION);
    assert_eq!(
        stub.take(),
        [
            json!({"type": "assistant_message", "sessionId": session, "text": "All of it."}),
            json!({"type": "error", "sessionId": session, "message": "it broke"}),
            json!({"type": "session_busy", "sessionId": session, "busy": false}),
        ]
    );
}

#[test]
fn an_approval_has_no_reason_code() {
    let mut stub = Stub::connected();
    let ask = approval(3);
    stub.tell(Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    });
    assert_eq!(
        stub.take(),
        [
            json!({"type": "approval", "sessionId": SESSION, "requestId": "req-3",
                "command": "rm -rf build", "dangerous": true,
                "reason": "this command is not known to be harmless"})
        ]
    );
}

#[test]
fn a_blank_answer_is_taken_for_a_skip() {
    let mut stub = Stub::connected();
    let ask = questions(4, &["Which?"]);
    stub.tell(Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    });
    stub.say(
        json!({"type": "ask_response", "sessionId": SESSION, "requestId": "req-4",
                    "answer": "  "}),
    );
    let answers = BTreeMap::from([("q-Which?".to_owned(), Vec::new())]);
    let call = Call::AnswerAsk {
        thread: thread_id(SESSION),
        ask: AskId(4),
        answer: Answer::Questions(answers),
    };
    assert_eq!(stub.call(), &call);
}

#[test]
fn answers_to_nothing_are_silent() {
    let mut stub = Stub::connected();
    for request in ["req-9", "nonsense"] {
        stub.say(
            json!({"type": "ask_response", "sessionId": SESSION, "requestId": request,
                        "answer": "x"}),
        );
    }
    assert!(stub.calls.is_empty());
    stub.say(
        json!({"type": "approval_response", "sessionId": SESSION, "requestId": "req-9",
                    "approved": true}),
    );
    stub.reply(Err(Refusal::new(Why::UnknownAsk, "no such ask")));
    assert!(stub.take().is_empty());
}

#[test]
fn a_model_is_not_changed_while_the_agent_is_busy() {
    let set = json!({"type": "set_model", "sessionId": SESSION, "model": "pro",
                     "provider": "gemini-cli"});
    let mut stub = Stub::connected();
    stub.tell(facts::turn_started());
    stub.sent.clear();
    stub.say(set.clone());
    let busy = json!({"type": "error", "sessionId": SESSION, "message": "Agent is busy"});
    assert_eq!(stub.take(), [busy]);
    stub.tell(facts::turn_finished(TurnOutcome::Cancelled));
    stub.sent.clear();
    stub.say(set);
    let Call::ChangeThread { changes, .. } = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    let chosen = changes.model.clone().expect("a model");
    assert_eq!(chosen.provider, "gemini-cli");
    stub.tell(Fact::Thread(ThreadFact::SettingsChanged {
        settings: ThreadSettings {
            model: chosen,
            ..settings()
        },
        changed: vec![Changed::Model],
        title: Title::default(),
    }));
    let sent = stub.take();
    assert_eq!(sent[0]["type"], "config_updated");
    assert_eq!(sent[0]["config"]["provider"], "gemini-cli");
    assert_eq!(sent[0]["config"]["model"], "pro");
    assert_ne!(model().provider, "gemini-cli");
}

#[test]
fn tools_are_names() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "list_tools", "sessionId": SESSION}));
    let tool = |name: &str| (name.to_owned(), "does it".to_owned());
    stub.reply(Ok(Reply::Tools(vec![tool("bash"), tool("edit")])));
    assert_eq!(
        stub.take(),
        [json!({"type": "tools", "sessionId": SESSION, "tools": ["bash", "edit"]})]
    );
}

#[test]
fn the_session_ends_with_its_connection() {
    let mut stub = Stub::connected();
    stub.go();
    let thread = thread_id(SESSION);
    let audience = Variant::Cowork1.audience();
    let calls: Vec<_> = stub.calls.into_iter().map(|(_, call)| call).collect();
    // Whether its turn ends with it is for the engine to say: others may listen to it.
    assert_eq!(calls, [Some(Call::CloseThread { thread, audience })]);
}

#[test]
fn a_connection_that_was_closed_still_lets_its_session_go() {
    let mut stub = Stub::connected();
    stub.tell(Fact::Thread(ThreadFact::Closed));
    assert!(stub.closed.is_some());
    assert!(stub.calls.is_empty(), "nobody would make them");
    stub.go();
    assert_eq!(stub.calls.len(), 1);
}

#[test]
fn what_the_agent_goes_through_is_told_in_lines() {
    let mut stub = Stub::connected();
    let line = |line: &str| json!({"type": "log", "sessionId": SESSION, "line": line});
    stub.tell(Fact::Step {
        tag: tag(0),
        what: StepFact::Delayed {
            agent: None,
            discards: false,
            attempt: 1,
            delay_ms: 2_000,
            error: "OpenAI is overloaded".to_owned(),
        },
    });
    stub.tell(Fact::Step {
        tag: tag(0),
        what: StepFact::Compacted {
            item: ItemId::new("i3"),
            summary: "Short.".to_owned(),
            tokens_before: 9,
            kept: None,
        },
    });
    let call = ToolCall {
        agent: Some(Box::new(SubAgent {
            parent: ItemId::new("i0"),
            kind: "general".to_owned(),
            depth: 1,
        })),
        ..bash(json!({}))
    };
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(0),
        call: call.into(),
        what: ToolFact::Reached,
    }));
    assert_eq!(
        stub.take(),
        [
            line("[retry] OpenAI is overloaded; trying again in 2 s (attempt 2)"),
            line("[compaction] 9 tokens of context were replaced by a summary"),
            line("[sub:general] tool> bash {}"),
        ]
    );
}

#[test]
fn what_is_said_to_a_running_turn_is_echoed() {
    let mut stub = Stub::connected();
    stub.tell(Fact::Turn(TurnFact::Steered {
        after_step: 0,
        turn: TurnId::new("t1"),
        input: UserInput {
            item: ItemId::new("i2"),
            text: "Use tabs".to_owned(),
            display: None,
            client_id: Some("m2".to_owned()),
            images: Vec::new(),
            pieces: Vec::new(),
        },
    }));
    assert_eq!(
        stub.take(),
        [
            json!({"type": "user_message", "sessionId": SESSION, "text": "Use tabs",
                "clientMessageId": "m2"})
        ]
    );
}

#[test]
fn a_model_of_another_provider_is_named_through_openai() {
    let mut stub = Stub::connected();
    stub.say(
        json!({"type": "set_model", "sessionId": SESSION, "provider": "openai",
                    "model": "rehearsal/echo"}),
    );
    let Call::ChangeThread { changes, .. } = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    let chosen = changes.model.clone().expect("a model");
    assert_eq!(chosen.provider, "rehearsal");
    stub.tell(Fact::Thread(ThreadFact::SettingsChanged {
        settings: ThreadSettings {
            model: chosen,
            ..settings()
        },
        changed: vec![Changed::Model],
        title: Title::default(),
    }));
    let config = &stub.take()[0]["config"];
    assert_eq!(config["provider"], "openai");
    assert_eq!(config["model"], "rehearsal/echo");
}
