//! What is searched of a log: what people and agents said, what was run, which files calls were about.
//!
//! Not what tools said, which is long and not the user's, and not what a model thought.

use vocabulary::{
    Event, Fact, FileSubject, Item, ItemFact, ItemId, SearchKind, Subject, ThreadFact, ToolEvent,
    ToolFact, TurnFact, TurnId,
};

use crate::limits::SEARCH_TEXT_BYTES_MAX;

/// A text of an event, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText {
    pub kind: SearchKind,
    pub turn: TurnId,
    pub item: ItemId,
    pub text: String,
}

/// The text by which an event is found, if it is.
pub fn of(event: Event) -> Option<EventText> {
    let (kind, turn, item, mut text) = match event.fact {
        Fact::Turn(TurnFact::Started {
            turn, cause, input, ..
        }) if cause.is_said() => {
            let text = input.shown().to_owned();
            (SearchKind::User, turn, input.item, text)
        }
        Fact::Turn(TurnFact::Steered { turn, input, .. }) => {
            let text = input.shown().to_owned();
            (SearchKind::User, turn, input.item, text)
        }
        Fact::Item {
            tag,
            item,
            what: ItemFact::Finished { body, .. },
            ..
        } => (SearchKind::Agent, tag.turn, item, said(body)?),
        Fact::Tool(ToolEvent {
            tag,
            call,
            what: ToolFact::Planned { .. },
        }) => {
            let (kind, text) = about(&call.subject)?;
            (kind, tag.turn, call.item.clone(), text)
        }
        Fact::Thread(_)
        | Fact::Turn(_)
        | Fact::Step { .. }
        | Fact::Item { .. }
        | Fact::Tool(_)
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => return None,
    };
    text.truncate(text.floor_char_boundary(SEARCH_TEXT_BYTES_MAX));
    Some(EventText {
        kind,
        turn,
        item,
        text,
    })
    .filter(|found| !found.text.trim().is_empty())
}

fn said(item: Item) -> Option<String> {
    match item {
        Item::AgentMessage { text, .. } | Item::Plan { text, .. } => Some(text),
        Item::ReviewExited { review } => Some(review),
        Item::Reasoning { .. } | Item::ReviewEntered { .. } | Item::File { .. } => None,
    }
}

fn about(subject: &Subject) -> Option<(SearchKind, String)> {
    match subject {
        Subject::Command { line, .. } => Some((SearchKind::Command, line.clone())),
        Subject::Files(files) => {
            let paths: Vec<&str> = files
                .iter()
                .map(|file: &FileSubject| file.path.as_str())
                .collect();
            Some((SearchKind::Path, paths.join("\n")))
        }
        Subject::Web { .. }
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => None,
    }
}

/// Whether the thread may have another title from here on.
pub fn is_titling(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Thread(ThreadFact::Created { .. } | ThreadFact::Titled { .. })
    )
}

/// Whether something that was told before is told no more from here on.
pub fn is_hiding(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Thread(ThreadFact::Reset | ThreadFact::Reverted { .. })
    )
}
