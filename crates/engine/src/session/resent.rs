//! The message that a client sends again after it lost its connection, told from a new one.
//!
//! Where a protocol's ids of messages only tell echoes apart, clients use them again. Then an id alone
//! proves nothing, and only the newest message can be meant.

use serde::{Deserialize, Serialize};
use vocabulary::{Cause, Seq, StartTurn, Timestamp, TurnId, UserInput};

use super::given::{given_words, hash_of};
use crate::limits::RESENT_WITHIN;

/// What was said last, where its client gave it an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    client_id: String,
    /// Of the message, as receipts have it.
    hash: String,
    seq: Seq,
    at: Timestamp,
    turn: TurnId,
}

impl LastMessage {
    pub fn of(
        (seq, at): (Seq, Timestamp),
        turn: &TurnId,
        cause: Cause,
        input: &UserInput,
    ) -> Option<Box<Self>> {
        let words = given_words(cause, &input.text, input.display.as_deref());
        Some(Box::new(Self {
            client_id: input.client_id.clone()?,
            hash: hex(hash_of(words, &input.images)),
            seq,
            at,
            turn: turn.clone(),
        }))
    }

    /// The turn that this message started, if `start` is the same message again: the same id and words, from
    /// a client that came after it was taken in, and soon.
    pub fn again(&self, start: &StartTurn, joined_at: Seq, now: Timestamp) -> Option<TurnId> {
        let words = given_words(start.cause, &start.text, start.display.as_deref());
        let is_same = start.client_message_id.as_ref() == Some(&self.client_id)
            && hex(hash_of(words, &start.images)) == self.hash;
        let age_ms = now.millis().saturating_sub(self.at.millis());
        let is_soon = u128::try_from(age_ms).is_ok_and(|age| age <= RESENT_WITHIN.as_millis());
        (is_same && is_soon && self.seq <= joined_at).then(|| self.turn.clone())
    }
}

fn hex(hash: [u8; 32]) -> String {
    blake3::Hash::from_bytes(hash).to_hex().to_string()
}
