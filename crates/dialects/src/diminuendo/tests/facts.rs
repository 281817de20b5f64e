//! One fact of every kind, so that no kind is forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, Cause, CheckpointNews, Closing, Fact, FileChangeKind,
    FileVersion, FilesFact, Growth, Item, ItemFact, ItemId, NoteFact, Opening, OutputStream,
    Purpose, Question, ReasoningKind, Status, StatusReason, StepFact, StopReason, ThreadFact,
    Title, ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput, TurnError, TurnErrorKind,
    TurnFact, TurnId, TurnOutcome, Usage, UserInput,
};

use crate::cowork::tests::samples::{
    approval, bash, checkpoint_list, checkpoints, model, questions, settings, tag,
    thread as sample_thread,
};

pub fn turn_started() -> Fact {
    Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u1"),
            text: "Hello".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        model: Some(Arc::new(model())),
    })
}

pub fn steered() -> Fact {
    Fact::Turn(TurnFact::Steered {
        after_step: 0,
        turn: TurnId::new("t1"),
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u2"),
            text: "Left".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
    })
}

pub fn usage(cost_micro_dollars: Option<u64>) -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 20,
        cached_tokens: 60,
        reasoning_tokens: 5,
        cost_micro_dollars,
    }
}

pub fn step_finished(usage: Usage, context_limit: Option<u64>) -> Fact {
    Fact::Step {
        tag: tag(0),
        what: StepFact::Finished {
            reason: StopReason::Stop,
            usage,
            context_limit,
            thread_usage: usage,
        },
    }
}

pub fn added(turn: Option<TurnId>) -> Fact {
    Fact::Turn(TurnFact::UsageAdded {
        turn,
        model: Arc::new(model()),
        purpose: Purpose::SubAgent,
        usage: usage(Some(7)),
    })
}

pub fn turn_finished(outcome: TurnOutcome) -> Fact {
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t1"),
        outcome,
        text: "All of it.".to_owned(),
        reasoning: Vec::new(),
        usage: None,
        model: Some(Arc::new(model())),
        started_at: None,
    })
}

pub fn failed(kind: TurnErrorKind) -> TurnOutcome {
    let message = "it broke".to_owned();
    TurnOutcome::Failed(TurnError { kind, message })
}

pub fn grew(growth: Growth) -> Fact {
    Fact::Item {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        what: ItemFact::Grew {
            growth,
            delta: "piece".to_owned(),
        },
    }
}

pub fn started(opening: Opening) -> Fact {
    Fact::Item {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        what: ItemFact::Started { opening },
    }
}

pub fn said(text: &str) -> Fact {
    Fact::Item {
        tag: tag(0),
        item: ItemId::new("m1"),
        content: 0,
        what: ItemFact::Finished {
            began: None,
            body: Item::AgentMessage {
                native: None,
                text: text.to_owned(),
                partial: false,
            },
        },
    }
}

pub fn thought() -> Fact {
    Fact::Item {
        tag: tag(0),
        item: ItemId::new("r1"),
        content: 0,
        what: ItemFact::Finished {
            began: None,
            body: Item::Reasoning {
                native: None,
                kind: ReasoningKind::Reasoning,
                text: "hm".to_owned(),
                partial: false,
                breaks: Vec::new(),
            },
        },
    }
}

pub fn wrote(call: ToolCall) -> Fact {
    let what = ToolFact::Wrote {
        stream: OutputStream::Stdout,
        delta: "grew".to_owned(),
    };
    Fact::tool(tag(0), Arc::new(call), what)
}

pub fn tool_finished(outcome: ToolOutcome) -> Fact {
    Fact::Tool(ToolEvent {
        tag: tag(0),
        call: bash(json!({"command": "ls"})).into(),
        what: ToolFact::Finished {
            outcome,
            duration_ms: None,
        },
    })
}

pub fn asked(id: u64, is_question: bool) -> Fact {
    let ask = match is_question {
        true => questions(id, &["Which?"]),
        false => approval(id),
    };
    Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask },
    }
}

pub fn closed(id: u64, is_question: bool, answer: ApprovalAnswer) -> Fact {
    let (ask, answer) = match is_question {
        true => (
            questions(id, &["Which?"]),
            Answer::Questions(BTreeMap::new()),
        ),
        false => (approval(id), Answer::Approval(answer)),
    };
    Fact::Ask {
        tag: tag(0),
        what: AskFact::Closed {
            ask,
            closing: Closing::Answered(answer),
        },
    }
}

/// Every kind but asks.
pub fn all() -> Vec<Fact> {
    let text = |text: &str| ToolOutput::Text(text.to_owned());
    let call = bash(json!({"command": "ls"}));
    vec![
        Fact::Thread(ThreadFact::Created {
            thread: Box::new(sample_thread()),
        }),
        Fact::Thread(ThreadFact::Titled {
            title: Title::default(),
            model: model(),
        }),
        Fact::Thread(ThreadFact::SettingsChanged {
            settings: settings(),
            changed: Vec::new(),
            title: Title::default(),
        }),
        Fact::Thread(ThreadFact::Archived { archived: true }),
        Fact::Thread(ThreadFact::Reset),
        Fact::Thread(ThreadFact::Closed),
        Fact::Thread(ThreadFact::StatusChanged {
            status: Status::Running,
            reason: StatusReason::TurnStarted,
        }),
        turn_started(),
        steered(),
        Fact::Step {
            tag: tag(0),
            what: StepFact::Compacted {
                item: ItemId::new("k1"),
                summary: "Before.".to_owned(),
                tokens_before: 100,
                kept: None,
            },
        },
        added(Some(TurnId::new("t1"))),
        added(None),
        Fact::Step {
            tag: tag(0),
            what: StepFact::Delayed {
                agent: None,
                discards: false,
                attempt: 1,
                delay_ms: 100,
                error: "slow down".to_owned(),
            },
        },
        turn_finished(TurnOutcome::Completed),
        turn_finished(failed(TurnErrorKind::Provider)),
        Fact::Step {
            tag: tag(0),
            what: StepFact::Started,
        },
        step_finished(usage(None), None),
        step_finished(usage(Some(7)), Some(1000)),
        Fact::Step {
            tag: tag(0),
            what: StepFact::Failed {
                reason: StopReason::Error,
                error: "no".to_owned(),
            },
        },
        started(Opening::Text),
        started(Opening::Reasoning(ReasoningKind::Reasoning)),
        started(Opening::ToolInput {
            call_id: "call_1".to_owned(),
            name: "bash".to_owned(),
        }),
        grew(Growth::Text),
        grew(Growth::Reasoning {
            kind: ReasoningKind::Summary,
            part: 0,
        }),
        grew(Growth::ToolInput {
            call_id: "call_1".into(),
        }),
        wrote(bash(json!({}))),
        said("Hi."),
        thought(),
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call.clone().into(),
            what: ToolFact::Planned { content: 0 },
        }),
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call.into(),
            what: ToolFact::Reached,
        }),
        Fact::tool(tag(0), Arc::new(bash(json!({}))), ToolFact::Started),
        Fact::tool(
            tag(0),
            Arc::new(bash(json!({}))),
            ToolFact::Exited { exit_code: 0 },
        ),
        tool_finished(ToolOutcome::Succeeded(text("ok"))),
        tool_finished(ToolOutcome::Failed {
            error: "no file".to_owned(),
        }),
        tool_finished(ToolOutcome::NotRun {
            why: "cancelled".to_owned(),
        }),
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Progressed {
                ask: vocabulary::AskId(99),
                answers: BTreeMap::new(),
                next: Some(Question {
                    id: "q2".to_owned(),
                    header: None,
                    question: "And?".to_owned(),
                    options: Vec::new(),
                    multi_select: false,
                }),
                position: 1,
            },
        },
        Fact::Turn(TurnFact::PlanChanged {
            turn: None,
            steps: Vec::new(),
        }),
        Fact::Files(FilesFact::CheckpointsChanged {
            news: CheckpointNews::Restored,
            now: Arc::new(checkpoints(checkpoint_list())),
        }),
        Fact::Files(FilesFact::Changed {
            turn: None,
            files: [FileChangeKind::Add, FileChangeKind::Update]
                .map(|kind| FileVersion {
                    path: format!("{kind:?}.txt"),
                    iteration: 1,
                    size: 5,
                    kind,
                })
                .to_vec(),
        }),
        Fact::Files(FilesFact::TurnDiffed {
            turn: TurnId::new("t1"),
            diff: "--- a/a.txt".to_owned(),
        }),
        Fact::Note(NoteFact::Logged {
            line: "a line".to_owned(),
        }),
        Fact::Step {
            tag: tag(0),
            what: StepFact::RawReceived { value: json!(1) },
        },
    ]
}
