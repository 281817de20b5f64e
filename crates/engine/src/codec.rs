//! How facts lie in the store: JSON, written once and read back as it is.

use bytes::Bytes;
use store::StoredEvent;
use vocabulary::{Event, Fact, Refusal, Why};

pub fn encode(fact: &Fact) -> Result<Bytes, Refusal> {
    serde_json::to_vec(fact)
        .map(Bytes::from)
        .map_err(|error| Refusal::new(Why::Internal, format!("a fact cannot be written: {error}")))
}

pub fn decode(stored: &StoredEvent) -> Result<Event, Refusal> {
    let fact = serde_json::from_slice(&stored.payload).map_err(|error| {
        Refusal::new(
            Why::Storage,
            format!("event {} of the log cannot be read: {error}", stored.seq),
        )
    })?;
    Ok(Event {
        seq: stored.seq,
        at: stored.at,
        fact,
    })
}
