//! A connection whose engine is the story itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    AgentMode, Approval, Ask, AskId, AskKind, Call, Caller, Effects, Event, Fact, ItemId, ModelRef,
    Notice, OpenAsk, Question, Refusal, Reply, RiskCode, Seq, Status, StreamTag, Subject, TenantId,
    Thread, ThreadCard, ThreadId, ThreadSettings, ThreadView, Timestamp, Title, ToolCall, TurnId,
    WorkspaceId,
};

use crate::codex::{Codex, Endpoint, tell};
use crate::{Action, Cx, Delivery, Dialect, Heard, Hello, Reason, Tag};

pub const THREAD: &str = "73d90981-ed97-4e30-a4a8-74684326d1fc";
pub const NOW: Timestamp = Timestamp(1_771_524_000_000);

/// A connection, what it wants done, and what it has sent.
pub struct Stub {
    pub endpoint: Endpoint,
    dialect: Codex,
    pub sent: Vec<Value>,
    /// CodexCalls and wishes to listen that wait for their answer; a wish has no call.
    pub calls: Vec<(Tag, Option<Call>)>,
    pub unlistened: Vec<ThreadId>,
    /// How often an event was told in everyone's words.
    shared: usize,
    pub watches: bool,
    pub closed: Option<Reason>,
}

impl Stub {
    pub fn opened(endpoint: Endpoint) -> Self {
        let mut stub = Self {
            endpoint,
            dialect: Codex::new(endpoint),
            sent: Vec::new(),
            calls: Vec::new(),
            unlistened: Vec::new(),
            shared: 0,
            watches: false,
            closed: None,
        };
        stub.act(|dialect, cx, out| dialect.opened(cx, out, &Hello::default()));
        stub
    }

    /// Past the greeting.
    pub fn ready(endpoint: Endpoint) -> Self {
        let mut stub = Self::opened(endpoint);
        if endpoint == Endpoint::Codex {
            let client = json!({ "clientInfo": { "name": "story", "version": "1" } });
            stub.ask(0, "initialize", client);
        }
        stub.sent.clear();
        stub
    }

    /// Hears a thread that it started.
    pub fn started(endpoint: Endpoint) -> Self {
        let mut stub = Self::ready(endpoint);
        stub.ask(1, "thread/start", json!({}));
        stub.reply(Ok(Reply::Thread(Box::new(thread()))));
        stub.reply(Ok(Reply::View(Box::new(view()))));
        stub.sent.clear();
        stub
    }

    fn act(&mut self, act: impl FnOnce(&mut Codex, &Cx<'_>, &mut Vec<Action>)) {
        let (mut out, caller) = (Vec::new(), Caller::local());
        let cx = Cx {
            now: NOW,
            caller: Some(&caller),
        };
        act(&mut self.dialect, &cx, &mut out);
        for action in out {
            match action {
                Action::Send(frame) => self.sent.push(json_of(&frame)),
                Action::Shared => self.shared += 1,
                Action::WakeAt(_) | Action::Authenticate { .. } | Action::WatchServer => {}
                Action::Call { tag, call } | Action::CallNext { tag, call } => {
                    self.calls.push((tag, Some(call)))
                }
                Action::Listen { tag, .. } => self.calls.push((tag, None)),
                Action::Unlisten(thread) => self.unlistened.push(thread),
                Action::Watch => self.watches = true,
                Action::Close(reason) => self.closed = Some(reason),
            }
        }
    }

    pub fn ask(&mut self, id: u64, method: &str, params: Value) -> &mut Self {
        self.say(&json!({ "id": id, "method": method, "params": params }).to_string())
    }

    pub fn say(&mut self, frame: &str) -> &mut Self {
        self.act(|dialect, cx, out| dialect.heard(cx, out, frame));
        self
    }

    /// Answers the oldest call.
    pub fn reply(&mut self, outcome: Result<Reply, Refusal>) -> &mut Self {
        let (tag, _) = self.calls.remove(0);
        self.act(|dialect, cx, out| dialect.replied(cx, out, tag, outcome));
        self
    }

    /// Tells a live event, and takes the shared frames with the own ones.
    pub fn tell(&mut self, fact: Fact) -> Vec<Value> {
        let (card, event) = (card(), event(fact));
        let what = Heard::Live(&event);
        self.act(|dialect, cx, out| dialect.told(cx, out, Delivery { card: &card, what }));
        let own = std::mem::take(&mut self.sent);
        let shared = match std::mem::take(&mut self.shared) {
            0 => Vec::new(),
            _ => tell::tell(&card, &event, self.endpoint),
        };
        let without_time = |frame: &String| {
            let mut frame = json_of(frame);
            if let Some(fields) = frame.as_object_mut() {
                fields.remove("emittedAtMs");
            }
            frame
        };
        shared.iter().map(without_time).chain(own).collect()
    }

    pub fn hear(&mut self, what: Heard<'_>) -> &mut Self {
        let card = card();
        self.act(|dialect, cx, out| dialect.told(cx, out, Delivery { card: &card, what }));
        self
    }

    pub fn notice(&mut self, notice: &Notice) -> &mut Self {
        self.act(|dialect, cx, out| dialect.noticed(cx, out, notice));
        self
    }

    /// The only call that waits.
    pub fn call(&self) -> &Call {
        let [(_, Some(call))] = self.calls.as_slice() else {
            panic!("not one call: {:?}", self.calls);
        };
        call
    }

    pub fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.sent)
    }
}

pub fn json_of(frame: &str) -> Value {
    serde_json::from_str(frame).expect("a frame is JSON")
}

pub fn event(fact: Fact) -> Event {
    let (seq, at) = (Seq(10), NOW);
    Event {
        seq,
        at,
        by: None,
        fact,
    }
}

pub fn card() -> ThreadCard {
    ThreadCard {
        id: ThreadId::parse(THREAD).expect("a UUID"),
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

pub fn model() -> ModelRef {
    ModelRef {
        provider: "rehearsal".to_owned(),
        model: "rehearsal-1".to_owned(),
    }
}

pub fn thread() -> Thread {
    Thread {
        card: card(),
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
        },
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

pub fn tag() -> StreamTag {
    StreamTag {
        turn: TurnId::new("t1"),
        model: Some(Arc::new(model())),
        step: 1,
        part: 0,
    }
}

pub fn bash() -> ToolCall {
    ToolCall {
        agent: None,
        native: None,
        problem: None,
        by_user: false,
        item: ItemId::new("i1"),
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
        input: json!({ "command": "rm -rf build" }),
        subject: Subject::Command {
            line: "rm -rf build".to_owned(),
            directory: None,
        },
        effects: Effects::RUNS,
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

pub fn question(id: u64) -> Ask {
    let question = Question {
        id: "q1".to_owned(),
        header: None,
        question: "Which?".to_owned(),
        options: Vec::new(),
        multi_select: false,
    };
    ask(id, AskKind::Questions(vec![question]))
}

fn ask(id: u64, kind: AskKind) -> Ask {
    Ask {
        id: AskId(id),
        turn: TurnId::new("t1"),
        call: Box::new((&bash()).into()),
        kind,
    }
}

pub fn open(ask: Ask) -> OpenAsk {
    OpenAsk {
        ask,
        seq: Seq(8),
        at: NOW,
        tag: tag(),
        answers: BTreeMap::new(),
    }
}
