//! Two tenants on one engine: neither sees or touches anything of the other, whatever is called.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::{ListenFrom, Watcher};
use vocabulary::{
    Answer, ApprovalAnswer, AskId, Audience, Call, Caller, Changes, CheckpointCall, CheckpointId,
    DEFAULT_WORKSPACE, DirectoryCall, FileCall, FileUpload, FindFiles, ForkPlace, ForkThread,
    GrantScope, Idempotency, LibraryCall, LibraryReply, McpCall, NewThread, PushCall, Reply,
    RevertThread, RevertTo, RunCommand, SectionCall, Seq, SignInCall, SkillCall, TenantId,
    ThreadId, ThreadQuery, TurnSelection, Why, WorkspaceCall, WorkspaceDirectory, WorkspaceId,
};

use crate::grants::{asked, house_of};
use crate::house::{Ear, House, said, steered, wish};

/// Stands in everything that the first tenant says and names.
const MARK: &str = "northern";
const CLIENT_ID: &str = "client-1";
const WORKSPACE: &str = "shared-name";

/// What a call can show of another tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// The thread that it names is not there.
    NoThread,
    /// It speaks of the caller's own.
    Own,
    /// It speaks of the server, which is the same for all.
    TheServer,
}

/// Every call has a place here; one without a sample fails the test.
const CALLS: usize = 59;

fn place(call: &Call) -> (usize, Shows) {
    match call {
        Call::ListThreads(_) => (0, Shows::Own),
        Call::CreateThread(_) => (1, Shows::Own),
        Call::GetThread { .. } => (2, Shows::NoThread),
        Call::DeleteThread { .. } => (3, Shows::NoThread),
        Call::ChangeThread { .. } => (4, Shows::NoThread),
        Call::StartTurn(_) => (5, Shows::NoThread),
        Call::SteerTurn(_) => (6, Shows::NoThread),
        Call::CancelTurn { .. } => (7, Shows::NoThread),
        Call::AnswerAsk { .. } => (8, Shows::NoThread),
        Call::ResetThread { .. } => (9, Shows::NoThread),
        Call::ListGrants { .. } => (10, Shows::NoThread),
        Call::RevokeGrant { .. } => (11, Shows::NoThread),
        Call::CloseThread { .. } => (12, Shows::NoThread),
        Call::ReadThread { .. } => (13, Shows::NoThread),
        Call::ReadMessages { .. } => (14, Shows::NoThread),
        Call::ReadEvents { .. } => (15, Shows::NoThread),
        Call::ReadEventsBefore { .. } => (16, Shows::NoThread),
        Call::ReadTurns { .. } => (41, Shows::NoThread),
        Call::GetCatalog => (17, Shows::TheServer),
        Call::GetProviderStatus { .. } => (18, Shows::TheServer),
        Call::SignIn(_) => (19, Shows::TheServer),
        Call::ListTools { .. } => (20, Shows::NoThread),
        Call::FindThread { .. } => (32, Shows::NoThread),
        Call::Mcp { .. } => (21, Shows::NoThread),
        Call::Skills { .. } => (26, Shows::NoThread),
        Call::Workspace { .. } => (58, Shows::Own),
        Call::ListCommands { .. } => (27, Shows::NoThread),
        Call::RunCommand(_) => (28, Shows::NoThread),
        Call::UploadFile(_) => (42, Shows::NoThread),
        Call::KeepDefaults { .. } => (43, Shows::NoThread),
        Call::Members(_) => (44, Shows::Own),
        Call::Files { .. } => (45, Shows::NoThread),
        Call::ForkThread(_) => (46, Shows::NoThread),
        Call::RevertThread(_) => (47, Shows::NoThread),
        Call::CompactThread { .. } => (48, Shows::NoThread),
        Call::StartReview(_) => (49, Shows::NoThread),
        Call::RunShell(_) => (50, Shows::NoThread),
        Call::Terminals { .. } => (51, Shows::NoThread),
        Call::Exec(_) => (52, Shows::Own),
        Call::Directories(_) => (53, Shows::Own),
        Call::FindFiles(_) => (54, Shows::NoThread),
        Call::Push(_) => (55, Shows::Own),
        Call::Library(call) => place_in_library(call),
        Call::Checkpoints { call, .. } => (place_in_checkpoints(call), Shows::NoThread),
    }
}

fn place_in_library(call: &LibraryCall) -> (usize, Shows) {
    match call {
        LibraryCall::ListWorkspaces => (22, Shows::Own),
        LibraryCall::DefaultWorkspace => (23, Shows::Own),
        LibraryCall::CreateWorkspace { .. } => (24, Shows::Own),
        LibraryCall::SelectWorkspace { .. } => (25, Shows::Own),
        LibraryCall::UpdateWorkspace { .. } => (26, Shows::Own),
        LibraryCall::ReadTree { .. } => (27, Shows::Own),
        LibraryCall::MoveThread { .. } => (28, Shows::NoThread),
        LibraryCall::CreateFolder { .. } => (29, Shows::Own),
        LibraryCall::MoveFolder { .. } => (30, Shows::Own),
        LibraryCall::DeleteFolder { .. } => (31, Shows::Own),
        LibraryCall::Sections(SectionCall::Move { .. }) => (56, Shows::NoThread),
        LibraryCall::Sections(_) => (57, Shows::Own),
    }
}

fn place_in_checkpoints(call: &CheckpointCall) -> usize {
    match call {
        CheckpointCall::Get => 33,
        CheckpointCall::Take => 34,
        CheckpointCall::Restore { .. } => 35,
        CheckpointCall::Preview { .. } => 36,
        CheckpointCall::Delete { .. } => 37,
        CheckpointCall::Diff { .. } => 38,
        CheckpointCall::History { .. } => 39,
        CheckpointCall::FileAt { .. } => 40,
    }
}

/// Every call, each aimed at what the other tenant has. What only adds comes last.
fn every_call(thread: ThreadId, folder: &str) -> Vec<Call> {
    let mut calls = calls_of_thread(thread);
    calls.extend(calls_of_server());
    calls.push(Call::Members(vocabulary::MemberCall::List));
    calls.push(Call::Directories(DirectoryCall::List { path: None }));
    calls.push(Call::FindFiles(FindFiles {
        threads: vec![thread],
        ..FindFiles::default()
    }));
    calls.push(Call::Push(PushCall::Test));
    calls.extend(calls_of_library(thread, folder).map(Call::Library));
    let of_checkpoints = calls_of_checkpoints();
    calls.extend(of_checkpoints.map(|call| Call::Checkpoints { thread, call }));
    let list = FileCall::List {
        path: None,
        depth: 1,
    };
    let read = FileCall::Read {
        path: "a".to_owned(),
        bytes_max: 1,
    };
    calls.extend([list, read].map(|call| Call::Files { thread, call }));
    let new = NewThread {
        client_id: Some(CLIENT_ID.to_owned()),
        keep: true,
        ..NewThread::default()
    };
    calls.push(Call::CreateThread(Box::new(new)));
    calls
}

fn calls_of_thread(thread: ThreadId) -> Vec<Call> {
    let upto = Seq(u64::MAX);
    vec![
        Call::GetThread { thread },
        Call::DeleteThread { thread },
        Call::ChangeThread {
            thread,
            changes: Changes {
                title: Some("taken over".to_owned()),
                ..Changes::default()
            },
        },
        Call::StartTurn(said(thread, "mine now")),
        Call::SteerTurn(steered(thread, "mine now")),
        Call::CompactThread { thread },
        Call::StartReview(vocabulary::StartReview {
            thread,
            target: vocabulary::ReviewTarget::Uncommitted,
        }),
        Call::RunShell(vocabulary::RunShell {
            thread,
            command: "touch mine-now".to_owned(),
            timeout_ms: None,
        }),
        Call::Terminals {
            thread,
            call: vocabulary::TerminalCall::End { process: None },
        },
        Call::CancelTurn { thread, turn: None },
        Call::AnswerAsk {
            thread,
            ask: AskId(1),
            answer: Answer::Dismissed,
        },
        Call::ResetThread { thread },
        Call::ForkThread(Box::new(ForkThread {
            thread,
            upto: ForkPlace::Rest,
            directory: None,
            files: false,
            changes: Changes::default(),
            instructions: None,
            ephemeral: false,
        })),
        Call::RevertThread(RevertThread {
            thread,
            to: RevertTo::Newest(1),
            files: false,
        }),
        Call::ListGrants { thread },
        Call::RevokeGrant {
            thread,
            what: "toy".to_owned(),
            scope: GrantScope::Workspace,
        },
        Call::CloseThread {
            thread,
            audience: Audience(0),
        },
        Call::ReadThread { thread, recent: 9 },
        Call::ReadMessages {
            thread,
            offset: 0,
            limit: 9,
        },
        Call::ReadEvents {
            thread,
            after: Seq::ZERO,
            limit: 9,
        },
        Call::ReadEventsBefore {
            thread,
            upto,
            limit: 9,
        },
        Call::ReadTurns {
            thread,
            selection: TurnSelection::Newest,
            limit: 9,
            entries: true,
        },
        Call::Mcp {
            thread,
            call: McpCall::Get,
        },
        Call::Skills {
            thread,
            call: SkillCall::List,
        },
        Call::Workspace {
            workspace: WorkspaceId::new("of-the-other"),
            call: Box::new(WorkspaceCall::Skills(SkillCall::List)),
        },
        Call::ListCommands { thread },
        Call::RunCommand(RunCommand {
            thread,
            name: "review".to_owned(),
            arguments: String::new(),
            client_message_id: None,
            idempotency: Idempotency::Lasting,
        }),
        Call::KeepDefaults {
            thread,
            settings: vec![vocabulary::Changed::Model],
        },
        Call::UploadFile(FileUpload {
            thread,
            name: "a.txt".to_owned(),
            base64: "aGk=".into(),
        }),
        Call::ListTools { thread },
        Call::FindThread {
            name: thread.to_string(),
        },
        Call::FindThread {
            name: CLIENT_ID.to_owned(),
        },
    ]
}

fn calls_of_server() -> Vec<Call> {
    vec![
        Call::ListThreads(ThreadQuery::default()),
        Call::Exec(Box::new(vocabulary::ExecCommand {
            words: vec!["true".to_owned()],
            directory: None,
            sandbox: None,
            environment: Vec::new(),
            timeout_ms: None,
            output_bytes_max: None,
        })),
        Call::GetCatalog,
        Call::GetProviderStatus { verify: false },
        Call::SignIn(SignInCall::SignOut {
            provider: "nobody".to_owned(),
        }),
    ]
}

fn calls_of_library(thread: ThreadId, folder: &str) -> impl Iterator<Item = LibraryCall> {
    let (workspace, id) = (default_workspace(), WorkspaceId::new(WORKSPACE));
    let folder = folder.to_owned();
    let calls = [
        LibraryCall::ListWorkspaces,
        LibraryCall::SelectWorkspace {
            id: id.clone(),
            make_current: true,
        },
        LibraryCall::UpdateWorkspace {
            id: id.clone(),
            name: Some("taken over".to_owned()),
            is_active: Some(false),
        },
        LibraryCall::ReadTree {
            workspace: workspace.clone(),
        },
        LibraryCall::MoveThread {
            thread,
            workspace: workspace.clone(),
            folder: None,
        },
        LibraryCall::MoveFolder {
            workspace: workspace.clone(),
            folder: folder.clone(),
            parent: None,
        },
        LibraryCall::DeleteFolder {
            workspace: workspace.clone(),
            folder: folder.clone(),
        },
        LibraryCall::Sections(SectionCall::List),
        LibraryCall::Sections(SectionCall::Move { thread, to: None }),
        LibraryCall::DefaultWorkspace,
        LibraryCall::CreateWorkspace {
            id,
            name: None,
            make_current: true,
            directory: WorkspaceDirectory::Managed,
        },
        LibraryCall::CreateFolder {
            workspace,
            parent: Some(folder),
            name: "inside".to_owned(),
        },
    ];
    calls.into_iter()
}

fn calls_of_checkpoints() -> impl Iterator<Item = CheckpointCall> {
    let path = "a.txt".to_owned();
    let calls = [
        CheckpointCall::Get,
        CheckpointCall::Take,
        CheckpointCall::Restore {
            to: None,
            path: None,
        },
        CheckpointCall::Preview {
            to: None,
            path: None,
        },
        CheckpointCall::Delete {
            id: CheckpointId(1),
        },
        CheckpointCall::Diff {
            from: None,
            to: None,
        },
        CheckpointCall::History { path: path.clone() },
        CheckpointCall::FileAt { path, iteration: 1 },
    ];
    calls.into_iter()
}

fn default_workspace() -> WorkspaceId {
    WorkspaceId::new(DEFAULT_WORKSPACE)
}

fn tenant(name: &str) -> Caller {
    Caller {
        tenant: TenantId::new(name),
        ..Caller::local()
    }
}

/// What the first tenant has: a thread with a turn and a grant, a workspace, a folder.
struct North {
    caller: Caller,
    thread: ThreadId,
    folder: String,
}

impl North {
    async fn settle(house: &House) -> Self {
        let caller = tenant("north");
        let new = NewThread {
            client_id: Some(CLIENT_ID.to_owned()),
            title: Some(format!("a {MARK} title")),
            keep: true,
            ..NewThread::default()
        };
        let call = Call::CreateThread(Box::new(new));
        let Ok(Reply::Thread(thread)) = house.call_as(&caller, call).await else {
            panic!("no thread");
        };
        let thread = thread.card.id;
        let mut ear = listen(house, &caller, thread).await;
        let start = Call::StartTurn(said(thread, &format!("a {MARK} wish")));
        house.call_as(&caller, start).await.expect("a turn");
        let (ask, _) = asked(&mut ear).await;
        let yes = Call::AnswerAsk {
            thread,
            ask: ask.id,
            answer: Answer::Approval(ApprovalAnswer::ForWorkspace),
        };
        house.call_as(&caller, yes).await.expect("taken");
        ear.rest().await;
        let folder = LibraryCall::CreateFolder {
            workspace: default_workspace(),
            parent: None,
            name: format!("a {MARK} folder"),
        };
        let folder = match house.call_as(&caller, Call::Library(folder)).await {
            Ok(Reply::Library(reply)) => match *reply {
                LibraryReply::Folder(folder) => folder.id,
                other => panic!("no folder: {other:?}"),
            },
            other => panic!("no folder: {other:?}"),
        };
        for call in [
            LibraryCall::CreateWorkspace {
                id: WorkspaceId::new(WORKSPACE),
                name: Some(format!("a {MARK} workspace")),
                make_current: true,
                directory: WorkspaceDirectory::Managed,
            },
            LibraryCall::MoveThread {
                thread,
                workspace: default_workspace(),
                folder: Some(folder.clone()),
            },
        ] {
            let made = house.call_as(&caller, Call::Library(call)).await;
            made.expect("a change of the library");
        }
        Self {
            caller,
            thread,
            folder,
        }
    }

    /// All that this tenant sees of its own.
    async fn sees(&self, house: &House) -> Vec<String> {
        let thread = self.thread;
        let tree = LibraryCall::ReadTree {
            workspace: default_workspace(),
        };
        let calls = [
            Call::ListThreads(ThreadQuery::default()),
            Call::ReadThread { thread, recent: 9 },
            Call::ReadEvents {
                thread,
                after: Seq::ZERO,
                limit: 999,
            },
            Call::ListGrants { thread },
            Call::Library(LibraryCall::ListWorkspaces),
            Call::Library(tree),
        ];
        let mut seen = Vec::new();
        for call in calls {
            let reply = house.call_as(&self.caller, call).await;
            seen.push(format!("{:?}", reply.expect("an answer")));
        }
        seen
    }
}

async fn listen(house: &House, caller: &Caller, thread: ThreadId) -> Ear {
    let listening = house.engine.listen(caller, thread, wish(ListenFrom::Head));
    let (_, listener) = listening.await.expect("a listener");
    let mut ear = Ear::new(listener);
    ear.patience = house.patience;
    ear
}

/// Fails if there is anything to notice. Time is paused: a moment passes once nothing else happens.
async fn notices_nothing(watcher: &mut Watcher) {
    let moment = Duration::from_millis(1);
    if let Ok(notice) = tokio::time::timeout(moment, watcher.next()).await {
        panic!("noticed {notice:?}");
    }
}

/// Makes every call as another tenant.
async fn try_everything(house: &House, north: &North, south: &Caller) {
    let mut made = BTreeSet::new();
    for call in every_call(north.thread, &north.folder) {
        let (place, shows) = place(&call);
        made.insert(place);
        let what = format!("{call:?}");
        let outcome = house.call_as(south, call).await;
        assert!(
            !format!("{outcome:?}").contains(MARK),
            "{what}: {outcome:?}"
        );
        match shows {
            Shows::NoThread => {
                let refusal = outcome.expect_err(&what);
                assert_eq!(refusal.why, Why::UnknownThread, "{what}");
            }
            Shows::Own => {
                if let Ok(Reply::Thread(thread)) = outcome {
                    assert_ne!(thread.card.id, north.thread, "{what}");
                }
            }
            Shows::TheServer => {}
        }
    }
    assert_eq!(made, (0..CALLS).collect(), "a call without a sample");
    let listening = house
        .engine
        .listen(south, north.thread, wish(ListenFrom::Head));
    let refusal = listening.await.expect_err("a foreign thread is heard");
    assert_eq!(refusal.why, Why::UnknownThread);
}

#[tokio::test(start_paused = true)]
async fn no_call_of_one_tenant_reaches_the_other() {
    let house = house_of(&["one"]);
    let south = tenant("south");
    let mut souths = house.engine.watch(&south).expect("a watcher");
    let north = North::settle(&house).await;
    notices_nothing(&mut souths).await;
    let before = north.sees(&house).await;
    assert!(
        before
            .iter()
            .all(|seen| seen.contains(MARK) || seen.contains("toy"))
    );

    let mut norths = house.engine.watch(&north.caller).expect("a watcher");
    try_everything(&house, &north, &south).await;
    notices_nothing(&mut norths).await;
    assert_eq!(north.sees(&house).await, before, "while it is awake");
}

#[tokio::test(start_paused = true)]
async fn nor_does_it_while_the_thread_sleeps() {
    let house = house_of(&["one"]);
    let north = North::settle(&house).await;
    let house = house.crash();
    let before = north.sees(&house).await;
    try_everything(&house, &north, &tenant("south")).await;
    assert_eq!(north.sees(&house).await, before);
}

#[tokio::test(start_paused = true)]
async fn what_one_tenant_allowed_in_a_directory_the_other_is_asked_for() {
    let house = house_of(&["one", "one"]);
    North::settle(&house).await;
    let south = tenant("south");
    let made = house
        .call_as(&south, Call::CreateThread(Box::default()))
        .await;
    let Ok(Reply::Thread(thread)) = made else {
        panic!("no thread: {made:?}");
    };
    let thread = thread.card.id;
    let grants = house.call_as(&south, Call::ListGrants { thread }).await;
    assert_eq!(grants, Ok(Reply::Grants(Vec::new())));
    let mut ear = listen(&house, &south, thread).await;
    let start = Call::StartTurn(said(thread, "the same"));
    house.call_as(&south, start).await.expect("a turn");
    asked(&mut ear).await;
}
