//! Chapters about what tenants may spend.

use vocabulary::{Seq, TenantId, ThreadId, TurnId};

use super::log::created;
use super::props::{a_batch, a_thread};
use crate::{
    Batch, Credit, CreditChange, CreditCharge, CreditHolder, ListEntry, ReservationChange,
    ReservationOutcome, SharedStore, StoreError,
};

fn tenant() -> TenantId {
    TenantId::new("payer")
}

fn holder(thread: ThreadId, turn: &str) -> CreditHolder {
    CreditHolder {
        tenant: tenant(),
        thread,
        turn: TurnId::new(turn),
    }
}

fn spends(seqs: &[u64], micro_dollars: u64, turn_over: bool) -> Batch {
    Batch {
        charge: Some(CreditCharge {
            tenant: tenant(),
            micro_dollars,
            turn_over,
        }),
        ..a_batch(seqs)
    }
}

async fn set(store: &SharedStore, change: CreditChange) -> Option<Credit> {
    let changed = store.change_credit(&tenant(), change).await;
    changed.expect("changes")
}

/// The balance, what is reserved of it, what was spent.
async fn credit(store: &SharedStore) -> Option<(i64, u64, u64)> {
    let found = store.credit(&tenant()).await.expect("reads");
    found.map(|credit| (credit.balance, credit.reserved, credit.spent))
}

async fn reserve(
    store: &SharedStore,
    holder: &CreditHolder,
    change: ReservationChange,
) -> ReservationOutcome {
    let reserved = store.reserve_credit(holder, change).await;
    reserved.expect("answers")
}

use ReservationChange::{Back, By, To};
use ReservationOutcome::{Reserved, Short, Unlimited};

pub(super) async fn who_has_no_balance_has_no_limit(store: &SharedStore) {
    let thread = a_thread(601);
    let lease = created(store, &thread, &[1]).await;
    let turn = holder(thread.card.id, "t");
    assert_eq!(credit(store).await, None);
    assert_eq!(reserve(store, &turn, To(5_000_000)).await, Unlimited);
    let charged = store.append(lease, Seq(1), spends(&[2], 7, true)).await;
    assert_eq!(charged, Ok(()));
    assert_eq!(credit(store).await, None, "nothing is counted");
    assert_eq!(set(store, CreditChange::Remove).await, None);
    store.release(lease).await.expect("released");
}

pub(super) async fn what_is_spent_is_written_with_its_events(open: &impl Fn() -> SharedStore) {
    let store = open();
    let thread = a_thread(602);
    let lease = created(&store, &thread, &[1]).await;
    let given = set(&store, CreditChange::Add(100)).await;
    assert_eq!(given.map(|credit| credit.available()), Some(100));
    let charged = store.append(lease, Seq(1), spends(&[2], 30, false)).await;
    assert_eq!(charged, Ok(()));
    assert_eq!(credit(&store).await, Some((70, 0, 30)));
    let stale = store.append(lease, Seq(1), spends(&[2], 30, false)).await;
    let (expected, found) = (Seq(1), Seq(2));
    assert_eq!(stale, Err(StoreError::OutOfStep { expected, found }));
    assert_eq!(credit(&store).await, Some((70, 0, 30)), "nothing of it");
    let more = store.append(lease, Seq(2), spends(&[3], 90, true)).await;
    assert_eq!(more, Ok(()), "what was spent was spent");
    drop(store);
    let store = open();
    assert_eq!(credit(&store).await, Some((-20, 0, 120)));
    set(&store, CreditChange::Add(50)).await;
    assert_eq!(credit(&store).await, Some((30, 0, 120)));
    set(&store, CreditChange::Set(5)).await;
    assert_eq!(credit(&store).await, Some((5, 0, 120)));
    let much = CreditChange::Add(i64::MAX);
    let much = store.change_credit(&tenant(), much).await;
    assert!(matches!(much, Err(StoreError::Failed(_))));
    set(&store, CreditChange::Remove).await;
    assert_eq!(credit(&store).await, None);
}

pub(super) async fn turns_reserve_of_one_balance_in_all_processes(open: &impl Fn() -> SharedStore) {
    let (desk, sofa) = (open(), open());
    let (one, other) = (a_thread(603), a_thread(604));
    set(&desk, CreditChange::Set(100)).await;
    let told = sofa.changed_elsewhere().await.expect("told");
    assert!(
        told.changes
            .iter()
            .any(|change| change.what == ListEntry::Credit)
    );
    let (first, second) = (holder(one.card.id, "t1"), holder(other.card.id, "t2"));
    assert_eq!(reserve(&desk, &first, To(60)).await, Reserved);
    let short = Short { available: 40 };
    assert_eq!(reserve(&sofa, &second, To(41)).await, short);
    assert_eq!(reserve(&sofa, &second, To(40)).await, Reserved);
    assert_eq!(credit(&desk).await, Some((100, 100, 0)));
    assert_eq!(reserve(&desk, &first, To(60)).await, Reserved, "as before");
    assert_eq!(reserve(&desk, &first, By(1)).await, Short { available: 60 });
    assert_eq!(reserve(&desk, &first, By(-10)).await, Reserved);
    assert_eq!(reserve(&sofa, &second, By(10)).await, Reserved);
    assert_eq!(reserve(&sofa, &second, Back(20)).await, Reserved);
    assert_eq!(credit(&desk).await, Some((100, 80, 0)));

    let next = holder(other.card.id, "t3");
    assert_eq!(reserve(&sofa, &next, To(5)).await, Reserved, "another turn");
    assert_eq!(
        reserve(&sofa, &second, Back(30)).await,
        Reserved,
        "too late"
    );
    assert_eq!(credit(&desk).await, Some((100, 55, 0)));

    let lease = created(&desk, &one, &[1]).await;
    let spent = desk.append(lease, Seq(1), spends(&[2], 20, false)).await;
    assert_eq!(spent, Ok(()));
    assert_eq!(credit(&desk).await, Some((80, 55, 20)), "for its next step");
    let ended = desk.append(lease, Seq(2), spends(&[3], 1, true)).await;
    assert_eq!(ended, Ok(()));
    assert_eq!(credit(&desk).await, Some((79, 5, 21)));

    assert_eq!(reserve(&desk, &first, To(10)).await, Reserved);
    desk.release(lease).await.expect("released");
    assert_eq!(credit(&desk).await, Some((79, 5, 21)), "asleep");
    drop(sofa);
    assert_eq!(credit(&desk).await, Some((79, 0, 21)), "dead");
    set(&desk, CreditChange::Set(-1)).await;
    let overdrawn = Short { available: -1 };
    assert_eq!(reserve(&desk, &first, To(0)).await, overdrawn);
    set(&desk, CreditChange::Remove).await;
}
