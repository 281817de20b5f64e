//! A house to play in: an engine on a memory store, with a scripted model or a puppet.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Agents, CheckSettings, CheckpointSetting, Clock, Config, Delivered, Engine, ListenFrom,
    ListenOptions, Listener, SystemClock, ThreadIdKey, ThreadState, fold,
};
use providers::Models;
use providers::catalog::ModelCatalog;
use providers::models::ModelsOptions;
use providers::rehearsal::{Rehearsal, RehearsalScript};
use store::testing::faulty::Faulty;
use store::testing::memory::{MemoryStore, MemoryWorld};
use store::{SharedStore, Store};
use tools::{ToolSource, Toolbox};
use vocabulary::{
    Approvals, Audience, Budgets, Call, Caller, Cause, Changes, Event, EventPage, Fact,
    Idempotency, ItemFact, ModelRef, Refusal, Reply, Seq, StartTurn, SteerTurn, ThreadId,
    ThreadView, ToolEvent, ToolFact, TurnFact, TurnOutcome, TurnSelection, Verbosity,
};

use crate::puppet::{self, BIG, PUPPET, Puppet};

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than all the waits of the engine together.
const PATIENCE_PAUSED: Duration = Duration::from_secs(7 * 24 * 3_600);

pub struct House {
    pub world: MemoryWorld,
    pub store: Arc<Faulty<MemoryStore>>,
    pub engine: Engine,
    stage: Stage,
    directory: tempfile::TempDir,
    /// How long a test waits.
    pub patience: Duration,
}

/// No file is there.
pub fn no_mcp() -> mcp::McpOptions {
    mcp::McpOptions {
        home: "/nonexistent".into(),
        user: None,
        system: "/nonexistent/mcp-servers.json".into(),
        fenced: true,
    }
}

/// Who plays in the house, and by which rules.
#[derive(Clone)]
pub struct Stage {
    script: Option<String>,
    puppet: Option<Arc<Puppet>>,
    /// A real provider, and its model that threads use.
    served: Option<(ModelsOptions, ModelRef)>,
    pub catalog: ModelCatalog,
    pub tools: Toolbox,
    /// Where more tools come from.
    pub sources: Vec<Arc<dyn ToolSource>>,
    pub agents: Agents,
    pub mcp: Arc<mcp::Servers>,
    /// Servers by script, in the place of those.
    pub mcp_tools: Option<Arc<dyn engine::McpTools>>,
    /// As the environment would have it.
    pub defaults: tools::ProjectDefaults,
    pub budgets: Budgets,
    pub auto_approve: bool,
    pub approvals: Option<Approvals>,
    pub effort: Option<String>,
    pub verbosity: Option<Verbosity>,
    pub ask_timeout: Option<Duration>,
    pub policy: Arc<tools::policy::Policy>,
    pub checkpoints: CheckpointSetting,
    pub checks: CheckSettings,
    pub tracing: observability::TracingSettings,
    pub clock: Arc<dyn Clock>,
    /// Without one, ids are as the clock makes them.
    pub thread_id_key: Option<ThreadIdKey>,
}

impl Stage {
    pub fn scripted(script: &str) -> Self {
        Self {
            script: (!script.is_empty()).then(|| script.to_owned()),
            puppet: None,
            served: None,
            catalog: ModelCatalog::default(),
            tools: Toolbox::builtin(),
            sources: Vec::new(),
            agents: Agents::default(),
            mcp: Arc::new(mcp::Servers::new(no_mcp())),
            mcp_tools: None,
            defaults: Default::default(),
            budgets: Budgets::default(),
            auto_approve: false,
            // Stories that ask are told as cowork's are.
            approvals: Some(Approvals::Ask),
            effort: None,
            verbosity: None,
            ask_timeout: None,
            policy: Arc::default(),
            checkpoints: CheckpointSetting::Off,
            checks: CheckSettings::default(),
            tracing: Default::default(),
            clock: Arc::new(SystemClock),
            thread_id_key: None,
        }
    }

    pub fn of(puppet: &Arc<Puppet>) -> Self {
        Self {
            puppet: Some(Arc::clone(puppet)),
            catalog: puppet::catalog(puppet::big()),
            ..Self::scripted("")
        }
    }

    /// With the providers of the catalog, as the options say that they are reached.
    pub fn served(options: ModelsOptions, model: ModelRef) -> Self {
        Self {
            served: Some((options, model)),
            ..Self::scripted("")
        }
    }

    fn default_model(&self) -> Option<ModelRef> {
        let puppet = || {
            self.puppet.as_ref().map(|_| ModelRef {
                provider: PUPPET.to_owned(),
                model: BIG.to_owned(),
            })
        };
        let served = self.served.as_ref().map(|(_, model)| model.clone());
        served.or_else(puppet)
    }

    fn models(&self) -> Models {
        if let Some((options, _)) = &self.served {
            return Models::open(options.clone());
        }
        if let Some(puppet) = &self.puppet {
            let puppet: Arc<dyn providers::Provider> = puppet.clone();
            return Models::with(vec![puppet], self.catalog.clone());
        }
        let script = self.script.as_deref();
        let script = script.map(|text| RehearsalScript::parse(text).expect("a good script"));
        Models::scripted(vec![Arc::new(Rehearsal::new(script))])
    }
}

impl House {
    /// With a script, or `""` for the interactive rehearsal.
    pub fn new(script: &str) -> Self {
        Self::on(Stage::scripted(script), PATIENCE)
    }

    /// With a puppet, in paused time: what waits is waited for at once.
    pub fn with(puppet: &Arc<Puppet>) -> Self {
        Self::staged(Stage::of(puppet))
    }

    pub fn staged(stage: Stage) -> Self {
        Self::on(stage, PATIENCE_PAUSED)
    }

    /// Where real processes run, time cannot be paused.
    pub fn in_real_time(stage: Stage) -> Self {
        Self::on(stage, PATIENCE)
    }

    fn on(stage: Stage, patience: Duration) -> Self {
        let world = MemoryWorld::new();
        let directory = tempfile::tempdir().expect("a scratch directory");
        let (store, engine) = open(&world, &stage, directory.path().to_owned());
        Self {
            world,
            store,
            engine,
            stage,
            directory,
            patience,
        }
    }

    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// How long an answer may take here.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Where its data lies.
    pub fn home(&self) -> std::path::PathBuf {
        self.directory().join("home")
    }

    /// Another process on the same world, at the same time.
    pub fn neighbour(&self) -> Engine {
        open(&self.world, &self.stage, self.directory().to_owned()).1
    }

    /// An engine like this one, on another store.
    pub fn engine_on(&self, store: SharedStore) -> Engine {
        engine_on(store, &self.stage, self.directory().to_owned())
    }

    /// The process dies without a word, and another one opens the same world.
    pub fn crash(self) -> Self {
        let stage = self.stage.clone();
        self.crash_into(stage)
    }

    /// The same, and the other process is set up in another way.
    pub fn crash_into(self, stage: Stage) -> Self {
        let Self {
            world,
            store,
            engine,
            directory,
            patience,
            ..
        } = self;
        // A dead process writes nothing more: its tasks may live on here, but in vain.
        store.fail_from_now_on(store::StoreError::Failed("the process is dead".to_owned()));
        drop((store, engine));
        world.crash();
        let (store, engine) = open(&world, &stage, directory.path().to_owned());
        Self {
            world,
            store,
            engine,
            stage,
            directory,
            patience,
        }
    }

    pub async fn call(&self, call: Call) -> Result<Reply, Refusal> {
        self.call_as(&Caller::local(), call).await
    }

    pub async fn call_as(&self, caller: &Caller, call: Call) -> Result<Reply, Refusal> {
        let answered = self.engine.call(caller, call);
        let answered = tokio::time::timeout(self.patience, answered)
            .await
            .expect("an answer in time");
        answered.map(|replied| replied.reply)
    }

    pub async fn thread(&self) -> ThreadId {
        match self.call(Call::CreateThread(Box::default())).await {
            Ok(Reply::Thread(thread)) => thread.card.id,
            other => panic!("no thread: {other:?}"),
        }
    }

    pub async fn listen(&self, thread: ThreadId, from: ListenFrom) -> (ThreadView, Ear) {
        let caller = Caller::local();
        let listening = self.engine.listen(&caller, thread, wish(from));
        let (view, listener) = tokio::time::timeout(self.patience, listening)
            .await
            .expect("an answer in time")
            .expect("a listener");
        let mut ear = Ear::new(listener);
        ear.patience = self.patience;
        (view, ear)
    }

    /// A new thread and someone who listens to it.
    pub async fn heard_thread(&self) -> (ThreadId, Ear) {
        let thread = self.thread().await;
        let (_, ear) = self.listen(thread, ListenFrom::Head).await;
        (thread, ear)
    }

    /// Everything durable that happened in a thread.
    pub async fn log(&self, thread: ThreadId) -> Vec<Fact> {
        let after = Seq::ZERO;
        let limit = u32::MAX;
        let read = Call::ReadEvents {
            thread,
            after,
            limit,
        };
        match self.call(read).await {
            Ok(Reply::Events(EventPage { events, .. })) => {
                events.into_iter().map(|event| event.fact).collect()
            }
            other => panic!("no events: {other:?}"),
        }
    }

    pub async fn change(&self, thread: ThreadId, changes: Changes) {
        let change = Call::ChangeThread { thread, changes };
        self.call(change).await.expect("a change");
    }

    pub async fn steer(&self, thread: ThreadId, text: &str) -> Result<Reply, Refusal> {
        self.call(Call::SteerTurn(steered(thread, text))).await
    }

    pub async fn say(&self, thread: ThreadId, text: &str) -> Result<Reply, Refusal> {
        self.call(Call::StartTurn(said(thread, text))).await
    }

    /// How many turns the log of a thread has.
    pub async fn turns(&self, thread: ThreadId) -> usize {
        let after = Seq::ZERO;
        let read = self
            .call(Call::ReadEvents {
                thread,
                after,
                limit: u32::MAX,
            })
            .await;
        let Ok(Reply::Events(EventPage { events, .. })) = read else {
            panic!("no events: {read:?}")
        };
        events
            .iter()
            .filter(|event| matches!(event.fact, Fact::Turn(TurnFact::Started { .. })))
            .count()
    }

    /// Everything durable of a thread, with the state row beside it.
    pub async fn kept(&self, thread: ThreadId) -> Kept {
        let log = self
            .store
            .events(thread, Seq::ZERO, u32::MAX)
            .await
            .expect("the log");
        let loaded = self
            .store
            .load(thread)
            .await
            .expect("a read")
            .expect("a kept thread");
        let rows = self
            .store
            .entries(thread, 0, 0..u64::MAX, u32::MAX)
            .await
            .expect("entries");
        let turns = self
            .store
            .turns(thread, 0, &TurnSelection::Oldest, u32::MAX);
        let folded = fold(&log).expect("a log that folds");
        assert_eq!(folded.turns, turns.await.expect("turns"));
        let (state, entries) = (folded.state, folded.entries);
        let row: ThreadState = serde_json::from_slice(&loaded.state).expect("a state row");
        let mut row = row;
        if let Some(turn) = &mut row.turn {
            // Most parts are not in the log.
            turn.parts = 0;
        }
        assert_eq!(state, row, "the state row is the fold of the log");
        let rows: Vec<_> = rows.into_iter().map(|(row, _)| row).collect();
        assert_eq!(entries, rows, "the entries are those of the log");
        Kept {
            state,
            seqs: log.iter().map(|event| event.seq).collect(),
        }
    }
}

pub struct Kept {
    pub state: ThreadState,
    pub seqs: Vec<Seq>,
}

fn open(
    world: &MemoryWorld,
    stage: &Stage,
    directory: PathBuf,
) -> (Arc<Faulty<MemoryStore>>, Engine) {
    let store = Arc::new(Faulty::new(world.open()));
    let engine = engine_on(store.clone(), stage, directory);
    (store, engine)
}

fn engine_on(store: SharedStore, stage: &Stage, directory: PathBuf) -> Engine {
    let config = Config {
        allow_full_access: false,
        home: directory.join("home"),
        private: vec![directory.join("home")],
        skills: vec![directory.join("home/skills")],
        ports: Vec::new(),
        directory,
        auto_approve: stage.auto_approve,
        approvals: stage.approvals,
        default_model: None,
        fallback_model: stage.default_model(),
        defaults: stage.defaults.clone(),
        effort: stage.effort.clone(),
        verbosity: stage.verbosity,
        ask_timeout: stage.ask_timeout,
        sandbox: engine::SandboxSetting::Nothing,
        policy: Arc::clone(&stage.policy),
        web: Default::default(),
        searxng_url: None,
        budgets: stage.budgets,
        checkpoints: stage.checkpoints,
        checks: stage.checks.clone(),
        tracing: stage.tracing.clone(),
        parts: |_| 1,
        push_message: |_| String::new(),
        push_contact: None,
        clock: Arc::clone(&stage.clock),
        thread_id_key: stage.thread_id_key.clone(),
    };
    let models = Arc::new(stage.models());
    let mut tools: Vec<Arc<dyn ToolSource>> = vec![Arc::new(stage.tools.clone())];
    tools.extend(stage.sources.iter().cloned());
    let parts = engine::Parts {
        store,
        models,
        tools,
        agents: stage.agents.clone(),
        mcp: Arc::clone(&stage.mcp),
        mcp_tools: match &stage.mcp_tools {
            Some(tools) => Arc::clone(tools),
            None => Arc::clone(&stage.mcp) as _,
        },
        tenants: None,
    };
    Engine::new(config, parts)
}

/// Listens as one of an audience, without the transcript.
pub fn wish(from: ListenFrom) -> ListenOptions {
    ListenOptions {
        attendance: Audience(0).into(),
        from,
        recent: 0,
        watch_files: false,
    }
}

pub fn said(thread: ThreadId, text: &str) -> StartTurn {
    StartTurn {
        files: Vec::new(),
        changes: Box::default(),
        listen: None,
        thread,
        text: text.to_owned(),
        display: None,
        cause: Cause::UserMessage,
        client_message_id: None,
        client_turn_id: None,
        idempotency: Idempotency::Lasting,
        images: Vec::new(),
        pieces: Vec::new(),
    }
}

pub fn steered(thread: ThreadId, text: &str) -> SteerTurn {
    SteerTurn {
        thread,
        turn: None,
        text: text.to_owned(),
        client_message_id: None,
        images: Vec::new(),
        pieces: Vec::new(),
    }
}

/// A listener that remembers.
#[derive(Debug)]
pub struct Ear {
    listener: Listener,
    pub heard: Vec<Told>,
    /// What was waited for so far ends here.
    looked: usize,
    pub patience: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Event(Box<Event>),
    Gap { after: Seq, to: Seq },
    CaughtUp(Seq),
    Ended,
}

impl Ear {
    /// What the thread holds in memory for its listeners.
    pub fn held(&self) -> engine::RingSize {
        self.listener.held()
    }

    pub fn new(listener: Listener) -> Self {
        Self {
            listener,
            heard: Vec::new(),
            looked: 0,
            patience: PATIENCE,
        }
    }

    /// Listens until something for which `done` holds was told.
    pub async fn until(&mut self, done: impl Fn(&Told) -> bool) -> Told {
        loop {
            if let Some(found) = self.heard[self.looked..].iter().position(&done) {
                self.looked += found + 1;
                return self.heard[self.looked - 1].clone();
            }
            let next = tokio::time::timeout(self.patience, self.listener.next(64)).await;
            let next = next.unwrap_or_else(|_| panic!("nothing more after {:#?}", self.heard));
            for delivered in next.expect("deliveries") {
                self.heard.push(match delivered {
                    Delivered::Live(slot) => Told::Event(Box::new(slot.event.clone())),
                    Delivered::Replay(event) => Told::Event(event),
                    Delivered::Gap { after, to } => Told::Gap { after, to },
                    Delivered::CaughtUp { head } => Told::CaughtUp(head),
                    Delivered::Ended(_) => Told::Ended,
                });
            }
        }
    }

    pub async fn fact(&mut self, done: impl Fn(&Fact) -> bool) -> Fact {
        let told = self
            .until(|told| matches!(told, Told::Event(event) if done(&event.fact)))
            .await;
        match told {
            Told::Event(event) => event.fact,
            other => panic!("not an event: {other:?}"),
        }
    }

    /// Waits until this was just written.
    pub async fn word(&mut self, word: &str) -> Fact {
        self.fact(|fact| match fact {
            Fact::Item {
                what: ItemFact::Grew { delta, .. },
                ..
            }
            | Fact::Tool(ToolEvent {
                what: ToolFact::Wrote { delta, .. },
                ..
            }) => delta.trim() == word,
            // tidy: wildcard, because nothing else is said word by word.
            _ => false,
        })
        .await
    }

    pub async fn rest(&mut self) -> Fact {
        self.fact(|fact| matches!(fact, Fact::Turn(TurnFact::Finished { .. })))
            .await
    }

    /// Waits for the end of the turn: how it ended, and its text.
    pub async fn ended(&mut self) -> (TurnOutcome, String) {
        match self.rest().await {
            Fact::Turn(TurnFact::Finished { outcome, text, .. }) => (outcome, text),
            other => panic!("no end: {other:?}"),
        }
    }

    /// Waits for the end of a turn that completes; gives its text.
    pub async fn completed(&mut self) -> String {
        let (outcome, text) = self.ended().await;
        assert_eq!(outcome, TurnOutcome::Completed);
        text
    }

    /// Waits for the end of a turn that fails; gives why.
    pub async fn failed(&mut self) -> vocabulary::TurnError {
        match self.ended().await {
            (TurnOutcome::Failed(error), _) => error,
            other => panic!("not failed: {other:?}"),
        }
    }

    pub fn facts(&self) -> Vec<&Fact> {
        self.heard
            .iter()
            .filter_map(|told| match told {
                Told::Event(event) => Some(&event.fact),
                Told::Gap { .. } | Told::CaughtUp(_) | Told::Ended => None,
            })
            .collect()
    }
}
