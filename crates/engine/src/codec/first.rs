//! Facts as the first version wrote them: one flat list, without a version. Never to be changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use vocabulary::{
    Ask, AskFact, AskId, Cause, Changed, Closing, Fact, Item, ItemFact, ItemId, ModelRef, NoteFact,
    PlanStep, Purpose, Question, StepFact, StopReason, StreamTag, Thread, ThreadFact,
    ThreadSettings, Title, ToolCall, ToolFact, ToolOutcome, TurnFact, TurnId, TurnOutcome, Usage,
    UserInput,
};

use super::TOOLS;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum First {
    ThreadCreated {
        thread: Box<Thread>,
    },
    TitleChanged {
        title: Title,
        model: ModelRef,
    },
    SettingsChanged {
        settings: ThreadSettings,
        changed: Vec<Changed>,
        title: Title,
    },
    ArchivedChanged {
        archived: bool,
    },
    ThreadReset,
    TurnStarted {
        turn: TurnId,
        cause: Cause,
        input: UserInput,
        model: Arc<ModelRef>,
    },
    TurnFinished {
        turn: TurnId,
        outcome: TurnOutcome,
        text: String,
        usage: Option<Usage>,
        model: Arc<ModelRef>,
    },
    TurnSteered {
        turn: TurnId,
        input: UserInput,
        #[serde(default)]
        after_step: u32,
    },
    Compacted {
        tag: StreamTag,
        item: ItemId,
        summary: String,
        tokens_before: u64,
    },
    UsageAdded {
        turn: Option<TurnId>,
        model: Arc<ModelRef>,
        purpose: Purpose,
        usage: Usage,
    },
    StepDelayed {
        tag: StreamTag,
        attempt: u32,
        delay_ms: u64,
        error: String,
        #[serde(default)]
        discards: bool,
    },
    StepFinished {
        tag: StreamTag,
        reason: StopReason,
        usage: Usage,
        #[serde(default)]
        context_limit: Option<u64>,
        #[serde(default)]
        thread_usage: Usage,
    },
    StepFailed {
        tag: StreamTag,
        reason: StopReason,
        error: String,
    },
    ItemFinished {
        tag: StreamTag,
        item: ItemId,
        content: u32,
        body: Item,
    },
    ToolPlanned {
        tag: StreamTag,
        content: u32,
        call: ToolCall,
    },
    ToolStarted {
        tag: StreamTag,
        item: ItemId,
    },
    CommandExited {
        tag: StreamTag,
        item: ItemId,
        exit_code: i32,
    },
    ToolFinished {
        tag: StreamTag,
        call: ToolCall,
        outcome: ToolOutcome,
    },
    AskOpened {
        tag: StreamTag,
        ask: Ask,
    },
    AskProgressed {
        tag: StreamTag,
        ask: AskId,
        answers: BTreeMap<String, Vec<String>>,
        next: Option<Question>,
        position: u32,
    },
    AskClosed {
        tag: StreamTag,
        ask: Ask,
        closing: Closing,
    },
    /// Grants had their place in the log then; they mean nothing any more.
    GrantRevoked {},
    PlanChanged {
        turn: Option<TurnId>,
        steps: Vec<PlanStep>,
    },
}

pub fn read(payload: &[u8]) -> serde_json::Result<Fact> {
    serde_json::from_slice(payload).map(now)
}

/// The same in the words of today.
fn now(first: First) -> Fact {
    match first {
        First::ThreadCreated { thread } => Fact::Thread(ThreadFact::Created { thread }),
        First::TitleChanged { title, model } => Fact::Thread(ThreadFact::Titled { title, model }),
        First::SettingsChanged {
            settings,
            changed,
            title,
        } => Fact::Thread(ThreadFact::SettingsChanged {
            settings,
            changed,
            title,
        }),
        First::ArchivedChanged { archived } => Fact::Thread(ThreadFact::Archived { archived }),
        First::ThreadReset => Fact::Thread(ThreadFact::Reset),
        First::TurnStarted { .. }
        | First::TurnFinished { .. }
        | First::TurnSteered { .. }
        | First::UsageAdded { .. }
        | First::PlanChanged { .. } => turn(first),
        First::Compacted { .. }
        | First::StepDelayed { .. }
        | First::StepFinished { .. }
        | First::StepFailed { .. } => step(first),
        First::ItemFinished {
            tag,
            item,
            content,
            body,
        } => Fact::Item {
            tag,
            item,
            content,
            what: ItemFact::Finished { body, began: None },
        },
        First::ToolPlanned { tag, content, call } => {
            Fact::tool(tag, explained(call), ToolFact::Planned { content })
        }
        First::ToolStarted { tag, item } => Fact::tool(tag, only(item), ToolFact::Started),
        First::CommandExited {
            tag,
            item,
            exit_code,
        } => Fact::tool(tag, only(item), ToolFact::Exited { exit_code }),
        First::ToolFinished { tag, call, outcome } => Fact::tool(
            tag,
            explained(call),
            ToolFact::Finished {
                outcome,
                duration_ms: None,
            },
        ),
        First::AskOpened { tag, ask } => asked(tag, AskFact::Opened { ask }),
        First::AskProgressed {
            tag,
            ask,
            answers,
            next,
            position,
        } => asked(
            tag,
            AskFact::Progressed {
                ask,
                answers,
                next,
                position,
            },
        ),
        First::AskClosed { tag, ask, closing } => asked(tag, AskFact::Closed { ask, closing }),
        First::GrantRevoked {} => Fact::Note(NoteFact::Unknown),
    }
}

fn turn(first: First) -> Fact {
    Fact::Turn(match first {
        First::TurnStarted {
            turn,
            cause,
            input,
            model,
        } => TurnFact::Started {
            turn,
            cause,
            input,
            model: Some(model),
        },
        First::TurnFinished {
            turn,
            outcome,
            text,
            usage,
            model,
        } => TurnFact::Finished {
            turn,
            outcome,
            text,
            reasoning: Vec::new(),
            usage,
            model: Some(model),
            started_at: None,
        },
        First::TurnSteered {
            turn,
            input,
            after_step,
        } => TurnFact::Steered {
            turn,
            input,
            after_step,
        },
        First::UsageAdded {
            turn,
            model,
            purpose,
            usage,
        } => TurnFact::UsageAdded {
            turn,
            model,
            purpose,
            usage,
        },
        First::PlanChanged { turn, steps } => TurnFact::PlanChanged { turn, steps },
        // tidy: wildcard, because the caller gives no others.
        _ => return Fact::Note(NoteFact::Unknown),
    })
}

fn step(first: First) -> Fact {
    let (tag, what) = match first {
        First::Compacted {
            tag,
            item,
            summary,
            tokens_before,
        } => (
            tag,
            StepFact::Compacted {
                item,
                summary,
                tokens_before,
                kept: None,
            },
        ),
        First::StepDelayed {
            tag,
            attempt,
            delay_ms,
            error,
            discards,
        } => (
            tag,
            StepFact::Delayed {
                agent: None,
                attempt,
                delay_ms,
                error,
                discards,
            },
        ),
        First::StepFinished {
            tag,
            reason,
            usage,
            context_limit,
            thread_usage,
        } => (
            tag,
            StepFact::Finished {
                reason,
                usage,
                context_limit,
                thread_usage,
            },
        ),
        First::StepFailed { tag, reason, error } => (tag, StepFact::Failed { reason, error }),
        // tidy: wildcard, because the caller gives no others.
        _ => return Fact::Note(NoteFact::Unknown),
    };
    Fact::Step { tag, what }
}

fn asked(tag: StreamTag, what: AskFact) -> Fact {
    Fact::Ask { tag, what }
}

/// A call said what class it was of, not what it was about.
fn explained(mut call: ToolCall) -> Arc<ToolCall> {
    (call.subject, call.effects) = TOOLS.about(&call.name, &call.input);
    Arc::new(call)
}

/// A call of which only the item was named; the rest stands where it was planned.
fn only(item: ItemId) -> Arc<ToolCall> {
    let name = String::new();
    Arc::new(ToolCall {
        item,
        call_id: String::new(),
        subject: Default::default(),
        effects: Default::default(),
        name,
        input: Default::default(),
        native: None,
        problem: None,
        by_user: false,
        agent: None,
    })
}
