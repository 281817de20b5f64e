//! Compaction: a conversation that no longer fits is, for the model, replaced by a summary of it.
//! It happens at most once in a turn, so it can never go round in circles.

use std::sync::Arc;

use futures_util::StreamExt;
use providers::{
    Block, ErrorKind, Message, ModelRequest, Part, Provider, ProviderError, RequestPurpose,
};
use tokio::time::timeout;
use vocabulary::{Fact, StepFact, StreamTag, TurnFact};

use super::{SessionGone, Turn, meter};
use crate::limits::{
    COMPACT_AT_PERCENT, MODEL_SILENCE_MAX, SUMMARY_BYTES_MAX, SUMMARY_RESULT_CHARS_MAX,
    SUMMARY_WAIT_MAX,
};
use crate::prompts;

/// A token is about this many bytes of text.
const BYTES_PER_TOKEN: u64 = 4;
/// What a picture is about, in tokens.
const TOKENS_PER_PICTURE: u64 = 1_500;
/// What the summary's own request may fill of the model's context.
const SUMMARY_INPUT_PERCENT: u64 = 50;
/// Bytes of a conversation that are summarised when the model's limit is not known.
const SUMMARY_INPUT_BYTES: u64 = 200_000;

/// Whether a conversation of so many tokens is too near what the model can read.
pub fn is_due(tokens: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| tokens * 100 >= limit * COMPACT_AT_PERCENT)
}

/// About how many tokens these messages are.
pub fn estimate(messages: &[Arc<Message>]) -> u64 {
    let tokens = |message: &Message| {
        let pictures = match message {
            Message::User(said) => said.images.len() as u64,
            Message::Assistant(_) => 0,
            Message::ToolResults(results) => results
                .iter()
                .map(|result| result.images().count())
                .sum::<usize>() as u64,
        };
        record(message, None).len() as u64 / BYTES_PER_TOKEN + pictures * TOKENS_PER_PICTURE
    };
    messages.iter().map(|message| tokens(message)).sum()
}

/// How a compaction came out.
pub enum Compacted {
    /// The text that now stands for the conversation.
    Into(String),
    Failed(ProviderError),
    Cancelled,
}

/// Asks the model for a summary and records it. The running turn's input stays in it word for word.
pub async fn compact(
    turn: &Turn,
    provider: &dyn Provider,
    messages: &[Arc<Message>],
    tag: StreamTag,
    tokens_before: u64,
) -> Result<Compacted, SessionGone> {
    let limit = turn.input_limit();
    let request = ModelRequest {
        model: turn.model.model.clone(),
        system: prompts::SUMMARY.to_owned(),
        messages: vec![Arc::new(Message::user(excerpt(messages, room(limit))))],
        purpose: RequestPurpose::Summary,
        ..ModelRequest::default()
    };
    let summed = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Ok(Compacted::Cancelled),
        summed = timeout(SUMMARY_WAIT_MAX, text_of(provider, request)) => {
            summed.unwrap_or_else(|_| Err(silent()))
        }
    };
    let (summary, usage) = match summed {
        Ok(summed) => summed,
        Err(error) => return Ok(Compacted::Failed(error)),
    };
    turn.spend(usage, vocabulary::Purpose::Compaction).await?;
    if summary.is_empty() {
        let error = ProviderError::new(ErrorKind::Malformed, "the model's summary was empty");
        return Ok(Compacted::Failed(error));
    }
    let going_on = match tag.step {
        0 | 1 => "",
        _ => "\n\nYou were working on it: go on from where the summary ends.",
    };
    let input = &turn.input;
    let summary = format!(
        "Summary of the conversation so far:\n\n{summary}\n\nThe user's latest message, word for \
         word:\n\n{input}{going_on}"
    );
    turn.tell(Fact::Step {
        tag,
        what: StepFact::Compacted {
            item: turn.new_item(),
            summary: summary.clone(),
            tokens_before,
        },
    })
    .await?;
    Ok(Compacted::Into(summary))
}

/// The whole text of one answer, within limits.
pub async fn text_of(
    provider: &dyn Provider,
    request: ModelRequest,
) -> Result<(String, providers::ModelUsage), ProviderError> {
    let started = timeout(MODEL_SILENCE_MAX, provider.stream(request)).await;
    let mut parts = started.map_err(|_| silent())??;
    let mut text = String::new();
    while let Some(part) = timeout(MODEL_SILENCE_MAX, parts.next())
        .await
        .map_err(|_| silent())?
    {
        match part? {
            Part::TextDelta { text: delta, .. } if text.len() < SUMMARY_BYTES_MAX => {
                text.push_str(&delta);
            }
            Part::Finish { usage, .. } => return Ok((text.trim().to_owned(), usage)),
            // tidy: wildcard, because only the text of the answer is wanted.
            _ => {}
        }
    }
    Err(ProviderError::new(
        ErrorKind::CutOff,
        "the model's answer was cut off",
    ))
}

fn silent() -> ProviderError {
    ProviderError::new(ErrorKind::Stalled, "the model said nothing for too long")
}

fn room(limit: Option<u64>) -> usize {
    let bytes = limit.map_or(SUMMARY_INPUT_BYTES, |limit| {
        limit * BYTES_PER_TOKEN * SUMMARY_INPUT_PERCENT / 100
    });
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The conversation as a record to be read, the oldest left out where it is too long.
fn excerpt(messages: &[Arc<Message>], room: usize) -> String {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for message in messages.iter().rev() {
        let mut text = record(message, Some(SUMMARY_RESULT_CHARS_MAX));
        if kept.is_empty() {
            // The newest is there whatever its length, as far as there is room.
            text.truncate(text.floor_char_boundary(room));
        }
        bytes += text.len();
        if bytes > room {
            kept.push("[what was said before is left out here]\n\n".to_owned());
            break;
        }
        kept.push(text);
    }
    kept.reverse();
    kept.concat()
}

/// One message as plain text; results cut to so many characters.
fn record(message: &Message, most: Option<usize>) -> String {
    match message {
        Message::User(said) if said.is_note => format!("Server: {}\n\n", said.text),
        Message::User(said) => format!("User: {}\n\n", said.text),
        Message::Assistant(blocks) => blocks.iter().map(record_block).collect(),
        Message::ToolResults(results) => results
            .iter()
            .map(|result| {
                format!(
                    "Result of {}: {}\n\n",
                    result.name,
                    cut(&result.text(), most)
                )
            })
            .collect(),
    }
}

fn record_block(block: &Block) -> String {
    match block {
        Block::Text { text, .. } => format!("Agent: {text}\n\n"),
        Block::Reasoning { .. } => String::new(),
        Block::ToolCall { name, input, .. } => format!("Agent calls {name} {input}\n\n"),
    }
}

fn cut(text: &str, most: Option<usize>) -> &str {
    let end = most.and_then(|most| text.char_indices().nth(most));
    end.map_or(text, |(end, _)| &text[..end])
}

/// Counts what was spent and gives it with its price.
impl Turn {
    pub async fn spend(
        &self,
        usage: providers::ModelUsage,
        purpose: vocabulary::Purpose,
    ) -> Result<(), SessionGone> {
        let usage = meter::priced(&self.shared, &self.model, usage);
        self.meter.add(usage);
        self.tell(Fact::Turn(TurnFact::UsageAdded {
            turn: Some(self.id.clone()),
            model: self.model.clone(),
            purpose,
            usage,
        }))
        .await
    }

    /// What the model's context can hold, where that is known.
    pub fn context_limit(&self) -> Option<u64> {
        self.known_model()?.context
    }

    /// How much of it may be conversation: some models keep a part of it for their answer.
    pub fn input_limit(&self) -> Option<u64> {
        let model = self.known_model()?;
        model.input.or(model.context)
    }

    fn known_model(&self) -> Option<providers::catalog::Model> {
        let model = &self.model;
        self.shared.models.model(&model.provider, &model.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_near_its_limit_is_due_and_an_unknown_limit_never() {
        assert!(!is_due(79, Some(100)));
        assert!(is_due(80, Some(100)));
        assert!(!is_due(u64::MAX / 200, None));
    }

    #[test]
    fn an_excerpt_keeps_the_newest_and_says_what_is_left_out() {
        let messages = [
            Message::user("old ".repeat(100)),
            Message::user("newer"),
            Message::user("newest"),
        ]
        .map(Arc::new);
        let text = excerpt(&messages, 60);
        assert!(text.starts_with("[what was said before"), "{text}");
        assert!(text.contains("User: newer\n") && text.ends_with("User: newest\n\n"));
        assert!(!text.contains("old old"));
        assert!(excerpt(&messages, 10_000).starts_with("User: old"));
    }
}
