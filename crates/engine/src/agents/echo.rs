//! The agent that says what it was told: for trying out a client, without a model and without cost.

use std::sync::Arc;

use async_trait::async_trait;
use vocabulary::{Fact, Growth, Item, ItemFact, Opening};

use super::{Abilities, Agent};
use crate::turn::{SessionGone, Turn, TurnEnd, TurnStart};

/// An echo comes in about as many pieces, however long it is.
const PIECES: usize = 32;
const PIECE_CHARS_MIN: usize = 8;

pub struct EchoAgent;

#[async_trait]
impl Agent for EchoAgent {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn run(&self, turn: Arc<Turn>, _start: TurnStart) -> TurnEnd {
        match say(&turn).await {
            Ok(end) => end,
            // Nobody is left to tell; the session has ended this turn already.
            Err(SessionGone) => TurnEnd::Cancelled,
        }
    }
}

async fn say(turn: &Arc<Turn>) -> Result<TurnEnd, SessionGone> {
    let (tag, item) = (turn.tag(1), turn.new_item());
    let tell = async |what| {
        let fact = Fact::Item {
            tag: tag.clone(),
            item: item.clone(),
            content: 0,
            what,
        };
        turn.tell(fact).await
    };
    let opening = Opening::Text;
    tell(ItemFact::Started { opening }).await?;
    let mut text = String::with_capacity(turn.input.len());
    for piece in pieces(&turn.input) {
        if turn.cancel.is_cancelled() {
            break;
        }
        text.push_str(piece);
        let (growth, delta) = (Growth::Text, piece.to_owned());
        tell(ItemFact::Grew { growth, delta }).await?;
    }
    let partial = text.len() < turn.input.len();
    let body = Item::AgentMessage {
        text,
        partial,
        native: None,
    };
    tell(ItemFact::Finished { body, began: None }).await?;
    Ok(match partial {
        true => TurnEnd::Cancelled,
        false => TurnEnd::Completed,
    })
}

/// The text in pieces of equal length, whole characters each.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let chars = text.chars().count().div_ceil(PIECES).max(PIECE_CHARS_MIN);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(chars)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_text_and_not_too_many() {
        for text in ["", "a", "eight ch", "nine char", &"ü".repeat(10_000)] {
            let all: Vec<&str> = pieces(text).collect();
            assert_eq!(all.concat(), text);
            assert!(all.len() <= PIECES, "{} pieces", all.len());
        }
    }
}
