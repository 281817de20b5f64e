//! Whatever is reserved, spent and granted, and whoever dies meanwhile: no micro-dollar is lost or made.

use std::collections::HashMap;

use proptest::prelude::*;
use vocabulary::{Seq, TenantId, TurnId};

use crate::sqlite::SqliteStore;
use crate::testing::memory::MemoryWorld;
use crate::testing::story::{a_batch, a_thread};
use crate::{
    Batch, Credit, CreditChange, CreditCharge, CreditHolder, ReservationChange, ReservationOutcome,
    SharedStore, Store, StoreError,
};

const THREADS: u64 = 4;
const STEPS_MAX: usize = 60;
const CASES: u32 = 16;

#[derive(Clone, Debug)]
enum Step {
    Grant(i64),
    Reserve {
        thread: u64,
        turn: u64,
        change: ReservationChange,
    },
    /// With a place in the log that is wrong, it must change nothing.
    Spend {
        thread: u64,
        amount: u64,
        turn_over: bool,
        astray: bool,
    },
    /// The process dies; its leases and reservations are void.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..THREADS;
    let change = prop_oneof![
        (0_u64..400).prop_map(ReservationChange::To),
        (-200_i64..200).prop_map(ReservationChange::By),
        (0_u64..200).prop_map(ReservationChange::Back),
    ];
    let reserve = (thread.clone(), 0_u64..2, change);
    let spend = (thread, 0_u64..300, any::<bool>(), prop::bool::weighted(0.2));
    prop_oneof![
        1 => (-300_i64..600).prop_map(Step::Grant),
        6 => reserve.prop_map(|(thread, turn, change)| Step::Reserve { thread, turn, change }),
        4 => spend.prop_map(|(thread, amount, turn_over, astray)| Step::Spend {
            thread,
            amount,
            turn_over,
            astray,
        }),
        1 => Just(Step::Crash),
    ]
}

fn tenant() -> TenantId {
    TenantId::new("payer")
}

/// What must be true, kept in the simplest way.
#[derive(Default)]
struct Ledger {
    granted: i64,
    spent: u64,
    /// By thread: the turn and what it has.
    reserved: HashMap<u64, (u64, u64)>,
    last: HashMap<u64, u64>,
}

impl Ledger {
    fn credit(&self) -> Credit {
        Credit {
            balance: self.granted - self.spent as i64,
            reserved: self.reserved.values().map(|(_, amount)| amount).sum(),
            spent: self.spent,
        }
    }

    fn reserve(&mut self, thread: u64, turn: u64, change: ReservationChange) -> bool {
        let row = self.reserved.get(&thread).copied();
        let others = self.credit().reserved - row.map_or(0, |(_, amount)| amount);
        let own = row.filter(|(of, _)| *of == turn).map(|(_, amount)| amount);
        let held = own.unwrap_or_default() as i64;
        let (wanted, checked) = match change {
            ReservationChange::To(amount) => (amount as i64, true),
            ReservationChange::By(by) => ((held + by).max(0), true),
            ReservationChange::Back(_) if own.is_none() => return true,
            ReservationChange::Back(amount) => ((held - amount as i64).max(0), false),
        };
        if checked && self.credit().balance < wanted + others as i64 {
            return false;
        }
        self.reserved.insert(thread, (turn, wanted as u64));
        true
    }
}

async fn spend(store: &dyn Store, ledger: &mut Ledger, step: &Step) {
    let Step::Spend {
        thread,
        amount,
        turn_over,
        astray,
    } = *step
    else {
        return;
    };
    let about = a_thread(thread + 1);
    let lease = store.acquire(about.card.id).await.expect("free");
    let last = ledger.last.get(&thread).copied().unwrap_or_default();
    let batch = Batch {
        thread: Some(about),
        charge: Some(CreditCharge {
            tenant: tenant(),
            micro_dollars: amount,
            turn_over,
        }),
        ..a_batch(&[last + 1])
    };
    let expected = Seq(last + u64::from(astray));
    let appended = store.append(lease, expected, batch).await;
    if astray {
        assert!(matches!(appended, Err(StoreError::OutOfStep { .. })));
        return;
    }
    assert_eq!(appended, Ok(()));
    ledger.last.insert(thread, last + 1);
    ledger.spent += amount;
    if turn_over {
        ledger.reserved.remove(&thread);
    }
}

async fn play(open: impl Fn() -> SharedStore, steps: &[Step]) {
    let mut store = open();
    let mut ledger = Ledger::default();
    let begun = store.change_credit(&tenant(), CreditChange::Add(0)).await;
    begun.expect("begins");
    for step in steps {
        match *step {
            Step::Grant(amount) => {
                let granted = store
                    .change_credit(&tenant(), CreditChange::Add(amount))
                    .await;
                ledger.granted += amount;
                assert_eq!(granted, Ok(Some(ledger.credit())));
            }
            Step::Reserve {
                thread,
                turn,
                change,
            } => {
                let holder = CreditHolder {
                    tenant: tenant(),
                    thread: a_thread(thread + 1).card.id,
                    turn: TurnId::new(turn.to_string()),
                };
                let outcome = store
                    .reserve_credit(&holder, change)
                    .await
                    .expect("answers");
                let reserved = outcome == ReservationOutcome::Reserved;
                assert_eq!(ledger.reserve(thread, turn, change), reserved, "{step:?}");
            }
            Step::Spend { .. } => spend(store.as_ref(), &mut ledger, step).await,
            Step::Crash => {
                drop(store);
                store = open();
                ledger.reserved.clear();
            }
        }
        let credit = store.credit(&tenant()).await.expect("reads");
        assert_eq!(credit, Some(ledger.credit()), "{step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn balance_and_what_was_spent_are_what_was_granted(
        steps in prop::collection::vec(step(), 1..STEPS_MAX),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let home = tempfile::tempdir().expect("a scratch directory");
        let path = home.path().join("sessions.db");
        let world = MemoryWorld::new();
        runtime.block_on(play(|| std::sync::Arc::new(world.open()), &steps));
        let open = || -> SharedStore {
            std::sync::Arc::new(SqliteStore::open(&path, "a test").expect("opens"))
        };
        runtime.block_on(play(open, &steps));
    }
}
