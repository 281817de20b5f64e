//! One fact of every kind, so that no kind is forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use vocabulary::{
    Answer, ApprovalAnswer, Cause, CheckpointNews, Closing, Fact, FileChangeKind, FileVersion,
    Growth, Item, ItemId, Opening, OutputStream, Purpose, Question, ReasoningKind, Status,
    StatusReason, StopReason, Title, ToolCallRef, ToolOutcome, ToolOutput, TurnError,
    TurnErrorKind, TurnId, TurnOutcome, Usage, UserInput,
};

use crate::cowork::tests::samples::{
    approval, bash, checkpoint_list, checkpoints, model, questions, settings, tag,
    thread as sample_thread,
};

pub fn turn_started() -> Fact {
    Fact::TurnStarted {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u1"),
            text: "Hello".to_owned(),
            display: None,
            client_id: None,
        },
        model: Arc::new(model()),
    }
}

pub fn steered() -> Fact {
    Fact::TurnSteered {
        after_step: 0,
        turn: TurnId::new("t1"),
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u2"),
            text: "Left".to_owned(),
            display: None,
            client_id: None,
        },
    }
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
    Fact::StepFinished {
        tag: tag(0),
        reason: StopReason::Stop,
        usage,
        context_limit,
        thread_usage: usage,
    }
}

pub fn added(turn: Option<TurnId>) -> Fact {
    Fact::UsageAdded {
        turn,
        model: Arc::new(model()),
        purpose: Purpose::SubAgent,
        usage: usage(Some(7)),
    }
}

pub fn turn_finished(outcome: TurnOutcome) -> Fact {
    Fact::TurnFinished {
        turn: TurnId::new("t1"),
        outcome,
        text: "All of it.".to_owned(),
        reasoning: Vec::new(),
        usage: None,
        model: Arc::new(model()),
    }
}

pub fn failed(kind: TurnErrorKind) -> TurnOutcome {
    let message = "it broke".to_owned();
    TurnOutcome::Failed(TurnError { kind, message })
}

pub fn grew(growth: Growth) -> Fact {
    Fact::ItemGrew {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        growth,
        delta: "piece".to_owned(),
    }
}

pub fn started(opening: Opening) -> Fact {
    Fact::ItemStarted {
        tag: tag(0),
        item: ItemId::new("i1"),
        content: 0,
        opening,
    }
}

pub fn said(text: &str) -> Fact {
    Fact::ItemFinished {
        tag: tag(0),
        item: ItemId::new("m1"),
        content: 0,
        body: Item::AgentMessage {
            native: None,
            text: text.to_owned(),
            partial: false,
        },
    }
}

pub fn thought() -> Fact {
    Fact::ItemFinished {
        tag: tag(0),
        item: ItemId::new("r1"),
        content: 0,
        body: Item::Reasoning {
            native: None,
            kind: ReasoningKind::Reasoning,
            text: "hm".to_owned(),
            partial: false,
        },
    }
}

pub fn tool_finished(outcome: ToolOutcome) -> Fact {
    Fact::ToolFinished {
        tag: tag(0),
        call: ToolCallRef::from(&bash(json!({"command": "ls"}))),
        outcome,
    }
}

pub fn asked(id: u64, is_question: bool) -> Fact {
    let ask = match is_question {
        true => questions(id, &["Which?"]),
        false => approval(id),
    };
    Fact::AskOpened { tag: tag(0), ask }
}

pub fn closed(id: u64, is_question: bool, answer: ApprovalAnswer) -> Fact {
    let (ask, answer) = match is_question {
        true => (
            questions(id, &["Which?"]),
            Answer::Questions(BTreeMap::new()),
        ),
        false => (approval(id), Answer::Approval(answer)),
    };
    Fact::AskClosed {
        tag: tag(0),
        ask,
        closing: Closing::Answered(answer),
    }
}

/// Every kind but asks.
pub fn all() -> Vec<Fact> {
    let text = |text: &str| ToolOutput::Text(text.to_owned());
    let call = bash(json!({"command": "ls"}));
    vec![
        Fact::ThreadCreated {
            thread: Box::new(sample_thread()),
        },
        Fact::TitleChanged {
            title: Title::default(),
            model: model(),
        },
        Fact::SettingsChanged {
            settings: settings(),
            changed: Vec::new(),
            title: Title::default(),
        },
        Fact::ArchivedChanged { archived: true },
        Fact::ThreadReset,
        Fact::ThreadClosed,
        Fact::StatusChanged {
            status: Status::Running,
            reason: StatusReason::TurnStarted,
        },
        turn_started(),
        steered(),
        Fact::Compacted {
            tag: tag(0),
            item: ItemId::new("k1"),
            summary: "Before.".to_owned(),
            tokens_before: 100,
        },
        added(Some(TurnId::new("t1"))),
        added(None),
        Fact::StepDelayed {
            discards: false,
            tag: tag(0),
            attempt: 1,
            delay_ms: 100,
            error: "slow down".to_owned(),
        },
        turn_finished(TurnOutcome::Completed),
        turn_finished(failed(TurnErrorKind::Provider)),
        Fact::StepStarted { tag: tag(0) },
        step_finished(usage(None), None),
        step_finished(usage(Some(7)), Some(1000)),
        Fact::StepFailed {
            tag: tag(0),
            reason: StopReason::Error,
            error: "no".to_owned(),
        },
        started(Opening::Text),
        started(Opening::Reasoning(ReasoningKind::Reasoning)),
        started(Opening::ToolInput {
            call_id: "call_1".to_owned(),
            name: "bash".to_owned(),
        }),
        grew(Growth::Text),
        grew(Growth::Reasoning(ReasoningKind::Summary)),
        grew(Growth::ToolInput {
            call_id: "call_1".into(),
        }),
        grew(Growth::Output(OutputStream::Stdout)),
        said("Hi."),
        thought(),
        Fact::ToolPlanned {
            tag: tag(0),
            content: 0,
            call: call.clone(),
        },
        Fact::ToolReached { tag: tag(0), call },
        Fact::ToolStarted {
            tag: tag(0),
            item: ItemId::new("i1"),
        },
        Fact::CommandExited {
            tag: tag(0),
            item: ItemId::new("i1"),
            exit_code: 0,
        },
        tool_finished(ToolOutcome::Succeeded(text("ok"))),
        tool_finished(ToolOutcome::Failed {
            error: "no file".to_owned(),
        }),
        tool_finished(ToolOutcome::NotRun {
            why: "cancelled".to_owned(),
        }),
        Fact::AskProgressed {
            tag: tag(0),
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
        Fact::PlanChanged {
            turn: None,
            steps: Vec::new(),
        },
        Fact::CheckpointsChanged {
            news: CheckpointNews::Restored,
            now: Arc::new(checkpoints(checkpoint_list())),
        },
        Fact::FilesChanged {
            turn: None,
            files: [FileChangeKind::Add, FileChangeKind::Update]
                .map(|kind| FileVersion {
                    path: format!("{kind:?}.txt"),
                    iteration: 1,
                    size: 5,
                    kind,
                })
                .to_vec(),
        },
        Fact::TurnDiffed {
            turn: TurnId::new("t1"),
            diff: "--- a/a.txt".to_owned(),
        },
        Fact::Logged {
            line: "a line".to_owned(),
        },
        Fact::RawReceived {
            tag: tag(0),
            value: json!(1),
        },
    ]
}
