//! The library: workspaces, folders, and where threads sit.

use engine::Watcher;
use vocabulary::{
    Call, Caller, Folder, LibraryCall, LibraryReply, NewThread, Notice, Refusal, Reply, Thread,
    ToolEvent, ToolFact, Tree, Why, Workspace, WorkspaceChange, WorkspaceDirectory, WorkspaceId,
};

use crate::house::House;

const DEFAULT: &str = "000000000000000000000";

impl House {
    async fn library(&self, call: LibraryCall) -> Result<LibraryReply, Refusal> {
        match self.call(Call::Library(call)).await? {
            Reply::Library(reply) => Ok(*reply),
            other => panic!("not of the library: {other:?}"),
        }
    }

    async fn workspace(&self, call: LibraryCall) -> Result<Workspace, Refusal> {
        match self.library(call).await? {
            LibraryReply::Workspace(workspace) => Ok(workspace),
            other => panic!("no workspace: {other:?}"),
        }
    }

    async fn workspaces(&self) -> Vec<Workspace> {
        match self.library(LibraryCall::ListWorkspaces).await {
            Ok(LibraryReply::Workspaces(all)) => all,
            other => panic!("no workspaces: {other:?}"),
        }
    }

    async fn folder(&self, parent: Option<&Folder>, name: &str) -> Folder {
        let call = LibraryCall::CreateFolder {
            workspace: WorkspaceId::new(DEFAULT),
            parent: parent.map(|folder| folder.id.clone()),
            name: name.to_owned(),
        };
        match self.library(call).await {
            Ok(LibraryReply::Folder(folder)) => folder,
            other => panic!("no folder: {other:?}"),
        }
    }

    async fn move_folder(&self, folder: &Folder, parent: &Folder) -> Result<Reply, Refusal> {
        self.call(Call::Library(LibraryCall::MoveFolder {
            workspace: WorkspaceId::new(DEFAULT),
            folder: folder.id.clone(),
            parent: Some(parent.id.clone()),
        }))
        .await
    }

    async fn tree(&self) -> Tree {
        let workspace = WorkspaceId::new(DEFAULT);
        match self.library(LibraryCall::ReadTree { workspace }).await {
            Ok(LibraryReply::Tree(tree)) => tree,
            other => panic!("no tree: {other:?}"),
        }
    }

    async fn kept_thread(&self, new: NewThread) -> Thread {
        let new = NewThread { keep: true, ..new };
        let thread = match self.call(Call::CreateThread(Box::new(new))).await {
            Ok(Reply::Thread(thread)) => *thread,
            other => panic!("no thread: {other:?}"),
        };
        // Whoever listens hears from a thread that is on disk.
        self.listen(thread.card.id, engine::ListenFrom::Head).await;
        thread
    }
}

fn create(id: &str, make_current: bool) -> LibraryCall {
    LibraryCall::CreateWorkspace {
        id: WorkspaceId::new(id),
        name: None,
        make_current,
        directory: WorkspaceDirectory::Managed,
    }
}

async fn next_change(watcher: &mut Watcher) -> (WorkspaceChange, String) {
    loop {
        let notice = watcher.next().await.expect("a notice");
        if let Notice::WorkspaceChanged {
            what, workspace, ..
        } = notice
        {
            return (what, workspace.id.to_string());
        }
    }
}

fn current(workspaces: &[Workspace]) -> Vec<&str> {
    let current = workspaces.iter().filter(|each| each.is_current);
    current.map(|each| each.id.as_str()).collect()
}

#[tokio::test]
async fn who_asks_for_a_workspace_gets_one() {
    let house = House::new("");
    assert_eq!(house.workspaces().await, []);
    let first = house.workspace(LibraryCall::DefaultWorkspace).await;
    let first = first.expect("a workspace");
    assert_eq!(first.id.as_str(), DEFAULT);
    assert_eq!(first.name, "Default Workspace");
    assert!(first.is_active && first.is_current);
    let again = house.workspace(LibraryCall::DefaultWorkspace).await;
    assert_eq!(again, Ok(first.clone()));
    assert_eq!(house.workspaces().await, [first]);
}

#[tokio::test]
async fn what_another_process_changes_in_the_library_is_noticed() {
    let house = House::new("");
    let neighbour = house.neighbour();
    let mut watcher = neighbour.watch(&Caller::local()).expect("a watcher");
    house.workspace(create("one", false)).await.expect("made");
    let made = (WorkspaceChange::Created, "one".to_owned());
    assert_eq!(next_change(&mut watcher).await, made);
    let rename = LibraryCall::UpdateWorkspace {
        id: WorkspaceId::new("one"),
        name: Some("another".to_owned()),
        is_active: None,
    };
    house.workspace(rename).await.expect("renamed");
    let renamed = (WorkspaceChange::Updated, "one".to_owned());
    assert_eq!(next_change(&mut watcher).await, renamed);

    let folder = house.folder(None, "f").await;
    let default = Notice::TreeChanged {
        workspace: WorkspaceId::new(DEFAULT),
    };
    assert_eq!(watcher.next().await.as_ref(), Some(&default));
    let delete = LibraryCall::DeleteFolder {
        workspace: WorkspaceId::new(DEFAULT),
        folder: folder.id,
    };
    house.library(delete).await.expect("deleted");
    assert_eq!(watcher.next().await, Some(default));
}

#[tokio::test]
async fn one_workspace_is_current() {
    let house = House::new("");
    let mut watcher = house.engine.watch(&Caller::local()).expect("a watcher");
    let one = house.workspace(create(" one ", false)).await.expect("one");
    assert_eq!(one.id.as_str(), "one", "ids are trimmed");
    assert_eq!(one.name, "Workspace 1");
    assert!(one.is_current, "the first is");
    let two = house.workspace(create("two", false)).await.expect("two");
    assert!(!two.is_current);
    house.workspace(create("three", true)).await.expect("three");
    assert_eq!(current(&house.workspaces().await), ["three"]);
    for _ in 0..2 {
        let id = WorkspaceId::new("two");
        let select = LibraryCall::SelectWorkspace {
            id,
            make_current: true,
        };
        house.workspace(select).await.expect("selected");
    }
    assert_eq!(current(&house.workspaces().await), ["two"]);
    let again = house.workspace(create("one", true)).await.expect("known");
    assert!(!again.is_current, "a known workspace stays as it is");
    let house = house.crash();
    assert_eq!(current(&house.workspaces().await), ["two"]);
    let id = WorkspaceId::new("one");
    let rename = LibraryCall::UpdateWorkspace {
        id,
        name: Some(" Home ".to_owned()),
        is_active: None,
    };
    assert_eq!(house.workspace(rename).await.expect("named").name, "Home");

    use WorkspaceChange::{Created, CurrentChanged};
    for expected in [
        (Created, "one"),
        (Created, "two"),
        (Created, "three"),
        (CurrentChanged, "two"),
        (Created, "one"),
    ] {
        let (what, id) = next_change(&mut watcher).await;
        assert_eq!((what, id.as_str()), expected);
    }
}

#[tokio::test]
async fn an_unknown_workspace_is_refused() {
    let house = House::new("");
    let id = WorkspaceId::new("nowhere");
    let select = LibraryCall::SelectWorkspace {
        id,
        make_current: false,
    };
    let refusal = house.workspace(select).await.expect_err("a refusal");
    let field = "workspace_id";
    assert_eq!(refusal.why, Why::invalid(field));
    assert_eq!(refusal.message, "workspace `nowhere` does not exist");
}

/// Nor does a thread start in the server's own directory because of it.
#[tokio::test]
async fn no_thread_starts_in_an_unknown_workspace() {
    let house = House::new("");
    for directory in [None, Some(house.directory().to_path_buf())] {
        let new = NewThread {
            workspace: Some(WorkspaceId::new("nowhere")),
            directory,
            ..NewThread::default()
        };
        let refused = house.call(Call::CreateThread(Box::new(new))).await;
        let refusal = refused.expect_err("a refusal");
        assert_eq!(refusal.message, "workspace `nowhere` does not exist");
    }
    let of_default = NewThread {
        workspace: Some(WorkspaceId::new(DEFAULT)),
        ..NewThread::default()
    };
    let thread = house.kept_thread(of_default).await;
    assert_eq!(thread.card.directory, house.directory());
}

#[tokio::test]
async fn a_managed_workspace_has_a_directory_of_its_own() {
    let house = House::new("");
    house.workspace(create("mine", false)).await.expect("mine");
    let thread = house.kept_thread(NewThread {
        workspace: Some(WorkspaceId::new("mine")),
        ..NewThread::default()
    });
    let directory = thread.await.card.directory;
    assert!(directory.ends_with("home/workspaces/mine"), "{directory:?}");
    assert!(directory.is_dir());
}

/// The server's own data is private to it, but not the workspaces that it makes there.
#[tokio::test]
async fn tools_work_in_a_workspace_that_the_server_made() {
    let calls = [
        r#"call write {"filePath":"made.txt","content":"one\n"}"#,
        r#"call read {"filePath":"made.txt"}"#,
        r#"call read {"filePath":"../other/secret.txt"}"#,
    ];
    let house = House::new(&format!("turn\n{}\nnext\nsay Done.\n", calls.join("\n")));
    let made = house.workspace(create("mine", true)).await;
    made.expect("a workspace");
    let thread = house
        .kept_thread(NewThread {
            workspace: Some(WorkspaceId::new("mine")),
            ..NewThread::default()
        })
        .await;
    let other = thread.card.directory.with_file_name("other");
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(other.join("secret.txt"), "of another").expect("a file");
    let (_, mut ear) = house.listen(thread.card.id, engine::ListenFrom::Head).await;
    house.say(thread.card.id, "go").await.expect("a turn");
    ear.completed().await;
    let made = std::fs::read_to_string(thread.card.directory.join("made.txt"));
    assert_eq!(made.ok().as_deref(), Some("one\n"));
    let outcomes = ear.facts().into_iter().filter_map(|fact| match fact {
        vocabulary::Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Finished { outcome, .. },
            ..
        }) => Some((call.call_id.clone(), outcome)),
        // tidy: wildcard, because only ends of calls are looked for.
        _ => None,
    });
    let mut went_well: Vec<(String, bool)> = outcomes
        .map(|(call, outcome)| {
            let well = matches!(outcome, vocabulary::ToolOutcome::Succeeded(_));
            (call, well)
        })
        .collect();
    // Reads run together, and end as they please.
    went_well.sort();
    let went_well: Vec<bool> = went_well.into_iter().map(|(_, well)| well).collect();
    assert_eq!(went_well, [true, true, false]);
}

#[tokio::test]
async fn folders_move_but_never_in_a_circle() {
    let house = House::new("");
    let top = house.folder(None, "top").await;
    let middle = house.folder(Some(&top), "middle").await;
    let bottom = house.folder(Some(&middle), "bottom").await;
    for (folder, parent) in [(&top, &bottom), (&top, &middle), (&top, &top)] {
        let refusal = house.move_folder(folder, parent).await;
        let refusal = refusal.expect_err("a circle");
        assert_eq!(refusal.message, "a folder cannot be moved into itself");
    }
    house.move_folder(&bottom, &top).await.expect("moved");
    let tree = house.tree().await;
    let parents: Vec<_> = tree
        .folders
        .iter()
        .map(|folder| (folder.name.as_str(), folder.parent.as_deref()))
        .collect();
    let top = Some(top.id.as_str());
    assert_eq!(
        parents,
        [("bottom", top), ("middle", top), ("top", None)],
        "by name"
    );
}

#[tokio::test]
async fn what_was_in_a_deleted_folder_moves_up() {
    let house = House::new("");
    let top = house.folder(None, "top").await;
    let middle = house.folder(Some(&top), "middle").await;
    house.folder(Some(&middle), "bottom").await;
    let thread = house.kept_thread(NewThread::default()).await.card.id;
    let place = LibraryCall::MoveThread {
        thread,
        workspace: WorkspaceId::new(DEFAULT),
        folder: Some(middle.id.clone()),
    };
    let placed = house.library(place).await;
    assert_eq!(placed, Ok(LibraryReply::Moved));
    let delete = LibraryCall::DeleteFolder {
        workspace: WorkspaceId::new(DEFAULT),
        folder: middle.id.clone(),
    };
    for expected in [true, false] {
        let deleted = house.library(delete.clone()).await;
        assert_eq!(deleted, Ok(LibraryReply::Deleted(expected)));
    }
    let tree = house.tree().await;
    let bottom = &tree.folders[0];
    assert_eq!(bottom.parent.as_ref(), Some(&top.id));
    let [placement] = tree.placements.as_slice() else {
        panic!("{:?}", tree.placements)
    };
    assert_eq!(placement.thread, thread);
    assert_eq!(placement.folder.as_ref(), Some(&top.id));
}

#[tokio::test]
async fn a_thread_of_another_workspace_is_not_moved() {
    let house = House::new("");
    house.workspace(create("mine", false)).await.expect("mine");
    let thread = house.kept_thread(NewThread::default()).await.card.id;
    let place = LibraryCall::MoveThread {
        thread,
        workspace: WorkspaceId::new("mine"),
        folder: None,
    };
    let refusal = house.call(Call::Library(place)).await;
    let field = "workspace_id";
    let why = refusal.expect_err("a refusal").why;
    assert_eq!(why, Why::invalid(field));
}

#[tokio::test]
async fn a_thread_is_found_by_either_of_its_names() {
    let house = House::new("");
    let made = house.kept_thread(NewThread {
        client_id: Some("my-own-thread".to_owned()),
        ..NewThread::default()
    });
    let made = made.await.card;
    for name in ["my-own-thread".to_owned(), made.id.to_string()] {
        let found = house.call(Call::FindThread { name });
        let Ok(Reply::Thread(found)) = found.await else {
            panic!("not found")
        };
        assert_eq!(found.card, made);
    }
    let name = "nobody".to_owned();
    let found = house.call(Call::FindThread { name });
    let refusal = found.await.expect_err("a refusal");
    assert_eq!(refusal.why, Why::UnknownThread);
}

#[tokio::test]
async fn many_who_change_the_library_at_once_all_succeed() {
    let house = House::new("");
    let names: Vec<String> = (0..20)
        .map(|number| format!("folder {number:02}"))
        .collect();
    let folders = names.iter().map(|name| house.folder(None, name));
    futures_util::future::join_all(folders).await;
    let tree = house.tree().await;
    let kept: Vec<_> = tree.folders.iter().map(|folder| &folder.name).collect();
    assert_eq!(kept, names.iter().collect::<Vec<_>>());
}
