//! What is kept with a thread of the repository that it works in.

use std::fs;

use vocabulary::{
    Call, Caller, Changes, FieldChange, GitInfo, GitInfoChange, NewThread, Reply, TenantId, Thread,
    ThreadId,
};

use crate::house::House;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn repository_in(house: &House) {
    let git = house.directory().join(".git");
    fs::create_dir_all(git.join("refs/heads")).expect("a directory");
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    fs::write(git.join("refs/heads/main"), COMMIT).expect("written");
}

async fn made(house: &House, caller: &Caller) -> Thread {
    let new = NewThread {
        keep: true,
        directory: Some(house.directory().to_owned()),
        ..NewThread::default()
    };
    let made = house.call_as(caller, Call::CreateThread(Box::new(new)));
    *made.await.and_then(Reply::thread).expect("a thread")
}

async fn known(house: &House, thread: ThreadId) -> Option<GitInfo> {
    let read = house.call(Call::GetThread { thread }).await;
    let thread = read.and_then(Reply::thread).expect("a thread");
    thread.settings.git.map(|git| *git)
}

#[tokio::test]
async fn a_new_thread_knows_its_repository_and_what_a_client_says_of_it_is_kept() {
    let house = House::new("");
    assert_eq!(made(&house, &Caller::local()).await.settings.git, None);
    repository_in(&house);
    let thread = made(&house, &Caller::local()).await.card.id;
    let found = GitInfo {
        branch: Some("main".to_owned()),
        sha: Some(COMMIT.to_owned()),
        origin: None,
    };
    assert_eq!(known(&house, thread).await.as_ref(), Some(&found));

    let change = |branch, sha| Changes {
        git: Some(Box::new(GitInfoChange {
            branch,
            sha,
            origin: FieldChange::Stays,
        })),
        ..Changes::default()
    };
    let topic = FieldChange::Set(Some("topic".to_owned()));
    house
        .change(thread, change(topic, FieldChange::Stays))
        .await;
    let house = house.crash();
    let said = GitInfo {
        branch: Some("topic".to_owned()),
        ..found
    };
    assert_eq!(known(&house, thread).await, Some(said));
    let none = || FieldChange::Set(None);
    house.change(thread, change(none(), none())).await;
    assert_eq!(known(&house, thread).await, None);
}

#[tokio::test]
async fn what_lies_around_a_tenants_places_is_not_told_to_it() {
    let house = House::new("");
    repository_in(&house);
    let tenant = Caller {
        tenant: TenantId::new("acme"),
        ..Caller::local()
    };
    let new = NewThread {
        keep: true,
        ..NewThread::default()
    };
    let made = house.call_as(&tenant, Call::CreateThread(Box::new(new)));
    let made = made.await.and_then(Reply::thread).expect("a thread");
    assert_eq!(made.settings.git, None);
}
