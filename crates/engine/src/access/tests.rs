//! Every call and every role.

use vocabulary::{
    Answer, AskId, Audience, Cause, CheckpointId, FileUpload, FindFiles, GrantScope, Idempotency,
    McpScope, McpServer, McpTransport, PushCall, Role, RunCommand, Secret, Seq, SignInCall,
    SkillArchive, StartTurn, SteerTurn, TenantId, ThreadId, ThreadQuery, TurnSelection,
    WorkspaceDirectory, WorkspaceId,
};

use super::*;

/// Who may, in the order of `Role::ALL`: owner, admin, billing admin, member, viewer.
type MayBe = [bool; 5];
const ALL: MayBe = [true; 5];
const WRITERS: MayBe = [true, true, true, true, false];
const MANAGERS: MayBe = [true, true, false, false, false];
const OWNERS: MayBe = [true, false, false, false, false];

fn thread() -> ThreadId {
    ThreadId(uuid::Uuid::nil())
}

fn may(check: impl Fn(&Caller) -> Result<(), Refusal>) -> MayBe {
    Role::ALL.map(|role| {
        let caller = Caller {
            tenant: TenantId::new("t"),
            role,
            ..Caller::local()
        };
        match check(&caller) {
            Ok(()) => true,
            Err(refusal) => {
                assert_eq!(refusal.why, Why::Forbidden);
                assert!(refusal.message.contains(role.name()), "{refusal}");
                false
            }
        }
    })
}

/// Which of them one is. A new call has to be named here, and then has to be in the table.
fn kind(call: &Call) -> usize {
    match call {
        Call::ListThreads(_) => 0,
        Call::CreateThread(_) => 1,
        Call::FindThread { .. } => 2,
        Call::GetThread { .. } => 3,
        Call::DeleteThread { .. } => 4,
        Call::ChangeThread { .. } => 5,
        Call::StartTurn(_) => 6,
        Call::SteerTurn(_) => 7,
        Call::CancelTurn { .. } => 8,
        Call::AnswerAsk { .. } => 9,
        Call::ResetThread { .. } => 10,
        Call::ListGrants { .. } => 11,
        Call::RevokeGrant { .. } => 12,
        Call::CloseThread { .. } => 13,
        Call::ReadThread { .. } => 14,
        Call::ReadMessages { .. } => 15,
        Call::ReadTurns { .. } => 16,
        Call::ReadEvents { .. } => 17,
        Call::ReadEventsBefore { .. } => 18,
        Call::Library(_) => 19,
        Call::GetCatalog => 20,
        Call::GetProviderStatus { .. } => 21,
        Call::SignIn(_) => 22,
        Call::ListTools { .. } => 23,
        Call::Mcp { .. } => 24,
        Call::Skills { .. } => 25,
        Call::Workspace { .. } => KINDS - 1,
        Call::ListCommands { .. } => 26,
        Call::RunCommand(_) => 27,
        Call::KeepDefaults { .. } => 28,
        Call::UploadFile(_) => 29,
        Call::Checkpoints { .. } => 30,
        Call::Members(_) => 31,
        Call::Files { .. } => 32,
        Call::ForkThread(_) => 33,
        Call::RevertThread(_) => 34,
        Call::CompactThread { .. } => 35,
        Call::StartReview(_) => 36,
        Call::RunShell(_) => 37,
        Call::Terminals { .. } => 38,
        Call::Exec(_) => 39,
        Call::Directories(_) => 40,
        Call::FindFiles(_) => 41,
        Call::Push(_) => 42,
    }
}
const KINDS: usize = 44;

fn reads() -> Vec<Call> {
    let thread = thread();
    vec![
        Call::ListThreads(ThreadQuery::default()),
        Call::FindThread {
            name: "mine".to_owned(),
        },
        Call::GetThread { thread },
        Call::ListGrants { thread },
        Call::ReadThread { thread, recent: 1 },
        Call::ReadMessages {
            thread,
            offset: 0,
            limit: 1,
        },
        Call::ReadTurns {
            thread,
            selection: TurnSelection::Newest,
            limit: 1,
            entries: true,
        },
        Call::ReadEvents {
            thread,
            after: Seq::ZERO,
            limit: 1,
        },
        Call::ReadEventsBefore {
            thread,
            upto: Seq::ZERO,
            limit: 1,
        },
        Call::Files {
            thread,
            call: vocabulary::FileCall::List {
                path: None,
                depth: 1,
            },
        },
        Call::Terminals {
            thread,
            call: TerminalCall::List,
        },
        Call::GetCatalog,
        Call::GetProviderStatus { verify: true },
        Call::ListTools { thread },
        Call::ListCommands { thread },
        Call::Push(PushCall::Test),
    ]
}

fn writes() -> Vec<Call> {
    let thread = thread();
    let changed = |changes| Call::ChangeThread { thread, changes };
    vec![
        Call::Directories(DirectoryCall::List { path: None }),
        Call::Directories(DirectoryCall::PruneWorktrees {
            repository: "/".into(),
        }),
        Call::FindFiles(FindFiles::default()),
        Call::CreateThread(Box::default()),
        Call::ForkThread(Box::new(vocabulary::ForkThread {
            thread,
            upto: vocabulary::ForkPlace::Rest,
            directory: None,
            files: false,
            changes: Changes::default(),
            instructions: None,
            ephemeral: false,
        })),
        Call::RevertThread(vocabulary::RevertThread {
            thread,
            to: vocabulary::RevertTo::Newest(1),
            files: false,
        }),
        changed(Changes::default()),
        changed(Changes {
            archived: Some(true),
            ..Changes::default()
        }),
        changed(Changes {
            archived: Some(true),
            title: Some("new".to_owned()),
            ..Changes::default()
        }),
        Call::StartTurn(start()),
        Call::SteerTurn(SteerTurn {
            thread,
            turn: None,
            text: String::new(),
            client_message_id: None,
            images: Vec::new(),
            pieces: Vec::new(),
        }),
        Call::CancelTurn { thread, turn: None },
        Call::AnswerAsk {
            thread,
            ask: AskId(1),
            answer: Answer::Dismissed,
        },
        Call::ResetThread { thread },
        Call::RevokeGrant {
            thread,
            what: String::new(),
            scope: GrantScope::Turn,
        },
        Call::CloseThread {
            thread,
            audience: Audience(0),
        },
        Call::CompactThread { thread },
        Call::StartReview(vocabulary::StartReview {
            thread,
            target: vocabulary::ReviewTarget::Uncommitted,
        }),
        Call::RunShell(vocabulary::RunShell {
            thread,
            command: "true".to_owned(),
            timeout_ms: None,
        }),
        Call::Terminals {
            thread,
            call: TerminalCall::End { process: None },
        },
        Call::Exec(Box::new(vocabulary::ExecCommand {
            words: vec!["true".to_owned()],
            directory: None,
            sandbox: None,
            environment: Vec::new(),
            timeout_ms: None,
            output_bytes_max: None,
        })),
        Call::RunCommand(RunCommand {
            thread,
            name: "review".to_owned(),
            arguments: String::new(),
            client_message_id: None,
            idempotency: Idempotency::Lasting,
        }),
        Call::KeepDefaults {
            thread,
            settings: Vec::new(),
        },
        Call::UploadFile(FileUpload {
            thread,
            name: "a".to_owned(),
            base64: "".into(),
        }),
    ]
}

fn start() -> StartTurn {
    StartTurn {
        files: Vec::new(),
        thread: thread(),
        text: String::new(),
        display: None,
        cause: Cause::UserMessage,
        client_message_id: None,
        client_turn_id: None,
        idempotency: Idempotency::Lasting,
        images: Vec::new(),
        changes: Box::default(),
        listen: None,
        pieces: Vec::new(),
    }
}

fn library() -> Vec<(Call, MayBe)> {
    let workspace = WorkspaceId::new("w");
    let select = |make_current| LibraryCall::SelectWorkspace {
        id: WorkspaceId::new("w"),
        make_current,
    };
    let calls = [
        (LibraryCall::ListWorkspaces, ALL),
        (LibraryCall::DefaultWorkspace, ALL),
        (
            LibraryCall::ReadTree {
                workspace: workspace.clone(),
            },
            ALL,
        ),
        (select(false), ALL),
        (select(true), WRITERS),
        (
            LibraryCall::CreateWorkspace {
                id: workspace.clone(),
                name: None,
                make_current: false,
                directory: WorkspaceDirectory::Managed,
            },
            WRITERS,
        ),
        (
            LibraryCall::UpdateWorkspace {
                id: workspace.clone(),
                name: None,
                is_active: Some(false),
            },
            WRITERS,
        ),
        (
            LibraryCall::MoveThread {
                thread: thread(),
                workspace: workspace.clone(),
                folder: None,
            },
            WRITERS,
        ),
        (
            LibraryCall::CreateFolder {
                workspace: workspace.clone(),
                parent: None,
                name: String::new(),
            },
            WRITERS,
        ),
        (
            LibraryCall::MoveFolder {
                workspace: workspace.clone(),
                folder: String::new(),
                parent: None,
            },
            WRITERS,
        ),
        (
            LibraryCall::DeleteFolder {
                workspace,
                folder: String::new(),
            },
            WRITERS,
        ),
    ];
    calls.map(|(call, may)| (Call::Library(call), may)).to_vec()
}

fn members() -> [(Call, MayBe); 3] {
    let id = || "alice".to_owned();
    let role = Role::Viewer;
    let calls = [
        (MemberCall::List, MANAGERS),
        (MemberCall::SetRole { id: id(), role }, MANAGERS),
        (MemberCall::Remove { id: id() }, OWNERS),
    ];
    calls.map(|(call, may)| (Call::Members(call), may))
}

fn checkpoints() -> Vec<(Call, MayBe)> {
    let (to, path) = (None::<CheckpointId>, None::<String>);
    let id = CheckpointId(1);
    let calls = [
        (CheckpointCall::Get, ALL),
        (
            CheckpointCall::Preview {
                to,
                path: path.clone(),
            },
            ALL,
        ),
        (CheckpointCall::Diff { from: to, to }, ALL),
        (
            CheckpointCall::History {
                path: String::new(),
            },
            ALL,
        ),
        (
            CheckpointCall::FileAt {
                path: String::new(),
                iteration: 1,
            },
            ALL,
        ),
        (CheckpointCall::Take, WRITERS),
        (CheckpointCall::Restore { to, path }, WRITERS),
        (CheckpointCall::Delete { id }, WRITERS),
    ];
    let thread = thread();
    calls
        .map(|(call, may)| (Call::Checkpoints { thread, call }, may))
        .to_vec()
}

fn of_tenant() -> Vec<(Call, MayBe)> {
    let (thread, name, key) = (thread(), || "n".to_owned(), || Secret::new("k".to_owned()));
    let mcp = [
        (McpCall::Get, ALL),
        (McpCall::Check { name: name() }, WRITERS),
        (
            McpCall::Save {
                server: Box::new(server()),
                previous_name: None,
            },
            OWNERS,
        ),
        (McpCall::Delete { name: name() }, OWNERS),
        (McpCall::Authorize { name: name() }, OWNERS),
        (
            McpCall::FinishSignIn {
                name: name(),
                code: None,
            },
            OWNERS,
        ),
        (
            McpCall::SetKey {
                name: name(),
                key: key(),
            },
            OWNERS,
        ),
        (
            McpCall::Migrate {
                scope: McpScope::User,
            },
            OWNERS,
        ),
        (
            McpCall::Install {
                config: key(),
                scope: McpScope::User,
                enabled: true,
            },
            OWNERS,
        ),
        (
            McpCall::Uninstall {
                name: name(),
                scope: McpScope::User,
            },
            OWNERS,
        ),
        (
            McpCall::SetEnabled {
                name: name(),
                enabled: true,
            },
            OWNERS,
        ),
        (McpCall::Restart { name: name() }, WRITERS),
    ];
    let skills = [
        (SkillCall::List, ALL),
        (SkillCall::Read { name: name() }, ALL),
        (
            SkillCall::SetEnabled {
                name: name(),
                enabled: true,
            },
            OWNERS,
        ),
        (SkillCall::Delete { name: name() }, OWNERS),
        (SkillCall::Inspect, ALL),
        (SkillCall::CheckInstall, OWNERS),
        (
            SkillCall::Install(SkillArchive {
                packed: Vec::new(),
                replaces: None,
            }),
            OWNERS,
        ),
    ];
    let (provider, method) = (name(), name());
    let sign_in = [
        SignInCall::Begin {
            provider: provider.clone(),
            method: method.clone(),
        },
        SignInCall::Finish {
            provider: provider.clone(),
            method: method.clone(),
            code: None,
        },
        SignInCall::SetKey {
            provider: provider.clone(),
            method,
            key: key(),
        },
        SignInCall::SignOut { provider },
    ];
    let in_workspace = |call| Call::Workspace {
        workspace: WorkspaceId::new("w"),
        call: Box::new(call),
    };
    // Without a thread the same roles count.
    let without = mcp
        .iter()
        .cloned()
        .map(|(call, may)| (WorkspaceCall::Mcp(call), may));
    let more = skills.iter().cloned();
    let without = without.chain(more.map(|(call, may)| (WorkspaceCall::Skills(call), may)));
    let without: Vec<(Call, MayBe)> = without
        .map(|(call, may)| (in_workspace(call), may))
        .collect();
    let mcp = mcp.map(|(call, may)| (Call::Mcp { thread, call }, may));
    let skills = skills.map(|(call, may)| (Call::Skills { thread, call }, may));
    let sign_in = sign_in.map(|call| (Call::SignIn(call), OWNERS));
    [&mcp[..], &skills[..], &sign_in[..], &without].concat()
}

fn server() -> McpServer {
    McpServer {
        name: "n".to_owned(),
        transport: McpTransport::Http {
            url: "http://127.0.0.1:1/".to_owned(),
            headers: Default::default(),
        },
        required: None,
        retries: None,
        auth: None,
    }
}

fn table() -> Vec<(Call, MayBe)> {
    let mut table = vec![(Call::DeleteThread { thread: thread() }, MANAGERS)];
    table.extend(members());
    table.extend(reads().into_iter().map(|call| (call, ALL)));
    table.extend(writes().into_iter().map(|call| (call, WRITERS)));
    table.extend(library());
    table.extend(checkpoints());
    table.extend(of_tenant());
    table
}

#[test]
fn every_call_has_its_roles() {
    let mut seen = [false; KINDS];
    for (call, roles) in table() {
        seen[kind(&call)] = true;
        assert_eq!(may(|caller| check(caller, &call)), roles, "{call:?}");
    }
    assert_eq!(seen, [true; KINDS], "a call is not in the table");
    assert_eq!(may(check_hearing), ALL);
}

#[test]
fn who_may_write_may_archive() {
    for role in Role::ALL {
        assert!(role.may(Permission::SessionArchive) || !role.may(Permission::SessionWrite));
    }
}
