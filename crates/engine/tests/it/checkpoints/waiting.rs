//! Who waits for whom, and how long.

use super::*;

#[tokio::test]
async fn the_first_write_waits_two_seconds_and_no_longer() {
    let house = house([
        calls("r", "read", json!({"filePath": "a.txt"})),
        writes("a.txt", "new words\n"),
        says("done"),
    ]);
    std::fs::write(house.directory().join("a.txt"), "old\n").expect("a file");
    let lock = held(&house);
    let (thread, mut ear) = house.heard_thread().await;
    let standing = state(&house, thread).await.standing;
    assert_eq!(standing, Standing::Initializing);
    let began = Instant::now();
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let took = began.elapsed();
    // Two seconds before the write, one after it; and a slow machine.
    let limits = Duration::from_secs(2)..Duration::from_secs(8);
    assert!(limits.contains(&took), "{took:?}");
    assert_eq!(read(&house, "a.txt").as_deref(), Some("new words\n"));
    drop(lock);
    // Who saw that they are prepared hears that they are.
    let (told, now) = news(&mut ear).await;
    assert_eq!(
        (told, now.standing),
        (CheckpointNews::Standing, Standing::Ready)
    );
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Taken(AUTOMATIC));
    assert_eq!(gist(&now.list), [(1, AUTOMATIC, true, true)]);
    // What was there before was kept all the same.
    let kept = vault(&house).kept(&thread.to_string()).expect("a vault");
    assert_eq!(kept.map(|kept| kept.partial), Some(false));
    restore(&house, thread, None).await.expect("a restore");
    assert_eq!(read(&house, "a.txt").as_deref(), Some("old\n"));
}

#[tokio::test]
async fn a_command_before_the_original_makes_it_partial() {
    let house = house([runs("echo new > a.txt"), says("done")]);
    let lock = held(&house);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    drop(lock);
    logged(&mut ear, "before the first snapshot was complete").await;
    let (told, _) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Taken(AUTOMATIC));
    let kept = vault(&house).kept(&thread.to_string()).expect("a vault");
    assert_eq!(kept.map(|kept| kept.partial), Some(true));
}

#[tokio::test]
async fn long_work_says_how_far_it_is_to_those_who_wait() {
    let house = house([]);
    let lock = held(&house);
    let (thread, mut ear) = house.heard_thread().await;
    logged(&mut ear, "[checkpoints] looking at the workspace").await;
    drop(lock);
    eventually("prepared", || {
        vault(&house).size().is_ok_and(|size| size.bytes > 0)
    })
    .await;
    assert_eq!(
        ask(&house, thread, CheckpointCall::Take).await,
        Ok(Reply::Done)
    );
}

#[tokio::test]
async fn originals_are_shared_and_rest_unless_somebody_is_in_a_hurry() {
    let house = house([]);
    std::fs::write(house.directory().join("a.txt"), "old\n").expect("a file");
    let lock = held(&house);
    let (first, _first) = house.heard_thread().await;
    let initializing = Standing::Initializing;
    // These waits are what the next look rests for, many times over.
    for _ in 0..3 {
        assert_eq!(state(&house, first).await.standing, initializing);
    }
    let (second, _second) = house.heard_thread().await;
    let (third, _third) = house.heard_thread().await;
    assert_eq!(state(&house, second).await.standing, initializing);
    drop(lock);
    eventually("the first original", || {
        vault(&house).size().is_ok_and(|size| size.files > 0)
    })
    .await;
    let released = Instant::now();
    assert_eq!(state(&house, second).await.standing, initializing);
    ask(&house, second, CheckpointCall::Take)
        .await
        .expect("a checkpoint");
    let took = released.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    // Whoever waited has the same one.
    ask(&house, third, CheckpointCall::Take)
        .await
        .expect("a checkpoint");
    let vault = vault(&house);
    let original = |thread: ThreadId| {
        let kept = vault.kept(&thread.to_string()).expect("a vault");
        kept.map(|kept| (kept.original, kept.at))
    };
    assert!(original(second).is_some());
    assert_eq!(original(second), original(third));
}

#[tokio::test]
async fn a_stop_waits_for_the_checkpoint_of_a_turn() {
    let house = house([writes("a.txt", "one\n"), says("done")]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    files(&mut ear).await;
    let lock = held(&house);
    ear.completed().await;
    let free = async {
        let refused = house.say(thread, "more").await;
        assert_eq!(refused, Err(Refusal::shutting_down()));
        // Everybody who could end now has the time to.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        drop(lock);
    };
    tokio::join!(biased; house.engine.stop(PATIENCE), free);
    let kept = vault(&house).kept(&thread.to_string()).expect("a vault");
    let numbers = kept.map(|kept| kept.checkpoints.len());
    assert_eq!(numbers, Some(1));
}

#[tokio::test]
async fn a_stop_without_grace_leaves_nobody_waiting() {
    let house = house([]);
    let (thread, _ear) = house.heard_thread().await;
    state(&house, thread).await;
    let lock = held(&house);
    let take = ask(&house, thread, CheckpointCall::Take);
    let (taken, ()) = tokio::join!(biased; take, house.engine.stop(Duration::ZERO));
    assert_eq!(taken, Err(Refusal::shutting_down()));
    drop(lock);
}
