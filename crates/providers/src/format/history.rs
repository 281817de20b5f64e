//! A conversation as every format accepts it, whatever happened in it: calls have exactly one
//! result each, roles alternate, a user begins and speaks last, nothing is empty.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use vocabulary::Native;

use super::call_ids::CallIds;
use super::{OmittedPictures, RequestTarget, Wire};
use crate::{
    Block, DocumentFile, Message, MessageImage, ModelRequest, ResultBlock, ToolResult, UserMessage,
};

/// Said where the history begins with the model.
pub(super) const OPENING: &str = "(The beginning of this conversation is not shown.)";
/// Said where the history ends with the model, or holds nothing.
pub(super) const CONTINUE: &str = "Continue.";
/// The result of a call that has none: its turn was interrupted.
pub(super) const NOT_RUN: &str = "This call was not run: the turn was interrupted before it. Call it again if it is still needed.";
const NO_OUTPUT: &str = "(no output)";
/// Said for a result without words.
const PICTURES: &str = "(pictures)";
/// Said in the place of a picture that the service refused.
pub(super) const PICTURE_OMITTED: &str = "(picture left out: the service did not take it)";
/// Said in the place of a file that the model made, where a format has none for it.
pub(super) const FILE_MADE: &str = "(a file that you made is here)";
/// Said where pictures of a result stand behind it.
pub(super) const PICTURES_OF: &str = "What the call showed:";

pub(super) enum HistoryTurn<'a> {
    User(Vec<UserPart<'a>>),
    /// What the model said, and one result for each of its calls in their order.
    Assistant {
        said: Vec<AssistantPart<'a>>,
        results: Vec<HistoryResult<'a>>,
    },
}

#[derive(Clone, Copy)]
pub(super) enum UserPart<'a> {
    Text(&'a str),
    Image(&'a MessageImage),
    Document(&'a DocumentFile),
}

/// `native` is only there when it may be sent back.
pub(super) enum AssistantPart<'a> {
    Text {
        text: &'a str,
        native: Option<&'a Value>,
    },
    Reasoning {
        text: &'a str,
        native: &'a Value,
    },
    Call(HistoryCall<'a>),
    /// A file that the model made.
    File {
        media_type: &'a str,
        base64: &'a str,
        native: Option<&'a Value>,
    },
}

pub(super) struct HistoryCall<'a> {
    pub id: Cow<'a, str>,
    pub name: &'a str,
    pub input: &'a Value,
    pub native: Option<&'a Value>,
}

pub(super) struct HistoryResult<'a> {
    pub id: Cow<'a, str>,
    pub name: &'a str,
    pub text: Cow<'a, str>,
    /// Everything in its order, where there are pictures or documents in it.
    pub shown: Vec<UserPart<'a>>,
    pub is_error: bool,
    /// Of the call.
    pub native: Option<&'a Value>,
}

impl HistoryResult<'_> {
    /// The text for formats that have no other place to say that a call failed.
    pub fn marked(&self) -> Cow<'_, str> {
        let says_so = self
            .text
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("error"));
        if self.is_error && !says_so {
            return Cow::Owned(format!("Error: {}", self.text));
        }
        Cow::Borrowed(&self.text)
    }

    /// For formats whose results are words alone: its pictures and documents, to be shown behind them.
    pub fn images(&self) -> impl Iterator<Item = UserPart<'_>> {
        let images = self.shown.iter().copied();
        images.filter(|part| !matches!(part, UserPart::Text(_)))
    }
}

pub(super) fn turns<'a>(
    request: &'a ModelRequest,
    wire: Wire,
    target: &RequestTarget,
) -> Vec<HistoryTurn<'a>> {
    let mut reader = HistoryBuilder {
        origin: None,
        pictures: Pictures::Shown,
        takes_documents: target.takes_documents(wire),
        wire,
        ids: CallIds::new(wire, target.call_ids()),
        turns: Vec::new(),
    };
    let origin = target.origin(wire);
    let pictures_since = pictures_since(&request.messages, target.omitted.pictures);
    for (at, message) in request.messages.iter().enumerate() {
        reader.pictures = match pictures_since {
            Some(since) if at >= since => Pictures::Shown,
            Some(_) | None => Pictures::Omitted,
        };
        if at == target.omitted.natives_before {
            reader.origin = Some(origin.clone());
        }
        match &**message {
            Message::User(user) => reader.user(user),
            Message::Assistant(blocks) => reader.assistant(blocks, &request.messages[at + 1..]),
            // They were read with the message whose calls they answer.
            Message::ToolResults(_) => {}
        }
    }
    reader.complete()
}

/// The first message whose pictures are shown; nothing if no message's are.
fn pictures_since(messages: &[Arc<Message>], omitted: OmittedPictures) -> Option<usize> {
    match omitted {
        OmittedPictures::None => Some(0),
        OmittedPictures::Old => {
            let of_user = |message: &Arc<Message>| match &**message {
                Message::User(user) => !user.text.trim().is_empty() || !user.images.is_empty(),
                Message::Assistant(_) | Message::ToolResults(_) => false,
            };
            Some(messages.iter().rposition(of_user).unwrap_or(0))
        }
        OmittedPictures::All => None,
    }
}

/// What becomes of the pictures of the message that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pictures {
    Shown,
    /// Words stand in their place.
    Omitted,
}

struct HistoryBuilder<'a> {
    /// Of native values that may go back; there is none if nothing native may.
    origin: Option<String>,
    pictures: Pictures,
    takes_documents: bool,
    wire: Wire,
    ids: CallIds,
    turns: Vec<HistoryTurn<'a>>,
}

impl<'a> HistoryBuilder<'a> {
    fn user(&mut self, user: &'a UserMessage) {
        let text = Some(user.text.as_str()).filter(|text| !text.trim().is_empty());
        let images = user.images.iter().map(|image| match self.pictures {
            Pictures::Shown => UserPart::Image(image),
            Pictures::Omitted => UserPart::Text(PICTURE_OMITTED),
        });
        let text = text.map(UserPart::Text).into_iter();
        let pieces: Vec<_> = text.chain(images).collect();
        if pieces.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(HistoryTurn::User(before)) => before.extend(pieces),
            Some(HistoryTurn::Assistant { .. }) | None => {
                self.turns.push(HistoryTurn::User(pieces))
            }
        }
    }

    fn assistant(&mut self, blocks: &'a [Block], after: &'a [Arc<Message>]) {
        let mut said = Vec::new();
        let mut results = Vec::new();
        for block in blocks {
            if let Some(each) = self.said(block) {
                if let (Block::ToolCall { call_id, .. }, AssistantPart::Call(call)) = (block, &each)
                {
                    results.push(self.outcome(call, result_of(call_id, after)));
                }
                said.push(each);
            }
        }
        // A thought that led to nothing was interrupted: no format takes it without what follows.
        // In chat thoughts belong to the whole message, wherever in it they came.
        let led = |each: &AssistantPart<'_>| !matches!(each, AssistantPart::Reasoning { .. });
        let kept = self.wire == Wire::Chat && said.iter().any(led);
        while !kept && matches!(said.last(), Some(AssistantPart::Reasoning { .. })) {
            said.pop();
        }
        if said.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(HistoryTurn::Assistant {
                said: before,
                results: answered,
            }) if answered.is_empty() => {
                before.extend(said);
                *answered = results;
            }
            Some(_) | None => self.turns.push(HistoryTurn::Assistant { said, results }),
        }
    }

    fn said(&mut self, block: &'a Block) -> Option<AssistantPart<'a>> {
        Some(match block {
            Block::Text { text, native } => {
                if text.trim().is_empty() {
                    return None;
                }
                AssistantPart::Text {
                    text,
                    native: self.ours(native),
                }
            }
            Block::Reasoning { text, native } => AssistantPart::Reasoning {
                text,
                native: self.ours(native)?,
            },
            Block::ToolCall {
                call_id,
                name,
                input,
                native,
            } => AssistantPart::Call(HistoryCall {
                id: self.ids.accepted(call_id),
                name,
                input,
                native: self.ours(native),
            }),
            Block::File {
                media_type,
                base64,
                native,
            } => match self.pictures {
                Pictures::Shown => AssistantPart::File {
                    media_type,
                    base64,
                    native: self.ours(native),
                },
                Pictures::Omitted => AssistantPart::Text {
                    text: FILE_MADE,
                    native: None,
                },
            },
        })
    }

    fn ours(&self, native: &'a Option<Box<Native>>) -> Option<&'a Value> {
        let native = native.as_ref()?;
        (Some(&native.origin) == self.origin.as_ref()).then_some(&native.value)
    }

    fn outcome(&self, call: &HistoryCall<'a>, result: Option<&'a ToolResult>) -> HistoryResult<'a> {
        // Whoever does not take a document, or refused one, reads its text.
        let documents = self.takes_documents && self.pictures == Pictures::Shown;
        let (text, is_error) = match result {
            Some(result) if documents => (without_documents(result), result.is_error),
            Some(result) => (result.text(), result.is_error),
            None => (Cow::Borrowed(NOT_RUN), true),
        };
        let shown_parts = |result| shown(result, documents);
        let mut shown = result.map(shown_parts).unwrap_or_default();
        let omits = self.pictures == Pictures::Omitted && !shown.is_empty();
        let text = match text.trim().is_empty() {
            true if omits => Cow::Borrowed(PICTURE_OMITTED),
            true if shown.is_empty() => Cow::Borrowed(NO_OUTPUT),
            true => Cow::Borrowed(PICTURES),
            false if omits => Cow::Owned(format!("{text}\n\n{PICTURE_OMITTED}")),
            false => text,
        };
        if omits {
            shown.clear();
        }
        HistoryResult {
            id: call.id.clone(),
            name: call.name,
            text,
            shown,
            is_error,
            native: call.native,
        }
    }

    fn complete(mut self) -> Vec<HistoryTurn<'a>> {
        if let Some(HistoryTurn::Assistant { .. }) = self.turns.first() {
            self.turns
                .insert(0, HistoryTurn::User(vec![UserPart::Text(OPENING)]));
        }
        let waits = match self.turns.last() {
            Some(HistoryTurn::User(_)) => true,
            Some(HistoryTurn::Assistant { results, .. }) => !results.is_empty(),
            None => false,
        };
        if !waits {
            self.turns
                .push(HistoryTurn::User(vec![UserPart::Text(CONTINUE)]));
        }
        self.turns
    }
}

/// The result of a call: up to the next message of the model, the first that names it.
fn result_of<'a>(call_id: &str, after: &'a [Arc<Message>]) -> Option<&'a ToolResult> {
    after
        .iter()
        .take_while(|message| !matches!(***message, Message::Assistant(_)))
        .filter_map(|message| match &**message {
            Message::ToolResults(results) => Some(results),
            Message::User(_) | Message::Assistant(_) => None,
        })
        .flatten()
        .find(|result| result.call_id == call_id)
}

/// Its words, where its documents are shown besides.
fn without_documents(result: &ToolResult) -> Cow<'_, str> {
    let texts = result.content.iter().filter_map(|block| match block {
        ResultBlock::Text(text) => Some(text.as_str()),
        ResultBlock::Image(_) | ResultBlock::Document(_) => None,
    });
    Cow::Owned(texts.collect::<Vec<_>>().join("\n\n"))
}

/// Its texts, pictures and documents, if there are pictures or documents to be shown.
fn shown(result: &ToolResult, documents: bool) -> Vec<UserPart<'_>> {
    let parts = result.content.iter().map(|block| match block {
        ResultBlock::Text(text) => UserPart::Text(text),
        ResultBlock::Image(image) => UserPart::Image(image),
        ResultBlock::Document(document) if documents => UserPart::Document(document),
        ResultBlock::Document(document) => UserPart::Text(&document.text),
    });
    let filled =
        |part: &UserPart<'_>| !matches!(part, UserPart::Text(text) if text.trim().is_empty());
    let parts: Vec<_> = parts.filter(filled).collect();
    match parts.iter().all(|part| matches!(part, UserPart::Text(_))) {
        true => Vec::new(),
        false => parts,
    }
}
