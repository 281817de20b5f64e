//! Many turns of one tenant at once, in two processes on one home.

use std::sync::Arc;

use engine::{Engine, ListenFrom};
use providers::StopCause;
use serde_json::json;
use store::sqlite::SqliteStore;
use store::{Credit, CreditChange, SharedStore};
use vocabulary::{Call, Caller, EventPage, Reply, Seq, ThreadId, Why};

use super::{answers, costs, spent, stage, tenant};
use crate::house::{Ear, House, said, wish};
use crate::puppet::{Play, Puppet};

const TURNS: usize = 100;
const BALANCE: i64 = 3_000_000;
/// So many steps at most are thought to fit into the balance at once: none costs less than what the
/// model may write.
const STEPS_AT_ONCE: u64 = BALANCE as u64 / 81_920;

/// Runs all turns; gives the credit after them, what the logs say, and how many turns were refused.
async fn run(step_cost: u64) -> (Credit, u64, usize) {
    let puppet = Puppet::new([]);
    for turn in 0..TURNS {
        let looks = Play::new().call("c1", "look", json!({}));
        let looks = costs(looks, StopCause::ToolUse, step_cost);
        puppet.about(&format!("turn {turn}"), [looks, answers(step_cost)]);
    }
    let house = House::in_real_time(stage(&puppet));
    let home = tempfile::tempdir().expect("a scratch directory");
    let path = home.path().join("sessions.db");
    let open = || -> SharedStore { Arc::new(SqliteStore::open(&path, "a test").expect("opens")) };
    let stores = [open(), open()];
    let granted = CreditChange::Set(BALANCE);
    let granted = stores[0].change_credit(&tenant(), granted).await;
    granted.expect("a balance");
    let engines = stores.clone().map(|store| house.engine_on(store));
    let turns = (0..TURNS).map(|turn| take_turn(&engines[turn % 2], turn));
    let ended = futures_util::future::join_all(turns).await;
    let refused = ended.iter().filter(|(_, started)| !started).count();
    let mut logged = 0;
    for (turn, (thread, started)) in ended.iter().enumerate() {
        if *started {
            logged += spent(&log(&engines[turn % 2], *thread).await);
        }
    }
    let credit = stores[1].credit(&tenant()).await;
    let credit = credit.expect("reads").expect("a balance");
    (credit, logged, refused)
}

/// Whether it started; if so, it has ended, in whatever way.
async fn take_turn(engine: &Engine, turn: usize) -> (ThreadId, bool) {
    let caller = Caller::local();
    let created = engine.call(&caller, Call::CreateThread(Box::default()));
    let Reply::Thread(created) = created.await.expect("a thread").reply else {
        panic!("no thread")
    };
    let thread = created.card.id;
    let listening = engine.listen(&caller, thread, wish(ListenFrom::Head));
    let mut ear = Ear::new(listening.await.expect("a listener").1);
    let start = Call::StartTurn(said(thread, &format!("turn {turn}")));
    match engine.call(&caller, start).await {
        Ok(_) => {
            ear.ended().await;
            (thread, true)
        }
        Err(refusal) => {
            assert_eq!(refusal.why, Why::InsufficientCredits);
            (thread, false)
        }
    }
}

async fn log(engine: &Engine, thread: ThreadId) -> Vec<vocabulary::Fact> {
    let read = Call::ReadEvents {
        thread,
        after: Seq::ZERO,
        limit: u32::MAX,
    };
    let read = engine.call(&Caller::local(), read).await;
    let Ok(Reply::Events(EventPage { events, .. })) = read.map(|replied| replied.reply) else {
        panic!("no events")
    };
    events.into_iter().map(|event| event.fact).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_turns_never_spend_more_than_there_is() {
    let (credit, logged, refused) = run(70_000).await;
    assert!(credit.balance >= 0, "{credit:?}");
    assert_eq!((credit.spent, credit.reserved), (logged, 0));
    assert_eq!(credit.balance + credit.spent.cast_signed(), BALANCE);
    assert!(credit.spent > 1_000_000, "turns did run: {credit:?}");
    assert!(refused > 0, "there is not enough for all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_turns_whose_steps_cost_more_than_thought_overdraw_by_a_step_each() {
    let cost = 400_000;
    let (credit, logged, _) = run(cost).await;
    assert_eq!((credit.spent, credit.reserved), (logged, 0));
    assert_eq!(credit.balance + credit.spent.cast_signed(), BALANCE);
    let most = BALANCE.cast_unsigned() + STEPS_AT_ONCE * cost;
    assert!(credit.spent <= most, "{credit:?}");
    assert!(credit.balance < 0, "it is overdrawn: {credit:?}");
}
