//! Random changes of the tree from several tasks at once: no folder lies in itself, none in one that is
//! gone, and no thread is in a folder that is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use vocabulary::{Call, LibraryCall, LibraryReply, NewThread, Reply, ThreadId, Tree, WorkspaceId};

use crate::house::House;

const DEFAULT: &str = "000000000000000000000";

/// What one task does next, with places in the lists of what there was once.
#[derive(Clone, Copy, Debug)]
enum TreeDeed {
    Make(usize),
    Move(usize, usize),
    Delete(usize),
    Place(usize, usize),
}

fn deed() -> impl Strategy<Value = TreeDeed> {
    let place = || 0..12usize;
    prop_oneof![
        place().prop_map(TreeDeed::Make),
        (place(), place()).prop_map(|(folder, parent)| TreeDeed::Move(folder, parent)),
        place().prop_map(TreeDeed::Delete),
        (place(), place()).prop_map(|(thread, folder)| TreeDeed::Place(thread, folder)),
    ]
}

async fn call(house: &House, call: LibraryCall) -> Option<LibraryReply> {
    let reply = house.call(Call::Library(call)).await;
    reply.and_then(Reply::library).ok().map(|reply| *reply)
}

async fn done(house: &House, threads: &[ThreadId], known: &[String], deed: TreeDeed) {
    let workspace = WorkspaceId::new(DEFAULT);
    // The first place means the root.
    let folder = |place: usize| known.get(place.wrapping_sub(1)).cloned();
    let wanted = match deed {
        TreeDeed::Make(parent) => LibraryCall::CreateFolder {
            workspace,
            parent: folder(parent),
            name: "f".to_owned(),
        },
        TreeDeed::Move(moved, parent) => LibraryCall::MoveFolder {
            workspace,
            folder: folder(moved).unwrap_or_default(),
            parent: folder(parent),
        },
        TreeDeed::Delete(deleted) => LibraryCall::DeleteFolder {
            workspace,
            folder: folder(deleted).unwrap_or_default(),
        },
        TreeDeed::Place(thread, place) => LibraryCall::MoveThread {
            thread: threads[thread % threads.len()],
            workspace,
            folder: folder(place),
        },
    };
    // What cannot be done is refused, and that is fine.
    call(house, wanted).await;
}

fn is_a_tree(tree: &Tree, threads: &[ThreadId]) {
    let parents: BTreeMap<&str, Option<&str>> = tree
        .folders
        .iter()
        .map(|folder| (folder.id.as_str(), folder.parent.as_deref()))
        .collect();
    for folder in parents.keys() {
        let mut above = parents[folder];
        let mut steps = 0;
        while let Some(id) = above {
            above = *parents.get(id).expect("a parent that is there");
            steps += 1;
            assert!(steps <= parents.len(), "{folder} lies in itself");
        }
    }
    for placed in &tree.placements {
        let folder = placed.folder.as_deref();
        assert!(
            folder.is_none_or(|id| parents.contains_key(id)),
            "{placed:?}"
        );
    }
    for thread in threads {
        assert!(
            tree.threads.iter().any(|shown| shown.id == *thread),
            "{thread} is lost"
        );
    }
}

async fn story(deeds: Vec<[TreeDeed; 3]>) {
    let house = Arc::new(House::new(""));
    let mut threads = Vec::new();
    for _ in 0..3 {
        let new = NewThread {
            keep: true,
            ..NewThread::default()
        };
        let made = house.call(Call::CreateThread(Box::new(new))).await;
        threads.push(made.and_then(Reply::thread).expect("a thread").card.id);
    }
    let workspace = WorkspaceId::new(DEFAULT);
    for round in deeds {
        let read = LibraryCall::ReadTree {
            workspace: workspace.clone(),
        };
        let Some(LibraryReply::Tree(tree)) = call(&house, read).await else {
            panic!("no tree");
        };
        is_a_tree(&tree, &threads);
        let known: Vec<String> = tree.folders.into_iter().map(|folder| folder.id).collect();
        // At once, each by what was there before.
        let [a, b, c] = round.map(|deed| done(&house, &threads, &known, deed));
        tokio::join!(a, b, c);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_stays_a_tree(
        deeds in prop::collection::vec([deed(), deed(), deed()], 0..25)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(story(deeds));
    }
}
