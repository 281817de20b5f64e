//! What outlives a summary: the user's own words, the files that were changed, the plan, and the
//! newest steps as they were.

use std::sync::Arc;

use providers::Message;
use vocabulary::{KeptContext, KeptSteps, PlanStep, PlanStepStatus};

use super::fill::{BYTES_PER_TOKEN, estimate_messages};
use super::record::cut_in_the_middle;
use crate::agents::model::context::Loaded;
use crate::limits::{
    KEPT_SAID_MAX, KEPT_SAID_PERCENT, KEPT_SAID_TOKENS, KEPT_STEPS_PERCENT, KEPT_STEPS_TOKENS,
};

/// Less than this is not worth keeping of a text that does not fit.
const CUT_BYTES_MIN: usize = 400;

/// How much may be kept, in tokens.
#[derive(Clone, Copy)]
pub struct KeptBudget {
    said: u64,
    steps: u64,
}

impl KeptBudget {
    /// For a model whose conversations are summarised at so many tokens.
    pub fn of(compact_at: u64) -> Self {
        Self {
            said: KEPT_SAID_TOKENS.min(compact_at * KEPT_SAID_PERCENT / 100),
            steps: KEPT_STEPS_TOKENS.min(compact_at * KEPT_STEPS_PERCENT / 100),
        }
    }

    /// For a conversation that is at rest: no step of it need go on.
    pub fn without_steps(self) -> Self {
        Self { steps: 0, ..self }
    }
}

/// Where the newest steps begin that may be kept: at an answer, so that no call loses its result.
pub fn newest_steps(messages: &[Arc<Message>], budget: KeptBudget) -> Option<usize> {
    let mut tokens = 0;
    let mut start = None;
    for (at, message) in messages.iter().enumerate().rev() {
        tokens += estimate_messages(std::slice::from_ref(message));
        if tokens > budget.steps {
            break;
        }
        if matches!(**message, Message::Assistant(_)) {
            start = Some(at);
        }
    }
    start
}

/// Of what the user said the newest, the oldest first; what does not fit is cut or left out.
pub fn newest_said<'a>(
    said: impl DoubleEndedIterator<Item = &'a str>,
    budget: KeptBudget,
) -> Vec<String> {
    let bytes = budget.said * BYTES_PER_TOKEN;
    let mut room = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    for text in said.rev().take(KEPT_SAID_MAX) {
        if text.len() > room && room < CUT_BYTES_MIN {
            break;
        }
        kept.push(cut_in_the_middle(text, room));
        room = room.saturating_sub(text.len());
    }
    kept.reverse();
    kept
}

/// What is kept of a conversation as it was read, and how many of its messages.
pub fn choose(loaded: &Loaded, surroundings: String, budget: KeptBudget) -> (KeptContext, usize) {
    let start = newest_steps(&loaded.messages, budget);
    let steps = start.and_then(|at| {
        let entry = loaded.entries[at]?;
        let mut turns = loaded.turns.iter().copied();
        let turn_entry = turns.rfind(|turn| *turn < entry).unwrap_or(entry);
        Some(KeptSteps { entry, turn_entry })
    });
    let start = match (start, steps) {
        (Some(at), Some(_)) => at,
        (_, _) => loaded.messages.len(),
    };
    let kept_entries = &loaded.entries[start..];
    let gone = loaded
        .said
        .iter()
        .filter(|(entry, _)| entry.is_none() || !kept_entries.contains(entry))
        .map(|(_, text)| text.as_str());
    let kept = KeptContext {
        surroundings,
        said: newest_said(gone, budget),
        changed: loaded.changed.clone(),
        steps,
    };
    (kept, loaded.messages.len() - start)
}

/// A conversation that no log has, with a summary in its place: what it began with, what was said,
/// the summary, and the newest steps.
pub fn shortened(
    messages: &[Arc<Message>],
    summary: &str,
    budget: KeptBudget,
) -> Vec<Arc<Message>> {
    let start = newest_steps(messages, budget).unwrap_or(messages.len());
    let (gone, newest) = messages.split_at(start);
    let is_note =
        |message: &&Arc<Message>| matches!(&***message, Message::User(said) if said.is_note);
    let first = gone.first().filter(is_note).cloned();
    let said = gone.iter().filter_map(|message| match &**message {
        Message::User(said) if !said.is_note => Some(said.text.as_str()),
        Message::User(_) | Message::Assistant(_) | Message::ToolResults(_) => None,
    });
    let said = newest_said(said, budget).into_iter().map(Message::user);
    let opening = Message::note(opening(summary, &[], &[], newest.len()));
    let begins = said.chain([opening]).map(Arc::new);
    let newest = newest.iter().cloned();
    first.into_iter().chain(begins).chain(newest).collect()
}

/// The message with the summary, as the model reads it. `newest`: so many messages follow it as they
/// were.
pub fn opening(summary: &str, changed: &[String], plan: &[PlanStep], newest: usize) -> String {
    let text = format!(
        "The conversation had grown too long. Above is what the user said, word for word; what was \
         done is in this summary:\n\n{summary}"
    );
    let text = with_remains(text, changed, plan);
    let go_on = match newest {
        0 => "Go on from here with the user's last message, where it is not done yet.".to_owned(),
        _ => format!(
            "The newest {newest} messages follow as they were; go on from there, where it is not \
             done yet."
        ),
    };
    format!("{}\n\n{go_on}", text.trim_end())
}

/// The same of a conversation that a person had summarised.
pub fn opening_wanted(summary: &str, changed: &[String], plan: &[PlanStep]) -> String {
    let text = format!(
        "The user had the conversation summarised. Above is what they said, word for word; what was \
         done is in this summary:\n\n{summary}"
    );
    let text = with_remains(text, changed, plan);
    let go_on = "What the user says next follows.";
    format!("{}\n\n{go_on}", text.trim_end())
}

/// With the files that were changed, and the plan.
fn with_remains(mut text: String, changed: &[String], plan: &[PlanStep]) -> String {
    if !changed.is_empty() {
        text.push_str("\n\nFiles changed so far:\n");
        for path in changed {
            text.push_str(&format!("- {path}\n"));
        }
    }
    if !plan.is_empty() {
        text.push_str("\n\nThe plan:\n");
        for step in plan {
            text.push_str(&format!("- [{}] {}\n", mark(step.status), step.content));
        }
    }
    text
}

fn mark(status: PlanStepStatus) -> &'static str {
    match status {
        PlanStepStatus::Pending => "pending",
        PlanStepStatus::InProgress => "in progress",
        PlanStepStatus::Completed => "done",
    }
}
