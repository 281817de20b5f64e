//! Directories, worktrees, files by letters, and push: calls and replies.

use super::thread_id;
use crate::{
    Call, CreatedWorktree, DirectoryCall, DirectoryList, DirectoryReply, FindFiles, FoundFile,
    FoundFiles, InspectedRepository, NewWorktree, PushCall, PushSubscription, Reply, Worktree,
    WorktreeList,
};

pub fn calls() -> Vec<Call> {
    let repository = || "/a".into();
    let of_directories = [
        DirectoryCall::List { path: None },
        DirectoryCall::Inspect { path: "/a".into() },
        DirectoryCall::ListWorktrees {
            repository: repository(),
        },
        DirectoryCall::CreateWorktree(NewWorktree {
            repository: repository(),
            base: Some("main".to_owned()),
            branch: Some("wt".to_owned()),
            path: Some("/b".into()),
        }),
        DirectoryCall::RemoveWorktree {
            repository: repository(),
            path: "/b".into(),
            force: true,
        },
        DirectoryCall::PruneWorktrees {
            repository: repository(),
        },
    ];
    let of_push = [
        PushCall::Subscribe(PushSubscription {
            endpoint: "https://push.example/x".to_owned(),
            p256dh: "p".to_owned(),
            auth: "a".to_owned(),
        }),
        PushCall::Unsubscribe {
            endpoint: "https://push.example/x".to_owned(),
        },
        PushCall::Test,
    ];
    let find = Call::FindFiles(FindFiles {
        query: "m".to_owned(),
        roots: vec!["/a".into()],
        threads: vec![thread_id()],
        limit: 7,
    });
    let directories = of_directories.map(Call::Directories).into_iter();
    directories
        .chain(of_push.map(Call::Push))
        .chain([find])
        .collect()
}

pub fn replies() -> Vec<Reply> {
    let of_directories = [
        DirectoryReply::List(DirectoryList {
            current: "/a".into(),
            parent: "/".into(),
            names: vec!["b".to_owned()],
            truncated: true,
        }),
        DirectoryReply::Repository(Some(InspectedRepository {
            root: "/a".into(),
            branch: None,
        })),
        DirectoryReply::Repository(None),
        DirectoryReply::Worktrees(WorktreeList {
            repository: "/a".into(),
            main: "/a".into(),
            worktrees: vec![Worktree {
                path: "/a".into(),
                branch: Some("main".to_owned()),
                head: "0".repeat(40),
                locked: true,
                prunable: false,
            }],
        }),
        DirectoryReply::Created(CreatedWorktree {
            repository: "/a".into(),
            path: "/b".into(),
            branch: "wt".to_owned(),
            head: "0".repeat(40),
        }),
        DirectoryReply::Removed,
        DirectoryReply::Pruned(2),
    ];
    let found = Reply::Found(FoundFiles {
        files: vec![FoundFile {
            root: "/a".into(),
            path: "m".to_owned(),
            is_directory: true,
            score: 1,
            matched: vec![0],
        }],
        truncated: false,
    });
    let directories = of_directories.map(|reply| Reply::Directories(Box::new(reply)));
    directories.into_iter().chain([found]).collect()
}

#[test]
fn what_a_browser_gave_is_not_shown() {
    let subscription = PushSubscription {
        endpoint: "https://push.example/planted".to_owned(),
        p256dh: "planted".to_owned(),
        auth: "planted".to_owned(),
    };
    let call = Call::Push(PushCall::Subscribe(subscription));
    assert!(!format!("{call:?}").contains("planted"));
}
