//! All that a whole log comes to: what the rows beside it must say.

use std::collections::BTreeMap;

use store::{EntryRow, StoredEvent};
use vocabulary::{Event, Fact, IndexedTurn, Refusal, Thread, ThreadFact, Why};

use super::ThreadState;
use crate::codec;

/// What the rows of a log must say.
pub struct Folded {
    pub state: ThreadState,
    pub entries: Vec<EntryRow>,
    /// In order of their numbers.
    pub turns: Vec<IndexedTurn>,
}

/// A log as far as it was folded.
pub struct Folding {
    state: ThreadState,
    entries: Vec<EntryRow>,
    turns: BTreeMap<u64, IndexedTurn>,
}

impl Folding {
    /// A log that begins with the creation of this thread.
    pub fn of(thread: Thread) -> Self {
        Self {
            state: ThreadState::new(thread),
            entries: Vec::new(),
            turns: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, event: &Event) {
        let rows = self.state.apply(event);
        if let Some(reverted) = rows.reverted {
            self.entries.retain(|row| row.ordinal < reverted.entry);
            self.turns.retain(|number, _| *number < reverted.turn);
        }
        self.entries.extend(rows.entry);
        self.turns.extend(rows.turn.map(|turn| (turn.number, turn)));
    }

    pub fn state(&self) -> &ThreadState {
        &self.state
    }

    pub fn end(self) -> Folded {
        Folded {
            state: self.state,
            entries: self.entries,
            turns: self.turns.into_values().collect(),
        }
    }
}

/// The thread that the first event of a log creates.
pub fn created(first: &StoredEvent) -> Result<Thread, Refusal> {
    match codec::decode(first)?.fact {
        Fact::Thread(ThreadFact::Created { thread }) => Ok(*thread),
        // tidy: wildcard, because a log that begins otherwise is broken.
        _ => Err(Refusal::new(
            Why::Storage,
            "a log begins with the thread's creation",
        )),
    }
}

/// The state that a whole log folds to, the entries and the turns it makes.
pub fn fold(log: &[StoredEvent]) -> Result<Folded, Refusal> {
    let Some((first, rest)) = log.split_first() else {
        return Err(Refusal::new(Why::Storage, "the log is empty"));
    };
    let mut folding = Folding::of(created(first)?);
    for stored in rest {
        folding.add(&codec::decode(stored)?);
    }
    Ok(folding.end())
}
