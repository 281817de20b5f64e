//! All that a whole log comes to: what the rows beside it must say.

use std::collections::BTreeMap;

use store::{EntryRow, StoredEvent};
use vocabulary::{Fact, IndexedTurn, Refusal, ThreadFact, Why};

use super::{Projected, ThreadState};
use crate::codec;

/// What the rows of a log must say.
pub struct Folded {
    pub state: ThreadState,
    pub entries: Vec<EntryRow>,
    /// In order of their numbers.
    pub turns: Vec<IndexedTurn>,
}

/// The state that a whole log folds to, the entries and the turns it makes.
pub fn fold(log: &[StoredEvent]) -> Result<Folded, Refusal> {
    let mut events = log.iter().map(codec::decode);
    let first = events.next().transpose()?;
    let Some(Fact::Thread(ThreadFact::Created { thread })) = first.map(|event| event.fact) else {
        return Err(Refusal::new(
            Why::Storage,
            "a log begins with the thread's creation",
        ));
    };
    let (mut state, mut entries) = (ThreadState::new(*thread), Vec::new());
    let mut turns = BTreeMap::new();
    for event in events {
        let Projected { entry, turn } = state.apply(&event?);
        entries.extend(entry);
        turns.extend(turn.map(|turn| (turn.number, turn)));
    }
    Ok(Folded {
        state,
        entries,
        turns: turns.into_values().collect(),
    })
}
