//! The conversation as messages, with thoughts where the service takes them back.

use serde_json::{Value, json};

use super::details::ReasoningDetails;
use crate::format::history::{
    AssistantPart, FILE_MADE, HistoryCall, HistoryResult, HistoryTurn, PICTURES_OF, UserPart, turns,
};
use crate::format::{RequestTarget, ThoughtReplay, Wire, family};
use crate::{MessageImage, ModelRequest};

/// Said by the model between a result and the user, where a service wants somebody there.
pub(in crate::format) const UNDERSTOOD: &str = "Understood.";
/// The least that counts as a thought: an empty one is refused as missing.
const NO_THOUGHT: &str = " ";
/// Of thoughts that came in the field of that name and go back in it.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

pub(super) fn messages(request: &ModelRequest, target: &RequestTarget) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    let rules = ThoughtRules::of(target);
    for turn in turns(request, Wire::Chat, target) {
        match turn {
            HistoryTurn::User(pieces) => push_user(&mut messages, &pieces, target),
            HistoryTurn::Assistant { said, results } => {
                messages.extend(assistant(&said).map(|mut message| {
                    replay_thoughts(&mut message, &said, rules);
                    message
                }));
                messages.extend(results.iter().map(|result| {
                    json!({
                        "role": "tool",
                        "tool_call_id": result.id,
                        "content": result.marked(),
                    })
                }));
                let pieces = pictures(&results);
                if !pieces.is_empty() {
                    push_user(&mut messages, &pieces, target);
                }
            }
        }
    }
    messages
}

fn push_user(messages: &mut Vec<Value>, pieces: &[UserPart<'_>], target: &RequestTarget) {
    let after_tool = messages.last().is_some_and(|last| last["role"] == "tool");
    if after_tool && !target.user_after_tool() {
        messages.push(json!({ "role": "assistant", "content": UNDERSTOOD }));
    }
    messages.push(json!({ "role": "user", "content": content(pieces) }));
}

/// A result has no place for pictures here: a user shows them behind all results.
fn pictures<'a>(results: &'a [HistoryResult<'_>]) -> Vec<UserPart<'a>> {
    let images: Vec<_> = results.iter().flat_map(HistoryResult::images).collect();
    if images.is_empty() {
        return images;
    }
    let words = std::iter::once(UserPart::Text(PICTURES_OF));
    words.chain(images).collect()
}

/// Texts alone are one string: some servers know no other form.
fn content(pieces: &[UserPart<'_>]) -> Value {
    let texts: Option<Vec<_>> = pieces
        .iter()
        .map(|piece| match piece {
            UserPart::Text(text) => Some(*text),
            UserPart::Document(document) => Some(document.text.as_str()),
            UserPart::Image(_) => None,
        })
        .collect();
    match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => pieces.iter().map(piece).collect(),
    }
}

fn piece(piece: &UserPart<'_>) -> Value {
    let url = match piece {
        UserPart::Text(text) => return json!({ "type": "text", "text": text }),
        UserPart::Image(MessageImage::Data { media_type, base64 }) => {
            format!("data:{media_type};base64,{base64}")
        }
        UserPart::Image(MessageImage::Url(url)) => url.clone(),
        UserPart::Document(document) => {
            return json!({ "type": "text", "text": document.text });
        }
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// What the model said, without its thoughts: where those go depends on the service.
fn assistant(said: &[AssistantPart<'_>]) -> Option<Value> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for each in said {
        match each {
            AssistantPart::Text { text, .. } => texts.push(*text),
            AssistantPart::File { .. } => texts.push(FILE_MADE),
            AssistantPart::Reasoning { .. } => {}
            AssistantPart::Call(each) => calls.push(call(each)),
        }
    }
    let content = match texts.is_empty() {
        true => Value::Null,
        false => json!(texts.join("\n\n")),
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    (!texts.is_empty() || !calls.is_empty()).then_some(message)
}

fn call(call: &HistoryCall<'_>) -> Value {
    let mut value = json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.input.to_string() },
    });
    if let Some(extra) = call.native.and_then(|native| native.get("extra_content")) {
        value["extra_content"] = extra.clone();
    }
    value
}

/// What of its thoughts goes back with an answer: a service refuses a field that it does not take,
/// or an answer without the thought that it wants.
#[derive(Clone, Copy)]
struct ThoughtRules {
    details: bool,
    content: bool,
    /// Whether a blank stands where there was no thought.
    blank: bool,
}

impl ThoughtRules {
    fn of(target: &RequestTarget) -> Self {
        let rules = |details, content, blank| Self {
            details,
            content,
            blank,
        };
        match target.thought_replay() {
            ThoughtReplay::Never => rules(false, false, false),
            ThoughtReplay::AsSent => rules(true, true, false),
            ThoughtReplay::Always => rules(true, true, true),
            // What stands behind a router may ask for more than the router does.
            ThoughtReplay::Details => rules(true, false, family::wants_thoughts(&target.model.id)),
        }
    }
}

fn replay_thoughts(message: &mut Value, said: &[AssistantPart<'_>], rules: ThoughtRules) {
    let mut details = ReasoningDetails::default();
    let mut content = String::new();
    for each in said {
        let AssistantPart::Reasoning { text, native } = each else {
            continue;
        };
        let own = native["reasoning_details"].as_array();
        for detail in own.filter(|_| rules.details).into_iter().flatten() {
            details.add(detail);
        }
        if rules.content && native["field"] == REASONING_CONTENT {
            content.push_str(text);
        }
    }
    let details = details.take();
    if content.is_empty() && details.is_none() && rules.blank {
        content.push_str(NO_THOUGHT);
    }
    if !content.is_empty() {
        message[REASONING_CONTENT] = json!(content);
    }
    if let Some(details) = details {
        message["reasoning_details"] = details;
    }
}
