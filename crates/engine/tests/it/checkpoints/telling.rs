//! When the checkpoints of a thread are told, and what is held of them meanwhile.

use super::*;

const TOLD_AT_ONCE: usize = 32;

/// In paused time: what waits is waited for at once, and what blocks stops the clock.
fn paused(plays: impl IntoIterator<Item = Play>) -> House {
    House::staged(stage(&Puppet::new(plays)))
}

/// The lengths of the lists that were told.
fn lengths(ear: &Ear) -> Vec<usize> {
    let length = |fact: &Fact| match fact {
        Fact::Files(FilesFact::CheckpointsChanged { now, .. }) => Some(now.list.len()),
        // tidy: wildcard, because only one fact has the list.
        _ => None,
    };
    ear.facts().into_iter().filter_map(length).collect()
}

#[tokio::test(start_paused = true)]
async fn a_long_list_is_told_now_and_then() {
    let turns = TOLD_AT_ONCE + 8;
    let house = paused((0..turns).map(|_| says("ok")));
    let (thread, mut ear) = house.heard_thread().await;
    for _ in 0..turns {
        house.say(thread, "go").await.expect("a turn");
        ear.completed().await;
        // Waits until it is taken.
        state(&house, thread).await;
    }
    // Who asks always gets all of them.
    assert_eq!(state(&house, thread).await.list.len(), turns);
    let (told, now) = loop {
        let (told, now) = news(&mut ear).await;
        if now.list.len() > TOLD_AT_ONCE {
            break (told, now);
        }
    };
    assert_eq!(told, CheckpointNews::Taken(Trigger::Automatic));
    assert_eq!(now, state(&house, thread).await);
    let expected: Vec<usize> = (1..=TOLD_AT_ONCE).chain([turns]).collect();
    assert_eq!(lengths(&ear), expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_wanted_is_told_at_once_however_long_the_list() {
    let turns = TOLD_AT_ONCE + 2;
    let house = paused((0..turns).map(|_| says("ok")));
    let (thread, mut ear) = house.heard_thread().await;
    for _ in 0..turns {
        house.say(thread, "go").await.expect("a turn");
        ear.completed().await;
        state(&house, thread).await;
    }
    let began = tokio::time::Instant::now();
    ask(&house, thread, CheckpointCall::Take)
        .await
        .expect("one");
    let manual = |fact: &Fact| match fact {
        Fact::Files(FilesFact::CheckpointsChanged { news, .. }) => {
            *news == CheckpointNews::Taken(Trigger::Manual)
        }
        // tidy: wildcard, because only one fact has the list.
        _ => false,
    };
    let Fact::Files(FilesFact::CheckpointsChanged { now, .. }) = ear.fact(manual).await else {
        panic!("no news");
    };
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(*now, state(&house, thread).await);
    assert_eq!(now.list.len(), turns + 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_thread_lets_go_of_files_that_others_change() {
    let turns = 40;
    let write = |n: usize| [writes(&format!("{n}.txt"), "words"), says("done")];
    let house = paused((0..turns).flat_map(write));
    let (_, quiet) = house.heard_thread().await;
    let (thread, mut ear) = house.heard_thread().await;
    for _ in 0..turns {
        house.say(thread, "go").await.expect("a turn");
        ear.completed().await;
        state(&house, thread).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // Those of the last ten seconds or so, of a turn each second.
    let held = quiet.held();
    assert!((1..30).contains(&held.events), "{held:?}");
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert!(quiet.held().events <= 16, "{:?}", quiet.held());
}
