//! A conversation as a record to be read: for a summary, where the model does not take the
//! conversation itself any more.

use std::sync::Arc;

use providers::{Block, Message};

use crate::limits::SUMMARY_RESULT_CHARS_MAX;

const LEFT_OUT: &str = "[left out]";

/// The conversation within so many bytes: where that is too little the oldest results are emptied
/// first, then the oldest that the agent said is left out. What the user said stays.
pub fn record(messages: &[Arc<Message>], room: usize) -> String {
    let mut parts: Vec<RecordPart> = messages.iter().flat_map(|each| parts(each)).collect();
    let mut bytes: usize = parts.iter().map(|part| part.text.len()).sum();
    for giving in [Speech::Result, Speech::Agent] {
        let given = parts.iter_mut().filter(|part| part.speech == giving);
        for part in given {
            if bytes <= room {
                break;
            }
            let shorter = match giving {
                Speech::Result => format!("{}{LEFT_OUT}\n\n", part.heading()),
                Speech::Agent | Speech::User => String::new(),
            };
            bytes = bytes - part.text.len() + shorter.len();
            part.text = shorter;
        }
    }
    parts.into_iter().map(|part| part.text).collect()
}

struct RecordPart {
    speech: Speech,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Speech {
    User,
    Agent,
    Result,
}

impl RecordPart {
    fn new(speech: Speech, text: String) -> Self {
        let text = format!("{text}\n\n");
        Self { speech, text }
    }

    /// `Result of read: `
    fn heading(&self) -> &str {
        let end = self.text.find(": ").map_or(0, |at| at + 2);
        &self.text[..end]
    }
}

fn parts(message: &Message) -> Vec<RecordPart> {
    match message {
        Message::User(said) if said.is_note => {
            // What stood for the conversation before, among others.
            let text = format!("Server: {}", said.text);
            vec![RecordPart::new(Speech::User, text)]
        }
        Message::User(said) => {
            vec![RecordPart::new(
                Speech::User,
                format!("User: {}", said.text),
            )]
        }
        Message::Assistant(blocks) => blocks.iter().filter_map(part_of_block).collect(),
        Message::ToolResults(results) => results
            .iter()
            .map(|result| {
                let text = cut_in_the_middle(&result.text(), SUMMARY_RESULT_CHARS_MAX);
                RecordPart::new(Speech::Result, format!("Result of {}: {text}", result.name))
            })
            .collect(),
    }
}

fn part_of_block(block: &Block) -> Option<RecordPart> {
    let text = match block {
        Block::Text { text, .. } => format!("Agent: {text}"),
        Block::Reasoning { .. } => return None,
        Block::File { media_type, .. } => format!("Agent made a file ({media_type})"),
        Block::ToolCall { name, input, .. } => format!("Agent calls {name} {input}"),
    };
    Some(RecordPart::new(Speech::Agent, text))
}

/// The beginning and the end of a text that is longer than so many bytes.
pub fn cut_in_the_middle(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    let left_out = tail - head;
    let (head, tail) = (&text[..head], &text[tail..]);
    format!("{head}\n[{left_out} bytes are left out here]\n{tail}")
}

#[cfg(test)]
mod tests {
    use providers::{ResultBlock, ToolResult};

    use super::*;

    fn result(text: &str) -> Message {
        Message::ToolResults(vec![ToolResult {
            call_id: "c".to_owned(),
            name: "read".to_owned(),
            content: vec![ResultBlock::Text(text.to_owned())],
            is_error: false,
        }])
    }

    fn answer(text: &str) -> Message {
        Message::Assistant(vec![Block::Text {
            text: text.to_owned(),
            native: None,
        }])
    }

    #[test]
    fn a_record_gives_its_oldest_results_first_and_never_what_the_user_said() {
        let messages = [
            Message::user("the order"),
            result("the old result"),
            answer("an old thought"),
            result("new result"),
            answer("a new thought"),
            Message::user("go on"),
        ]
        .map(Arc::new);
        let whole = record(&messages, usize::MAX);
        for words in ["User: the order\n", "Result of read: the old result\n"] {
            assert!(whole.contains(words), "{whole}");
        }
        let less = record(&messages, whole.len() - 1);
        assert!(!less.contains("old result"), "{less}");
        assert!(less.contains("new result") && less.contains("an old thought"));
        let least = record(&messages, 0);
        for words in ["thought", "result\n"] {
            assert!(!least.contains(words), "{least}");
        }
        for words in ["User: the order\n", "User: go on\n"] {
            assert!(least.contains(words), "{least}");
        }
    }

    #[test]
    fn a_long_result_keeps_its_end() {
        let long = format!("first {} last", "é".repeat(SUMMARY_RESULT_CHARS_MAX));
        let text = record(&[Arc::new(result(&long))], usize::MAX);
        assert!(
            text.contains(": first é") && text.contains("é last"),
            "{text}"
        );
        assert!(text.len() < SUMMARY_RESULT_CHARS_MAX + 200);
    }
}
