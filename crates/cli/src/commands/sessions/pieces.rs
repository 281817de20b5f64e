//! What happened in a session in the pieces that a person reads: what was said, done, asked and answered.

use serde_json::{Value, json};
use vocabulary::{
    Answer, Ask, AskFact, AskKind, Closing, Event, Fact, FileChange, FilesFact, Item, ItemFact,
    PlanStep, PlanStepStatus, StepFact, Subject, ThreadFact, Timestamp, ToolCall, ToolEvent,
    ToolFact, ToolOutcome, ToolOutput, TurnFact, TurnOutcome, Usage, UserInput,
};

/// One of them.
pub enum SessionPiece<'a> {
    Said {
        input: &'a UserInput,
        at: Timestamp,
        /// While a turn ran.
        is_steer: bool,
    },
    Answered {
        text: &'a str,
        is_partial: bool,
    },
    Thought(&'a str),
    Proposed(&'a str),
    Made {
        media_type: &'a str,
    },
    Done {
        call: &'a ToolCall,
        outcome: &'a ToolOutcome,
    },
    Plan(&'a [PlanStep]),
    Asked {
        ask: &'a Ask,
        closing: &'a Closing,
    },
    Uploaded(&'a str),
    Summarised(&'a str),
    /// The turn came to an end that a reader should know of.
    Ended {
        outcome: &'a TurnOutcome,
        usage: Option<Usage>,
    },
}

impl<'a> SessionPiece<'a> {
    /// What a person reads of an event; nothing, of most.
    pub fn of(event: &'a Event) -> Option<Self> {
        match &event.fact {
            Fact::Turn(what) => Self::of_turn(event.at, what),
            Fact::Item {
                what: ItemFact::Finished { body, .. },
                ..
            } => Self::of_item(body),
            Fact::Tool(ToolEvent {
                call,
                what: ToolFact::Finished { outcome, .. },
                ..
            }) => match call.subject {
                // What came of it is told by itself.
                Subject::Question | Subject::Plan => None,
                Subject::Command { .. }
                | Subject::Files(_)
                | Subject::Web { .. }
                | Subject::Search { .. }
                | Subject::Agent { .. }
                | Subject::Mcp { .. }
                | Subject::Other => Some(Self::Done { call, outcome }),
            },
            Fact::Ask {
                what: AskFact::Closed { ask, closing },
                ..
            } => Some(Self::Asked { ask, closing }),
            Fact::Files(FilesFact::Uploaded { file }) => Some(Self::Uploaded(&file.name)),
            Fact::Step {
                what: StepFact::Compacted { summary, .. },
                ..
            } => Some(Self::Summarised(summary)),
            Fact::Thread(
                ThreadFact::Created { .. }
                | ThreadFact::Titled { .. }
                | ThreadFact::SettingsChanged { .. }
                | ThreadFact::Archived { .. }
                | ThreadFact::Labelled { .. }
                | ThreadFact::Reset
                | ThreadFact::Reverted { .. }
                | ThreadFact::StatusChanged { .. }
                | ThreadFact::Closed,
            )
            | Fact::Item { .. }
            | Fact::Tool(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Step { .. }
            | Fact::Note(_) => None,
        }
    }

    fn of_turn(at: Timestamp, what: &'a TurnFact) -> Option<Self> {
        match what {
            TurnFact::Started { input, .. } => Some(Self::Said {
                input,
                at,
                is_steer: false,
            }),
            TurnFact::Steered { input, .. } => Some(Self::Said {
                input,
                at,
                is_steer: true,
            }),
            TurnFact::PlanChanged { steps, .. } => Some(Self::Plan(steps)),
            TurnFact::Finished { outcome, usage, .. } => Some(Self::Ended {
                outcome,
                usage: *usage,
            }),
            TurnFact::SteerPlaced { .. } | TurnFact::UsageAdded { .. } => None,
        }
    }

    fn of_item(item: &'a Item) -> Option<Self> {
        match item {
            Item::AgentMessage { text, partial, .. } => Some(Self::Answered {
                text,
                is_partial: *partial,
            }),
            Item::Reasoning { text, .. } => Some(Self::Thought(text)).filter(|_| !text.is_empty()),
            Item::Plan { text, .. } => Some(Self::Proposed(text)),
            Item::ReviewExited { review } => Some(Self::Answered {
                text: review,
                is_partial: false,
            }),
            Item::File { media_type, .. } => Some(Self::Made { media_type }),
            Item::ReviewEntered { .. } => None,
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Said {
                input,
                at,
                is_steer,
            } => json!({
                "type": if *is_steer { "steer" } else { "user" }, "at": at.iso(), "text": input.shown(),
                "images": input.images.len(),
            }),
            Self::Answered { text, is_partial } => {
                json!({ "type": "agent", "text": text, "partial": is_partial })
            }
            Self::Thought(text) => json!({ "type": "reasoning", "text": text }),
            Self::Proposed(text) => json!({ "type": "proposed_plan", "text": text }),
            Self::Made { media_type } => json!({ "type": "file", "mediaType": media_type }),
            Self::Done { call, outcome } => {
                let (ended, words) = ending(outcome);
                json!({
                    "type": "call", "tool": call.name, "title": call.title(), "input": call.input,
                    "subAgent": call.agent.as_ref().map(|agent| &agent.kind), "ended": ended, "output": words,
                    "changes": changes(outcome).iter().map(|change| json!({
                        "path": change.path, "diff": change.diff })).collect::<Vec<_>>(),
                })
            }
            Self::Plan(steps) => {
                let step = |step: &PlanStep| json!({ "content": step.content, "done": step.status == PlanStepStatus::Completed });
                json!({ "type": "plan", "steps": steps.iter().map(step).collect::<Vec<_>>() })
            }
            Self::Asked { ask, closing } => {
                json!({ "type": "ask", "asked": asked(ask), "answer": answer(ask, closing) })
            }
            Self::Uploaded(name) => json!({ "type": "upload", "name": name }),
            Self::Summarised(text) => json!({ "type": "summary", "text": text }),
            Self::Ended { outcome, usage } => json!({
                "type": "turn_end", "outcome": outcome_word(outcome), "usage": usage.map(|usage| usage_json(&usage)),
            }),
        }
    }
}

/// A turn's outcome in a word.
pub fn outcome_word(outcome: &TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::Cancelled => "cancelled",
        TurnOutcome::Failed(_) => "failed",
    }
}

pub fn usage_json(usage: &Usage) -> Value {
    json!({
        "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens,
        "cachedTokens": usage.cached_tokens, "reasoningTokens": usage.reasoning_tokens,
        "costMicroDollars": usage.cost_micro_dollars,
    })
}

/// How a call ended, in a word, and what came of it.
pub fn ending(outcome: &ToolOutcome) -> (&'static str, String) {
    match outcome {
        ToolOutcome::Succeeded(output) => ("done", output.words().into_owned()),
        ToolOutcome::Failed { error } => ("failed", error.clone()),
        ToolOutcome::Denied(output) => ("denied", output.words().into_owned()),
        ToolOutcome::Interrupted(output) => ("interrupted", output.words().into_owned()),
        ToolOutcome::NotRun { why } => ("not run", why.clone()),
    }
}

/// What a call changed in files.
pub fn changes(outcome: &ToolOutcome) -> &[FileChange] {
    match outcome {
        ToolOutcome::Succeeded(ToolOutput::Files { changes, .. })
        | ToolOutcome::Interrupted(ToolOutput::Files { changes, .. }) => changes,
        ToolOutcome::Succeeded(_)
        | ToolOutcome::Interrupted(_)
        | ToolOutcome::Denied(_)
        | ToolOutcome::Failed { .. }
        | ToolOutcome::NotRun { .. } => &[],
    }
}

/// What was asked, each question on a line.
pub fn asked(ask: &Ask) -> Vec<&str> {
    match &ask.kind {
        AskKind::Approval(approval) => vec![&approval.command],
        AskKind::Questions(questions) => {
            let questions = questions.iter();
            questions.map(|each| each.question.as_str()).collect()
        }
    }
}

pub fn answer(ask: &Ask, closing: &Closing) -> String {
    match closing {
        Closing::Answered(Answer::Approval(answer)) if answer.is_yes() => "yes".to_owned(),
        Closing::Answered(Answer::Approval(_)) => "no".to_owned(),
        Closing::Answered(Answer::Dismissed) => "not answered".to_owned(),
        Closing::Answered(Answer::Questions(answers)) => {
            let ids: Vec<&String> = match &ask.kind {
                AskKind::Questions(questions) => questions.iter().map(|each| &each.id).collect(),
                AskKind::Approval(_) => Vec::new(),
            };
            let words = ids.iter().filter_map(|id| answers.get(*id));
            let words: Vec<String> = words.map(|words| words.join(", ")).collect();
            words.join("; ")
        }
        Closing::Cancelled => "cancelled".to_owned(),
        Closing::Lost { why } => format!("not answered: {why}"),
    }
}
