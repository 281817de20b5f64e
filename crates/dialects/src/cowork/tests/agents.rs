//! What an agent with a real model goes through, as whole frames.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, Ask, AskFact, Closing, Entry, Fact, Item, ItemFact, ItemId,
    MessagePage, Native, OutputStream, Purpose, ReasoningKind, Reply, StepFact, SubAgent, ToolCall,
    ToolEvent, ToolFact, ToolOutcome, ToolOutput, TurnFact, TurnId, Usage, UserInput,
};

use super::commands::said;
use super::samples::{approval, bash, event, model, questions, tag, told};
use super::telling::{check, chunk, frame};
use crate::cowork::tell::{RawParts, chunks};

fn log(line: &str) -> Value {
    frame("log", json!({ "line": line }))
}

fn steered(client_id: Option<&str>) -> Fact {
    Fact::Turn(TurnFact::Steered {
        after_step: 0,
        turn: TurnId::new("t1"),
        input: UserInput {
            item: ItemId::new("i2"),
            text: "Use tabs".to_owned(),
            display: None,
            client_id: client_id.map(str::to_owned),
            images: Vec::new(),
            pieces: Vec::new(),
        },
    })
}

fn explorer() -> Option<Box<SubAgent>> {
    Some(Box::new(SubAgent {
        parent: ItemId::new("i0"),
        kind: "explore".to_owned(),
        depth: 1,
    }))
}

fn explorers_call() -> ToolCall {
    ToolCall {
        agent: explorer(),
        ..bash(json!({ "command": "ls" }))
    }
}

fn explorers(mut ask: Ask) -> Ask {
    ask.call.agent = explorer();
    ask
}

fn planned(call: ToolCall) -> Fact {
    Fact::Tool(ToolEvent {
        tag: tag(5),
        call: call.into(),
        what: ToolFact::Planned { content: 0 },
    })
}

fn finished(call: &ToolCall, outcome: ToolOutcome) -> Fact {
    Fact::Tool(ToolEvent {
        tag: tag(9),
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome,
            duration_ms: None,
        },
    })
}

#[test]
fn what_is_said_to_a_running_turn_is_echoed() {
    let echo = json!({ "text": "Use tabs", "clientMessageId": "cm-2" });
    check(steered(Some("cm-2")), &[frame("user_message", echo)]);
    let echo = frame("user_message", json!({ "text": "Use tabs" }));
    check(steered(None), &[echo]);
}

#[test]
fn a_compaction_is_a_line_and_its_summary_is_not_told() {
    let compacted = |tokens_before| Fact::Step {
        tag: tag(3),
        what: StepFact::Compacted {
            item: ItemId::new("i3"),
            summary: "They want tabs.".to_owned(),
            tokens_before,
            kept: None,
        },
    };
    let known = "[compaction] 182000 tokens of context were replaced by a summary";
    check(compacted(182_000), &[log(known)]);
    let unknown = "[compaction] the context was replaced by a summary";
    check(compacted(0), &[log(unknown)]);
}

#[test]
fn a_delay_says_why_how_long_and_which_attempt_comes() {
    let delayed = |attempt, delay_ms, error: &str| Fact::Step {
        tag: tag(2),
        what: StepFact::Delayed {
            agent: None,
            discards: false,
            attempt,
            delay_ms,
            error: error.to_owned(),
        },
    };
    let overloaded = "OpenAI is overloaded (HTTP 503).";
    for (attempt, delay_ms, line) in [
        (1, 2_000, "trying again in 2 s (attempt 2)"),
        (2, 1_540, "trying again in 1.5 s (attempt 3)"),
        (3, 60_000, "trying again in 60 s (attempt 4)"),
        (u32::MAX, 0, "trying again in 0 s (attempt 4294967295)"),
    ] {
        let line = format!("[retry] OpenAI is overloaded (HTTP 503); {line}");
        check(delayed(attempt, delay_ms, overloaded), &[log(&line)]);
    }
    let long = told(delayed(1, 0, &"x".repeat(100_000)), RawParts::Leave);
    assert!(long[0].to_string().len() < 5_000);
}

#[test]
fn tokens_spent_beside_the_steps_are_told_with_the_turn() {
    let added = Fact::Turn(TurnFact::UsageAdded {
        turn: None,
        model: Arc::new(model()),
        purpose: Purpose::Title,
        usage: Usage::default(),
    });
    check(added, &[]);
}

#[test]
fn calls_of_a_sub_agent_are_lines_and_no_chunks() {
    let call = explorers_call();
    assert_eq!(chunks::count(&planned(call.clone())), 0);
    check(planned(call.clone()), &[]);
    let reached = Fact::Tool(ToolEvent {
        tag: tag(7),
        call: call.clone().into(),
        what: ToolFact::Reached,
    });
    let line = "[sub:explore] tool> bash {\"command\":\"ls\"}";
    check(reached, &[log(line)]);
    let text = ToolOutcome::Succeeded(ToolOutput::Text("a".to_owned()));
    let line = "[sub:explore] tool< bash {\"chars\":1}";
    check(finished(&call, text), &[log(line)]);
    let failed = ToolOutcome::Failed {
        error: "no".to_owned(),
    };
    let line = "[sub:explore] tool< bash {\"error\":\"no\"}";
    check(finished(&call, failed), &[log(line)]);
    let not_run = ToolOutcome::NotRun {
        why: "cancelled".to_owned(),
    };
    check(finished(&call, not_run), &[]);
}

#[test]
fn asks_of_a_sub_agent_are_asked_like_any_other() {
    let opened = |ask| Fact::Ask {
        tag: tag(8),
        what: AskFact::Opened { ask },
    };
    let fields = json!({
        "requestId": "req-3",
        "command": "rm -rf build",
        "dangerous": true,
        "reasonCode": "matches_dangerous_pattern",
        "reason": "this command is not known to be harmless",
    });
    check(opened(explorers(approval(3))), &[frame("approval", fields)]);
    let fields = json!({ "requestId": "req-4", "question": "Which?", "options": ["yes"] });
    check(
        opened(explorers(questions(4, &["Which?"]))),
        &[frame("ask", fields)],
    );
    let denied = Fact::Ask {
        tag: tag(9),
        what: AskFact::Closed {
            ask: explorers(approval(3)),
            closing: Closing::Answered(Answer::Approval(ApprovalAnswer::Deny)),
        },
    };
    assert_eq!(chunks::count(&denied), 0);
    check(denied, &[]);
}

#[test]
fn what_a_sub_agent_writes_is_not_streamed() {
    let what = ToolFact::Wrote {
        stream: OutputStream::Stdout,
        delta: "I looked.".to_owned(),
    };
    let wrote = Fact::tool(tag(8), bash(json!({})).into(), what);
    assert_eq!(chunks::count(&wrote), 0);
    check(wrote, &[]);
}

#[test]
fn a_call_that_cannot_be_read_is_told_and_fails() {
    let problem = "the arguments are no JSON".to_owned();
    let call = ToolCall {
        problem: Some(problem.clone()),
        ..bash(json!("{\"command\":"))
    };
    let ids = json!({ "toolCallId": "call_1", "toolName": "bash" });
    let mut wanted = ids.clone();
    wanted["input"] = json!("{\"command\":");
    check(
        planned(call.clone()),
        &[
            chunk(5, "tool_input_end", json!({ "id": "call_1" })),
            chunk(6, "tool_call", wanted),
        ],
    );
    let mut failed = ids;
    failed["error"] = json!(problem);
    check(
        finished(&call, ToolOutcome::Failed { error: problem }),
        &[chunk(9, "tool_error", failed)],
    );
}

fn native() -> Option<Box<Native>> {
    Some(Box::new(Native {
        origin: "native-origin".to_owned(),
        value: json!({ "encrypted": "native-value" }),
    }))
}

fn with_natives() -> Vec<Fact> {
    let finished = |body| Fact::Item {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        what: ItemFact::Finished { began: None, body },
    };
    let call = ToolCall {
        native: native(),
        ..bash(json!({}))
    };
    vec![
        finished(Item::AgentMessage {
            text: "Hi.".to_owned(),
            partial: false,
            native: native(),
        }),
        finished(Item::Reasoning {
            kind: ReasoningKind::Summary,
            text: String::new(),
            partial: false,
            native: native(),
            breaks: Vec::new(),
        }),
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call.clone().into(),
            what: ToolFact::Reached,
        }),
        planned(call),
    ]
}

fn history(facts: Vec<(u64, Fact)>) -> Value {
    let entries = (0..).zip(facts).map(|(ordinal, (message, fact))| Entry {
        ordinal,
        message,
        event: event(fact),
    });
    let mut stub = said(json!({ "type": "get_messages" }));
    stub.reply(Ok(Reply::Messages(MessagePage {
        entries: entries.collect(),
        total: 9,
        offset: 0,
        limit: 100,
    })));
    stub.take().remove(0)["messages"].take()
}

#[test]
fn what_is_only_for_the_provider_is_never_shown() {
    let live = with_natives()
        .into_iter()
        .flat_map(|fact| told(fact, RawParts::Sanitized));
    let kept = with_natives().into_iter().filter(Fact::durable);
    let kept = history(kept.map(|fact| (0, fact)).collect());
    let shown: Vec<_> = live.chain([kept]).collect();
    assert!(!json!(shown).to_string().contains("native"), "{shown:?}");
}

#[test]
fn history_has_what_was_said_later_and_leaves_sub_agents_out() {
    let finished_item = |body| Fact::Item {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        what: ItemFact::Finished { began: None, body },
    };
    let output = || ToolOutcome::Succeeded(ToolOutput::Text("done".to_owned()));
    let (own, sub) = (bash(json!({})), explorers_call());
    let messages = history(vec![
        (0, steered(None)),
        (
            1,
            finished_item(Item::Reasoning {
                kind: ReasoningKind::Reasoning,
                text: String::new(),
                partial: false,
                native: None,
                breaks: Vec::new(),
            }),
        ),
        (1, planned(own.clone())),
        (1, planned(sub.clone())),
        (2, finished(&sub, output())),
        (3, planned(sub)),
        (4, finished(&own, output())),
        (
            4,
            Fact::Step {
                tag: tag(0),
                what: StepFact::Compacted {
                    item: ItemId::new("i9"),
                    summary: "All of it.".to_owned(),
                    tokens_before: 9,
                    kept: None,
                },
            },
        ),
    ]);
    let ids = json!({ "toolCallId": "call_1", "toolName": "bash" });
    let (mut call, mut result) = (ids.clone(), ids);
    call["type"] = json!("tool-call");
    call["input"] = json!({});
    result["type"] = json!("tool-result");
    result["output"] = json!({ "type": "text", "value": "done" });
    result["isError"] = json!(false);
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": "Use tabs" },
            { "role": "assistant", "content": [call] },
            { "role": "tool", "content": [result] },
        ])
    );
}
