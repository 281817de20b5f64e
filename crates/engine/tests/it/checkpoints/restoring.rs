//! Files are put back, unless somebody works there.

use super::*;

#[tokio::test]
async fn a_restore_puts_files_back_and_can_be_undone() {
    let house = house([
        writes("a.txt", "one\n"),
        says("done"),
        writes("b.txt", "two\n"),
        says("done"),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    turn(&house, thread, &mut ear).await;
    turn(&house, thread, &mut ear).await;
    let done = restore(&house, thread, Some(CheckpointId(1))).await;
    assert_eq!(done, Ok(Reply::Done));
    assert_eq!(read(&house, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&house, "b.txt"), None);
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Restored);
    let three = vec![
        (1, AUTOMATIC, true, true),
        (2, AUTOMATIC, true, true),
        (3, AUTOMATIC, false, true),
    ];
    assert_eq!(gist(&now.list), three);
    let gone = version("b.txt", 2, 0, FileChangeKind::Delete);
    let gone = Fact::Files(FilesFact::Changed {
        turn: None,
        files: vec![gone],
    });
    assert!(ear.facts().contains(&&gone), "{:#?}", ear.facts());
    // The checkpoint that was taken first undoes it.
    restore(&house, thread, Some(CheckpointId(3)))
        .await
        .expect("an undo");
    assert_eq!(read(&house, "b.txt").as_deref(), Some("two\n"));
    let path = Some("b.txt".to_owned());
    let to = None;
    ask(&house, thread, CheckpointCall::Restore { to, path })
        .await
        .expect("one file of the original");
    assert_eq!(read(&house, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&house, "b.txt"), None);
}

#[tokio::test]
async fn turns_are_taken_back_with_what_they_did_to_files() {
    let house = house([
        writes("a.txt", "one\n"),
        says("done"),
        writes("b.txt", "two\n"),
        says("done"),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    turn(&house, thread, &mut ear).await;
    turn(&house, thread, &mut ear).await;
    let take_back = |count, files| {
        let to = vocabulary::RevertTo::Newest(count);
        Call::RevertThread(vocabulary::RevertThread { thread, to, files })
    };
    house.call(take_back(1, true)).await.expect("it goes back");
    assert_eq!(read(&house, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&house, "b.txt"), None);
    assert_eq!(house.turns(thread).await, 1);
    house.call(take_back(1, false)).await.expect("it goes back");
    assert_eq!(
        read(&house, "a.txt").as_deref(),
        Some("one\n"),
        "only the words"
    );
    assert_eq!(house.turns(thread).await, 0);
}

#[tokio::test]
async fn a_thread_can_go_back_to_its_original_before_anything_was_kept() {
    let house = house([]);
    std::fs::write(house.directory().join("a.txt"), "old\n").expect("a file");
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    assert_eq!(vault(&house).threads().expect("threads"), [""; 0]);
    std::fs::write(house.directory().join("a.txt"), "new words\n").expect("a file");
    let to = None;
    let path = Some("a.txt".to_owned());
    let preview = CheckpointCall::Preview { to, path };
    let touched = Touched {
        path: "a.txt".to_owned(),
        how: RestoreAction::Replace,
    };
    let expected = Reply::Checkpoints(Box::new(CheckpointReply::Preview(vec![touched])));
    assert_eq!(ask(&house, thread, preview).await, Ok(expected));
    assert_eq!(vault(&house).threads().expect("threads"), [""; 0]);
    assert_eq!(restore(&house, thread, None).await, Ok(Reply::Done));
    assert_eq!(read(&house, "a.txt").as_deref(), Some("old\n"));
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Restored);
    assert_eq!(gist(&now.list), [(1, AUTOMATIC, true, true)]);
}

#[tokio::test]
async fn nothing_is_done_to_checkpoints_while_a_turn_runs() {
    let gate = Gate::new();
    let house = house([
        writes("a.txt", "one\n"),
        Play::new().hold(&gate).say("done").end(10, 2),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    let (other, _other_ear) = house.heard_thread().await;
    state(&house, thread).await;
    state(&house, other).await;
    house.say(thread, "go").await.expect("a turn");
    files(&mut ear).await;
    let busy = Err(Refusal::busy());
    let id = CheckpointId(1);
    assert_eq!(ask(&house, thread, CheckpointCall::Take).await, busy);
    assert_eq!(restore(&house, thread, None).await, busy);
    let delete = CheckpointCall::Delete { id };
    assert_eq!(ask(&house, thread, delete).await, busy);
    // A turn of another thread works in the same directory.
    let refused = restore(&house, other, None)
        .await
        .expect_err("somebody writes");
    assert_eq!(refused.why, Why::Busy);
    assert!(refused.message.contains("another thread"), "{refused}");
    // A checkpoint harms nobody.
    ask(&house, other, CheckpointCall::Take)
        .await
        .expect("a checkpoint");
    gate.open();
    ear.completed().await;
    news(&mut ear).await;
    assert_eq!(restore(&house, other, None).await, Ok(Reply::Done));
    assert_eq!(read(&house, "a.txt"), None);
}

#[tokio::test]
async fn no_turn_starts_while_files_are_put_back() {
    let house = house([writes("a.txt", "one\n"), says("done"), says("more")]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    turn(&house, thread, &mut ear).await;
    let lock = held(&house);
    let restoring = restore(&house, thread, None);
    let meanwhile = async {
        // The session takes its mail in order: the restore is under way by then.
        let busy = house.say(thread, "go").await;
        let another = ask(&house, thread, CheckpointCall::Take).await;
        drop(lock);
        (busy, another)
    };
    let (restored, (busy, another)) = tokio::join!(biased; restoring, meanwhile);
    assert_eq!(busy, Err(Refusal::busy()));
    assert_eq!(another, Err(Refusal::busy()));
    assert_eq!(restored, Ok(Reply::Done));
    assert_eq!(read(&house, "a.txt"), None);
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
}

#[tokio::test]
async fn two_threads_share_a_workspace_and_have_their_own_lists() {
    let house = house([
        writes("a.txt", "one\n"),
        says("done"),
        writes("b.txt", "two\n"),
        says("done"),
    ]);
    let (first, mut ear) = house.heard_thread().await;
    state(&house, first).await;
    turn(&house, first, &mut ear).await;
    let (second, mut second_ear) = house.heard_thread().await;
    state(&house, second).await;
    let of_second = turn(&house, second, &mut second_ear).await;
    assert_eq!(gist(&of_second.list), [(1, AUTOMATIC, true, true)]);
    assert_eq!(
        gist(&state(&house, first).await.list),
        [(1, AUTOMATIC, true, true)]
    );
    // Each has the files for its original that were there when it began.
    restore(&house, second, None).await.expect("a restore");
    assert_eq!(read(&house, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&house, "b.txt"), None);
    restore(&house, first, None).await.expect("a restore");
    assert_eq!(read(&house, "a.txt"), None);
}
