//! Calls, and the secrets in them.

use super::super::CarriedCall;
use super::{all_come_back, comes_back, model, thread_id};
use crate::{
    Answer, ApprovalAnswer, Approvals, AskId, Audience, Call, Caller, Cause, Changed, Changes,
    CheckpointCall, CheckpointId, ExecCommand, FieldChange, FileCall, FileUpload, GitInfoChange,
    GrantScope, Idempotency, Image, LibraryCall, McpCall, McpScope, MemberCall, NewThread,
    ReplacedSkill, ReviewTarget, Role, RunCommand, RunShell, SandboxMode, SearchKind, SearchQuery,
    Secret, SectionAppearance, SectionCall, SectionFilter, SectionId, SectionPlace, Seq,
    SignInCall, SkillArchive, SkillCall, StartReview, StartTurn, SteerTurn, TerminalCall,
    ThreadQuery, TurnId, TurnSelection, WorkspaceCall, WorkspaceDirectory, WorkspaceId,
};

const KEY: &str = "sk-not-to-be-seen";

fn changes() -> Changes {
    Changes {
        title: Some("t".to_owned()),
        model: Some(model()),
        approvals: Some(Approvals::Ask),
        sandbox: Some(SandboxMode::ReadOnly),
        network: Some(true),
        instructions: Some("i".to_owned()),
        budgets: Some(Box::default()),
        git: Some(Box::new(GitInfoChange {
            branch: FieldChange::Set(None),
            sha: FieldChange::Set(Some("s".to_owned())),
            origin: FieldChange::Stays,
        })),
        ..Changes::default()
    }
}

fn of_threads() -> Vec<Call> {
    let thread = thread_id();
    vec![
        Call::ListThreads(ThreadQuery {
            workspace: Some(WorkspaceId::new("w")),
            limit: Some(3),
            section: Some(SectionFilter::Of {
                section: SectionId::new("s"),
                in_order: true,
            }),
            ..ThreadQuery::default()
        }),
        Call::SearchThreads(Box::new(SearchQuery {
            text: "w".to_owned(),
            kinds: SearchKind::ALL.to_vec(),
            unlabelled: vec![("k".to_owned(), "v".to_owned())],
            ..SearchQuery::default()
        })),
        Call::CreateThread(Box::new(NewThread {
            directory: Some("/a".into()),
            labels: [("k".to_owned(), "v".to_owned())].into(),
            changes: changes(),
            ..NewThread::default()
        })),
        Call::GetThread { thread },
        Call::DeleteThread { thread },
        Call::ChangeThread {
            thread,
            changes: changes(),
        },
        Call::ResetThread { thread },
        Call::CompactThread { thread },
        Call::StartReview(StartReview {
            thread,
            target: ReviewTarget::Commit {
                sha: "abc".to_owned(),
                title: None,
            },
        }),
        Call::RunShell(RunShell {
            thread,
            command: "ls".to_owned(),
            timeout_ms: Some(5),
        }),
        Call::Terminals {
            thread,
            call: TerminalCall::Write {
                process: 1,
                text: "y".to_owned(),
            },
        },
        Call::Exec(Box::new(ExecCommand {
            words: vec!["git".to_owned()],
            directory: Some("/a".into()),
            sandbox: Some(SandboxMode::ReadOnly),
            environment: vec![("A".to_owned(), None)],
            timeout_ms: Some(1),
            output_bytes_max: None,
        })),
        Call::ListGrants { thread },
        Call::RevokeGrant {
            thread,
            what: "w".to_owned(),
            scope: GrantScope::Session,
        },
        Call::CloseThread {
            thread,
            audience: Audience(3),
        },
        Call::ReadThread { thread, recent: 2 },
        Call::ReadMessages {
            thread,
            offset: 1,
            limit: u64::MAX,
        },
        Call::ReadEvents {
            thread,
            after: Seq(1),
            limit: 2,
        },
        Call::ReadEventsBefore {
            thread,
            upto: Seq(u64::MAX),
            limit: 2,
        },
        Call::ReadTurns {
            thread,
            selection: TurnSelection::One(TurnId::new("t")),
            limit: 3,
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
            workspace: WorkspaceId::new("w"),
            call: Box::new(WorkspaceCall::Mcp(McpCall::Install {
                config: Secret::default(),
                scope: McpScope::User,
                enabled: true,
            })),
        },
        Call::Workspace {
            workspace: WorkspaceId::new("w"),
            call: Box::new(WorkspaceCall::Skills(SkillCall::Install(SkillArchive {
                packed: vec![1, 2],
                replaces: Some(ReplacedSkill {
                    name: "s".to_owned(),
                    fingerprint: None,
                }),
            }))),
        },
        Call::ListCommands { thread },
        Call::RunCommand(RunCommand {
            thread,
            name: "n".to_owned(),
            arguments: "a b".to_owned(),
            client_message_id: Some("m".to_owned()),
            idempotency: Idempotency::Reconnect {
                joined_at: Seq::ZERO,
            },
        }),
        Call::KeepDefaults {
            thread,
            settings: vec![Changed::Model],
        },
        Call::UploadFile(FileUpload {
            thread,
            name: "n".to_owned(),
            base64: "aGk=".into(),
        }),
        Call::ListTools { thread },
        Call::FindThread {
            name: "n".to_owned(),
        },
    ]
}

fn of_turns() -> Vec<Call> {
    let thread = thread_id();
    vec![
        Call::StartTurn(StartTurn {
            files: Vec::new(),
            thread,
            text: "t".to_owned(),
            display: Some("d".to_owned()),
            cause: Cause::SlashCommand,
            client_message_id: Some("m".to_owned()),
            client_turn_id: None,
            idempotency: Idempotency::Reconnect { joined_at: Seq(3) },
            images: vec![Image::Path("/a".into()), Image::Url("u".to_owned())],
            changes: Box::new(changes()),
            listen: Some(Audience(1)),
            pieces: Vec::new(),
        }),
        Call::SteerTurn(SteerTurn {
            thread,
            turn: Some(TurnId::new("t")),
            text: "t".to_owned(),
            client_message_id: None,
            images: Vec::new(),
            pieces: Vec::new(),
        }),
        Call::CancelTurn { thread, turn: None },
        Call::AnswerAsk {
            thread,
            ask: AskId(4),
            answer: Answer::Approval(ApprovalAnswer::ForTurn),
        },
    ]
}

fn of_server() -> Vec<Call> {
    let (provider, method) = (|| "p".to_owned(), "m".to_owned());
    vec![
        Call::GetCatalog,
        Call::GetProviderStatus { verify: true },
        Call::SignIn(SignInCall::SignOut {
            provider: provider(),
        }),
        Call::SignIn(SignInCall::Begin {
            provider: provider(),
            method,
        }),
    ]
}

fn of_library() -> Vec<LibraryCall> {
    let (workspace, id) = (WorkspaceId::new("w"), WorkspaceId::new("w"));
    let (folder, name) = ("f".to_owned(), "n".to_owned());
    vec![
        LibraryCall::ListWorkspaces,
        LibraryCall::DefaultWorkspace,
        LibraryCall::CreateWorkspace {
            id: id.clone(),
            name: None,
            make_current: true,
            directory: WorkspaceDirectory::Given("/a".into()),
        },
        LibraryCall::SelectWorkspace {
            id: id.clone(),
            make_current: false,
        },
        LibraryCall::UpdateWorkspace {
            id,
            name: Some(name.clone()),
            is_active: Some(false),
        },
        LibraryCall::ReadTree {
            workspace: workspace.clone(),
        },
        LibraryCall::MoveThread {
            thread: thread_id(),
            workspace: workspace.clone(),
            folder: Some(folder.clone()),
        },
        LibraryCall::CreateFolder {
            workspace: workspace.clone(),
            parent: None,
            name,
        },
        LibraryCall::MoveFolder {
            workspace: workspace.clone(),
            folder: folder.clone(),
            parent: None,
        },
        LibraryCall::DeleteFolder { workspace, folder },
    ]
}

fn of_sections() -> Vec<SectionCall> {
    let (section, name) = (SectionId::new("s"), "n".to_owned());
    let appearance = SectionAppearance {
        color: None,
        icon: Some("star".to_owned()),
    };
    let to = SectionPlace {
        section: section.clone(),
        before: Some(thread_id()),
    };
    vec![
        SectionCall::List,
        SectionCall::Create {
            name: name.clone(),
            appearance: Some(appearance),
        },
        SectionCall::Update {
            section: section.clone(),
            name,
            appearance: FieldChange::Set(None),
        },
        SectionCall::Delete { section },
        SectionCall::Move {
            thread: thread_id(),
            to: Some(to),
        },
    ]
}

fn of_checkpoints() -> Vec<CheckpointCall> {
    let (to, path) = (Some(CheckpointId(2)), Some("a".to_owned()));
    vec![
        CheckpointCall::Get,
        CheckpointCall::Take,
        CheckpointCall::Restore {
            to,
            path: path.clone(),
        },
        CheckpointCall::Preview { to, path },
        CheckpointCall::Delete {
            id: CheckpointId(1),
        },
        CheckpointCall::Diff { from: None, to },
        CheckpointCall::History {
            path: "a".to_owned(),
        },
        CheckpointCall::FileAt {
            path: "a".to_owned(),
            iteration: 3,
        },
    ]
}

fn of_members() -> [MemberCall; 3] {
    let id = || "alice".to_owned();
    let role = Role::BillingAdmin;
    [
        MemberCall::List,
        MemberCall::SetRole { id: id(), role },
        MemberCall::Remove { id: id() },
    ]
}

fn of_files() -> [FileCall; 2] {
    let path = "a/b".to_owned();
    [
        FileCall::List {
            path: Some(path.clone()),
            depth: 2,
        },
        FileCall::Read { path, bytes_max: 3 },
    ]
}

#[test]
fn every_call_comes_back() {
    let mut calls = of_threads();
    calls.extend(of_turns());
    calls.extend(of_server());
    calls.extend(of_library().into_iter().map(Call::Library));
    let of_sections = of_sections().into_iter().map(LibraryCall::Sections);
    calls.extend(of_sections.map(Call::Library));
    let thread = thread_id();
    let checkpoint = |call| Call::Checkpoints { thread, call };
    calls.extend(of_checkpoints().into_iter().map(checkpoint));
    calls.extend(of_members().map(Call::Members));
    calls.extend(of_files().map(|call| Call::Files { thread, call }));
    calls.extend(super::directories::calls());
    calls.extend(super::orders::calls());
    all_come_back(&calls, 45, |call| match call {
        Call::ListThreads(_) => 0,
        Call::CreateThread(_) => 1,
        Call::GetThread { .. } => 2,
        Call::DeleteThread { .. } => 3,
        Call::ChangeThread { .. } => 4,
        Call::StartTurn(_) => 5,
        Call::SteerTurn(_) => 6,
        Call::CancelTurn { .. } => 7,
        Call::AnswerAsk { .. } => 8,
        Call::ResetThread { .. } => 9,
        Call::ListGrants { .. } => 10,
        Call::RevokeGrant { .. } => 11,
        Call::CloseThread { .. } => 12,
        Call::ReadThread { .. } => 13,
        Call::ReadMessages { .. } => 14,
        Call::ReadEvents { .. } => 15,
        Call::ReadEventsBefore { .. } => 16,
        Call::Library(_) => 17,
        Call::GetCatalog => 18,
        Call::GetProviderStatus { .. } => 19,
        Call::SignIn(_) => 20,
        Call::ListTools { .. } => 21,
        Call::FindThread { .. } => 24,
        Call::ReadTurns { .. } => 25,
        Call::Mcp { .. } => 22,
        Call::Skills { .. } => 26,
        Call::ListCommands { .. } => 27,
        Call::RunCommand(_) => 28,
        Call::Checkpoints { .. } => 23,
        Call::UploadFile(_) => 29,
        Call::KeepDefaults { .. } => 30,
        Call::Members(_) => 31,
        Call::Files { .. } => 32,
        Call::Directories(_) => 33,
        Call::FindFiles(_) => 34,
        Call::Push(_) => 35,
        Call::ForkThread(_) => 36,
        Call::RevertThread(_) => 37,
        Call::CompactThread { .. } => 38,
        Call::StartReview(_) => 39,
        Call::RunShell(_) => 40,
        Call::Terminals { .. } => 41,
        Call::Exec(_) => 42,
        Call::Workspace { .. } => 43,
        Call::SearchThreads(_) => 44,
    });
}

#[test]
fn a_secret_goes_along_only_on_purpose() {
    let (provider, method) = ("p".to_owned(), "m".to_owned());
    let calls = [
        SignInCall::Finish {
            provider: provider.clone(),
            method: method.clone(),
            code: Some(Secret::new(KEY)),
        },
        SignInCall::SetKey {
            provider,
            method,
            key: Secret::new(KEY),
        },
    ];
    let config = Secret::new(KEY);
    let install = McpCall::Install {
        config,
        scope: McpScope::Workspace,
        enabled: true,
    };
    let install = Call::Workspace {
        workspace: WorkspaceId::new("w"),
        call: Box::new(WorkspaceCall::Mcp(install)),
    };
    for call in calls.map(Call::SignIn).into_iter().chain([install]) {
        assert!(!format!("{call:?}").contains(KEY));
        let alone = serde_json::to_string(&call).expect("written");
        assert!(!alone.contains(KEY), "{alone}");
        let carried = CarriedCall::from(call.clone());
        let text = serde_json::to_string(&carried).expect("written");
        let back: CarriedCall = serde_json::from_str(&text).expect("read");
        assert_eq!(Call::from(back), call);
    }
}

#[test]
fn a_caller_comes_back() {
    comes_back(&Caller {
        via: Some("somewhere".into()),
        ..Caller::local()
    });
}
