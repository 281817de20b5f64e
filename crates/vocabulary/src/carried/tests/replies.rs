//! Replies, down to the view of a thread that works.

use super::{all_come_back, call, event, events, finished, model, tag, thread_id, workspace};
use crate::{
    Account, Approval, Approvals, Ask, AskId, AskKind, AuthMethod, AuthMode, CallRef, Catalog,
    CatalogModel, CatalogProvider, Challenge, Checkpoint, CheckpointId, CheckpointReply,
    Checkpoints, CommandOrigin, EndedTurn, Entry, EventPage, FileIteration, FileListing, FileReply,
    Folder, FoundThread, GitInfo, Grant, GrantScope, Growing, InSection, IndexedTurn,
    IndexingProgress, InspectedSkill, ItemId, LibraryReply, ListedFile, ListedKind, LiveItem,
    McpFile, McpLayer, McpReply, McpSnapshot, Member, MemberReply, MessagePage, OpenAsk,
    PermissionOffer, Placement, PlannedCall, ProviderStatus, ReadFile, ReasoningKind, Reply,
    RestoreAction, RiskCode, Role, RunningTurn, SandboxInForce, SandboxMode, SearchKind,
    SearchPage, Section, SectionAppearance, SectionId, Seq, SignedIn, Skill, SkillChange,
    SkillChangeKind, SkillFault, SkillLook, SkillReport, SkillText, SkillTier, SlashCommand,
    Standing, StartedTurn, Status, SteeredTurn, SummaryDetail, TenantId, TextHit, Thread,
    ThreadCard, ThreadPage, ThreadSettings, ThreadView, Timestamp, Title, Touched, Tree, Trigger,
    TurnId, TurnOutcome, TurnPage, UploadedFile, UserInput, Verbosity, WorkspaceId,
};

pub fn thread() -> Thread {
    Thread {
        card: card(),
        title: Title::default(),
        settings: ThreadSettings {
            model: model(),
            auto_approve: false,
            approvals: Approvals::Auto,
            sandbox: SandboxMode::ReadOnly,
            network: true,
            mode: Default::default(),
            agent: Some("a".to_owned()),
            max_steps: 3,
            sub_agent_model: String::new(),
            observability: true,
            mcp: true,
            effort: Some("high".to_owned()),
            verbosity: Some(Verbosity::Low),
            summary: Some(SummaryDetail::None),
            budgets: Box::default(),
            assignment: None,
            git: Some(Box::new(GitInfo::default())),
            instructions: Some("Be brief.".into()),
        },
        status: Status::Waiting,
        archived: false,
        updated_at: Timestamp(2),
        active_at: Some(Timestamp(1)),
        message_count: 2,
        preview: "p".to_owned(),
        labels: [("k".to_owned(), "v".to_owned())].into(),
        section: Some(Box::new(InSection {
            section: section(),
            entered_at: Timestamp(3),
        })),
    }
}

fn card() -> ThreadCard {
    ThreadCard {
        id: thread_id(),
        tenant: TenantId::new("t"),
        workspace: WorkspaceId::new("w"),
        directory: "/a".into(),
        client_id: Some("c".to_owned()),
        created_at: Timestamp(1),
        folders: None,
        forked_from: Some(crate::ForkedFrom {
            thread: thread_id(),
            upto: Seq(3),
        }),
        ephemeral: true,
    }
}

fn open_ask() -> OpenAsk {
    OpenAsk {
        ask: Ask {
            id: AskId(1),
            turn: TurnId::new("t"),
            call: Box::new(CallRef::from(&*call())),
            kind: AskKind::Approval(Approval {
                command: "c".to_owned(),
                dangerous: true,
                risk: RiskCode::RequiresManualReview,
                reason: "r".to_owned(),
                leaves_sandbox: false,
                key: Some("k".to_owned()),
                remembered: None,
            }),
        },
        seq: Seq(3),
        at: Timestamp(4),
        tag: tag(6),
        answers: Default::default(),
    }
}

/// What nothing but a process that runs it knows: growing items, and parts.
fn running() -> RunningTurn {
    let (item, content, text) = (ItemId::new("i"), 1, "so f".to_owned());
    let live = [
        LiveItem::Text {
            item: item.clone(),
            content,
            text: text.clone(),
        },
        LiveItem::Reasoning {
            item: item.clone(),
            content,
            kind: ReasoningKind::Summary,
            text: text.clone(),
            breaks: vec![2],
        },
        LiveItem::ToolInput {
            item,
            content,
            call_id: "c".to_owned(),
            name: "n".to_owned(),
            json: "{".to_owned(),
        },
        LiveItem::Output { call: call(), text },
    ];
    let growing = |item| Growing {
        tag: tag(8),
        began: Some(Seq(4)),
        part: 9,
        item,
    };
    RunningTurn {
        turn: TurnId::new("t"),
        started_at: Timestamp(1),
        input: UserInput {
            item: ItemId::new("u"),
            text: "t".to_owned(),
            display: None,
            client_id: None,
            images: Vec::new(),
            pieces: vec![crate::InputPiece::Image],
        },
        text: vec!["t".to_owned()],
        reasoning: vec![(ReasoningKind::Summary, "r".to_owned())],
        calls: vec![PlannedCall {
            call: CallRef::from(&*call()),
            started: true,
            finished: false,
        }],
        step: Some(tag(7)),
        live: live.map(growing).into(),
        events: events(),
        unplaced: vec![ItemId::new("u")],
    }
}

fn view() -> Box<ThreadView> {
    Box::new(ThreadView {
        thread: thread(),
        head: Seq(9),
        turn: Some(running()),
        asks: vec![open_ask()],
        plan: Vec::new(),
        plan_turn: Some(TurnId::new("t")),
        recent: entries(),
        woken: true,
        kept: true,
        listeners: 2,
        sandbox: SandboxInForce {
            holds: true,
            network: false,
            mechanism: crate::SandboxMechanism::Landlock,
        },
        effort: Some("high".to_owned()),
    })
}

fn entries() -> Vec<Entry> {
    let entry = |event| Entry {
        ordinal: 3,
        message: 2,
        event,
    };
    events().into_iter().map(entry).collect()
}

fn of_threads() -> Vec<Reply> {
    let (turn, item) = (TurnId::new("t"), ItemId::new("i"));
    vec![
        Reply::Done,
        Reply::Thread(Box::new(thread())),
        Reply::View(view()),
        Reply::Threads(ThreadPage {
            threads: vec![thread()],
            next: Some("n".to_owned()),
            back: Some("b".to_owned()),
        }),
        Reply::Search(Box::new(SearchPage {
            threads: vec![FoundThread {
                thread: thread(),
                hits: vec![TextHit {
                    kind: SearchKind::Agent,
                    turn: Some(turn.clone()),
                    item: Some(item.clone()),
                    at: Timestamp(1),
                    snippet: "… a word".to_owned(),
                    matches: std::iter::once(6..10).collect(),
                }],
                more_hits: 2,
            }],
            next: Some("n".to_owned()),
            indexing: Some(IndexingProgress { done: 1, total: 2 }),
        })),
        Reply::Cancelled(None),
        Reply::Turn(StartedTurn {
            turn: turn.clone(),
            again: true,
            joined: Some(view()),
        }),
        Reply::Steered(SteeredTurn { turn, item }),
        Reply::Messages(MessagePage {
            entries: entries(),
            total: 3,
            offset: 1,
            limit: 2,
        }),
        Reply::Events(EventPage {
            card: Box::new(card()),
            events: vec![event(finished())],
            more: true,
        }),
        Reply::Turns(Box::new(TurnPage {
            view: *view(),
            turns: vec![IndexedTurn {
                number: 1,
                turn: TurnId::new("t"),
                first_seq: Seq(1),
                first_ordinal: 2,
                started_at: Timestamp(3),
                ended: Some(EndedTurn {
                    last_seq: Seq(4),
                    last_ordinal: 5,
                    at: Timestamp(6),
                    outcome: TurnOutcome::Completed,
                }),
            }],
            entries: entries(),
            more: true,
        })),
        Reply::Grants(vec![Grant {
            id: "g".to_owned(),
            what: "w".to_owned(),
            key: "k".to_owned(),
            scope: GrantScope::Turn,
            thread: Some(thread_id()),
            turn: Some(TurnId::new("t")),
            directory: "/a".into(),
            by: None,
            at: Timestamp(1),
        }]),
    ]
}

fn of_server() -> Vec<Reply> {
    let key = AuthMethod::ApiKey {
        id: "k".to_owned(),
        label: "l".to_owned(),
    };
    vec![
        Reply::Catalog(Box::new(Catalog {
            providers: vec![CatalogProvider {
                id: "p".to_owned(),
                name: "n".to_owned(),
                models: vec![CatalogModel::default()],
                default_model: "m".to_owned(),
                auth_methods: vec![key],
                connected: true,
            }],
            default: model(),
            permissions: PermissionOffer {
                read_only: true,
                workspace_write: true,
                full_access: false,
                network: true,
            },
        })),
        Reply::ProviderStatus(vec![ProviderStatus {
            provider: "p".to_owned(),
            mode: AuthMode::OAuthPending,
            authorized: true,
            verified: false,
            account: Some(Account {
                email: None,
                name: Some("n".to_owned()),
            }),
            message: "m".to_owned(),
            masks: [("k".to_owned(), "****".to_owned())].into(),
            checked_at: Timestamp(3),
        }]),
        Reply::Challenge(Box::new(Challenge {
            needs_code: true,
            instructions: "i".to_owned(),
            url: Some("u".to_owned()),
            expires_at: Some(Timestamp(2)),
        })),
        Reply::SignedIn(SignedIn {
            ok: true,
            mode: Some(AuthMode::ApiKey),
            message: "m".to_owned(),
        }),
        Reply::Tools(vec![("n".to_owned(), "d".to_owned())]),
        Reply::Mcp(Box::new(McpReply::Servers(McpSnapshot {
            files: vec![McpFile {
                layer: McpLayer::User,
                path: "/a".into(),
                exists: true,
                parse_error: Some("p".to_owned()),
                server_count: 1,
            }],
            warnings: vec!["w".to_owned()],
            ..McpSnapshot::default()
        }))),
        Reply::Skills(vec![skill()]),
        Reply::SkillReport(Box::new(SkillReport {
            version: 1,
            at: Timestamp(2),
            skills: vec![InspectedSkill {
                skill: skill(),
                fingerprint: "f".to_owned(),
                changed_at: Some(Timestamp(1)),
                trusted: true,
            }],
            faults: vec![SkillFault {
                path: "/a".into(),
                problem: "p".to_owned(),
            }],
            change: Some(skill_change()),
        })),
        Reply::SkillContent(Box::new(SkillText {
            skill: skill(),
            content: "c".to_owned(),
        })),
        Reply::Commands(vec![SlashCommand {
            name: "n".to_owned(),
            description: None,
            origin: CommandOrigin::Skill,
            hints: vec!["$1".to_owned()],
        }]),
        Reply::Uploaded(Box::new(UploadedFile {
            name: "n".to_owned(),
            path: "/p/n".into(),
            bytes: 2,
        })),
    ]
}

pub fn skill_change() -> SkillChange {
    SkillChange {
        name: "s".to_owned(),
        tier: SkillTier::Global,
        what: SkillChangeKind::Updated,
        before: Some("b".to_owned()),
        after: Some("a".to_owned()),
    }
}

fn skill() -> Skill {
    Skill {
        name: "n".to_owned(),
        path: "/a".into(),
        tier: SkillTier::Global,
        enabled: true,
        triggers: vec!["t".to_owned()],
        description: "d".to_owned(),
        interface: Some(SkillLook::default()),
    }
}

fn of_checkpoints() -> Vec<CheckpointReply> {
    let iteration = FileIteration {
        iteration: 1,
        at: Timestamp(2),
        size: 3,
        hash: "h".to_owned(),
    };
    vec![
        CheckpointReply::State(Checkpoints {
            standing: Standing::Ready,
            directory: Some("/a".into()),
            created_at: Timestamp(1),
            list: vec![Checkpoint {
                id: CheckpointId(1),
                at: Timestamp(2),
                trigger: Trigger::Manual,
                changed: true,
                changed_from_original: false,
                bytes: 4,
            }],
        }),
        CheckpointReply::Preview(vec![Touched {
            path: "a".to_owned(),
            how: RestoreAction::Skip {
                why: "w".to_owned(),
            },
        }]),
        CheckpointReply::Diff("d".to_owned()),
        CheckpointReply::History(vec![iteration.clone()]),
        CheckpointReply::File {
            content: vec![0, 255],
            iteration,
        },
    ]
}

fn section() -> Section {
    Section {
        id: SectionId::new("s"),
        name: "n".to_owned(),
        appearance: Some(SectionAppearance {
            color: Some("red".to_owned()),
            icon: None,
        }),
        created_at: Timestamp(1),
    }
}

fn of_library() -> Vec<LibraryReply> {
    let workspace_id = WorkspaceId::new("w");
    let folder = Folder {
        id: "f".to_owned(),
        workspace: workspace_id.clone(),
        parent: None,
        name: "n".to_owned(),
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
    };
    vec![
        LibraryReply::Workspaces(vec![workspace()]),
        LibraryReply::Workspace(workspace()),
        LibraryReply::Tree(Tree {
            workspace: workspace_id.clone(),
            threads: vec![thread().into()],
            folders: vec![folder.clone()],
            placements: vec![Placement {
                thread: thread_id(),
                workspace: workspace_id,
                folder: Some("f".to_owned()),
            }],
        }),
        LibraryReply::Folder(folder),
        LibraryReply::Deleted(true),
        LibraryReply::Sections(vec![section()]),
        LibraryReply::Section(section()),
    ]
}

fn of_members() -> [MemberReply; 3] {
    let member = Member {
        id: "alice".to_owned(),
        role: Role::Admin,
        email: Some("alice@example.com".to_owned()),
        name: None,
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
        removed_at: None,
    };
    [
        MemberReply::List(vec![member.clone()]),
        MemberReply::Set(member),
        MemberReply::Removed("alice".to_owned()),
    ]
}

fn of_files() -> [FileReply; 2] {
    let file = ListedFile {
        path: "a/b".to_owned(),
        kind: ListedKind::Link,
        size: 1,
        modified_at: Timestamp(2),
    };
    [
        FileReply::List(FileListing {
            files: vec![file],
            truncated: true,
        }),
        FileReply::Content(ReadFile {
            size: 2,
            content: Some(vec![0, 255]),
        }),
    ]
}

#[test]
fn every_reply_comes_back() {
    let mut replies = of_threads();
    replies.extend(of_server());
    let checkpoints = of_checkpoints().into_iter().map(Box::new);
    replies.extend(checkpoints.map(Reply::Checkpoints));
    replies.extend(of_library().into_iter().map(Reply::from));
    replies.extend(of_members().map(Reply::from));
    replies.extend(of_files().map(Reply::Files));
    replies.extend(super::directories::replies());
    replies.extend(super::orders::replies());
    all_come_back(&replies, 31, |reply| match reply {
        Reply::Done => 0,
        Reply::Thread(_) => 1,
        Reply::View(_) => 2,
        Reply::Threads(_) => 3,
        Reply::Turn(_) => 4,
        Reply::Cancelled(_) => 5,
        Reply::Steered(_) => 6,
        Reply::Messages(_) => 7,
        Reply::Events(_) => 8,
        Reply::Catalog(_) => 9,
        Reply::ProviderStatus(_) => 10,
        Reply::Grants(_) => 11,
        Reply::Challenge(_) => 12,
        Reply::SignedIn(_) => 13,
        Reply::Tools(_) => 14,
        Reply::Mcp(_) => 15,
        Reply::Skills(_) => 19,
        Reply::SkillContent(_) => 20,
        Reply::Commands(_) => 21,
        Reply::Checkpoints(_) => 16,
        Reply::Library(_) => 17,
        Reply::Turns(_) => 18,
        Reply::Uploaded(_) => 22,
        Reply::Members(_) => 23,
        Reply::Files(_) => 24,
        Reply::Directories(_) => 25,
        Reply::Found(_) => 26,
        Reply::Terminals(_) => 27,
        Reply::Exec(_) => 28,
        Reply::SkillReport(_) => 29,
        Reply::Search(_) => 30,
    });
}
