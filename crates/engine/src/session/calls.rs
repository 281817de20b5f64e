//! The calls a session answers.

use std::sync::Arc;

use store::Receipt;
use tokio::sync::oneshot;
use vocabulary::{
    Audience, Call, Caller, Changes, Fact, Idempotency, NoteFact, Refusal, Reply, StartTurn,
    StartedTurn, Status, StatusReason, SteerTurn, SteeredTurn, ThreadFact, Title, TitleSource,
    TurnFact, TurnId, TurnOutcome, UserInput, Why,
};

use super::given::{
    changed_settings, check_ids, check_input, hash_of, own_name, receipts, title_of,
};
use super::jobs::{WITH_CONVERSATION, WITH_THREAD};
use super::orders;
use super::{Outcome, Replied, RoundOutcome, Session, storage};
use crate::Ended;
use crate::library::{offer, remains};
use crate::limits::STEERS_MAX;
use crate::titles;
use crate::turn::TurnStart;

impl Session {
    /// Answers one call: a refusal at once, a reply when its effects are on disk.
    pub(super) async fn open_call(
        &mut self,
        call: Call,
        caller: &Caller,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<RoundOutcome>, Refusal> {
        let as_of = self.recorder.last();
        let outcome = match call {
            Call::DeleteThread { .. } => return self.delete(reply).await,
            Call::Terminals { call, .. } => {
                self.terminals(call, reply);
                return Ok(None);
            }
            Call::RevertThread(revert) => return self.open_revert(revert, reply).await,
            Call::Checkpoints { call, .. } => return self.open_checkpoint_call(call, reply).await,
            Call::StartTurn(start) => self.start_turn(start, caller).await.map(Reply::Turn),
            Call::CompactThread { .. } => self.compact(caller).await.map(Reply::Turn),
            Call::RunShell(run) => self.run_shell(run, caller).await.map(Reply::Turn),
            Call::SteerTurn(steer) => self.steer(steer).await,
            Call::ChangeThread { changes, .. } => self.change(changes).await,
            Call::ResetThread { .. } => self.reset().await,
            Call::CancelTurn { turn, .. } => self.cancel(turn),
            Call::AnswerAsk { ask, answer, .. } => {
                let answered = self.answer_and_grant(ask, answer, caller).await;
                answered.map(|()| Reply::Done)
            }
            Call::UploadFile(upload) => self.upload(upload).await,
            Call::CloseThread { audience, .. } => self.close(audience),
            Call::GetThread { .. } => Ok(Reply::Thread(Box::new(self.shown_thread()))),
            Call::ListThreads(_)
            | Call::CreateThread(_)
            | Call::ForkThread(_)
            | Call::FindThread { .. }
            | Call::ReadThread { .. }
            | Call::ReadMessages { .. }
            | Call::ReadEvents { .. }
            | Call::ReadTurns { .. }
            | Call::ReadEventsBefore { .. }
            | Call::ListGrants { .. }
            | Call::RevokeGrant { .. }
            | Call::Library(_)
            | Call::Workspace { .. }
            | Call::Members(_)
            | Call::GetCatalog
            | Call::GetProviderStatus { .. }
            | Call::SignIn(_)
            | Call::ListTools { .. }
            | Call::Mcp { .. }
            | Call::Skills { .. }
            | Call::ListCommands { .. }
            | Call::KeepDefaults { .. }
            | Call::Files { .. }
            | Call::StartReview(_)
            | Call::Exec(_)
            | Call::Directories(_)
            | Call::FindFiles(_)
            | Call::Push(_)
            | Call::RunCommand(_) => Err(Refusal::new(
                Why::Internal,
                "this call is not for a session",
            )),
        };
        match outcome {
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
            }
            Ok(answer) => self.recorder.reply_after_commit(as_of, move |committed| {
                let _ = reply.send(committed.map(|()| Replied::new(as_of, answer)));
            }),
        }
        Ok(None)
    }

    /// From now on the thread is kept.
    pub(super) async fn keep(&mut self) -> Result<(), Refusal> {
        if self.recorder.kept {
            return Ok(());
        }
        let lease = self.store.acquire(self.card.id).await.map_err(storage)?;
        self.shared.follow_others();
        self.recorder.set_lease(lease);
        self.recorder.kept = true;
        Ok(())
    }

    pub(super) async fn start_turn(
        &mut self,
        start: StartTurn,
        caller: &Caller,
    ) -> Result<StartedTurn, Refusal> {
        self.check_order(start.cause)?;
        self.start_turn_with(start, TurnStart::Fresh, caller).await
    }

    pub(super) async fn start_turn_with(
        &mut self,
        start: StartTurn,
        with: TurnStart,
        caller: &Caller,
    ) -> Result<StartedTurn, Refusal> {
        check_input(&start.text, &start.images)?;
        let message_id = ("clientMessageId", &start.client_message_id);
        check_ids(&[message_id, ("clientTurnId", &start.client_turn_id)])?;
        if let Some(again) = self.answered_before(&start).await? {
            return Ok(again);
        }
        if self.state.turn.is_some() || self.checkpoints.restoring() {
            return Err(Refusal::busy());
        }
        if self.resting.stopping.is_some() {
            return Err(Refusal::shutting_down());
        }
        let turn = match &start.client_turn_id {
            Some(id) => TurnId::new(id.as_str()),
            None => TurnId::new(self.shared.new_id().to_string()),
        };
        // A command of the user's own costs nothing.
        let holder = match with {
            TurnStart::UserCommand(_) => None,
            TurnStart::Fresh | TurnStart::PickUp { .. } => {
                Some(self.reserve_first_step(&turn, &start).await?)
            }
        };
        let started = self.begin_turn(turn, start, with, caller).await;
        if let (true, Some(holder)) = (started.is_err(), &holder) {
            self.shared.free_reservation(holder).await;
        }
        started
    }

    async fn begin_turn(
        &mut self,
        turn: TurnId,
        start: StartTurn,
        with: TurnStart,
        caller: &Caller,
    ) -> Result<StartedTurn, Refusal> {
        if *start.changes != Changes::default() {
            self.change(*start.changes.clone()).await?;
        }
        self.keep().await?;
        let given = receipts(&start, &turn);
        let own = start.client_turn_id.is_none().then(|| own_name(&turn));
        for receipt in given.into_iter().chain(own) {
            self.recorder.receipt(receipt);
        }
        self.tell_status(Status::Running, StatusReason::TurnStarted)?;
        let is_said = start.cause.is_said();
        let title = titles::heuristic(start.display.as_deref().unwrap_or(&start.text));
        let settings = &self.state.thread.settings;
        let agent = self
            .shared
            .agents
            .of(&self.shared.own(&self.card.tenant), settings);
        self.record(Fact::Turn(TurnFact::Started {
            turn: turn.clone(),
            cause: start.cause,
            input: UserInput {
                item: vocabulary::ItemId::new(self.shared.new_id().to_string()),
                text: start.text,
                display: start.display,
                client_id: start.client_message_id,
                images: start.images,
                pieces: start.pieces,
            },
            model: (agent.abilities().uses_model && !matches!(with, TurnStart::UserCommand(_)))
                .then(|| Arc::new(settings.model.clone())),
        }))?;
        let title = title.filter(|_| is_said && !self.card.ephemeral);
        if let (TitleSource::Default, Some(text)) = (self.state.thread.title.source, title) {
            self.set_title(Title {
                text,
                source: TitleSource::Heuristic,
                model: None,
            })?;
        }
        self.permit();
        self.run_turn(turn.clone(), with);
        self.started_by(caller);
        if is_said {
            self.think_of_title();
        }
        let (again, joined) = (false, None);
        Ok(StartedTurn {
            turn,
            again,
            joined,
        })
    }

    /// Takes in what the user says to the running turn; it hears it at its next step.
    async fn steer(&mut self, steer: SteerTurn) -> Result<Reply, Refusal> {
        check_input(&steer.text, &steer.images)?;
        check_ids(&[("clientMessageId", &steer.client_message_id)])?;
        if let Some(again) = self.steered_before(&steer).await? {
            return Ok(again);
        }
        let running = self.state.turn.as_ref().map(|running| running.turn.clone());
        let Some((turn, handle)) = running.zip(self.turn.as_ref()) else {
            return Err(Refusal::new(Why::NoRunningTurn, "no turn is running"));
        };
        if handle.cancelled || steer.turn.is_some_and(|wanted| wanted != turn) {
            let message = "that turn is not running any more";
            return Err(Refusal::new(Why::NoRunningTurn, message));
        }
        let cause = self.state.turn.as_ref().map(|running| running.cause);
        if let Some(words) = cause.and_then(orders::deaf) {
            return Err(Refusal::new(Why::Busy, words));
        }
        if !handle.abilities.hears_steers {
            let message =
                "this thread's agent hears nothing while it runs; wait for its turn to end";
            return Err(Refusal::new(Why::Busy, message));
        }
        if handle.steers.len() >= STEERS_MAX {
            let message = format!("{STEERS_MAX} messages wait for this turn already");
            return Err(Refusal::new(Why::Busy, message));
        }
        let item = vocabulary::ItemId::new(self.shared.new_id().to_string());
        let input = UserInput {
            item: item.clone(),
            text: steer.text,
            display: None,
            client_id: steer.client_message_id,
            images: steer.images,
            pieces: steer.pieces,
        };
        if let Some(client_id) = input.client_id.clone() {
            self.recorder.receipt(Receipt {
                kind: STEERED.into(),
                client_id,
                hash: hash_of(&input.text, &input.images),
                answer: format!("{turn} {item}"),
            });
        }
        // Pushed first, to know which step will hear it; that step is told after this.
        let after_step = handle.steers.push(input.clone());
        self.record(Fact::Turn(TurnFact::Steered {
            turn: turn.clone(),
            input,
            after_step,
        }))?;
        Ok(Reply::Steered(SteeredTurn { turn, item }))
    }

    /// The answer a client had for the same message to a running turn.
    async fn steered_before(&mut self, steer: &SteerTurn) -> Result<Option<Reply>, Refusal> {
        let Some(id) = &steer.client_message_id else {
            return Ok(None);
        };
        match self.receipt_for(STEERED, id).await? {
            Some(known) if known.hash == hash_of(&steer.text, &steer.images) => {
                let (turn, item) = known.answer.split_once(' ').unwrap_or_default();
                Ok(Some(Reply::Steered(SteeredTurn {
                    turn: TurnId::new(turn),
                    item: vocabulary::ItemId::new(item),
                })))
            }
            Some(_) => Err(used_for_another(id)),
            None => Ok(None),
        }
    }

    /// The answer a client had for the same ids, if it has asked before.
    async fn answered_before(&mut self, start: &StartTurn) -> Result<Option<StartedTurn>, Refusal> {
        let again = |turn| StartedTurn {
            turn,
            again: true,
            joined: None,
        };
        if let Idempotency::Reconnect { joined_at } = start.idempotency {
            let last = self.state.last_message.as_ref();
            let turn = last.and_then(|last| last.again(start, joined_at, self.shared.now()));
            if turn.is_some() {
                return Ok(turn.map(again));
            }
        }
        for receipt in receipts(start, &TurnId::new("")) {
            let known = self.receipt_for(&receipt.kind, &receipt.client_id).await?;
            match known {
                Some(known) if known.hash == receipt.hash => {
                    return Ok(Some(again(TurnId::new(known.answer.as_str()))));
                }
                Some(_) => return Err(used_for_another(&receipt.client_id)),
                None => {}
            }
        }
        Ok(None)
    }

    /// What was accepted under this id, whether it is on disk or still on its way there.
    async fn receipt_for(
        &mut self,
        kind: &str,
        client_id: &str,
    ) -> Result<Option<Receipt>, Refusal> {
        if let Some(known) = self.recorder.receipt_under_way(kind, client_id) {
            return Ok(Some(known.clone()));
        }
        let kept = self.store.receipt(self.card.id, kind, client_id).await;
        kept.map_err(storage)
    }

    async fn change(&mut self, mut changes: Changes) -> Result<Reply, Refusal> {
        if let Some(assignment) = changes.assignment.take() {
            changes.assignment = Some(Box::new(assignment.set_at(self.shared.now())));
        }
        // A running turn keeps the agent, the model and the tools it started with.
        let fixed = changes.model.is_some() || changes.mcp.is_some() || changes.agent.is_some();
        if self.state.turn.is_some() && fixed {
            return Err(Refusal::busy());
        }
        let title = changes.title.as_deref().map(title_of).transpose()?;
        let own = self.shared.own(&self.card.tenant);
        self.shared.agents.check(&own, changes.agent.as_deref())?;
        let settings = changed_settings(&self.state.thread.settings, &changes)?;
        let obstacle = match &changes.model {
            Some(model) => offer::obstacle(&self.shared, &own, model).await?,
            None => None,
        };
        self.keep().await?;
        if let Some(title) = title {
            self.set_title(title)?;
        }
        if let Some(settings) = settings {
            let (changed, title) = (changes.settings_named(), self.state.thread.title.clone());
            self.record(Fact::Thread(ThreadFact::SettingsChanged {
                settings,
                changed,
                title,
            }))?;
            self.permit();
        }
        // It may be connected later, so it is set; but nobody should find out by a failing turn.
        if let Some(words) = obstacle {
            let line = format!("[warn] {words}");
            self.record(Fact::Note(NoteFact::Logged { line }))?;
        }
        if !changes.labels.is_empty() {
            let mut labels = self.state.thread.labels.clone();
            labels.append(&mut changes.labels);
            self.record(Fact::Thread(ThreadFact::Labelled { labels }))?;
        }
        if let Some(archived) = changes.archived {
            self.record(Fact::Thread(ThreadFact::Archived { archived }))?;
        }
        Ok(Reply::Thread(Box::new(self.shown_thread())))
    }

    pub(super) fn set_title(&mut self, title: Title) -> Result<(), Refusal> {
        let model = self.state.thread.settings.model.clone();
        self.record(Fact::Thread(ThreadFact::Titled { title, model }))
            .map(|_| ())
    }

    async fn reset(&mut self) -> Result<Reply, Refusal> {
        if self.state.turn.is_some() {
            return Err(Refusal::busy());
        }
        self.keep().await?;
        // The model knows nothing of them any more.
        self.supplies.jobs.end_soon(WITH_CONVERSATION);
        *self.supplies.memory.lock() = None;
        self.record(Fact::Thread(ThreadFact::Reset))?;
        Ok(Reply::Done)
    }

    fn cancel(&mut self, turn: Option<TurnId>) -> Result<Reply, Refusal> {
        let running = self.state.turn.as_ref().map(|running| &running.turn);
        match (turn, running) {
            (Some(wanted), Some(running)) if wanted != *running => Err(Refusal::new(
                Why::NoRunningTurn,
                format!("turn {wanted} is not running"),
            )),
            (Some(_), None) => Err(Refusal::new(Why::NoRunningTurn, "no turn is running")),
            (Some(_), Some(_)) | (None, _) => {
                let turn = running.cloned();
                self.cancel_turn().map(|()| Reply::Cancelled(turn))
            }
        }
    }

    fn close(&mut self, audience: Audience) -> Result<Reply, Refusal> {
        if self.recorder.outbox.others_than(audience) {
            return Ok(Reply::Done);
        }
        if self.recorder.outbox.listeners() <= 1 {
            self.cancel_turn()?;
            self.supplies.jobs.end_soon(WITH_THREAD);
        }
        self.resting.close_when_idle = true;
        self.record(Fact::Thread(ThreadFact::Closed))?;
        Ok(Reply::Done)
    }

    async fn delete(
        &mut self,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<RoundOutcome>, Refusal> {
        self.erase().await?;
        let as_of = self.recorder.last();
        let _ = reply.send(Ok(Replied::new(as_of, Reply::Done)));
        Ok(Some(RoundOutcome::End(Ended::Deleted)))
    }

    /// Forgets the thread, with all that was only its own.
    pub(super) async fn erase(&mut self) -> Result<(), Refusal> {
        self.asking.waiters.clear();
        if let Some(turn) = self.turn.take() {
            turn.abandon().await;
            self.end_turn_here(TurnOutcome::Cancelled, "the thread was deleted")?;
        }
        self.supplies.jobs.end(WITH_THREAD).await;
        // Whoever listens hears how the turn ended before they hear that the thread is gone. A disk that
        // has no room for that is no reason to keep the thread.
        if let Err(refusal) = self.write_out().await {
            tracing::warn!(thread = %self.card.id, error = %refusal, "deleted without its last events");
        }
        // One that was never kept is forgotten, too: its client may come back with its id.
        let lease = match self.recorder.lease() {
            Some(lease) => lease,
            None => self.store.acquire(self.card.id).await.map_err(storage)?,
        };
        self.store.delete(lease).await.map_err(storage)?;
        self.checkpoints.forget();
        let grants = &self.shared.grants;
        grants.thread_deleted(&self.card.tenant, self.card.id).await;
        remains::remove(&self.shared, &self.card).await;
        self.shared.thread_removed(&self.card);
        Ok(())
    }
}

/// The kind of receipt for what was said to a running turn.
const STEERED: &str = "steer";

fn used_for_another(id: &str) -> Refusal {
    Refusal::new(
        Why::Conflict,
        format!("{id:?} was used for another message; give each its own id"),
    )
}
