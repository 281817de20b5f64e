//! What a model was asked and what it answered, as JSON that tools for traces show well.

use std::sync::Arc;

use observability::cut;
use observability::limits::TEXT_BYTES_MAX;
use providers::{Block, Message, ModelRequest};
use serde_json::{Map, Value, json};

/// Of the system prompt only the beginning: it is long, and the same in every request.
const SYSTEM_BYTES_MAX: usize = 4 * 1024;

/// The newest messages of a request that have room, behind the beginning of the system prompt.
pub fn asked(request: &ModelRequest) -> String {
    let mut room = TEXT_BYTES_MAX.saturating_sub(SYSTEM_BYTES_MAX);
    let mut shown: Vec<Value> = Vec::new();
    let mut left_out = request.messages.len();
    for message in request.messages.iter().rev() {
        let spelled = spelled(message);
        let size: usize = spelled.iter().map(|each| each.to_string().len()).sum();
        // The newest is shown in any case, cut.
        if size > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        left_out -= 1;
        shown.extend(spelled.into_iter().rev());
    }
    if left_out > 0 {
        let note = format!("[{left_out} earlier messages are left out]");
        shown.push(json!({ "role": "system", "content": note }));
    }
    let end = request.system.floor_char_boundary(SYSTEM_BYTES_MAX);
    if end > 0 {
        shown.push(json!({ "role": "system", "content": &request.system[..end] }));
    }
    shown.reverse();
    Value::Array(shown).to_string()
}

/// One message; the results of several calls are one each.
fn spelled(message: &Arc<Message>) -> Vec<Value> {
    match &**message {
        Message::User(said) => vec![json!({ "role": "user", "content": cut(&said.text) })],
        Message::Assistant(blocks) => vec![assistant(blocks)],
        Message::ToolResults(results) => {
            let result = |result: &providers::ToolResult| {
                json!({
                    "role": "tool",
                    "tool_call_id": result.call_id,
                    "name": result.name,
                    "content": cut(&result.text()),
                })
            };
            results.iter().map(result).collect()
        }
    }
}

/// An answer: its words alone, where it has nothing else.
pub fn answered(blocks: &[Block]) -> String {
    match blocks {
        [Block::Text { text, .. }] => cut(text),
        [] => String::new(),
        _ => cut(&assistant(blocks).to_string()),
    }
}

fn assistant(blocks: &[Block]) -> Value {
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text: words, .. } => text.push_str(words),
            Block::Reasoning { text: words, .. } => thoughts.push_str(words),
            // What it is, not what is in it.
            Block::File { media_type, .. } => text.push_str(&format!("[{media_type}]")),
            Block::ToolCall {
                call_id,
                name,
                input,
                ..
            } => calls.push(json!({
                "id": call_id,
                "type": "function",
                "function": { "name": name, "arguments": input },
            })),
        }
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), cut(&text).into());
    if !thoughts.is_empty() {
        message.insert("reasoning".to_owned(), cut(&thoughts).into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Value::Object(message)
}

/// What a request asked for beside its messages.
pub fn parameters(request: &ModelRequest) -> Value {
    let mut all = Map::new();
    let mut add = |name: &str, value: Value| {
        if !value.is_null() {
            all.insert(name.to_owned(), value);
        }
    };
    add("reasoning_effort", request.effort.clone().into());
    let verbosity = serde_json::to_value(request.verbosity);
    add("verbosity", verbosity.unwrap_or_default());
    add("max_tokens", request.max_output_tokens.into());
    add("tools", request.tools.len().into());
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            system: "s".repeat(SYSTEM_BYTES_MAX * 2),
            messages: messages.into_iter().map(Arc::new).collect(),
            ..ModelRequest::default()
        }
    }

    #[test]
    fn the_newest_messages_are_shown_and_the_others_counted() {
        let long = "x".repeat(TEXT_BYTES_MAX / 3);
        let messages = (0..5).map(|_| Message::user(long.clone())).collect();
        let shown: Value = serde_json::from_str(&asked(&request(messages))).expect("JSON");
        let shown = shown.as_array().expect("a list");
        assert_eq!(shown.len(), 4);
        assert_eq!(
            shown[0]["content"].as_str().map(str::len),
            Some(SYSTEM_BYTES_MAX)
        );
        assert_eq!(shown[1]["content"], "[3 earlier messages are left out]");
        assert_eq!(shown[3]["role"], "user");
    }

    #[test]
    fn the_newest_message_is_shown_however_long_it_is() {
        let messages = vec![
            Message::user("a"),
            Message::user("y".repeat(TEXT_BYTES_MAX * 4)),
        ];
        let text = asked(&request(messages));
        assert!(text.contains("[cut: 65536 of 262144 bytes]"));
        assert!(text.contains("[1 earlier messages are left out]"));
        assert!(text.len() < TEXT_BYTES_MAX * 2);
    }

    #[test]
    fn an_answer_of_words_is_those_words() {
        let text = |text: &str| Block::Text {
            text: text.to_owned(),
            native: None,
        };
        assert_eq!(answered(&[text("hello")]), "hello");
        let call = Block::ToolCall {
            call_id: "1".to_owned(),
            name: "bash".to_owned(),
            input: json!({ "command": "ls" }),
            native: None,
        };
        let both: Value = serde_json::from_str(&answered(&[text("so"), call])).expect("JSON");
        assert_eq!(both["content"], "so");
        assert_eq!(
            both["tool_calls"][0]["function"]["arguments"]["command"],
            "ls"
        );
    }
}
