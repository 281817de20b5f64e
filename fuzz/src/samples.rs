//! What an engine would answer, and what it would not.

use std::collections::BTreeMap;

use dialects::Hello;
use vocabulary::{
    Call, Catalog, EventPage, ItemId, McpReply, McpSnapshot, MessagePage, ModelRef, Refusal, Reply,
    Seq, StartedTurn, Status, SteeredTurn, TenantId, Thread, ThreadCard, ThreadId, ThreadPage,
    ThreadSettings, ThreadView, Timestamp, Title, TurnId, Why, WorkspaceId,
};

/// The id that transcripts have for the first thing they name.
const THREAD: &str = "00000000-0000-4000-8000-000000000001";

pub fn hello() -> Hello {
    Hello {
        connection: "fuzz".to_owned(),
        query: Vec::new(),
        directory: "/workspace".into(),
        host: "box".to_owned(),
        home: "/data".into(),
        raw_parts: dialects::RawParts::Full,
        strict_ids: false,
        providers: ["rehearsal".to_owned(), "openai".to_owned()].into(),
        tracing: Default::default(),
        lone_user: true,
    }
}

fn model() -> ModelRef {
    ModelRef {
        provider: "rehearsal".to_owned(),
        model: "rehearsal-1".to_owned(),
    }
}

pub fn thread() -> Thread {
    Thread {
        card: ThreadCard {
            id: ThreadId::parse(THREAD).expect("an id"),
            tenant: TenantId::new("local"),
            workspace: WorkspaceId::new("workspace"),
            directory: "/workspace".into(),
            client_id: None,
            created_at: Timestamp(0),
            folders: None,
            forked_from: None,
            ephemeral: false,
        },
        title: Title::default(),
        settings: ThreadSettings {
            model: model(),
            auto_approve: false,
            approvals: vocabulary::Approvals::Auto,
            sandbox: vocabulary::SandboxMode::WorkspaceWrite,
            network: false,
            mode: vocabulary::AgentMode::Code,
            agent: None,
            max_steps: 100,
            sub_agent_model: String::new(),
            observability: true,
            mcp: true,
            effort: None,
            verbosity: None,
            summary: None,
            budgets: Box::default(),
            assignment: None,
            instructions: None,
            git: None,
        },
        status: Status::Ready,
        archived: false,
        updated_at: Timestamp(1),
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: BTreeMap::new(),
        section: None,
    }
}

pub fn listening() -> Reply {
    Reply::View(Box::new(ThreadView {
        thread: thread(),
        head: Seq(7),
        turn: None,
        asks: Vec::new(),
        plan: Vec::new(),
        plan_turn: None,
        recent: Vec::new(),
        woken: false,
        kept: true,
        listeners: 0,
        sandbox: vocabulary::SandboxInForce::default(),
        effort: None,
    }))
}

/// What the engine would say. Calls that are not named here are simply done.
pub fn fitting(call: &Call) -> Reply {
    let kind = [
        matches!(call, Call::ListThreads(_)),
        matches!(call, Call::CreateThread(_)),
        matches!(call, Call::StartTurn(_)),
        matches!(call, Call::CancelTurn { .. }),
        matches!(call, Call::ReadMessages { .. }),
        matches!(call, Call::ReadEvents { .. }),
        matches!(call, Call::GetCatalog),
        matches!(call, Call::GetProviderStatus { .. }),
        matches!(call, Call::ListTools { .. }),
        matches!(call, Call::Mcp { .. }),
        matches!(call, Call::SteerTurn(_)),
        matches!(call, Call::ListGrants { .. }),
    ];
    match kind.iter().position(|is_it| *is_it) {
        Some(number) => any_reply(number as u8),
        None => Reply::Done,
    }
}

pub fn any_reply(number: u8) -> Reply {
    match number % 14 {
        0 => Reply::Threads(ThreadPage {
            threads: vec![thread()],
            next: Some("more".to_owned()),
            back: None,
        }),
        1 => Reply::Thread(Box::new(thread())),
        2 => Reply::Turn(StartedTurn {
            turn: TurnId::new("turn"),
            again: false,
            joined: None,
        }),
        3 => Reply::Cancelled(Some(TurnId::new("turn"))),
        4 => Reply::Messages(MessagePage {
            entries: Vec::new(),
            total: 3,
            offset: u64::MAX,
            limit: 100,
        }),
        5 => Reply::Events(EventPage {
            card: Box::new(thread().card),
            events: Vec::new(),
            more: false,
        }),
        6 => Reply::Catalog(Box::new(Catalog {
            providers: Vec::new(),
            default: model(),
            permissions: vocabulary::PermissionOffer::default(),
        })),
        7 => Reply::ProviderStatus(Vec::new()),
        8 => Reply::Tools(vec![("bash".to_owned(), "runs a command".to_owned())]),
        9 => Reply::Mcp(Box::new(McpReply::Servers(McpSnapshot::default()))),
        10 => Reply::Steered(SteeredTurn {
            turn: TurnId::new("turn"),
            item: ItemId::new("item"),
        }),
        11 => Reply::Grants(Vec::new()),
        12 => listening(),
        _ => Reply::Done,
    }
}

pub fn refusal(number: u8) -> Refusal {
    let whys = [
        Why::Busy,
        Why::UnknownThread,
        Why::UnknownAsk,
        Why::AlreadyAnswered,
        Why::invalid("text"),
        Why::BlankAnswer,
        Why::NoRunningTurn,
        Why::Conflict,
        Why::Forbidden,
        Why::Unauthenticated,
        Why::OwnedElsewhere,
        Why::NotAvailable,
        Why::ShuttingDown,
        Why::Storage,
        Why::Internal,
    ];
    let why = whys[usize::from(number) % whys.len()].clone();
    Refusal::new(why, "refused")
}
