//! Things to tell stories about.

use std::sync::Arc;

use serde_json::Value;
use vocabulary::{
    AgentMode, Approval, Ask, AskId, AskKind, Cause, Effects, Event, Fact, ItemId, ModelRef,
    RiskCode, Seq, Status, StreamTag, Subject, TenantId, Thread, ThreadCard, ThreadId,
    ThreadSettings, ThreadView, Timestamp, Title, ToolCall, TurnFact, TurnId, TurnOutcome,
    UserInput, Workspace, WorkspaceDirectory, WorkspaceId,
};

pub const NOW: Timestamp = Timestamp(1_771_524_000_000);
pub const THREAD: &str = "thread-of-this-client";
pub const WORKSPACE: &str = "workspace-of-the-test";

pub fn model() -> ModelRef {
    ModelRef {
        provider: "openai".to_owned(),
        model: "gpt-5.2".to_owned(),
    }
}

pub fn thread() -> Thread {
    let id = ThreadId::parse("73d90981-ed97-4e30-a4a8-74684326d1fc").expect("a UUID");
    Thread {
        card: ThreadCard {
            id,
            tenant: TenantId::new("local"),
            workspace: WorkspaceId::new(WORKSPACE),
            directory: "/home/user/project".into(),
            client_id: Some(THREAD.to_owned()),
            created_at: NOW,
            folders: None,
            forked_from: None,
            ephemeral: false,
        },
        title: Title::default(),
        settings: ThreadSettings {
            budgets: Default::default(),
            assignment: None,
            instructions: None,
            git: None,
            effort: None,
            verbosity: None,
            summary: None,
            model: model(),
            auto_approve: true,
            approvals: vocabulary::Approvals::Auto,
            sandbox: vocabulary::SandboxMode::WorkspaceWrite,
            network: false,
            mode: AgentMode::Chat,
            agent: None,
            max_steps: 100,
            sub_agent_model: String::new(),
            observability: true,
            mcp: true,
        },
        status: Status::Inactive,
        archived: false,
        updated_at: NOW,
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: Default::default(),
        section: None,
    }
}

pub fn view() -> ThreadView {
    ThreadView {
        thread: thread(),
        head: Seq(9),
        turn: None,
        asks: Vec::new(),
        plan: Vec::new(),
        plan_turn: None,
        recent: Vec::new(),
        woken: false,
        kept: true,
        listeners: 0,
        sandbox: vocabulary::SandboxInForce {
            holds: true,
            network: false,
            mechanism: vocabulary::SandboxMechanism::Bubblewrap,
        },
        effort: None,
    }
}

pub fn workspace() -> Workspace {
    Workspace {
        id: WorkspaceId::new(WORKSPACE),
        name: "Work".to_owned(),
        is_active: true,
        is_current: true,
        created_at: NOW,
        updated_at: NOW,
        directory: WorkspaceDirectory::Managed,
    }
}

pub fn tag() -> StreamTag {
    StreamTag {
        turn: TurnId::new("t1"),
        model: Some(Arc::new(model())),
        step: 1,
        part: 0,
    }
}

pub fn event(seq: u64, fact: Fact) -> Event {
    Event {
        seq: Seq(seq),
        at: NOW,
        by: None,
        fact,
    }
}

pub fn turn_started() -> Fact {
    Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("i0"),
            text: "Hello".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        model: Some(Arc::new(model())),
    })
}

pub fn turn_finished() -> Fact {
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t1"),
        outcome: TurnOutcome::Completed,
        text: String::new(),
        reasoning: Vec::new(),
        usage: None,
        model: Some(Arc::new(model())),
        started_at: None,
    })
}

pub fn bash(line: &str) -> ToolCall {
    ToolCall {
        agent: None,
        native: None,
        problem: None,
        by_user: false,
        item: ItemId::new("i1"),
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
        input: serde_json::json!({ "command": line }),
        subject: Subject::Command {
            line: line.to_owned(),
            directory: None,
        },
        effects: Effects::RUNS,
    }
}

pub fn approval() -> Ask {
    Ask {
        id: AskId(7),
        turn: TurnId::new("t1"),
        call: Box::new((&bash("make")).into()),
        kind: AskKind::Approval(Approval {
            command: "make".to_owned(),
            dangerous: false,
            risk: RiskCode::RequiresManualReview,
            reason: "this command is not known to be harmless".to_owned(),
            leaves_sandbox: false,
            key: None,
            remembered: None,
        }),
    }
}

pub fn json(frame: &str) -> Value {
    serde_json::from_str(frame).expect("frames are JSON")
}
