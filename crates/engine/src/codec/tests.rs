//! Logs of every version fold and read as they did.

use bytes::Bytes;
use serde_json::{Value, json};
use store::{EntryRow, StoredEvent};
use vocabulary::{
    AgentMode, Answer, Approval, ApprovalAnswer, Ask, AskFact, AskId, AskKind, CallRef, Cause,
    Changed, Closing, ContentBlock, Effects, FileChangeKind, Item, ItemFact, ModelRef, Native,
    Opening, OutputStream, PlanStep, PlanStepStatus, Purpose, Question, ReasoningKind, RetryStage,
    RiskCode, StepFact, StopReason, StreamTag, SubAgent, ThreadFact, Timestamp, Title, TitleSource,
    ToolOutcome, ToolOutput, TurnFact, TurnId, TurnLimit, TurnOutcome, Usage, UserInput,
};

use super::*;
use crate::session::state::{ThreadState, fold};

const FIRST: [&str; 6] = [
    include_str!("../../golden/first/1.jsonl"),
    include_str!("../../golden/first/2.jsonl"),
    include_str!("../../golden/first/3.jsonl"),
    include_str!("../../golden/first/4.jsonl"),
    include_str!("../../golden/first/5.jsonl"),
    include_str!("../../golden/first/6.jsonl"),
];
const SPELLED: &str = include_str!("../../golden/first/spelled.jsonl");
const SECOND: &str = include_str!("../../golden/second.jsonl");

fn lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

fn stored(seq: u64, at: i64, payload: &Value) -> StoredEvent {
    StoredEvent {
        seq: Seq(seq),
        at: Timestamp(at),
        payload: Bytes::from(payload.to_string()),
    }
}

fn log(lines: &[Value]) -> Vec<StoredEvent> {
    let number = |value: &Value| value.as_u64().expect("a number");
    let event = |line: &Value| {
        let at = line["at"].as_i64().expect("a time");
        stored(number(&line["seq"]), at, &line["payload"])
    };
    lines.iter().map(event).collect()
}

#[test]
fn logs_of_the_first_version_fold_to_the_rows_that_it_wrote() {
    for text in FIRST {
        let lines = lines(text);
        let folded = fold(&log(&lines[1..])).expect("a log that folds");
        let (state, entries) = (folded.state, folded.entries);
        let mut row: ThreadState =
            serde_json::from_value(lines[0]["state"].clone()).expect("a row");
        // That version did not keep where it was reset.
        row.reset_at = state.reset_at;
        // Nor had it an index of turns.
        row.turn_count = state.turn_count;
        assert_eq!(state, row);
        let entry = |row: &EntryRow| json!([row.ordinal, row.message, row.seq.0]);
        let entries: Vec<_> = entries.iter().map(entry).collect();
        assert_eq!(json!(entries), lines[0]["entries"]);
    }
}

#[test]
fn every_fact_of_the_first_version_is_known() {
    let mut kinds = std::collections::BTreeSet::new();
    let events = FIRST.iter().flat_map(|text| log(&lines(text)[1..]));
    let spelled = lines(SPELLED);
    let spelled = spelled.iter().map(|payload| stored(1, 1, payload));
    for stored in events.chain(spelled) {
        let payload: Value = serde_json::from_slice(&stored.payload).expect("JSON");
        let kind = match &payload {
            Value::String(kind) => kind.clone(),
            payload => payload
                .as_object()
                .expect("a fact")
                .keys()
                .next()
                .cloned()
                .expect("one"),
        };
        let event = decode(&stored).expect("an event");
        let unknown = event.fact == Fact::Note(NoteFact::Unknown);
        assert_eq!(unknown, kind == "grant_revoked", "{payload}");
        assert!(event.fact.durable() || unknown);
        kinds.insert(kind);
    }
    assert_eq!(kinds.len(), 23, "{kinds:?}");
}

#[test]
fn a_call_of_the_first_version_says_what_it_is_about() {
    let events = log(&lines(FIRST[0])[1..]);
    let mut events: Vec<_> = events
        .iter()
        .map(|each| decode(each).expect("one"))
        .collect();
    let mut whole: Vec<_> = events.iter_mut().collect();
    assert_eq!(
        fill(&mut HashMap::new(), &mut whole),
        None,
        "all are in one page"
    );
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Finished { .. },
            ..
        }) => Some(call),
        _ => None,
    });
    let call = ended.expect("a call that ended");
    let Subject::Command { line, .. } = &call.subject else {
        panic!("{call:?}")
    };
    assert_eq!(call.input["command"], **line);
    assert_eq!(call.effects, Effects::RUNS);
}

/// Every durable fact, so that none changes its form unnoticed.
#[test]
fn the_second_version_is_written_as_it_was() {
    let written: Vec<_> = facts().into_iter().zip(1..).map(written).collect();
    let kept: Vec<_> = SECOND.lines().collect();
    if written != kept {
        panic!("golden/second.jsonl would be:\n{}", written.join("\n"));
    }
    for (line, fact) in kept.iter().zip(facts()) {
        let value = serde_json::from_str(line).expect("JSON");
        let read = decode(&stored(1, 1, &value)).expect("an event");
        assert_ne!(read.fact, Fact::Note(NoteFact::Unknown), "{line}");
        assert_eq!(read.by.is_some(), matches!(fact, Fact::Thread(_)), "{line}");
    }
}

/// Threads had tools or none before they had modes.
#[test]
fn a_chat_of_the_second_version_is_still_one() {
    let line = SECOND.lines().nth(2).expect("changed settings");
    assert!(line.contains(r#""mode":"code""#));
    for (older, mode) in [("true", AgentMode::Code), ("false", AgentMode::Chat)] {
        let older = line.replace(r#""mode":"code""#, &format!(r#""tools":{older}"#));
        let older = older.replace(r#"["model"]"#, r#"["tools"]"#);
        let value = serde_json::from_str(&older).expect("JSON");
        let read = decode(&stored(1, 1, &value)).expect("an event");
        let Fact::Thread(ThreadFact::SettingsChanged {
            settings, changed, ..
        }) = read.fact
        else {
            panic!("{read:?}")
        };
        assert_eq!((settings.mode, changed), (mode, vec![Changed::Mode]));
    }
}

fn written((fact, seq): (Fact, u64)) -> String {
    let person = Person {
        member: "owner".to_owned(),
        via: Some("a".to_owned()),
    };
    let event = Event {
        seq: Seq(seq),
        at: Timestamp(0),
        by: matches!(fact, Fact::Thread(_)).then(|| Arc::new(person)),
        fact,
    };
    String::from_utf8(encode(&event).expect("JSON").to_vec()).expect("text")
}

#[test]
fn what_is_not_known_is_passed_over_and_what_is_broken_is_not() {
    let newer = [
        json!({ "v": 9, "fact": { "moon": { "phase": "full" } } }),
        json!({ "v": 2, "fact": { "turn": { "juggled": {} } } }),
        json!({ "v": 2, "fact": "moon", "more": [] }),
        json!({ "moon_rose": {} }),
    ];
    for payload in newer {
        let event = decode(&stored(5, 6, &payload)).expect("passed over");
        assert_eq!(event.fact, Fact::Note(NoteFact::Unknown), "{payload}");
        assert_eq!((event.seq, event.at), (Seq(5), Timestamp(6)));
    }
    let cut = StoredEvent {
        seq: Seq(7),
        at: Timestamp(8),
        payload: Bytes::from_static(b"{\"v\":2,\"fact\":{\"tur"),
    };
    let refused = decode(&cut).expect_err("broken").to_string();
    assert!(refused.contains("event 7 of the log"), "{refused}");
}

fn model() -> Arc<ModelRef> {
    Arc::new(ModelRef {
        provider: "rehearsal".to_owned(),
        model: "rehearsal-1".to_owned(),
    })
}

fn tag() -> StreamTag {
    StreamTag {
        turn: TurnId::new("t1"),
        model: Some(model()),
        step: 1,
        part: 9,
    }
}

fn call() -> ToolCall {
    ToolCall {
        item: ItemId::new("i2"),
        call_id: "call_1".to_owned(),
        name: "write".to_owned(),
        input: json!({ "filePath": "a.txt", "content": "a" }),
        subject: TOOLS.about("write", &json!({ "filePath": "a.txt" })).0,
        effects: Effects::WRITES,
        native: Some(Box::new(Native {
            origin: "o".to_owned(),
            value: json!(1),
        })),
        problem: Some("p".to_owned()),
        by_user: false,
        agent: Some(Box::new(SubAgent {
            parent: ItemId::new("i1"),
            kind: "explore".to_owned(),
            depth: 1,
        })),
    }
}

fn ask(kind: AskKind) -> Ask {
    Ask {
        id: AskId(7),
        turn: TurnId::new("t1"),
        call: Box::new(CallRef::from(&call())),
        kind,
    }
}

fn facts() -> Vec<Fact> {
    let state: ThreadState =
        serde_json::from_value(lines(FIRST[0])[0]["state"].clone()).expect("one");
    let (thread, title) = (
        state.thread.clone(),
        Title {
            text: "A title".to_owned(),
            source: TitleSource::Model,
            model: Some("m".to_owned()),
        },
    );
    let thread_facts = [
        ThreadFact::Created {
            thread: Box::new(thread.clone()),
        },
        ThreadFact::Titled {
            title: title.clone(),
            model: (*model()).clone(),
        },
        ThreadFact::SettingsChanged {
            settings: thread.settings,
            changed: vec![Changed::Model],
            title,
        },
        ThreadFact::Archived { archived: true },
        ThreadFact::Labelled {
            labels: [("color".to_owned(), "red".to_owned())].into(),
        },
        ThreadFact::Reset,
    ];
    let thread_facts = thread_facts.into_iter().map(Fact::Thread);
    let steps = step_facts()
        .into_iter()
        .map(|what| Fact::Step { tag: tag(), what });
    let tools = tool_facts()
        .into_iter()
        .map(|what| Fact::tool(tag(), call().into(), what));
    let asks = ask_facts()
        .into_iter()
        .map(|what| Fact::Ask { tag: tag(), what });
    let items = [
        Item::AgentMessage {
            text: "said".to_owned(),
            partial: true,
            native: None,
        },
        Item::Reasoning {
            kind: ReasoningKind::Summary,
            text: "thought".to_owned(),
            partial: false,
            native: None,
            breaks: Vec::new(),
        },
        Item::File {
            media_type: "image/png".to_owned(),
            base64: "aGk=".into(),
            native: None,
        },
    ];
    let opening = Opening::Reasoning(ReasoningKind::Reasoning);
    let finished = items.map(|body| ItemFact::Finished {
        body,
        began: Some(Seq(3)),
    });
    let items = finished.into_iter().chain([ItemFact::Started { opening }]);
    let items = items.map(|what| Fact::Item {
        tag: tag(),
        item: ItemId::new("i1"),
        content: 0,
        what,
    });
    let all = thread_facts.chain(turn_facts().into_iter().map(Fact::Turn));
    all.chain(steps)
        .chain(items)
        .chain(tools)
        .chain(asks)
        .collect()
}

fn turn_facts() -> Vec<TurnFact> {
    let (turn, input) = (
        TurnId::new("t1"),
        UserInput {
            item: ItemId::new("i0"),
            text: "go".to_owned(),
            display: Some("/go".to_owned()),
            client_id: Some("c".to_owned()),
            images: Vec::new(),
            pieces: Vec::new(),
        },
    );
    vec![
        TurnFact::Started {
            turn: turn.clone(),
            cause: Cause::SlashCommand,
            input: input.clone(),
            model: Some(model()),
        },
        TurnFact::Steered {
            turn: turn.clone(),
            input,
            after_step: 1,
        },
        TurnFact::PlanChanged {
            turn: Some(turn.clone()),
            steps: vec![PlanStep {
                content: "Do".to_owned(),
                status: PlanStepStatus::InProgress,
                active_form: "Doing".to_owned(),
            }],
        },
        TurnFact::UsageAdded {
            turn: Some(turn.clone()),
            model: model(),
            purpose: Purpose::SubAgent,
            usage: Usage::default(),
        },
        TurnFact::Finished {
            turn,
            outcome: TurnOutcome::Completed,
            text: "said".to_owned(),
            reasoning: Vec::new(),
            usage: Some(Usage::default()),
            model: Some(model()),
            started_at: None,
        },
    ]
}

fn step_facts() -> Vec<StepFact> {
    vec![
        StepFact::Retried {
            attempt: 2,
            stage: RetryStage::GivenUp {
                error: "e".to_owned(),
            },
            agent: Some(ItemId::new("i1")),
        },
        StepFact::LimitReached {
            kind: TurnLimit::Steps,
            limit: 3,
            observed: 3,
        },
        StepFact::Delayed {
            agent: None,
            attempt: 1,
            delay_ms: 2,
            error: "e".to_owned(),
            discards: true,
        },
        StepFact::Finished {
            reason: StopReason::ToolUse,
            usage: Usage::default(),
            context_limit: Some(3),
            thread_usage: Usage::default(),
        },
        StepFact::Failed {
            reason: StopReason::Error,
            error: "e".to_owned(),
        },
        StepFact::Compacted {
            item: ItemId::new("i9"),
            summary: "short".to_owned(),
            tokens_before: 4,
            kept: None,
        },
        StepFact::Compacted {
            item: ItemId::new("i10"),
            summary: "shorter".to_owned(),
            tokens_before: 5,
            kept: Some(Box::new(vocabulary::KeptContext {
                surroundings: "a workspace".to_owned(),
                said: vec!["go".to_owned()],
                changed: vec!["a.txt".to_owned()],
                steps: Some(vocabulary::KeptSteps {
                    entry: 7,
                    turn_entry: 6,
                }),
            })),
        },
        StepFact::Pruned {
            results: vec![ItemId::new("i8")],
        },
        StepFact::Informed {
            text: "today is Monday".to_owned(),
        },
    ]
}

fn tool_facts() -> Vec<ToolFact> {
    let output = ToolOutput::Files {
        summary: "wrote".to_owned(),
        changes: vec![vocabulary::FileChange {
            path: "a.txt".to_owned(),
            kind: FileChangeKind::Add,
            diff: "a".to_owned(),
        }],
    };
    vec![
        ToolFact::Planned { content: 1 },
        ToolFact::Started,
        ToolFact::TimedOut {
            limit_ms: 5,
            by: vocabulary::TimeLimit::Silence,
        },
        ToolFact::Exited { exit_code: 3 },
        ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(output),
            duration_ms: None,
        },
        ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(ToolOutput::Content(vec![
                ContentBlock::Text("t".to_owned()),
                ContentBlock::Image {
                    media_type: "image/png".to_owned(),
                    base64: "aGk=".into(),
                },
                ContentBlock::Resource {
                    uri: "file:///a".to_owned(),
                    media_type: Some("text/plain".to_owned()),
                    text: Some("a".to_owned()),
                },
                ContentBlock::Structured(json!({"n": 1})),
            ])),
            duration_ms: None,
        },
        ToolFact::Finished {
            outcome: ToolOutcome::NotRun {
                why: "w".to_owned(),
            },
            duration_ms: None,
        },
    ]
}

fn ask_facts() -> Vec<AskFact> {
    let question = Question {
        id: "q1".to_owned(),
        header: None,
        question: "Which?".to_owned(),
        options: Vec::new(),
        multi_select: false,
    };
    let approval = Approval {
        command: "write a.txt".to_owned(),
        dangerous: false,
        risk: RiskCode::RequiresManualReview,
        reason: "r".to_owned(),
        leaves_sandbox: true,
        key: Some("k".to_owned()),
        remembered: None,
    };
    vec![
        AskFact::Opened {
            ask: ask(AskKind::Approval(approval.clone())),
        },
        AskFact::Progressed {
            ask: AskId(7),
            answers: [("q1".to_owned(), vec!["a".to_owned()])].into(),
            next: Some(question.clone()),
            position: 1,
        },
        AskFact::Closed {
            ask: ask(AskKind::Questions(vec![question])),
            closing: Closing::Answered(Answer::Approval(ApprovalAnswer::ForSession)),
        },
    ]
}

#[test]
fn what_a_call_was_called_with_is_kept_where_it_is_planned() {
    let line = "x".repeat(1_000);
    let call = Arc::new(ToolCall {
        name: "bash".to_owned(),
        input: json!({ "command": line }),
        subject: Subject::Command {
            line: line.clone(),
            directory: None,
        },
        effects: Effects::RUNS,
        ..call()
    });
    let kept = |what| {
        let fact = Fact::tool(tag(), Arc::clone(&call), what);
        written((fact, 1)).matches(&line).count()
    };
    // As the input, and as what it is about.
    assert_eq!(kept(ToolFact::Planned { content: 0 }), 2);
    assert_eq!(kept(ToolFact::Started), 0);
    assert_eq!(kept(ToolFact::Exited { exit_code: 0 }), 0);
}

/// What passes is not kept, and so not in the golden set.
#[test]
fn every_durable_fact_is_in_the_golden_set() {
    assert!(facts().iter().all(Fact::durable));
    let passing = ToolFact::Wrote {
        stream: OutputStream::Stdout,
        delta: "d".to_owned(),
    };
    assert!(!Fact::tool(tag(), call().into(), passing).durable());
}
