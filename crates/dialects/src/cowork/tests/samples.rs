//! Things to tell stories about.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use vocabulary::{
    AgentMode, Approval, Ask, AskId, AskKind, AuthMethod, Catalog, CatalogProvider, Checkpoint,
    CheckpointId, Checkpoints, Effects, Event, Fact, ItemId, McpFile, McpLayer, McpSnapshot,
    ModelRef, ProviderStatus, Question, QuestionOption, RiskCode, Seq, Standing, Status, StreamTag,
    Subject, TenantId, Thread, ThreadCard, ThreadId, ThreadSettings, ThreadView, Timestamp, Title,
    ToolCall, Trigger, TurnId, WorkspaceId,
};

use crate::Frame;
use crate::cowork::tell::{RawParts, tell};

pub const SESSION: &str = "73d90981-ed97-4e30-a4a8-74684326d1fc";
pub const OTHER: &str = "8eb73376-1fa6-4424-ad3c-d988a218de74";
pub const NOW: Timestamp = Timestamp(1_771_524_000_000);

pub fn thread_id(text: &str) -> ThreadId {
    ThreadId::parse(text).expect("a UUID")
}

pub fn model() -> ModelRef {
    ModelRef {
        provider: "openai".to_owned(),
        model: "gpt-5.2".to_owned(),
    }
}

pub fn card() -> ThreadCard {
    ThreadCard {
        id: thread_id(SESSION),
        tenant: TenantId::new("local"),
        workspace: WorkspaceId::new("w"),
        directory: "/home/user/project".into(),
        client_id: None,
        created_at: NOW,
        folders: None,
        forked_from: None,
        ephemeral: false,
    }
}

pub fn settings() -> ThreadSettings {
    ThreadSettings {
        budgets: Default::default(),
        assignment: None,
        instructions: None,
        git: None,
        effort: None,
        verbosity: None,
        summary: None,
        model: model(),
        auto_approve: false,
        approvals: vocabulary::Approvals::Auto,
        sandbox: vocabulary::SandboxMode::WorkspaceWrite,
        network: false,
        mode: AgentMode::Code,
        agent: None,
        max_steps: 100,
        sub_agent_model: String::new(),
        observability: true,
        mcp: true,
    }
}

pub fn thread() -> Thread {
    Thread {
        card: card(),
        title: Title::default(),
        settings: settings(),
        status: Status::Ready,
        archived: false,
        updated_at: NOW,
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: BTreeMap::new(),
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
        kept: false,
        listeners: 0,
        sandbox: vocabulary::SandboxInForce {
            holds: true,
            network: false,
            mechanism: vocabulary::SandboxMechanism::Bubblewrap,
        },
        effort: None,
    }
}

pub fn tag(part: u32) -> StreamTag {
    StreamTag {
        turn: TurnId::new("t1"),
        model: Some(Arc::new(model())),
        step: 1,
        part,
    }
}

pub fn bash(input: Value) -> ToolCall {
    ToolCall {
        agent: None,
        native: None,
        problem: None,
        by_user: false,
        item: ItemId::new("i1"),
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
        subject: Subject::Command {
            line: input["command"].as_str().unwrap_or_default().to_owned(),
            directory: None,
        },
        effects: Effects::RUNS,
        input,
    }
}

pub fn approval(id: u64) -> Ask {
    ask(
        id,
        AskKind::Approval(Approval {
            command: "rm -rf build".to_owned(),
            dangerous: true,
            risk: RiskCode::MatchesDangerousPattern,
            reason: "this command is not known to be harmless".to_owned(),
            leaves_sandbox: false,
            key: None,
            remembered: None,
        }),
    )
}

pub fn questions(id: u64, questions: &[&str]) -> Ask {
    let question = |text: &&str| Question {
        id: format!("q-{text}"),
        header: None,
        question: (*text).to_owned(),
        options: vec![QuestionOption {
            label: "yes".to_owned(),
            description: None,
        }],
        multi_select: false,
    };
    let questions = questions.iter().map(question).collect();
    ask(id, AskKind::Questions(questions))
}

fn ask(id: u64, kind: AskKind) -> Ask {
    Ask {
        id: AskId(id),
        turn: TurnId::new("t1"),
        call: Box::new((&bash(Value::Null)).into()),
        kind,
    }
}

pub fn catalog() -> Catalog {
    let key = || AuthMethod::ApiKey {
        id: "api_key".to_owned(),
        label: "API key".to_owned(),
    };
    let sign_in = AuthMethod::OAuth {
        id: "oauth_cli".to_owned(),
        label: "Sign in".to_owned(),
    };
    let provider = |id: &str, model: &str, auth_methods, connected| CatalogProvider {
        id: id.to_owned(),
        name: id.to_uppercase(),
        models: vec![vocabulary::CatalogModel {
            id: model.to_owned(),
            ..Default::default()
        }],
        default_model: model.to_owned(),
        auth_methods,
        connected,
    };
    Catalog {
        providers: vec![
            provider("google", "gemini", vec![key()], true),
            provider("openai", "gpt-5.2", vec![key()], false),
            provider("anthropic", "claude", vec![key()], false),
            provider("codex-cli", "codex", vec![sign_in, key()], false),
            provider("rehearsal", "echo", Vec::new(), true),
        ],
        default: model(),
        permissions: vocabulary::PermissionOffer::default(),
    }
}

pub fn provider_ids() -> Arc<[String]> {
    let providers = catalog().providers;
    providers.into_iter().map(|provider| provider.id).collect()
}

pub fn statuses() -> Vec<ProviderStatus> {
    let status = |provider: &str, authorized| ProviderStatus {
        account: None,
        masks: Default::default(),
        mode: match (authorized, provider) {
            (false, _) => vocabulary::AuthMode::Missing,
            (true, "codex-cli") => vocabulary::AuthMode::OAuth,
            (true, _) => vocabulary::AuthMode::ApiKey,
        },
        provider: provider.to_owned(),
        authorized,
        verified: false,
        message: "Not connected.".to_owned(),
        checked_at: NOW,
    };
    vec![
        status("google", false),
        status("openai", true),
        status("anthropic", false),
        status("codex-cli", true),
        status("rehearsal", true),
    ]
}

/// In another order than the one they are shown in.
pub fn mcp_files() -> McpSnapshot {
    let file = |layer, path: &str, exists| McpFile {
        layer,
        path: path.into(),
        exists,
        parse_error: None,
        server_count: 0,
    };
    McpSnapshot {
        files: vec![
            file(McpLayer::UserLegacy, "/u/.agent/mcp-servers.json", false),
            file(McpLayer::System, "/s/mcp-servers.json", true),
            file(McpLayer::Workspace, "/w/.cowork/mcp-servers.json", false),
            file(McpLayer::User, "/u/.cowork/mcp-servers.json", false),
            file(
                McpLayer::WorkspaceLegacy,
                "/w/.agent/mcp-servers.json",
                true,
            ),
        ],
        ..McpSnapshot::default()
    }
}

pub fn checkpoints(list: Vec<Checkpoint>) -> Checkpoints {
    Checkpoints {
        standing: Standing::Ready,
        directory: Some("/home/user/.cowork/checkpoints/7".into()),
        created_at: NOW,
        list,
    }
}

/// The second was deleted; the third is as the one before, and not as the original.
pub fn checkpoint_list() -> Vec<Checkpoint> {
    vec![
        Checkpoint {
            id: CheckpointId(1),
            at: NOW,
            trigger: Trigger::Automatic,
            changed: true,
            changed_from_original: true,
            bytes: 1234,
        },
        Checkpoint {
            id: CheckpointId(3),
            at: NOW.plus_millis(5_000),
            trigger: Trigger::Manual,
            changed: false,
            changed_from_original: true,
            bytes: 0,
        },
    ]
}

pub fn event(fact: Fact) -> Event {
    Event {
        seq: Seq(10),
        at: NOW,
        by: None,
        fact,
    }
}

pub fn json(frame: &Frame) -> Value {
    serde_json::from_str(frame).expect("a frame is JSON")
}

pub fn told(fact: Fact, raw: RawParts) -> Vec<Value> {
    tell(&card(), &event(fact), raw).iter().map(json).collect()
}
