//! How full a model's context is, and when that is too much.

use std::sync::Arc;

use providers::catalog::Model;
use providers::{Block, Message, ModelRequest, ToolResult, ToolSpec};

use crate::limits::{
    ANSWER_TOKENS_RESERVED_MAX, COMPACT_AT_PERCENT, COMPACT_LARGE_AT_PERCENT, COMPACT_UNKNOWN_AT,
    CONTEXT_MESSAGES_MAX, CONTEXT_TOKENS_SPARE, LARGE_CONTEXT_TOKENS, POOR_SUMMARIES_MAX,
    SUMMARY_FREES_PERCENT,
};

/// A token is about this many bytes of text.
pub const BYTES_PER_TOKEN: u64 = 4;
/// What a picture is about, in tokens.
const TOKENS_PER_PICTURE: u64 = 1_500;

/// So many tokens may a conversation have before it is summarised: what the service takes, less
/// what the answer needs where both share one window.
pub fn compact_at(model: Option<&Model>) -> u64 {
    let Some(model) = model else {
        return COMPACT_UNKNOWN_AT;
    };
    let Some(window) = model.input.or(model.context) else {
        return COMPACT_UNKNOWN_AT;
    };
    if window >= LARGE_CONTEXT_TOKENS {
        return window * COMPACT_LARGE_AT_PERCENT / 100;
    }
    let at_most = window * COMPACT_AT_PERCENT / 100;
    match (model.input, model.output) {
        (Some(_), _) | (None, None) => at_most,
        (None, Some(output)) => {
            let answer = output.min(ANSWER_TOKENS_RESERVED_MAX) + CONTEXT_TOKENS_SPARE;
            // Some models may write as much as they can read.
            let room = window.saturating_sub(answer).max(window / 2);
            room.min(at_most)
        }
    }
}

/// About how many tokens a request is.
pub fn estimate(request: &ModelRequest) -> u64 {
    fixed(&request.system, &request.tools) + estimate_messages(&request.messages)
}

/// What comes with every request of a conversation.
fn fixed(system: &str, tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| {
        tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
    };
    let bytes = system.len() + tools.iter().map(tool).sum::<usize>();
    bytes as u64 / BYTES_PER_TOKEN
}

/// About how many tokens these messages are.
pub fn estimate_messages(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| tokens_of(message)).sum()
}

fn tokens_of(message: &Message) -> u64 {
    let (bytes, pictures) = match message {
        Message::User(said) => (said.text.len(), said.images.len()),
        Message::Assistant(blocks) => {
            let is_file = |block: &&Block| matches!(block, Block::File { .. });
            let files = blocks.iter().filter(is_file).count();
            (blocks.iter().map(block_bytes).sum(), files)
        }
        Message::ToolResults(results) => return results.iter().map(estimate_result).sum(),
    };
    tokens(bytes, pictures)
}

/// About how many tokens a result is.
pub fn estimate_result(result: &ToolResult) -> u64 {
    tokens(result.text().len(), result.images().count())
}

fn tokens(bytes: usize, pictures: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN + pictures as u64 * TOKENS_PER_PICTURE
}

/// Thoughts of earlier turns are mostly not counted by those who have them, so they are not here.
fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } => text.len(),
        Block::Reasoning { .. } | Block::File { .. } => 0,
        Block::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
    }
}

/// How full the context of one conversation is, and how its summaries fared.
#[derive(Default)]
pub struct ContextFill {
    /// How many of the messages the model has counted, and how many tokens it counted in all.
    counted: usize,
    tokens: u64,
    /// All summaries, and those in a row that freed too little.
    summaries: u32,
    poor: u32,
    /// No summary could be made: none is tried again before the service refuses the conversation.
    failed: bool,
}

impl ContextFill {
    pub fn counted(counted: usize, tokens: u64) -> Self {
        Self {
            counted,
            tokens,
            ..Self::default()
        }
    }

    /// The model has answered: this is what it counted for these messages.
    pub fn answered(&mut self, counted: usize, tokens: u64) {
        (self.counted, self.tokens) = (counted, tokens);
    }

    /// As the model last counted, and an estimate of what came since.
    pub fn tokens(&self, request: &ModelRequest) -> u64 {
        match self.tokens {
            0 => estimate(request),
            counted => {
                let since = self.counted.min(request.messages.len());
                counted + estimate_messages(&request.messages[since..])
            }
        }
    }

    /// Whether a summary is due before this request is made.
    pub fn is_due(&self, request: &ModelRequest, compact_at: u64) -> bool {
        let many = request.messages.len() >= CONTEXT_MESSAGES_MAX;
        // No summary would help where what comes with every request is too much already.
        let may_help = || fixed(&request.system, &request.tools) < compact_at;
        !self.failed && (many || (self.tokens(request) >= compact_at && may_help()))
    }

    pub fn summaries(&self) -> u32 {
        self.summaries
    }

    pub fn could_not_be_summarised(&mut self) {
        self.failed = true;
    }

    /// A summary stands for a conversation of `before` tokens; with it there are `after`. Gives
    /// whether that helps: the second time in a row that it does not, it never will.
    pub fn summarised(&mut self, before: u64, after: u64) -> bool {
        let freed = before.saturating_sub(after);
        self.summaries += 1;
        self.poor = match freed * 100 < before * SUMMARY_FREES_PERCENT {
            true => self.poor + 1,
            false => 0,
        };
        (self.counted, self.tokens, self.failed) = (0, 0, false);
        self.poor < POOR_SUMMARIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(context: Option<u64>, input: Option<u64>, output: Option<u64>) -> Model {
        Model {
            context,
            input,
            output,
            ..Model::default()
        }
    }

    #[test]
    fn a_summary_is_due_by_what_the_service_really_takes() {
        for (context, input, output, expected) in [
            // GPT-5: a window of 400,000, of which 272,000 may be read.
            (Some(400_000), Some(272_000), Some(128_000), 231_200),
            // The answer shares the window: 64,000 of it, and a reserve.
            (Some(200_000), None, Some(64_000), 128_000),
            (Some(200_000), None, Some(8_192), 170_000),
            // A server on this machine tells its window only.
            (Some(32_768), None, None, 27_852),
            (Some(131_072), None, Some(131_072), 65_536),
            (Some(1_000_000), None, Some(64_000), 500_000),
            (Some(1_048_576), None, None, 524_288),
            (None, None, None, 100_000),
        ] {
            let model = model(context, input, output);
            assert_eq!(compact_at(Some(&model)), expected, "{model:?}");
        }
        assert_eq!(compact_at(None), 100_000);
    }

    #[test]
    fn what_comes_with_every_request_counts_where_the_model_has_not_counted() {
        let request = ModelRequest {
            system: "s".repeat(400),
            tools: vec![ToolSpec::new(
                "look",
                &"d".repeat(392),
                serde_json::json!({}),
            )]
            .into(),
            messages: vec![Arc::new(Message::user("u".repeat(400)))],
            ..ModelRequest::default()
        };
        assert_eq!(ContextFill::default().tokens(&request), 299);
        assert_eq!(ContextFill::counted(0, 50).tokens(&request), 150);
        assert_eq!(ContextFill::counted(1, 50).tokens(&request), 50);
    }

    #[test]
    fn two_summaries_in_a_row_that_free_little_are_enough() {
        let mut fill = ContextFill::default();
        assert!(fill.summarised(100, 81));
        assert!(fill.summarised(100, 80), "a fifth was freed");
        assert!(fill.summarised(100, 120));
        assert!(!fill.summarised(100, 90));
    }

    #[test]
    fn a_conversation_of_very_many_messages_is_due_whatever_its_tokens() {
        let said = Arc::new(Message::user(""));
        let request = |messages| ModelRequest {
            messages: vec![Arc::clone(&said); messages],
            ..ModelRequest::default()
        };
        let fill = ContextFill::default();
        assert!(!fill.is_due(&request(CONTEXT_MESSAGES_MAX - 1), 100));
        assert!(fill.is_due(&request(CONTEXT_MESSAGES_MAX), 100));
        let without_room = ModelRequest {
            system: "s".repeat(400),
            ..request(1)
        };
        assert!(!fill.is_due(&without_room, 100), "a summary would not help");
    }
}
