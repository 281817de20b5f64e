//! A session and its turn: starting it, following it, ending it in every way it can end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use snapshots::TurnWrites;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;
use tracing::Instrument as _;
use vocabulary::{
    Caller, Cause, Closing, Fact, Permission, Person, Refusal, Status, StatusReason, StreamTag,
    ThreadSettings, ToolFact, ToolOutcome, ToolOutput, TurnError, TurnErrorKind, TurnFact, TurnId,
    TurnOutcome,
};

use super::Session;
use super::state::CallState;
use crate::agents::model::sub::KeptSubAgents;
use crate::agents::model::{CompactionAgent, ReviewAgent, context};
use crate::agents::{Abilities, Agent, AgentMemory};
use crate::limits::{CANCEL_GRACE, TURN_FACTS_MAX};
use crate::telemetry;
use crate::traces::TurnTrace;
use crate::turn::checks::{StepEdits, ThreadChecks};
use crate::turn::meter::Meter;
use crate::turn::servers::{ToldServerNotes, TurnTools};
use crate::turn::user_commands::{UserCommandAgent, UserCommands};
use crate::turn::{FromTurn, History, Permits, Steers, Turn, TurnStart};

/// How long an abandoned turn may take to let go of its processes.
const ABANDON_GRACE: Duration = Duration::from_secs(2);

/// A turn as its session holds it.
pub struct TurnHandle {
    pub cancel: CancellationToken,
    pub facts: mpsc::Receiver<FromTurn>,
    pub task: JoinHandle<()>,
    /// When it is ended by force.
    pub force_at: Option<Instant>,
    /// Whether a person cancelled it.
    pub cancelled: bool,
    pub cancelled_by: Option<Arc<Person>>,
    /// Who started it, where that can end: not for our own user.
    pub started_by: Option<Box<Caller>>,
    /// What was said to it and it has not heard yet.
    pub steers: Arc<Steers>,
    pub abilities: Abilities,
    pub meter: Arc<Meter>,
    pub writes: Arc<TurnWrites>,
    pub trace: Option<Arc<TurnTrace>>,
    /// Only to have more run in it: its task alone keeps it.
    pub running: Weak<Turn>,
    pub user_commands: Arc<UserCommands>,
}

/// What a session has for its turns, one after the other.
pub struct TurnSupplies {
    pub permits: watch::Sender<Permits>,
    /// The files that were read.
    pub seen: Arc<tools::SeenFiles>,
    /// What runs in the background.
    pub jobs: Arc<tools::Jobs>,
    /// How checks ended.
    pub checks: Arc<ThreadChecks>,
    pub memory: AgentMemory,
    /// Sub-agents that can go on.
    pub sub_agents: Arc<KeptSubAgents>,
    pub tools: Arc<Toolbox>,
    /// What people were told of MCP servers.
    pub told_servers: ToldServerNotes,
}

impl TurnSupplies {
    pub fn new(settings: ThreadSettings, tools: Arc<Toolbox>, seen: Arc<tools::SeenFiles>) -> Self {
        Self {
            permits: watch::Sender::new(Permits { settings }),
            seen,
            jobs: Arc::default(),
            checks: Arc::default(),
            memory: Arc::default(),
            sub_agents: Arc::default(),
            tools,
            told_servers: Arc::default(),
        }
    }
}

impl TurnHandle {
    /// Lets the turn go without recording anything more of it; its processes end with it.
    pub async fn abandon(self) {
        self.cancel.cancel();
        drop(self.facts);
        let mut task = self.task;
        if tokio::time::timeout(ABANDON_GRACE, &mut task)
            .await
            .is_err()
        {
            task.abort();
        }
    }
}

impl Session {
    /// Sets the turn that the state names running.
    pub(super) fn run_turn(&mut self, turn: TurnId, start: TurnStart) {
        let (to_session, facts) = mpsc::channel(TURN_FACTS_MAX);
        let cancel = CancellationToken::new();
        let running = self.state.turn.as_ref();
        let settings = &self.state.thread.settings;
        let agent = self
            .shared
            .agents
            .of(&self.shared.own(&self.card.tenant), settings);
        let own_abilities = agent.abilities();
        self.asking.turn_runs(&self.recorder.outbox);
        let cause = running.map(|turn| turn.cause).unwrap_or_default();
        let agent: Arc<dyn Agent> = match (&start, cause) {
            (TurnStart::UserCommand(_), _) => Arc::new(UserCommandAgent),
            (_, Cause::Compaction) => Arc::new(CompactionAgent),
            (_, Cause::Review) => {
                let hint = running.map(|turn| context::review_hint(&turn.input).to_owned());
                let hint = hint.unwrap_or_default();
                Arc::new(ReviewAgent { hint })
            }
            // Something was said while a command ran: the thread's own agent answers.
            (_, Cause::UserMessage | Cause::SlashCommand | Cause::Shell) => agent,
        };
        let abilities = match &start {
            // Whoever hears it is the thread's own agent, when the command is over.
            TurnStart::UserCommand(_) => own_abilities,
            TurnStart::Fresh | TurnStart::PickUp { .. } => agent.abilities(),
        };
        let model = match running.and_then(|turn| turn.model.as_ref()) {
            Some(model) => Arc::clone(model),
            None => Arc::new(settings.model.clone()),
        };
        let spent = running.and_then(|turn| turn.usage).unwrap_or_default();
        let steers = Arc::new(Steers::after(running.map_or(0, |turn| turn.step)));
        let meter = Arc::new(Meter::new(self.state.usage, spent));
        // A turn that runs on has changed files already.
        let writes = match &self.turn {
            Some(turn) => Arc::clone(&turn.writes),
            None => self.checkpoints.writes(),
        };
        let trace = self.trace();
        let user_commands: Arc<UserCommands> = Arc::default();
        let before = self.turn.as_mut();
        let started_by = before.and_then(|turn| turn.started_by.take());
        let running = self.state.turn.as_ref();
        let turn = Arc::new(Turn {
            shared: Arc::clone(&self.shared),
            card: Arc::clone(&self.card),
            id: turn,
            agent,
            model,
            tools: TurnTools::new(Arc::clone(&self.supplies.tools)),
            told_servers: Arc::clone(&self.supplies.told_servers),
            reviews: cause == Cause::Review,
            can_ask: self.reaches_somebody(),
            input: running
                .map(|turn| turn.input.text.clone())
                .unwrap_or_default(),
            history: History {
                from_ordinal: self
                    .state
                    .compacted
                    .unwrap_or_default()
                    .max(self.state.history_from),
                message_count: self.state.thread.message_count,
                context_tokens: self.state.context_tokens,
            },
            plan: self.state.plan.clone(),
            meter: Arc::clone(&meter),
            steers: Arc::clone(&steers),
            memory: Arc::clone(&self.supplies.memory),
            sub_agents: Arc::clone(&self.supplies.sub_agents),
            sub_agent_tools: Default::default(),
            unheard: Default::default(),
            seen: Arc::clone(&self.supplies.seen),
            jobs: Arc::clone(&self.supplies.jobs),
            writes: Arc::clone(&writes),
            edits: StepEdits::default(),
            checks: Arc::clone(&self.supplies.checks),
            user_commands: Arc::clone(&user_commands),
            permits: self.supplies.permits.subscribe(),
            asks_in_turn: tokio::sync::Mutex::new(()),
            cancel: cancel.clone(),
            trace: trace.clone(),
            to_session: to_session.clone(),
        });
        let span = telemetry::turn_span(self.card.id, &turn.id);
        let running = Arc::downgrade(&turn);
        let beside = Arc::clone(&user_commands);
        let work = async move {
            let kept = Arc::clone(&turn);
            let end = Arc::clone(&turn.agent).run(turn, start).await;
            // What the user runs beside it is told in it.
            beside.close().await;
            drop(kept);
            // A session that is gone needs no goodbye.
            let _ = to_session.send(FromTurn::Ended(end)).await;
        };
        let task = tokio::spawn(work.instrument(span));
        self.asking.early.clear();
        self.shrink_between_turns();
        self.writing.drafted_at = Instant::now();
        self.turn = Some(TurnHandle {
            cancel,
            facts,
            task,
            // A turn that goes on while the server stops must still end in time.
            force_at: self
                .resting
                .stopping
                .as_ref()
                .map(|stopping| stopping.deadline),
            cancelled: false,
            cancelled_by: None,
            started_by,
            steers,
            abilities,
            meter,
            writes,
            trace,
            running,
            user_commands,
        });
    }

    /// The trace of the turn that the state names, if there is one.
    fn trace(&self) -> Option<Arc<TurnTrace>> {
        if let Some(turn) = &self.turn {
            return turn.trace.clone();
        }
        let running = self.state.turn.as_ref()?;
        let by = self.acting.as_deref();
        if let Some(exporter) = self.shared.traces.exporter() {
            // Keys are saved and renewed while the server runs.
            let own = self.shared.own(&self.card.tenant);
            exporter.hide(own.models.saved_secrets());
        }
        self.shared.traces.of_turn(&self.state.thread, running, by)
    }

    /// Whether something was said to the turn after it had last listened.
    pub(super) fn has_more_to_hear(&self) -> bool {
        let turn = self.turn.as_ref();
        turn.is_some_and(|turn| !turn.cancelled && turn.steers.len() > 0)
    }

    /// Sets a turn running again that had thought it was done.
    pub(super) fn run_on(&mut self) {
        let Some(running) = &self.state.turn else {
            return;
        };
        let (turn, step) = (running.turn.clone(), running.step);
        let calls = Vec::new();
        self.run_turn(turn, TurnStart::PickUp { step, calls });
    }

    /// Cancels the running turn; it winds up by itself, or is ended by force.
    pub(super) fn cancel_turn(&mut self) -> Result<(), Refusal> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        turn.cancelled = true;
        turn.cancelled_by = self.acting.clone();
        turn.cancel.cancel();
        turn.force_at
            .get_or_insert_with(|| Instant::now() + CANCEL_GRACE);
        self.close_all_asks(Closing::Cancelled)
    }

    /// The turn that was just started is this caller's, for as long as they may run it.
    pub(super) fn started_by(&mut self, caller: &Caller) {
        if let (Some(turn), Some(_)) = (&mut self.turn, &caller.credential) {
            turn.started_by = Some(Box::new(caller.clone()));
        }
    }

    /// Cancels the turn if who started it is nobody any more, or may not write any more.
    pub(super) fn cancel_turn_of_nobody(
        &mut self,
        people: &identity::People,
    ) -> Result<(), Refusal> {
        let turn = self.turn.as_ref();
        let Some(starter) = turn.and_then(|turn| turn.started_by.as_deref()) else {
            return Ok(());
        };
        let now = people.renew(starter, self.shared.now());
        if now.is_some_and(|now| now.role.may(Permission::SessionWrite)) {
            return Ok(());
        }
        tracing::info!(thread = %self.card.id, "cancelled a turn whose starter may not run it any more");
        self.cancel_turn()
    }

    /// Records the end of a turn that wound up by itself.
    pub(super) fn finish_turn(&mut self, outcome: TurnOutcome) -> Result<(), Refusal> {
        let Some(running) = &self.state.turn else {
            return Ok(());
        };
        let (now, text) = (self.shared.now(), self.live.text());
        telemetry::turn_ended(self.card.id, running, &outcome, now);
        self.shared.metrics.turn_ended(&outcome);
        if let Some(trace) = self.trace() {
            trace.ended(now, running, &text, &outcome);
        }
        let turn = running.turn.clone();
        let fact = Fact::Turn(TurnFact::Finished {
            turn: turn.clone(),
            outcome: outcome.clone(),
            text,
            reasoning: self.live.reasoning(),
            usage: running.usage,
            model: running.model.clone(),
            started_at: Some(running.started_at),
        });
        self.close_all_asks(Closing::Cancelled)?;
        self.forget_turn_grants(turn);
        self.place_steers(u32::MAX)?;
        let by = self
            .turn
            .as_ref()
            .and_then(|turn| turn.cancelled_by.clone());
        self.record_by(by, fact)?;
        let reason = match &outcome {
            TurnOutcome::Completed => StatusReason::TurnComplete,
            TurnOutcome::Cancelled => StatusReason::UserStopped,
            TurnOutcome::Failed(error) if error.kind == TurnErrorKind::ServerRestart => {
                StatusReason::ServerRestart
            }
            TurnOutcome::Failed(error) if error.kind == TurnErrorKind::AgentLost => {
                StatusReason::AgentLost
            }
            TurnOutcome::Failed(_) => StatusReason::TurnFailed,
        };
        self.tell_status(self.state.thread.status, reason)?;
        let writes = self.turn.take().map(|turn| turn.writes);
        self.live = Default::default();
        self.asking.early.clear();
        self.resting.idle_since = Instant::now();
        self.checkpoints.turn_over(writes);
        Ok(())
    }

    /// Ends the turn in its stead: finishes what it was writing, ends its calls, records its end.
    pub(super) fn end_turn_here(&mut self, outcome: TurnOutcome, why: &str) -> Result<(), Refusal> {
        let lost = Closing::Lost {
            why: why.to_owned(),
        };
        self.close_all_asks(if outcome == TurnOutcome::Cancelled {
            Closing::Cancelled
        } else {
            lost
        })?;
        self.end_what_is_open(why)?;
        if let Some(turn) = &mut self.turn {
            turn.cancel.cancel();
            turn.task.abort();
        }
        self.finish_turn(outcome)
    }

    /// Whatever a turn has left open is ended with it: a call without a result can be shown to no
    /// model.
    pub(super) fn end_what_is_open(&mut self, why: &str) -> Result<(), Refusal> {
        for fact in self.live.cut_short() {
            self.record(fact)?;
        }
        for fact in self.unfinished_calls(why, |_| true) {
            self.record(fact)?;
        }
        Ok(())
    }

    /// Ends for calls that will never end by themselves.
    pub(super) fn unfinished_calls(
        &self,
        why: &str,
        which: impl Fn(&CallState) -> bool,
    ) -> Vec<Fact> {
        let Some(turn) = &self.state.turn else {
            return Vec::new();
        };
        let open = turn
            .calls
            .iter()
            .filter(|call| !call.finished && which(call));
        open.map(|known| {
            let tag = StreamTag {
                turn: turn.turn.clone(),
                model: turn.model.clone(),
                step: known.step,
                part: 0,
            };
            let outcome = interrupted(known, why);
            let call = self.live.call(&known.call);
            let duration_ms = None;
            let what = ToolFact::Finished {
                outcome,
                duration_ms,
            };
            Fact::tool(tag, call, what)
        })
        .collect()
    }

    /// Ends a turn whose grace is over.
    pub(super) fn force_overdue_turn(&mut self, now: Instant) -> Result<(), Refusal> {
        let Some(turn) = &self.turn else {
            return Ok(());
        };
        if turn.force_at.is_none_or(|at| now < at) {
            return Ok(());
        }
        if turn.cancelled {
            return self.end_turn_here(TurnOutcome::Cancelled, "the turn was cancelled");
        }
        // A turn that waits survives the stop; it is picked up when the thread wakes again.
        if self.state.thread.status == Status::Waiting {
            return Ok(());
        }
        let message = "the server stopped while this turn was running".to_owned();
        let error = TurnError {
            kind: TurnErrorKind::ServerRestart,
            message,
        };
        self.end_turn_here(TurnOutcome::Failed(error), "the server stopped")
    }

    /// What the turn may do follows every change of settings.
    pub(super) fn permit(&self) {
        self.supplies.permits.send_replace(Permits {
            settings: self.state.thread.settings.clone(),
        });
    }
}

fn interrupted(call: &CallState, why: &str) -> ToolOutcome {
    match (call.started, call.call.is_command()) {
        (false, _) => ToolOutcome::NotRun {
            why: format!("not run: {why}"),
        },
        (true, true) => ToolOutcome::Interrupted(ToolOutput::Command {
            stdout: String::new(),
            stderr: format!("Command aborted: {why}."),
            exit_code: 130,
            duration_ms: 0,
            model_text: Some(format!("Command aborted: {why}.")),
        }),
        (true, false) => ToolOutcome::Interrupted(ToolOutput::Text(format!("interrupted: {why}"))),
    }
}
