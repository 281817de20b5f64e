//! What is told of a sub-agent that ended: its result, or what it had found when it was stopped.

use std::sync::Arc;

use providers::{Block, Message};

use crate::limits::{PARTIAL_CALL_CHARS_MAX, PARTIAL_CALLS_MAX, PARTIAL_WORDS_CHARS_MAX};

pub const LOOP: &str = "stopped before its work was done: the same calls gave the same results too \
                        often";
pub const FULL: &str = "[it cannot be resumed; give what is left to a new one, in smaller parts]";

pub fn step_limit(steps: u32) -> String {
    format!("stopped at the limit of {steps} steps before its work was done")
}

/// What a sub-agent is told whose share is used up.
pub fn share_note() -> String {
    "What you may spend is used up, so no more calls are made. Say now, in words: what is done, what \
     is not done, and what comes next."
        .to_owned()
}

pub fn resumable(id: &str) -> String {
    format!("[sub-agent {id}; \"resume\" with this id goes on with it]")
}

/// What was found so far: its words, those of the answer that broke off included, and its calls.
pub fn so_far(messages: &[Arc<Message>], unfinished: &str) -> String {
    let blocks = || {
        let answers = messages.iter().map(|message| match &**message {
            Message::Assistant(blocks) => blocks.as_slice(),
            Message::User(_) | Message::ToolResults(_) => &[],
        });
        answers.flatten()
    };
    let mut words: Vec<&str> = blocks().filter_map(words_of).collect();
    words.push(unfinished.trim());
    words.retain(|words| !words.is_empty());
    let calls: Vec<String> = blocks().filter_map(call_of).collect();
    let mut text = match words.is_empty() {
        true => "It had said nothing yet.".to_owned(),
        false => format!("What it said so far:\n{}", end_of(&words.join("\n\n"))),
    };
    if !calls.is_empty() {
        let newest = &calls[calls.len().saturating_sub(PARTIAL_CALLS_MAX)..];
        text.push_str(&format!("\n\nIt made {} calls", calls.len()));
        if newest.len() < calls.len() {
            text.push_str(&format!(", the last {} of them", newest.len()));
        }
        text.push_str(&format!(":\n{}", newest.join("\n")));
    }
    text
}

/// The words of an answer.
pub fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(words_of).collect();
    texts.join("\n\n")
}

fn words_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some(text),
        Block::Text { .. }
        | Block::Reasoning { .. }
        | Block::ToolCall { .. }
        | Block::File { .. } => None,
    }
}

fn call_of(block: &Block) -> Option<String> {
    match block {
        Block::ToolCall { name, input, .. } => {
            let line = format!("- {name} {input}");
            Some(line.chars().take(PARTIAL_CALL_CHARS_MAX).collect())
        }
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    }
}

/// The newest words are the ones that know most.
fn end_of(words: &str) -> String {
    let extra = words
        .chars()
        .count()
        .saturating_sub(PARTIAL_WORDS_CHARS_MAX);
    match extra {
        0 => words.to_owned(),
        extra => {
            let rest: String = words.chars().skip(extra).collect();
            format!("[{extra} characters before this are left out]\n{rest}")
        }
    }
}
