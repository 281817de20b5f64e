//! Where files cannot be kept, everything else goes on.

use super::*;

#[tokio::test]
async fn without_a_workspace_there_are_no_checkpoints_but_tools_run() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        calls("c1", "poke", json!({"id": "first"})),
        calls("c2", "poke", json!({"id": "second"})),
        says("done"),
        says("more"),
    ]);
    let mut stage = stage(&puppet);
    stage.tools.add(toys.command("poke"));
    let house = House::in_real_time(stage);
    let nowhere = house.directory().join("nowhere");
    let thread = thread_in(&house, &nowhere).await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let Standing::Failed { why } = state(&house, thread).await.standing else {
        panic!("not failed")
    };
    assert!(why.starts_with("the workspace cannot be read"), "{why}");
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let notes = ["first begins", "first ends", "second begins", "second ends"];
    assert_eq!(toys.notes(), notes);
    let complaints = ear
        .facts()
        .into_iter()
        .filter(|fact| matches!(fact, Fact::Note(NoteFact::Logged { line }) if line.contains("[checkpoints]")));
    assert_eq!(complaints.count(), 1);
    let refused = Err(Refusal::new(Why::NotAvailable, why));
    assert_eq!(ask(&house, thread, CheckpointCall::Take).await, refused);
    assert_eq!(restore(&house, thread, None).await, refused);
    // As soon as there is one, all is well again.
    std::fs::create_dir(&nowhere).expect("a directory");
    let now = turn(&house, thread, &mut ear).await;
    assert_eq!(gist(&now.list), [(1, AUTOMATIC, false, false)]);
}

#[tokio::test]
async fn a_checkpoint_that_fails_is_told_and_the_next_one_that_does_not_as_well() {
    let house = house([says("one"), says("two"), says("three"), says("four")]);
    let (shop, away) = (
        house.directory().join("shop"),
        house.directory().join("away"),
    );
    std::fs::create_dir(&shop).expect("a directory");
    let thread = thread_in(&house, &shop).await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(state(&house, thread).await.standing, Standing::Ready);
    turn(&house, thread, &mut ear).await;
    std::fs::rename(&shop, &away).expect("a rename");
    house.say(thread, "go").await.expect("a turn");
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Standing);
    let Standing::Failed { why } = &now.standing else {
        panic!("not failed: {now:?}")
    };
    assert!(why.starts_with("the workspace cannot be read"), "{why}");
    assert_eq!(gist(&now.list), [(1, AUTOMATIC, false, false)]);
    assert_eq!(state(&house, thread).await, now);
    // The same again is no news.
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    std::fs::rename(&away, &shop).expect("a rename");
    let (told, now) = {
        house.say(thread, "go").await.expect("a turn");
        news(&mut ear).await
    };
    assert_eq!(told, CheckpointNews::Taken(AUTOMATIC));
    assert_eq!(now.standing, Standing::Ready);
}

#[tokio::test]
async fn where_checkpoints_are_off_nobody_is_bothered() {
    let puppet = Puppet::new([writes("a.txt", "one\n"), says("done")]);
    let mut stage = stage(&puppet);
    stage.checkpoints = Setting::Off;
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    let why = "checkpoints are turned off".to_owned();
    let standing = state(&house, thread).await.standing;
    assert_eq!(standing, Standing::Failed { why: why.clone() });
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let refused = Err(Refusal::new(Why::NotAvailable, why));
    assert_eq!(ask(&house, thread, CheckpointCall::Take).await, refused);
    assert!(!house.directory().join("home/checkpoints").exists());
}
