//! How a session comes to be: born, or woken from the store with whatever its last process left.

use std::sync::Arc;

use snapshots::CheckpointTasks;
use store::{Lease, LoadedThread};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tools::Toolbox;
use vocabulary::{
    Event, Fact, Refusal, Seq, Thread, ThreadFact, ToolCall, ToolEvent, ToolFact, TurnError,
    TurnErrorKind, TurnOutcome,
};

use super::asks::Asking;
use super::live::{Live, from_draft};
use super::outbox::Outbox;
use super::recorder::{LogStanding, Recorder};
use super::resting::Resting;
use super::state::{CallState, ThreadState};
use super::turns::TurnSupplies;
use super::writing::Writing;
use super::{Handle, Session, storage, turn_index};
use crate::library::asleep;
use crate::limits::{MAILBOX_CALLS_MAX, REPLAY_PAGE};
use crate::turn::{DueCall, TurnStart};
use crate::{Shared, codec};

/// A new thread. Nothing of it is in the store before something happens in it, unless `keep`.
pub async fn born(shared: &Arc<Shared>, thread: Thread, keep: bool) -> Result<Handle, Refusal> {
    let id = thread.card.id;
    let lease = match keep {
        true => {
            shared.follow_others();
            Some(shared.store.acquire(id).await.map_err(storage)?)
        }
        false => None,
    };
    let state = ThreadState::new(thread.clone());
    let standing = LogStanding {
        lease,
        last_seq: Seq::ZERO,
        high_water: Seq::ZERO,
        kept: keep,
    };
    let (mut session, handle) = lay(shared, state, standing);
    session.record(Fact::Thread(ThreadFact::Created {
        thread: Box::new(thread),
    }))?;
    session.settle()?;
    session.spawn();
    Ok(handle)
}

/// A thread from the store. A turn that waited is picked up; one that ran is closed.
pub async fn woken(
    shared: &Arc<Shared>,
    lease: Lease,
    loaded: LoadedThread,
    taken_over: bool,
) -> Result<Handle, Refusal> {
    let mut state = ThreadState::read(&loaded)?;
    turn_index::complete(&shared.store, lease, &loaded, &mut state).await?;
    let standing = LogStanding {
        lease: Some(lease),
        last_seq: loaded.last_seq,
        high_water: loaded.high_water,
        kept: true,
    };
    let (mut session, handle) = lay(shared, state, standing);
    session.woken = true;
    session.resting.taken_over_at = taken_over.then(Instant::now);
    session.announced = true;
    session.recover(&loaded).await?;
    session.settle()?;
    session.spawn();
    Ok(handle)
}

fn lay(shared: &Arc<Shared>, state: ThreadState, standing: LogStanding) -> (Session, Handle) {
    let card = Arc::new(state.thread.card.clone());
    let head = standing.high_water.max(standing.last_seq);
    let outbox = Outbox::new(Arc::clone(&card), head);
    let (to_mail, mail) = mpsc::channel(MAILBOX_CALLS_MAX);
    let status = watch::Sender::new(asleep(state.thread.status));
    let own_mail = to_mail.downgrade();
    let checkpoints = Box::new(CheckpointTasks::new(&shared.scanners, &card));
    let handle = Handle {
        mail: to_mail,
        card: Arc::clone(&card),
        outbox: Arc::clone(&outbox),
        status: status.subscribe(),
        checkpoints: checkpoints.published.clone(),
    };
    let store = Arc::clone(&shared.store);
    let tools = Toolbox::of(&shared.tools, &card);
    let session = Session {
        asking: Asking::new(shared, &state),
        supplies: TurnSupplies::new(
            state.thread.settings.clone(),
            tools,
            shared.seen.of(card.id),
        ),
        shared: Arc::clone(shared),
        recorder: Recorder::new(Arc::clone(&store), outbox, standing),
        store,
        card,
        state,
        status,
        live: Live::default(),
        turn: None,
        mail,
        own_mail,
        title_asked: false,
        checkpoints,
        announced: false,
        writing: Writing::new(),
        resting: Resting::new(head),
        woken: false,
        acting: None,
    };
    (session, handle)
}

impl Session {
    /// Looks after a turn that the last process left behind.
    async fn recover(&mut self, loaded: &LoadedThread) -> Result<(), Refusal> {
        let Some(turn) = self.state.turn.clone() else {
            return self.drop_drafts(loaded);
        };
        let events = self.events_since(Seq(turn.started_seq.0 - 1)).await?;
        self.live.catch_up(&events, turn.parts);
        let agent = self.shared.agents.of(
            &self.shared.own(&self.card.tenant),
            &self.state.thread.settings,
        );
        if !self.state.asks.is_empty() && agent.abilities().picks_up {
            self.drop_drafts(loaded)?;
            self.close_asks_of_sub_agents("the server stopped")?;
            // A call that had started is never made again, even in a turn that goes on; and
            // whatever a sub-agent or a person had in mind died with it.
            let dead =
                |call: &CallState| call.started || call.call.agent.is_some() || call.call.by_user;
            for fact in self.unfinished_calls("the server stopped", dead) {
                self.record(fact)?;
            }
            let calls = self.calls_to_make(&events);
            self.run_turn(
                turn.turn,
                TurnStart::PickUp {
                    step: turn.step,
                    calls,
                },
            );
            return Ok(());
        }
        for draft in &loaded.drafts {
            match from_draft(draft) {
                Some(fact) => {
                    self.record(fact)?;
                }
                None => self.recorder.forget_draft(draft.item.clone()),
            }
        }
        let message = "the server stopped while this turn was running".to_owned();
        let error = TurnError {
            kind: TurnErrorKind::ServerRestart,
            message,
        };
        self.end_turn_here(TurnOutcome::Failed(error), "the server stopped")
    }

    fn drop_drafts(&mut self, loaded: &LoadedThread) -> Result<(), Refusal> {
        for draft in &loaded.drafts {
            self.recorder.forget_draft(draft.item.clone());
        }
        Ok(())
    }

    async fn events_since(&mut self, after: Seq) -> Result<Vec<Event>, Refusal> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let after = events.last().map_or(after, |event| event.seq);
            let page = self
                .store
                .events(self.card.id, after, REPLAY_PAGE)
                .await
                .map_err(storage)?;
            let full = page.len() as u32 == REPLAY_PAGE;
            for stored in &page {
                events.push(codec::decode(stored)?);
            }
            if !full {
                return Ok(events);
            }
        }
    }

    /// The planned calls that have not ended, with their inputs from the log.
    fn calls_to_make(&self, events: &[Event]) -> Vec<DueCall> {
        let Some(turn) = &self.state.turn else {
            return Vec::new();
        };
        let open = |call: &ToolCall| {
            turn.calls
                .iter()
                .any(|known| known.call.item == call.item && !known.finished)
        };
        events
            .iter()
            .filter_map(|event| match &event.fact {
                // A sub-agent's calls died with it, and so did a person's own.
                Fact::Tool(ToolEvent {
                    tag,
                    call,
                    what: ToolFact::Planned { .. },
                }) if open(call) && call.agent.is_none() && !call.by_user => Some(DueCall {
                    tag: tag.clone(),
                    model_call_id: call.call_id.clone(),
                    call: call.clone(),
                    reached: self
                        .state
                        .asks
                        .iter()
                        .any(|open| open.ask.call.item == call.item),
                }),
                // tidy: wildcard, because only planned calls are looked for.
                _ => None,
            })
            .collect()
    }
}
