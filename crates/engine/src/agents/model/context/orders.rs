//! What people order or do beside the conversation, as the model reads of it.

use std::collections::HashMap;

use providers::{Message, UserMessage};
use serde_json::Value;
use vocabulary::{Cause, ItemId, ToolEvent, ToolFact, ToolOutcome, UserInput};

use super::replaced::TurnInputs;
use super::{HeldInput, Reading, shown};

/// The lines of the user's own commands that have not ended: the log has them where they were planned.
pub type UserCommandLines = HashMap<ItemId, String>;

/// How the order of a review begins, as people see it.
pub const REVIEW: &str = "/review ";

impl Reading {
    /// A turn that was not started by something said: the model reads of it only what matters to it.
    pub(super) fn add_order(&mut self, entry: u64, cause: Cause, input: &UserInput) {
        self.release();
        self.cause = cause;
        self.turns.push(entry);
        self.told = TurnInputs::new(entry, Vec::new());
        match cause {
            Cause::Review => {
                let note = format!(
                    "[From the server: the user asked for a review of {}. A reviewer with a \
                     conversation of its own made it; what it found follows.]",
                    tools::shown::line(review_hint(input))
                );
                self.read.push(entry, Message::note(note));
            }
            Cause::UserMessage | Cause::SlashCommand | Cause::Compaction | Cause::Shell => {}
        }
    }

    /// A command of the user's own: read when it has ended, after the results of the step under way.
    pub(super) fn add_user_call(&mut self, entry: u64, tool: ToolEvent) {
        let ToolEvent { tag, call, what } = tool;
        if !call.is_command() {
            return;
        }
        match what {
            ToolFact::Planned { .. } => {
                let line = line_of(&call.input);
                self.user_lines.insert(call.item.clone(), line);
            }
            ToolFact::Finished { outcome, .. } => {
                let line = self.user_lines.remove(&call.item).unwrap_or_default();
                self.steered.push(call.item.clone());
                self.held.push(HeldInput {
                    after_step: tag.step,
                    entry,
                    said: UserMessage {
                        text: user_command_note(&line, &outcome),
                        is_note: true,
                        ..UserMessage::default()
                    },
                });
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => {}
        }
    }
}

/// What is reviewed, as the order has it.
pub fn review_hint(input: &UserInput) -> &str {
    let shown = input.shown();
    shown.strip_prefix(REVIEW).unwrap_or(shown)
}

/// The line of a command, as its call has it.
fn line_of(input: &Value) -> String {
    input["command"].as_str().unwrap_or_default().to_owned()
}

/// What the model reads of a command that the user ran themselves.
pub fn user_command_note(line: &str, outcome: &ToolOutcome) -> String {
    let result: Vec<String> = shown::shown_to_model(outcome, false)
        .iter()
        .map(|block| match block {
            providers::ResultBlock::Text(text) => text.clone(),
            providers::ResultBlock::Image(_) | providers::ResultBlock::Document(_) => String::new(),
        })
        .collect();
    format!(
        "[From the server: the user ran a command themselves, beside you. It asks nothing of you.]\n\
         $ {line}\n{}",
        result.join("\n")
    )
}
