//! Whatever is appended, rightly or wrongly, both stores end up the same.

use proptest::prelude::*;
use vocabulary::{IndexedTurn, ItemId, Seq, ThreadId, TurnOutcome, TurnSelection};

use crate::sqlite::SqliteStore;
use crate::testing::memory::MemoryStore;
use crate::testing::story::{a_batch, a_thread, a_turn, an_entry, ended};
use crate::{Batch, Draft, Lease, Result, Store, StoreError};

const THREADS: u64 = 3;
const STEPS_MAX: usize = 40;
const CASES: u32 = 12;

#[derive(Clone, Debug)]
enum Step {
    Acquire { thread: u64 },
    Append(Append),
    Draft { thread: u64, item: u64 },
    Delete { thread: u64 },
}

/// Mostly right, so that logs grow; `stale` and `astray` make it wrong.
#[derive(Clone, Debug)]
struct Append {
    thread: u64,
    gaps: Vec<u64>,
    with_thread: bool,
    unfinished: bool,
    high_water: u64,
    stale: bool,
    astray: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..THREADS;
    let append = (
        thread.clone(),
        prop::collection::vec(0_u64..4, 0..5),
        any::<bool>(),
        any::<bool>(),
        0_u64..100,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    );
    let append = append.prop_map(
        |(thread, gaps, with_thread, unfinished, high_water, stale, astray)| {
            Step::Append(Append {
                thread,
                gaps,
                with_thread,
                unfinished,
                high_water,
                stale,
                astray,
            })
        },
    );
    prop_oneof![
        1 => thread.clone().prop_map(|thread| Step::Acquire { thread }),
        8 => append,
        2 => (thread.clone(), 0_u64..2).prop_map(|(thread, item)| Step::Draft { thread, item }),
        1 => thread.prop_map(|thread| Step::Delete { thread }),
    ]
}

/// What a writer remembers; the stores are asked nothing that the engine would not ask.
#[derive(Clone)]
struct Writer {
    leases: Vec<Lease>,
    last: Vec<u64>,
    ordinals: Vec<u64>,
}

fn id(thread: u64) -> ThreadId {
    a_thread(thread + 1).card.id
}

impl Writer {
    async fn start(store: &dyn Store) -> Result<Writer> {
        let mut leases = Vec::new();
        for thread in 0..THREADS {
            leases.push(store.acquire(id(thread)).await?);
        }
        Ok(Writer {
            leases,
            last: vec![0; THREADS as usize],
            ordinals: vec![0; THREADS as usize],
        })
    }

    async fn take(&mut self, store: &dyn Store, step: &Step) -> Result<()> {
        match step {
            Step::Acquire { thread } => {
                self.leases[*thread as usize] = store.acquire(id(*thread)).await?;
                Ok(())
            }
            Step::Append(append) => self.append(store, append).await,
            Step::Draft { thread, item } => {
                let draft = Draft {
                    item: ItemId::new(item.to_string()),
                    about: "text".to_owned(),
                    text: "more ".to_owned(),
                };
                store.draft(self.leases[*thread as usize], draft).await
            }
            Step::Delete { thread } => {
                let thread = *thread as usize;
                store.delete(self.leases[thread]).await?;
                (self.last[thread], self.ordinals[thread]) = (0, 0);
                Ok(())
            }
        }
    }

    async fn append(&mut self, store: &dyn Store, append: &Append) -> Result<()> {
        let thread = append.thread as usize;
        let mut lease = self.leases[thread];
        lease.fence += u64::from(append.stale) * 1_000_000;
        let expected = Seq(self.last[thread] + u64::from(append.astray));
        // A gap of 0 repeats a seq, which must be refused.
        let mut seq = self.last[thread];
        let mut seqs = Vec::new();
        for gap in &append.gaps {
            seq += gap;
            seqs.push(seq);
        }
        let ordinals = self.ordinals[thread]..;
        let entries = ordinals.zip(&seqs).map(|(n, seq)| an_entry(n, n / 2, *seq));
        let batch = Batch {
            thread: append.with_thread.then(|| a_thread(append.thread + 1)),
            entries: entries.collect(),
            turns: self.turns(thread, append, seq),
            unfinished: append.unfinished,
            high_water: Seq(append.high_water),
            drafts_done: vec![ItemId::new("0")],
            ..a_batch(&seqs)
        };
        store.append(lease, expected, batch).await?;
        self.last[thread] = seq;
        self.ordinals[thread] += seqs.len() as u64;
        Ok(())
    }

    /// Now and then a row, of a turn that runs or one that ended; some replace another.
    fn turns(&self, thread: usize, append: &Append, seq: u64) -> Vec<IndexedTurn> {
        let number = 1 + self.ordinals[thread] / 3;
        let turn = a_turn(number, self.ordinals[thread], seq);
        match append.high_water % 3 {
            0 => Vec::new(),
            1 => vec![turn],
            _ => vec![turn.clone(), ended(turn, seq, seq, TurnOutcome::Completed)],
        }
    }
}

/// Stores word their failures differently; everything else must be equal.
fn comparable(outcome: Result<()>) -> Result<()> {
    outcome.map_err(|error| match error {
        StoreError::Failed(_) => StoreError::Failed(String::new()),
        other => other,
    })
}

async fn assert_same(one: &dyn Store, other: &dyn Store) {
    for thread in (0..THREADS).map(id) {
        assert_eq!(one.load(thread).await, other.load(thread).await);
        let (left, right) = (
            one.events(thread, Seq(0), 1_000).await,
            other.events(thread, Seq(0), 1_000).await,
        );
        assert_eq!(left, right);
        for messages in [0..u64::MAX, 1..3, 2..2, 5..100] {
            let left = one.entries(thread, 1, messages.clone(), 7).await;
            assert_eq!(left, other.entries(thread, 1, messages, 7).await);
        }
        for selection in [
            TurnSelection::Newest,
            TurnSelection::Before(3),
            TurnSelection::After(1),
        ] {
            let left = one.turns(thread, 1, &selection, 7).await;
            assert_eq!(left, other.turns(thread, 1, &selection, 7).await);
        }
    }
}

async fn play(steps: Vec<Step>) {
    let home = tempfile::tempdir().expect("a scratch directory");
    let path = home.path().join("sessions.db");
    let sqlite = SqliteStore::open(&path, "a test").expect("opens");
    let memory = MemoryStore::new();
    let mut on_memory = Writer::start(&memory).await.expect("all are free");
    let mut on_sqlite = Writer::start(&sqlite).await.expect("all are free");
    for step in &steps {
        let left = comparable(on_memory.take(&memory, step).await);
        let right = comparable(on_sqlite.take(&sqlite, step).await);
        assert_eq!(left, right, "{step:?}");
    }
    assert_same(&memory, &sqlite).await;
    drop(sqlite);
    let reopened = SqliteStore::open(&path, "a test").expect("opens again");
    assert_same(&memory, &reopened).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_agree(steps in prop::collection::vec(step(), 1..STEPS_MAX)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(play(steps));
    }
}
