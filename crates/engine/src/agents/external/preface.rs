//! What an agent is told of a conversation that it does not remember: it was started anew and cannot take
//! up where it was, or others have gone on meanwhile.

use std::sync::Arc;

use providers::{Block, Message};
use vocabulary::Native;

use super::origin;
use crate::limits::AGENT_PREFACE_CHARS_MAX;

/// The session that an agent had in a thread, and how many of the messages it knows.
pub struct LastSession {
    pub id: String,
    pub known: usize,
}

/// The messages of an agent say which session of its they belong to.
pub fn last_session(messages: &[Arc<Message>], agent: &str) -> Option<LastSession> {
    let origin = origin(agent);
    let id_in = |message: &Message| match message {
        Message::Assistant(blocks) => blocks.iter().rev().find_map(|block| match block {
            Block::Text {
                native: Some(native),
                ..
            } => session_of(native, &origin),
            Block::Text { native: None, .. }
            | Block::Reasoning { .. }
            | Block::ToolCall { .. }
            | Block::File { .. } => None,
        }),
        Message::User(_) | Message::ToolResults(_) => None,
    };
    let mut numbered = messages.iter().enumerate().rev();
    let (at, id) = numbered.find_map(|(at, message)| Some((at, id_in(message)?)))?;
    Some(LastSession { id, known: at + 1 })
}

fn session_of(native: &Native, origin: &str) -> Option<String> {
    let id = (native.origin == origin).then(|| native.value["session"].as_str());
    id.flatten().map(str::to_owned)
}

/// The last of these messages in words; nothing where there is nothing to tell.
pub fn of(messages: &[Arc<Message>]) -> Option<String> {
    let lines: Vec<String> = messages.iter().filter_map(|each| words(each)).collect();
    if lines.is_empty() {
        return None;
    }
    let text = lines.join("\n\n");
    let extra = text.chars().count().saturating_sub(AGENT_PREFACE_CHARS_MAX);
    let text = match text.char_indices().nth(extra) {
        Some((from, _)) if extra > 0 => format!("[…]{}", &text[from..]),
        Some(_) | None => text,
    };
    Some(format!(
        "This conversation goes on from an earlier one that you do not remember. What was said in it \
         last:\n\n<conversation>\n{text}\n</conversation>\n\nWhat the user says now:"
    ))
}

fn words(message: &Message) -> Option<String> {
    match message {
        Message::User(said) if said.is_note || said.text.trim().is_empty() => None,
        Message::User(said) => Some(format!("User: {}", said.text.trim())),
        Message::Assistant(blocks) => {
            let block = |block: &Block| match block {
                Block::Text { text, .. } if !text.trim().is_empty() => Some(text.trim().to_owned()),
                Block::ToolCall { name, input, .. } => {
                    let about = input["description"].as_str().unwrap_or_default();
                    Some(format!("[called {name}] {about}").trim().to_owned())
                }
                Block::File { media_type, .. } => Some(format!("[made a file: {media_type}]")),
                Block::Text { .. } | Block::Reasoning { .. } => None,
            };
            let said: Vec<String> = blocks.iter().filter_map(block).collect();
            (!said.is_empty()).then(|| format!("Assistant: {}", said.join("\n")))
        }
        Message::ToolResults(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(text: &str, session: Option<&str>) -> Arc<Message> {
        let native = session.map(|session| {
            Box::new(Native {
                origin: "acp:gemini-cli".to_owned(),
                value: json!({ "session": session }),
            })
        });
        let text = text.to_owned();
        Arc::new(Message::Assistant(vec![Block::Text { text, native }]))
    }

    #[test]
    fn only_what_an_agent_does_not_know_is_told() {
        let messages = [
            Arc::new(Message::user("first")),
            said("one", Some("s1")),
            Arc::new(Message::user("second")),
            said("two", None),
        ];
        let last = last_session(&messages, "gemini-cli").expect("a session");
        assert_eq!((&last.id[..], last.known), ("s1", 2));
        assert!(last_session(&messages, "claude-code").is_none());
        let told = of(&messages[last.known..]).expect("something");
        assert!(told.contains("User: second\n\nAssistant: two"), "{told}");
        assert!(!told.contains("first"), "{told}");
        assert_eq!(of(&messages[4..]), None);
    }

    #[test]
    fn only_the_last_of_a_long_conversation_is_told() {
        let long = "é".repeat(AGENT_PREFACE_CHARS_MAX);
        let told = of(&[Arc::new(Message::user("early")), said(&long, None)]).expect("something");
        assert!(!told.contains("early") && told.contains("[…]é"));
    }
}
