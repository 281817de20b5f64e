//! Taking turns back: they stay in the log, and nobody reads them any more.

use std::sync::Arc;

use store::SharedStore;
use tokio::sync::oneshot;
use vocabulary::{
    Fact, IndexedTurn, Refusal, Reply, RevertPoint, RevertThread, RevertTo, Seq, Status,
    StatusReason, Thread, ThreadFact, ThreadId, TurnSelection,
};

use super::jobs::WITH_CONVERSATION;
use super::state::{Folding, created};
use super::{Outcome, Replied, RoundOutcome, Session, storage};
use crate::codec;
use crate::limits::{EVENTS_PER_READ_MAX, HIDDEN_SPANS_MAX, TURNS_PER_REVERT_MAX};

impl Session {
    /// Answers a revert. An error is the store's, and ends the session as every such error does.
    pub(super) async fn open_revert(
        &mut self,
        revert: RevertThread,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<RoundOutcome>, Refusal> {
        // What is read below is on the disk then.
        if let Err(refusal) = self.write_out().await {
            let _ = reply.send(Err(refusal.clone()));
            return Err(refusal);
        }
        let as_of = self.recorder.last();
        match self.revert(&revert.to).await {
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
            }
            Ok(()) => {
                let answer = Reply::Thread(Box::new(self.shown_thread()));
                self.recorder.reply_after_commit(as_of, move |committed| {
                    let _ = reply.send(committed.map(|()| Replied::new(as_of, answer)));
                });
            }
        }
        Ok(None)
    }

    async fn revert(&mut self, to: &RevertTo) -> Result<(), Refusal> {
        if self.state.turn.is_some() || self.checkpoints.restoring() {
            return Err(Refusal::busy());
        }
        if self.resting.stopping.is_some() {
            return Err(Refusal::shutting_down());
        }
        if self.state.hidden.len() >= HIDDEN_SPANS_MAX {
            let message = format!("turns were taken back in {HIDDEN_SPANS_MAX} places already");
            return Err(Refusal::invalid("turn", message));
        }
        let from = self.state.history_from;
        let turn = first_hidden(&self.store, self.card.id, from, to).await?;
        let point = point_before(&self.store, self.card.id, &turn).await?;
        self.record(Fact::Thread(ThreadFact::Reverted {
            point: Box::new(point),
        }))?;
        self.forget_conversation();
        if *self.status.borrow() == Status::Error {
            self.tell_status(Status::Ready, StatusReason::Woken)?;
        }
        Ok(())
    }

    /// What was kept in memory of the conversation may be of turns that are no more.
    fn forget_conversation(&mut self) {
        self.supplies.jobs.end_soon(WITH_CONVERSATION);
        *self.supplies.memory.lock() = None;
        self.supplies.checks = Arc::default();
        self.supplies.sub_agents = Arc::default();
        self.supplies.seen = self.shared.seen.anew(self.card.id);
    }
}

/// The first turn that goes; only those that are still shown can.
pub(crate) async fn first_hidden(
    store: &SharedStore,
    thread: ThreadId,
    history_from: u64,
    to: &RevertTo,
) -> Result<IndexedTurn, Refusal> {
    let (selection, limit) = match to {
        RevertTo::Before(turn) => (TurnSelection::One(turn.clone()), 1),
        RevertTo::Newest(count) => {
            let count = (*count).clamp(1, TURNS_PER_REVERT_MAX);
            (TurnSelection::Newest, count)
        }
    };
    let turns = store.turns(thread, history_from, &selection, limit).await;
    // Newest first: of more turns than there are, all go.
    let last = turns.map_err(storage)?.pop();
    last.ok_or_else(|| {
        let message = match to {
            RevertTo::Before(turn) => format!("this thread has no turn {turn}"),
            RevertTo::Newest(_) => "this thread has no turn to take back".to_owned(),
        };
        Refusal::invalid("turn", message)
    })
}

/// How the thread stood before this turn: the fold of the log up to there.
async fn point_before(
    store: &SharedStore,
    thread: ThreadId,
    turn: &IndexedTurn,
) -> Result<RevertPoint, Refusal> {
    let (first, thread_then) = born(store, thread).await?;
    let mut folding = Folding::of(thread_then);
    let upto = Seq(turn.first_seq.0.saturating_sub(1));
    fold_on(store, thread, first, upto, &mut folding).await?;
    Ok(folding.end().state.point_before(turn))
}

/// What a thread was created as, and where its log says so.
pub(crate) async fn born(store: &SharedStore, thread: ThreadId) -> Result<(Seq, Thread), Refusal> {
    let first = store.events(thread, Seq::ZERO, 1).await.map_err(storage)?;
    let Some(first) = first.first() else {
        return Err(Refusal::unknown_thread(thread));
    };
    Ok((first.seq, created(first)?))
}

/// Folds a part of a log, page by page: what stands behind `after`, up to `upto`.
pub(crate) async fn fold_on(
    store: &SharedStore,
    thread: ThreadId,
    mut after: Seq,
    upto: Seq,
    folding: &mut Folding,
) -> Result<(), Refusal> {
    loop {
        let page = store.events(thread, after, EVENTS_PER_READ_MAX).await;
        let page = page.map_err(storage)?;
        for stored in page.iter().take_while(|stored| stored.seq <= upto) {
            folding.add(&codec::decode(stored)?);
        }
        let full = page.len() as u32 == EVENTS_PER_READ_MAX;
        match page.last().filter(|last| full && last.seq < upto) {
            Some(last) => after = last.seq,
            None => return Ok(()),
        }
    }
}
