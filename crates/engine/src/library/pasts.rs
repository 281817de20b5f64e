//! A thread's past: another thread begins with it, or a part of it is taken back with its files.

use std::sync::Arc;

use bytes::Bytes;
use store::{Batch, InheritedLog, LoadedThread, StoredEvent};
use vocabulary::{
    Call, Caller, CheckpointCall, CheckpointId, Event, Fact, ForkPlace, ForkThread, ForkedFrom,
    IndexedTurn, Person, Refusal, Reply, RevertThread, Seq, Status, Thread, ThreadCard, ThreadFact,
    ThreadId, Timestamp, ToolEvent, ToolFact, TurnId, TurnSelection, Why,
};

use super::{activity, belonging, checkpoints, defaults, fork_files, get, owned};
use crate::limits::EVENTS_PER_READ_MAX;
use crate::session::state::{Folded, Folding, ThreadState};
use crate::session::{self, Outcome, changed_settings, storage, waking};
use crate::{Shared, codec, router};

/// A new thread with the past of another one, in one step of the store: it is whole, or not there.
pub(crate) async fn fork(
    shared: &Arc<Shared>,
    caller: &Caller,
    mut fork: ForkThread,
) -> Result<Reply, Refusal> {
    let parent = get(shared, caller, fork.thread).await?.reply.thread()?;
    if !fork.files {
        return forked(shared, caller, *parent, &fork).await;
    }
    let copy = fork_files::copy(shared, caller, &parent.card, &fork).await?;
    fork.directory = Some(copy.clone());
    let outcome = forked(shared, caller, *parent, &fork).await;
    if outcome.is_err() {
        fork_files::discard(copy).await;
    }
    outcome
}

async fn forked(
    shared: &Arc<Shared>,
    caller: &Caller,
    parent: Thread,
    fork: &ForkThread,
) -> Result<Reply, Refusal> {
    let kept = kept(shared, fork.thread).await?;
    let upto = match &kept {
        Some(kept) => cut(shared, kept, &fork.upto).await?,
        None => nothing_yet(&fork.upto)?,
    };
    let wanted = wanted(shared, caller, parent, fork, upto).await?;
    let past = match kept {
        Some(_) => Past::read(shared, fork.thread, upto, wanted, caller).await?,
        None => Past::none(wanted, caller),
    };
    let (thread, batch) = (past.folded.state.thread.clone(), past.batch()?);
    let id = thread.card.id;
    shared.follow_others();
    let lease = shared.store.acquire(id).await.map_err(storage)?;
    if let Err(error) = shared.store.append(lease, Seq::ZERO, batch).await {
        if let Err(error) = shared.store.release(lease).await {
            tracing::warn!(thread = %id, %error, "lease not released");
        }
        return Err(storage(error));
    }
    let loaded = shared.store.load(id).await.map_err(storage)?;
    let loaded = loaded.ok_or_else(|| Refusal::unknown_thread(id))?;
    let session = waking::woken(shared, lease, loaded, false).await?;
    shared.registry.insert(session);
    shared.thread_added(&thread);
    Ok(Reply::Thread(Box::new(thread)))
}

/// What the store has of a thread; nothing, where nothing happened in it.
pub(super) async fn kept(
    shared: &Arc<Shared>,
    thread: ThreadId,
) -> Result<Option<(LoadedThread, ThreadState)>, Refusal> {
    let found = loaded(shared, thread).await?;
    match &found {
        // An older version left it without an index, which is made when it wakes.
        Some((_, state)) if state.turn_count.is_none() => {
            shared.registry.wake(shared, thread).await?;
            loaded(shared, thread).await
        }
        Some(_) | None => Ok(found),
    }
}

async fn loaded(
    shared: &Shared,
    thread: ThreadId,
) -> Result<Option<(LoadedThread, ThreadState)>, Refusal> {
    let Some(loaded) = shared.store.load(thread).await.map_err(storage)? else {
        return Ok(None);
    };
    let state = ThreadState::read(&loaded)?;
    Ok(Some((loaded, state)))
}

/// The last event that goes along.
async fn cut(
    shared: &Shared,
    (loaded, state): &(LoadedThread, ThreadState),
    upto: &ForkPlace,
) -> Result<Seq, Refusal> {
    let before = |seq: Seq| Seq(seq.0.saturating_sub(1));
    let turn = async |turn: &TurnId| {
        let one = TurnSelection::One(turn.clone());
        let (thread, from) = (loaded.thread.card.id, state.history_from);
        let found = shared.store.turns(thread, from, &one, 1).await;
        let found = found.map_err(storage)?.pop();
        found.ok_or_else(|| unknown_turn(turn))
    };
    match upto {
        ForkPlace::Rest => Ok(match &state.turn {
            Some(running) => before(running.started_seq),
            None => loaded.last_seq,
        }),
        ForkPlace::Before(id) => Ok(before(turn(id).await?.first_seq)),
        ForkPlace::After(id) => match turn(id).await?.ended {
            Some(ended) => Ok(ended.last_seq),
            None => Err(still_running(id)),
        },
    }
}

fn nothing_yet(upto: &ForkPlace) -> Result<Seq, Refusal> {
    match upto {
        ForkPlace::Rest => Ok(Seq::ZERO),
        ForkPlace::Before(turn) | ForkPlace::After(turn) => Err(unknown_turn(turn)),
    }
}

pub(super) fn still_running(turn: &TurnId) -> Refusal {
    let message = format!("turn {turn} is still running; wait for its end");
    Refusal::invalid("turn", message)
}

pub(super) fn unknown_turn(turn: &TurnId) -> Refusal {
    Refusal::invalid("turn", format!("this thread has no turn {turn}"))
}

/// The new thread as it is to be, with nothing of its past.
async fn wanted(
    shared: &Arc<Shared>,
    caller: &Caller,
    parent: Thread,
    fork: &ForkThread,
    upto: Seq,
) -> Result<Thread, Refusal> {
    let own = shared.usable_own(&caller.tenant)?;
    shared.agents.check(&own, fork.changes.agent.as_deref())?;
    let (directory, folders) = match &fork.directory {
        Some(directory) => {
            let directory = own.admit(directory.clone())?;
            let known = defaults::read(shared, &own, &directory).await;
            let usual = parent.card.folders.is_some();
            let folders = defaults::folders(shared, &own, &directory, &known, usual).await;
            (directory, folders)
        }
        None => (parent.card.directory.clone(), parent.card.folders.clone()),
    };
    let mut settings = match changed_settings(&parent.settings, &fork.changes)? {
        Some(changed) => changed,
        None => parent.settings,
    };
    if let Some(instructions) = &fork.instructions {
        settings.instructions = Some(instructions.clone());
    }
    // A copy of the files is a place beside the one they come from.
    let goes_elsewhere = fork.directory.is_some() && !fork.files && !fork.ephemeral;
    let workspace = match goes_elsewhere {
        true => belonging::workspace_of(shared, caller, &directory).await?,
        false => parent.card.workspace.clone(),
    };
    if !activity::is_active(shared, &caller.tenant, &workspace).await? {
        return Err(Refusal::new(
            Why::Conflict,
            activity::not_active(&workspace),
        ));
    }
    let at = shared.now();
    Ok(Thread {
        card: ThreadCard {
            id: shared.new_thread_id(),
            client_id: None,
            created_at: at,
            workspace,
            directory,
            folders,
            forked_from: Some(ForkedFrom {
                thread: fork.thread,
                upto,
            }),
            ephemeral: fork.ephemeral,
            ..parent.card
        },
        settings,
        status: Status::Inactive,
        archived: false,
        updated_at: at,
        ..parent
    })
}

/// The log of a new thread, as far as it is its own, and what the whole of it comes to.
struct Past {
    folded: Folded,
    own: Vec<Event>,
    inherits: Option<InheritedLog>,
}

impl Past {
    fn none(wanted: Thread, caller: &Caller) -> Self {
        let created = ThreadFact::Created {
            thread: Box::new(wanted.clone()),
        };
        Self {
            own: vec![event(caller, Seq(1), &wanted, created)],
            folded: Folding::of(wanted).end(),
            inherits: None,
        }
    }

    /// Another thread's past up to a place, as if it were this one's, and then what this one is to be.
    async fn read(
        shared: &Shared,
        of: ThreadId,
        upto: Seq,
        wanted: Thread,
        caller: &Caller,
    ) -> Result<Self, Refusal> {
        let (first, then) = session::born(&shared.store, of).await?;
        let born = Thread {
            card: wanted.card.clone(),
            ..then
        };
        let mut folding = Folding::of(born.clone());
        session::fold_on(&shared.store, of, first, upto, &mut folding).await?;
        let mut last = upto.max(first);
        let facts = closing_facts(&folding.state().thread, &wanted);
        let mut own = vec![event(
            caller,
            first,
            &born,
            ThreadFact::Created {
                thread: Box::new(born.clone()),
            },
        )];
        for fact in facts {
            last = last.next();
            let event = event(caller, last, &wanted, fact);
            folding.add(&event);
            own.push(event);
        }
        Ok(Self {
            folded: folding.end(),
            own,
            inherits: (upto > first).then_some(InheritedLog {
                from: of,
                after: first,
                upto,
            }),
        })
    }

    fn batch(&self) -> Result<Batch, Refusal> {
        let state = &self.folded.state;
        let row = serde_json::to_vec(state).map_err(|error| {
            Refusal::new(Why::Internal, format!("state cannot be written: {error}"))
        })?;
        let stored = |event: &Event| {
            Ok(StoredEvent {
                seq: event.seq,
                at: event.at,
                payload: codec::encode(event)?,
            })
        };
        let events = self.own.iter().map(stored);
        let events = events.collect::<Result<Vec<_>, Refusal>>()?;
        let inherited = self.inherits.map_or(Seq::ZERO, |log| log.upto);
        Ok(Batch {
            thread: Some(state.thread.clone()),
            high_water: events.last().map_or(inherited, |last| last.seq),
            events,
            entries: self.folded.entries.clone(),
            turns: self.folded.turns.clone(),
            state: Bytes::from(row),
            unfinished: state.thread.card.ephemeral,
            inherits: self.inherits,
            ..Batch::default()
        })
    }
}

/// By its maker, at the time that the thread says.
fn event(caller: &Caller, seq: Seq, thread: &Thread, fact: ThreadFact) -> Event {
    Event {
        seq,
        at: thread.updated_at,
        by: Some(Arc::new(Person::from(caller))),
        fact: Fact::Thread(fact),
    }
}

/// What makes of a past the thread that is wanted. Its settings are said in any case: by that its row in
/// the list is as new as it is.
fn closing_facts(then: &Thread, wanted: &Thread) -> Vec<ThreadFact> {
    let (title, model) = (wanted.title.clone(), wanted.settings.model.clone());
    let titled = (then.title != title).then(|| ThreadFact::Titled {
        title: title.clone(),
        model,
    });
    let archived = then.archived;
    let taken_out = archived.then_some(ThreadFact::Archived { archived: false });
    let set = ThreadFact::SettingsChanged {
        settings: wanted.settings.clone(),
        changed: Vec::new(),
        title,
    };
    titled.into_iter().chain(taken_out).chain([set]).collect()
}

/// Takes turns back; where it is wanted, the files first, so that a restore which fails changes nothing.
pub(crate) async fn revert(shared: &Arc<Shared>, caller: &Caller, revert: RevertThread) -> Outcome {
    let card = owned(shared, caller, revert.thread).await?;
    if revert.files {
        let thread = revert.thread;
        let to = checkpoint_before(shared, &card, &revert).await?;
        let call = CheckpointCall::Restore { to, path: None };
        router::to_session(shared, caller, Call::Checkpoints { thread, call }).await?;
    }
    router::to_session(shared, caller, Call::RevertThread(revert)).await
}

/// The newest checkpoint that is older than the first turn which goes; the original where none is.
async fn checkpoint_before(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    revert: &RevertThread,
) -> Result<Option<CheckpointId>, Refusal> {
    let Some((_, state)) = kept(shared, card.id).await? else {
        return Err(Refusal::invalid("turn", "this thread has no turns"));
    };
    let from = state.history_from;
    let turn = session::first_hidden(&shared.store, card.id, from, &revert.to).await?;
    let found = checkpoints::read(shared, card, CheckpointCall::Get).await?;
    let list = found.checkpoints()?.state()?.list;
    let before = first_effect(shared, card.id, &turn).await?;
    let older = list.iter().rfind(|kept| kept.at <= before);
    Ok(older.map(|kept| kept.id))
}

/// When a turn first could change a file. What the turn before left is kept by then, though the user may
/// have said the next thing sooner.
pub(super) async fn first_effect(
    shared: &Shared,
    thread: ThreadId,
    turn: &IndexedTurn,
) -> Result<Timestamp, Refusal> {
    let page = shared
        .store
        .events(thread, turn.first_seq, EVENTS_PER_READ_MAX);
    let page = page.await.map_err(storage)?;
    let last = turn.ended.as_ref().map_or(Seq(u64::MAX), |it| it.last_seq);
    for stored in page.iter().take_while(|stored| stored.seq <= last) {
        let is_start = |tool: &ToolEvent| tool.what == ToolFact::Started;
        if matches!(&codec::decode(stored)?.fact, Fact::Tool(tool) if is_start(tool)) {
            return Ok(stored.at);
        }
    }
    Ok(turn.ended.as_ref().map_or(turn.started_at, |it| it.at))
}
