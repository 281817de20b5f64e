//! A house to play in: an engine on a memory store, with a scripted model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Delivered, Engine, ListenFrom, Listener, ThreadState, Wish, fold};
use providers::rehearsal::{Rehearsal, Script};
use store::faulty::Faulty;
use store::memory::{MemoryStore, MemoryWorld};
use store::{SharedStore, Store};
use tools::Toolbox;
use vocabulary::{
    Audience, Call, Caller, Cause, Event, Fact, ModelRef, NewThread, Refusal, Reply, Seq,
    StartTurn, ThreadId, ThreadView,
};

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct House {
    pub world: MemoryWorld,
    pub store: Arc<Faulty<MemoryStore>>,
    pub engine: Engine,
    script: Option<String>,
    directory: tempfile::TempDir,
}

impl House {
    /// With a script, or `""` for the interactive rehearsal.
    pub fn new(script: &str) -> Self {
        let world = MemoryWorld::new();
        let directory = tempfile::tempdir().expect("a scratch directory");
        let script = (!script.is_empty()).then(|| script.to_owned());
        let (store, engine) = open(&world, script.as_deref(), directory.path().to_owned());
        Self {
            world,
            store,
            engine,
            script,
            directory,
        }
    }

    /// The process dies without a word, and another one opens the same world.
    pub fn crash(self) -> Self {
        let Self {
            world,
            store,
            engine,
            script,
            directory,
        } = self;
        // A dead process writes nothing more: its tasks may live on here, but in vain.
        store.fail_from_now_on(store::StoreError::Failed("the process is dead".to_owned()));
        drop((store, engine));
        world.crash();
        let (store, engine) = open(&world, script.as_deref(), directory.path().to_owned());
        Self {
            world,
            store,
            engine,
            script,
            directory,
        }
    }

    pub async fn call(&self, call: Call) -> Result<Reply, Refusal> {
        let caller = Caller::local();
        let answered = self.engine.call(&caller, call);
        let answered = tokio::time::timeout(PATIENCE, answered)
            .await
            .expect("an answer in time");
        answered.map(|replied| replied.reply)
    }

    pub async fn thread(&self) -> ThreadId {
        match self.call(Call::CreateThread(NewThread::default())).await {
            Ok(Reply::Thread(thread)) => thread.card.id,
            other => panic!("no thread: {other:?}"),
        }
    }

    pub async fn listen(&self, thread: ThreadId, from: ListenFrom) -> (ThreadView, Ear) {
        let caller = Caller::local();
        let listening = self.engine.listen(&caller, thread, wish(from));
        let (view, listener) = tokio::time::timeout(PATIENCE, listening)
            .await
            .expect("an answer in time")
            .expect("a listener");
        (view, Ear::new(listener))
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
        let Ok(Reply::Events { events, .. }) = read else {
            panic!("no events: {read:?}")
        };
        events
            .iter()
            .filter(|event| matches!(event.fact, Fact::TurnStarted { .. }))
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
        let (state, entries) = fold(&log).expect("a log that folds");
        let row: ThreadState = serde_json::from_slice(&loaded.state).expect("a state row");
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
    script: Option<&str>,
    directory: PathBuf,
) -> (Arc<Faulty<MemoryStore>>, Engine) {
    let store = Arc::new(Faulty::new(world.open()));
    let script = script.map(|text| Script::parse(text).expect("a good script"));
    let config = Config {
        home: directory.join("home"),
        workspace_data: PathBuf::from(".data"),
        directory,
        auto_approve: false,
        default_model: ModelRef {
            provider: "rehearsal".into(),
            model: "rehearsal-1".into(),
        },
    };
    let shared: SharedStore = store.clone();
    let providers: Vec<Arc<dyn providers::Provider>> = vec![Arc::new(Rehearsal::new(script))];
    (
        store,
        Engine::new(config, shared, providers, Toolbox::builtin()),
    )
}

/// Listens as one of an audience, without the transcript.
pub fn wish(from: ListenFrom) -> Wish {
    Wish {
        audience: Audience(0),
        from,
        recent: 0,
    }
}

pub fn said(thread: ThreadId, text: &str) -> StartTurn {
    StartTurn {
        thread,
        text: text.to_owned(),
        display: None,
        cause: Cause::UserMessage,
        client_message_id: None,
        client_turn_id: None,
    }
}

/// A listener that remembers.
pub struct Ear {
    listener: Listener,
    pub heard: Vec<Told>,
    /// What was waited for so far ends here.
    looked: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Event(Event),
    Gap { after: Seq, to: Seq },
    CaughtUp(Seq),
    Ended,
}

impl Ear {
    pub fn new(listener: Listener) -> Self {
        Self {
            listener,
            heard: Vec::new(),
            looked: 0,
        }
    }

    /// Listens until something for which `done` holds was told.
    pub async fn until(&mut self, done: impl Fn(&Told) -> bool) -> Told {
        loop {
            if let Some(found) = self.heard[self.looked..].iter().position(&done) {
                self.looked += found + 1;
                return self.heard[self.looked - 1].clone();
            }
            let next = tokio::time::timeout(PATIENCE, self.listener.next(64)).await;
            let next = next.unwrap_or_else(|_| panic!("nothing more after {:#?}", self.heard));
            for delivered in next.expect("deliveries") {
                self.heard.push(match delivered {
                    Delivered::Live(slot) => Told::Event(slot.event.clone()),
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
        self.fact(|fact| matches!(fact, Fact::ItemGrew { delta, .. } if delta.trim() == word))
            .await
    }

    pub async fn rest(&mut self) -> Fact {
        self.fact(|fact| matches!(fact, Fact::TurnFinished { .. }))
            .await
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
