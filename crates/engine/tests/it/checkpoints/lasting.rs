//! What stays of a thread's checkpoints, and what goes.

use super::*;

#[tokio::test]
async fn a_number_is_never_used_twice() {
    let house = house([]);
    let (thread, mut ear) = house.heard_thread().await;
    let done = ask(&house, thread, CheckpointCall::Take).await;
    assert_eq!(done, Ok(Reply::Done));
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Taken(MANUAL));
    assert_eq!(gist(&now.list), [(1, MANUAL, false, false)]);
    let delete = |number| CheckpointCall::Delete {
        id: CheckpointId(number),
    };
    assert_eq!(ask(&house, thread, delete(1)).await, Ok(Reply::Done));
    let (told, now) = news(&mut ear).await;
    assert_eq!((told, now.list), (CheckpointNews::Deleted, Vec::new()));
    ask(&house, thread, CheckpointCall::Take)
        .await
        .expect("another");
    let (_, now) = news(&mut ear).await;
    assert_eq!(gist(&now.list), [(2, MANUAL, false, false)]);
    let unknown = |text: &str| Err(Refusal::new(Why::UnknownCheckpoint, text));
    let refused = unknown("Unknown checkpoint: cp-0001");
    assert_eq!(ask(&house, thread, delete(1)).await, refused);
    let refused = unknown("Unknown checkpoint: cp-0007");
    let to = Some(CheckpointId(7));
    assert_eq!(restore(&house, thread, to).await, refused);
    let from = None;
    let diff = CheckpointCall::Diff { from, to };
    assert_eq!(ask(&house, thread, diff).await, refused);
    let path = None;
    let preview = CheckpointCall::Preview { to, path };
    assert_eq!(ask(&house, thread, preview).await, refused);
}

#[tokio::test]
async fn a_thread_that_slept_has_its_checkpoints_still() {
    let house = house([writes("a.txt", "one\n"), says("done"), says("more")]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    let before = turn(&house, thread, &mut ear).await;
    house.engine.stop(PATIENCE).await;
    let house = house.crash();
    // Asleep, and yet there is an answer.
    let (from, to) = (None, Some(CheckpointId(1)));
    let diff = ask(&house, thread, CheckpointCall::Diff { from, to }).await;
    let Ok(Reply::Checkpoints(reply)) = diff else {
        panic!("no diff: {diff:?}")
    };
    let CheckpointReply::Diff(diff) = *reply else {
        panic!("no diff: {reply:?}")
    };
    assert!(diff.contains("a.txt") && diff.contains("+one"), "{diff}");
    assert_eq!(state(&house, thread).await, before);
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let now = turn(&house, thread, &mut ear).await;
    let two = [(1, AUTOMATIC, true, true), (2, AUTOMATIC, false, true)];
    assert_eq!(gist(&now.list), two);
}

#[tokio::test]
async fn a_deleted_thread_is_forgotten() {
    let house = house([writes("a.txt", "one\n"), says("done"), says("more")]);
    let (awake, mut ear) = house.heard_thread().await;
    state(&house, awake).await;
    turn(&house, awake, &mut ear).await;
    let (asleep, mut ear) = house.heard_thread().await;
    turn(&house, asleep, &mut ear).await;
    let names = |threads: &[ThreadId]| {
        let mut names: Vec<_> = threads.iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    let known = || {
        let mut known = vault(&house).threads().expect("threads");
        known.sort();
        known
    };
    assert_eq!(known(), names(&[awake, asleep]));
    let delete = |thread| Call::DeleteThread { thread };
    house.call(delete(awake)).await.expect("a deletion");
    eventually("forgotten", || known() == names(&[asleep])).await;
    assert!(!record(&house, awake).exists() && record(&house, asleep).exists());
    house.engine.stop(PATIENCE).await;
    let house = house.crash();
    house.call(delete(asleep)).await.expect("a deletion");
    eventually("forgotten", || {
        vault(&house).threads().expect("threads").is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_thread_in_which_nothing_happened_leaves_nothing() {
    let house = house([]);
    std::fs::write(house.directory().join("a.txt"), "old\n").expect("a file");
    let thread = house.thread().await;
    // It is prepared before anybody listens, and is there all the same.
    eventually("prepared", || {
        place(&house).is_dir() && vault(&house).size().is_ok_and(|size| size.files > 0)
    })
    .await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let (_, ear) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(state(&house, thread).await.standing, Standing::Ready);
    drop(ear);
    let gone = Call::GetThread { thread };
    let until = Instant::now() + PATIENCE;
    while house.call(gone.clone()).await.is_ok() {
        assert!(Instant::now() < until, "the thread is still there");
        tokio::task::yield_now().await;
    }
    assert_eq!(vault(&house).threads().expect("threads"), [""; 0]);
}

#[tokio::test]
async fn what_the_policy_does_not_keep_goes() {
    let puppet = Puppet::new([says("one"), says("two"), says("three")]);
    let mut stage = stage(&puppet);
    stage.checkpoints = Setting::On {
        limits: SnapshotLimits::default(),
        policy: RetentionPolicy {
            count: 2,
            ..RetentionPolicy::default()
        },
    };
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    for _ in 0..3 {
        turn(&house, thread, &mut ear).await;
    }
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Deleted);
    let two = [(2, AUTOMATIC, false, false), (3, AUTOMATIC, false, false)];
    assert_eq!(gist(&now.list), two);
    assert_eq!(state(&house, thread).await, now);
}
