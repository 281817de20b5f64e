//! The built-in agent: ask the model, make its calls, ask again, until it has nothing more to do.

use std::sync::Arc;

use async_trait::async_trait;
use providers::{ErrorKind, Message, ModelRequest, Provider, ProviderError};
use tools::{Failure, SpawnRequest, Surroundings};
use tracing::Instrument as _;
use vocabulary::{
    Budgets, Fact, ItemId, ModelRef, NoteFact, StepFact, StopReason, StreamTag, ToolCall,
    TurnError, TurnErrorKind,
};

use super::{Abilities, Agent};
use crate::credits::StepCredit;
use crate::telemetry;
use crate::turn::{DueCall, SessionGone, SteerInput, Turn, TurnEnd, TurnStart, checks, meter};

pub mod answer;
mod background;
pub mod briefing;
pub mod calls;
pub mod compaction;
mod concurrency;
pub mod context;
mod endings;
mod meanwhile;
mod on_request;
mod opening;
mod permissions;
mod pruning;
mod repetition;
pub mod sub;
mod wrap_up;

use answer::{Answered, Broken, Speaker};
use compaction::{ContextFill, Summarised, SummaryReason};
use context::LastEnding;
use endings::{AnswerEndings, FollowUp};
pub use on_request::{CompactionAgent, NOTHING_SAID, ReviewAgent};
use opening::Offered;
pub use repetition::CallCounts;
use repetition::RecentCalls;
use wrap_up::WrapUp;

/// Drives turns with whatever provider the thread's model belongs to.
pub struct ModelAgent;

#[async_trait]
impl Agent for ModelAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            uses_model: true,
            hears_steers: true,
            picks_up: true,
            reads_log: true,
        }
    }

    async fn run(&self, turn: Arc<Turn>, start: TurnStart) -> TurnEnd {
        match drive(&turn, start).await {
            Ok(end) => end,
            // Nobody is left to tell; the session has ended this turn already.
            Err(SessionGone) => TurnEnd::Cancelled,
        }
    }

    async fn spawn(
        &self,
        turn: &Arc<Turn>,
        tag: &StreamTag,
        call: &Arc<ToolCall>,
        request: SpawnRequest,
    ) -> Result<String, Failure> {
        sub::run(turn, tag, call, request).await
    }
}

async fn drive(turn: &Arc<Turn>, start: TurnStart) -> Result<TurnEnd, SessionGone> {
    let (mut talk, loaded) = match opening::open(turn, &start).await? {
        Ok(opened) => opened,
        Err(end) => return Ok(end),
    };
    if start.is_first() {
        talk.prune(&loaded).await?;
        talk.brief().await?;
    }
    match start {
        TurnStart::Fresh | TurnStart::UserCommand(_) => {}
        TurnStart::PickUp { step, calls } => {
            talk.step = step;
            if !talk.make(&calls).await? {
                return Ok(TurnEnd::Cancelled);
            }
        }
    }
    talk.messages
        .extend(loaded.held.into_iter().map(Message::User).map(Arc::new));
    let end = talk.go_on().await;
    telemetry::turn_worked(
        talk.recent.counts(),
        talk.endings.bad(),
        talk.fill.summaries(),
    );
    end
}

/// A turn's conversation with its model.
struct Talk<'a> {
    turn: &'a Arc<Turn>,
    provider: Arc<dyn Provider>,
    surroundings: Surroundings,
    offered: Offered,
    messages: Vec<Arc<Message>>,
    fill: ContextFill,
    /// Said to this turn and read from the log already.
    heard: Vec<ItemId>,
    /// How the turn before this one ended.
    before: LastEnding,
    step: u32,
    endings: AnswerEndings,
    recent: RecentCalls,
    /// The turn is wrapped up: the model may only say something.
    no_calls: bool,
}

enum StepOutcome {
    Answered { next: FollowUp, calls: Vec<DueCall> },
    Ended(TurnEnd),
}

impl Talk<'_> {
    async fn go_on(&mut self) -> Result<TurnEnd, SessionGone> {
        loop {
            let steps_max = self.turn.permits.borrow().settings.max_steps;
            if self.step >= steps_max {
                return self.wrap_up(WrapUp::StepLimit(steps_max)).await;
            }
            if let Some(why) = exhausted(self.turn, &self.turn.model) {
                return Ok(failed(TurnErrorKind::Budget, why));
            }
            self.tell_of_jobs().await?;
            self.tell_of_servers().await?;
            self.step += 1;
            self.hear_steers();
            let span = telemetry::step_span(self.step);
            let (next, calls) = match self.take_step().instrument(span).await? {
                StepOutcome::Answered { next, calls } => (next, calls),
                StepOutcome::Ended(end) => return Ok(end),
            };
            if !self.make(&calls).await? {
                return Ok(TurnEnd::Cancelled);
            }
            match next {
                FollowUp::MakeCalls if self.recent.go_in_circles() => {
                    return self.wrap_up(WrapUp::Loop).await;
                }
                FollowUp::Rest if self.turn.steers.len() == 0 => return Ok(TurnEnd::Completed),
                FollowUp::MakeCalls | FollowUp::Rest | FollowUp::AskAgain(None) => {}
                FollowUp::Continue(note) | FollowUp::AskAgain(Some(note)) => {
                    self.inform(note).await?;
                }
                FollowUp::GiveUp(error) => return Ok(TurnEnd::Failed(error)),
            }
        }
    }

    /// Whether the turn goes on.
    async fn make(&mut self, calls: &[DueCall]) -> Result<bool, SessionGone> {
        let sees = context::sees(self.turn);
        let messages = &mut self.messages;
        let making = calls::make(self.turn, messages, &mut self.recent, calls, sees);
        let Some(notes) = making.await? else {
            return Ok(false);
        };
        let checked = checks::after_step(self.turn, self.step).await?;
        for note in notes.into_iter().chain(checked) {
            self.inform(note).await?;
        }
        let below = briefing::below(self.turn, &self.surroundings, &self.messages, calls).await;
        if let Some(text) = below {
            self.inform(text).await?;
        }
        Ok(!self.turn.cancel.is_cancelled())
    }

    /// Tells the model where it works, or what changed there since it was told.
    async fn brief(&mut self) -> Result<(), SessionGone> {
        let news = meanwhile::news(self.turn, &self.before).await;
        let due = briefing::due(self.turn, &self.surroundings, &self.messages, news).await;
        match due {
            Some(text) => self.inform(text).await,
            None => Ok(()),
        }
    }

    /// Tells the model what nobody said: after the results of the step that was taken last or, before
    /// the first one, before what the user said to start the turn.
    async fn inform(&mut self, text: String) -> Result<(), SessionGone> {
        context::inform(&mut self.messages, self.step, text.clone());
        self.turn
            .tell(Fact::Step {
                tag: self.turn.tag(self.step),
                what: StepFact::Informed { text },
            })
            .await
    }

    fn request(&mut self) -> ModelRequest {
        let turn = self.turn;
        let is_other = self.offered.mode != turn.permits.borrow().settings.mode;
        if is_other || self.offered.tools_version != turn.tools_version() {
            self.offered = Offered::of(turn, &self.surroundings);
        }
        ModelRequest {
            model: turn.model.model.clone(),
            system: self.offered.system.clone(),
            messages: self.messages.clone(),
            tools: Arc::clone(&self.offered.tools),
            no_calls: self.no_calls,
            cache_key: Some(turn.card.id.to_string()),
            ..turn.shared.answer_wishes(&turn.permits.borrow().settings)
        }
    }

    /// What the user said since the last step is heard now.
    fn hear_steers(&mut self) {
        let sees = context::sees(self.turn);
        let mut steers = self.turn.steers.take(self.step);
        steers.retain(|input| !self.heard.contains(input.item()));
        for input in steers {
            let message = match input {
                SteerInput::Said(input) => Message::User(context::user_message(input, sees)),
                SteerInput::Done { note, .. } => Message::note(note),
            };
            self.messages.push(Arc::new(message));
        }
    }

    /// One model request, from `StepStarted` to `StepFinished` or `StepFailed`.
    async fn take_step(&mut self) -> Result<StepOutcome, SessionGone> {
        let tag = self.turn.tag(self.step);
        let request = self.request();
        if self
            .fill
            .is_due(&request, self.turn.compact_at(&self.turn.model))
            && let Some(end) = self.compact(None).await?
        {
            return Ok(StepOutcome::Ended(end));
        }
        if let Some(end) = self.cover().await? {
            return Ok(StepOutcome::Ended(end));
        }
        self.turn
            .tell(Fact::Step {
                tag: tag.clone(),
                what: StepFact::Started,
            })
            .await?;
        loop {
            let request = self.request();
            let provider = self.provider.as_ref();
            let asked = answer::ask(self.turn, provider, &tag, Speaker::Agent, request).await;
            let broken = match asked {
                Ok(answered) => return self.finish_step(answered).await,
                Err(broken) => broken,
            };
            let (reason, error, end) = match broken {
                Broken::Gone => return Err(SessionGone),
                Broken::Cancelled => (
                    StopReason::Aborted,
                    "cancelled".to_owned(),
                    TurnEnd::Cancelled,
                ),
                Broken::Provider(error) if error.kind == ErrorKind::ContextTooLong => {
                    let end = match self.compact(Some(error)).await? {
                        None => self.cover().await?,
                        end => end,
                    };
                    match end {
                        None => continue,
                        Some(end) => (stop_reason(&end), TOO_LONG.to_owned(), end),
                    }
                }
                Broken::Provider(error) => (
                    StopReason::Error,
                    error.message.clone(),
                    failed(TurnErrorKind::Provider, error.message),
                ),
            };
            self.turn
                .tell(Fact::Step {
                    tag,
                    what: StepFact::Failed { reason, error },
                })
                .await?;
            return Ok(StepOutcome::Ended(end));
        }
    }

    /// Gives the turn's end where the tenant's balance does not cover the next request.
    async fn cover(&mut self) -> Result<Option<TurnEnd>, SessionGone> {
        let turn = self.turn;
        if turn.shared.balances.has_none(&turn.card.tenant) {
            return Ok(None);
        }
        let request = self.request();
        let covered = StepCredit::Agent.cover(turn, &turn.model, &request).await?;
        Ok(covered.map(TurnEnd::Failed))
    }

    async fn finish_step(&mut self, answered: Answered) -> Result<StepOutcome, SessionGone> {
        let next = self.endings.follow_up(&answered);
        let turn = self.turn;
        let usage = meter::priced(&turn.own().models, &turn.model, answered.usage);
        let thread_usage = turn.meter.add(usage);
        turn.tell(Fact::Step {
            tag: turn.tag(self.step),
            what: StepFact::Finished {
                reason: answered.reason,
                usage,
                context_limit: turn.context_limit(),
                thread_usage,
            },
        })
        .await?;
        if endings::says_something(&answered.blocks) {
            let answer = Message::Assistant(answered.blocks);
            self.messages.push(Arc::new(answer));
        }
        self.fill
            .answered(self.messages.len(), usage.total_tokens());
        let calls = answered.calls;
        Ok(StepOutcome::Answered { next, calls })
    }

    /// Summarises the conversation. `because`: the model refused it as too long; otherwise a
    /// failure is only told, and the turn goes on as it is. Gives the turn's end where it must end.
    async fn compact(
        &mut self,
        because: Option<ProviderError>,
    ) -> Result<Option<TurnEnd>, SessionGone> {
        let turn = self.turn;
        let request = self.request();
        let provider = self.provider.as_ref();
        let refused = because.is_some();
        let credit = &mut StepCredit::Agent;
        compaction::tell_start(turn, turn.tag(self.step)).await?;
        match compaction::summarise(turn, provider, &turn.model, &request, refused, credit).await? {
            Summarised::Text(summary) => self.go_on_from(&summary, &request).await,
            Summarised::Cancelled => Ok(Some(TurnEnd::Cancelled)),
            Summarised::NotCovered(error) => Ok(Some(TurnEnd::Failed(error))),
            Summarised::Failed(error) => {
                self.fill.could_not_be_summarised();
                let Some(because) = because else {
                    let line = format!("[compaction] no summary was made: {error}");
                    turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
                    return Ok(None);
                };
                let message = format!("{because}; summarising it failed too: {error}");
                Ok(Some(failed(TurnErrorKind::Provider, message)))
            }
        }
    }

    /// A summary stands for the conversation that this request has from now on.
    async fn go_on_from(
        &mut self,
        summary: &str,
        request: &ModelRequest,
    ) -> Result<Option<TurnEnd>, SessionGone> {
        let replaced = self.replace(summary, request, SummaryReason::TooLong);
        if let Some(end) = replaced.await? {
            return Ok(Some(end));
        }
        let after = compaction::estimate(&self.request());
        let helps = self.fill.summarised(compaction::estimate(request), after);
        Ok((!helps).then(|| {
            failed(
                TurnErrorKind::ContextFull,
                compaction::DOES_NOT_FIT.to_owned(),
            )
        }))
    }
}

impl Talk<'_> {
    /// Puts a summary in the place of the conversation; gives the turn's end where that failed.
    async fn replace(
        &mut self,
        summary: &str,
        request: &ModelRequest,
        reason: SummaryReason,
    ) -> Result<Option<TurnEnd>, SessionGone> {
        let tokens = self.fill.tokens(request);
        let tag = self.turn.tag(self.step);
        let around = briefing::whole(self.turn, &self.surroundings).await;
        let around = around.unwrap_or_default();
        let replaced = compaction::replace(self.turn, tag, around, (summary, reason), tokens);
        Ok(match replaced.await? {
            Ok(messages) => {
                self.messages = messages;
                None
            }
            Err(refusal) => Some(failed(TurnErrorKind::Internal, refusal.message)),
        })
    }
}

const TOO_LONG: &str = "the conversation is too long for the model";

/// Why nothing more may be spent on this model, if so.
pub fn exhausted(turn: &Turn, model: &ModelRef) -> Option<String> {
    let budgets = budgets(turn);
    meter::unpriced(&turn.own().models, model, &budgets).or_else(|| turn.meter.exhausted(&budgets))
}

fn budgets(turn: &Turn) -> Budgets {
    let own = turn.permits.borrow().settings.budgets.clone();
    meter::effective(&own, &turn.own().budgets)
}

fn stop_reason(end: &TurnEnd) -> StopReason {
    match end {
        TurnEnd::Cancelled => StopReason::Aborted,
        TurnEnd::Completed | TurnEnd::Failed(_) => StopReason::Error,
    }
}

fn failed(kind: TurnErrorKind, message: String) -> TurnEnd {
    TurnEnd::Failed(TurnError { kind, message })
}
