//! Sub-agents: an agent that works for one call of another. It has a conversation of its own, fewer
//! tools and its own limits; what it spends and what it asks are its turn's.

use std::sync::Arc;

use parking_lot::Mutex;
use providers::{ErrorKind, Message, ModelRequest, Provider};
use tools::{Failure, SpawnKind, SpawnRequest};
use vocabulary::{Fact, Purpose, StreamTag, SubAgent, ToolCall, ToolOutput, TurnFact};

use super::answer::{self, Broken, Speaker};
use super::compaction::{self, Summarised};
use super::endings::{self, AnswerEndings, FollowUp};
use super::repetition::RecentCalls;
use super::wrap_up::{NO_MORE_CALLS, WrapUp};
use super::{calls, context, exhausted};
use crate::credits::StepCredit;
use crate::limits::SUB_AGENT_DEPTH_MAX;
use crate::turn::meter::SubAgentShare;
use crate::turn::{DueCall, SessionGone, Turn, meter, offer, tooling};

mod conversation;
mod report;

pub use conversation::KeptSubAgents;
use conversation::SubConversation;

/// Runs a sub-agent to its end; gives what the model that called it reads.
pub async fn run(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    call: &Arc<ToolCall>,
    request: SpawnRequest,
) -> Result<String, Failure> {
    let depth = call.agent.as_ref().map_or(0, |agent| agent.depth) + 1;
    if depth > SUB_AGENT_DEPTH_MAX {
        let message = format!("sub-agents go only {SUB_AGENT_DEPTH_MAX} deep; do it yourself");
        return Err(Failure::Error(message));
    }
    let (work, end) = worked(turn, tag, call, depth, request).await?;
    work.result(end)
}

/// What a reviewer found, or why it found nothing. It is not kept: nobody goes on with it.
pub async fn review(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    call: &Arc<ToolCall>,
    request: SpawnRequest,
) -> Result<String, Failure> {
    let (work, end) = worked(turn, tag, call, 1, request).await?;
    let said = work.said.trim().to_owned();
    match end {
        SubAgentEnd::Done if !said.is_empty() => Ok(said),
        SubAgentEnd::Done => Err(Failure::Error("the reviewer said nothing".to_owned())),
        SubAgentEnd::Stopped(why) if !said.is_empty() => Ok(format!("{said}\n\n[{why}]")),
        SubAgentEnd::Stopped(why) | SubAgentEnd::Failed(why) | SubAgentEnd::Full(why) => {
            Err(Failure::Error(why))
        }
        SubAgentEnd::Cancelled => Err(cancelled("cancelled".to_owned())),
    }
}

async fn worked<'a>(
    turn: &'a Arc<Turn>,
    tag: &'a StreamTag,
    call: &'a Arc<ToolCall>,
    depth: u32,
    request: SpawnRequest,
) -> Result<(SubAgentWork<'a>, SubAgentEnd), Failure> {
    let conversation = SubConversation::of(turn, call, &request).await?;
    let Some(provider) = turn.own().models.provider(&conversation.model.provider) else {
        let provider = &conversation.model.provider;
        let message = format!("there is no provider {provider:?} for sub-agents");
        return Err(Failure::Error(message));
    };
    offer::restrict(turn, &call.item, &conversation.kind);
    let mut work = SubAgentWork {
        turn,
        tag,
        call,
        agent: SubAgent {
            parent: call.item.clone(),
            kind: conversation.kind.name().to_owned(),
            depth,
        },
        steps_max: conversation::steps_max(&request),
        share: turn.meter.share(&super::budgets(turn)),
        credit: StepCredit::SubAgent(0),
        provider,
        conversation,
        endings: AnswerEndings::default(),
        recent: RecentCalls::default(),
        no_calls: false,
        said: String::new(),
        unfinished: Arc::default(),
        was_cut: false,
    };
    let end = match work.go_on().await {
        Ok(end) | Err(SubAgentStop::Ended(end)) => end,
        Err(SubAgentStop::Gone) => return Err(cancelled("cancelled".to_owned())),
    };
    let credit = std::mem::replace(&mut work.credit, StepCredit::SubAgent(0));
    credit.give_back(turn).await;
    Ok((work, end))
}

struct SubAgentWork<'a> {
    turn: &'a Arc<Turn>,
    tag: &'a StreamTag,
    call: &'a Arc<ToolCall>,
    agent: SubAgent,
    steps_max: u32,
    share: SubAgentShare<'a>,
    credit: StepCredit,
    provider: Arc<dyn Provider>,
    conversation: SubConversation,
    endings: AnswerEndings,
    recent: RecentCalls,
    /// It may only say something.
    no_calls: bool,
    /// The newest of its answers that had words.
    said: String,
    /// The words of the answer that is coming.
    unfinished: Arc<Mutex<String>>,
    /// That answer was cut: the next one goes on with it.
    was_cut: bool,
}

/// How a sub-agent ended; what it found is told with all of them.
enum SubAgentEnd {
    Done,
    /// At one of its limits, with its last words.
    Stopped(String),
    Failed(String),
    /// Its context is full, so that it cannot go on either.
    Full(String),
    Cancelled,
}

/// Why no further step is made.
enum SubAgentStop {
    Ended(SubAgentEnd),
    Gone,
}

impl From<SessionGone> for SubAgentStop {
    fn from(_: SessionGone) -> Self {
        SubAgentStop::Gone
    }
}

impl SubAgentWork<'_> {
    async fn go_on(&mut self) -> Result<SubAgentEnd, SubAgentStop> {
        for _ in 0..self.steps_max {
            if let Some(why) = self.share.used_up() {
                return self.wrap_up(&report::share_note(), why).await;
            }
            let (next, calls) = self.take_step().await?;
            self.make(&calls).await?;
            match next {
                FollowUp::MakeCalls if self.recent.go_in_circles() => {
                    let note = WrapUp::Loop.note();
                    return self.wrap_up(&note, report::LOOP.to_owned()).await;
                }
                FollowUp::MakeCalls | FollowUp::AskAgain(None) => {}
                FollowUp::Rest => return Ok(SubAgentEnd::Done),
                FollowUp::Continue(note) | FollowUp::AskAgain(Some(note)) => {
                    self.conversation.note(note);
                }
                FollowUp::GiveUp(error) => return Ok(SubAgentEnd::Failed(error.message)),
            }
        }
        let note = WrapUp::StepLimit(self.steps_max).note();
        let why = report::step_limit(self.steps_max);
        self.wrap_up(&note, why).await
    }

    /// Its last words are its result, with why they are the last.
    async fn wrap_up(&mut self, note: &str, why: String) -> Result<SubAgentEnd, SubAgentStop> {
        self.conversation.note(note.to_owned());
        self.no_calls = true;
        self.said.clear();
        match self.take_step().await {
            Ok((_, calls)) => {
                for due in &calls {
                    tooling::leave_out(self.turn, due, NO_MORE_CALLS).await?;
                }
            }
            // Why it stopped is told, whatever became of the last words.
            Err(SubAgentStop::Ended(SubAgentEnd::Failed(_) | SubAgentEnd::Full(_))) => {}
            Err(stop) => return Err(stop),
        }
        Ok(SubAgentEnd::Stopped(why))
    }

    async fn take_step(&mut self) -> Result<(FollowUp, Vec<DueCall>), SubAgentStop> {
        if let Some(why) = exhausted(self.turn, &self.conversation.model) {
            return Err(SubAgentStop::Ended(SubAgentEnd::Failed(why)));
        }
        let speaker = Speaker::Sub {
            agent: self.agent.clone(),
            call: Arc::clone(self.call),
            words: Arc::clone(&self.unfinished),
        };
        let compact_at = self.turn.compact_at(&self.conversation.model);
        if self.conversation.fill.is_due(&self.request(), compact_at) {
            self.compact(None).await?;
        }
        let answered = loop {
            self.cover().await?;
            let (turn, provider) = (self.turn, self.provider.as_ref());
            let asked = answer::ask(turn, provider, self.tag, speaker.clone(), self.request());
            match asked.await {
                Ok(answered) => break answered,
                Err(Broken::Gone) => return Err(SubAgentStop::Gone),
                Err(Broken::Cancelled) => {
                    return Err(SubAgentStop::Ended(SubAgentEnd::Cancelled));
                }
                Err(Broken::Provider(error)) if error.kind == ErrorKind::ContextTooLong => {
                    self.compact(Some(error.message)).await?;
                }
                Err(Broken::Provider(error)) => {
                    return Err(SubAgentStop::Ended(SubAgentEnd::Failed(error.message)));
                }
            }
        };
        self.unfinished.lock().clear();
        self.count(answered.usage).await?;
        let tokens = answered.usage.input_tokens + answered.usage.output_tokens;
        let next = self.endings.follow_up(&answered);
        self.hear(&report::text_of(&answered.blocks));
        self.was_cut = matches!(next, FollowUp::Continue(_));
        if endings::says_something(&answered.blocks) {
            let answer = Message::Assistant(answered.blocks);
            self.conversation.messages.push(Arc::new(answer));
        }
        let conversation = &mut self.conversation;
        let counted = conversation.messages.len();
        conversation.fill.answered(counted, tokens);
        Ok((next, answered.calls))
    }

    /// Sees to it that the tenant's balance covers its next request.
    async fn cover(&mut self) -> Result<(), SubAgentStop> {
        let turn = self.turn;
        if turn.shared.balances.has_none(&turn.card.tenant) {
            return Ok(());
        }
        let request = self.request();
        let model = &self.conversation.model;
        match self.credit.cover(turn, model, &request).await? {
            None => Ok(()),
            Some(error) => Err(SubAgentStop::Ended(SubAgentEnd::Failed(error.message))),
        }
    }

    /// Puts a summary in the place of its conversation. `because`: the conversation was refused as too
    /// long; otherwise it goes on as it is where none can be made.
    async fn compact(&mut self, because: Option<String>) -> Result<(), SubAgentStop> {
        let request = self.request();
        let (turn, provider) = (self.turn, self.provider.as_ref());
        let conversation = &mut self.conversation;
        let model = &conversation.model;
        let (refused, credit) = (because.is_some(), &mut self.credit);
        let summarised =
            compaction::summarise(turn, provider, model, &request, refused, credit).await?;
        match (summarised, because) {
            (Summarised::Text(summary), _) => {
                let compact_at = turn.compact_at(model);
                let messages = compaction::shortened(&conversation.messages, &summary, compact_at);
                conversation.messages = messages;
                let before = compaction::estimate(&request);
                let after = compaction::estimate(&self.request());
                match self.conversation.fill.summarised(before, after) {
                    true => Ok(()),
                    false => Err(full(compaction::DOES_NOT_FIT.to_owned())),
                }
            }
            (Summarised::NotCovered(error), _) => {
                Err(SubAgentStop::Ended(SubAgentEnd::Failed(error.message)))
            }
            (Summarised::Cancelled, _) => Err(SubAgentStop::Ended(SubAgentEnd::Cancelled)),
            (Summarised::Failed(_), None) => {
                conversation.fill.could_not_be_summarised();
                Ok(())
            }
            (Summarised::Failed(error), Some(because)) => Err(full(format!(
                "{because}; summarising it failed too: {error}"
            ))),
        }
    }

    fn hear(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if !self.was_cut {
            self.said.clear();
        }
        self.said.push_str(text);
    }

    async fn make(&mut self, calls: &[DueCall]) -> Result<(), SubAgentStop> {
        let sees = context::model_sees(self.turn, &self.conversation.model);
        let messages = &mut self.conversation.messages;
        let making = calls::make(self.turn, messages, &mut self.recent, calls, sees);
        // Boxed: a call of it may start a sub-agent again.
        let Some(notes) = Box::pin(making).await? else {
            return Err(SubAgentStop::Ended(SubAgentEnd::Cancelled));
        };
        for note in notes {
            self.conversation.note(note);
        }
        Ok(())
    }

    async fn count(&self, usage: providers::ModelUsage) -> Result<(), SessionGone> {
        let model = &self.conversation.model;
        let usage = meter::priced(&self.turn.own().models, model, usage);
        self.turn.meter.add(usage);
        let fact = Fact::Turn(TurnFact::UsageAdded {
            turn: Some(self.turn.id.clone()),
            model: Arc::new(model.clone()),
            purpose: Purpose::SubAgent,
            usage,
        });
        self.turn.tell(fact).await
    }

    fn request(&self) -> ModelRequest {
        let turn = self.turn;
        let mut request = turn.shared.answer_wishes(&turn.permits.borrow().settings);
        if self.conversation.kind == SpawnKind::Explore {
            request.effort = Some(EXPLORE_EFFORT.to_owned());
        }
        ModelRequest {
            model: self.conversation.model.model.clone(),
            system: self.conversation.system.clone(),
            messages: self.conversation.messages.clone(),
            tools: offer::specs(
                turn,
                Some(&self.agent),
                offer::faces(&self.conversation.model),
            ),
            no_calls: self.no_calls,
            purpose: providers::RequestPurpose::Task,
            cache_key: Some(format!("{}/{}", turn.card.id, self.conversation.id)),
            ..request
        }
    }

    /// What the caller reads of it. It is kept, so that it can go on, unless it has no room to.
    fn result(self, end: SubAgentEnd) -> Result<String, Failure> {
        let unfinished = self.unfinished.lock().clone();
        let so_far = report::so_far(&self.conversation.messages, &unfinished);
        let id = self.conversation.id.clone();
        let kept = !matches!(end, SubAgentEnd::Full(_));
        if kept {
            self.turn.sub_agents.keep(self.conversation);
        }
        let said = self.said.trim();
        match end {
            SubAgentEnd::Done => Ok(format!("{said}\n\n{}", report::resumable(&id))),
            SubAgentEnd::Stopped(why) if !said.is_empty() => {
                Ok(format!("{said}\n\n[{why}]\n{}", report::resumable(&id)))
            }
            SubAgentEnd::Stopped(why) | SubAgentEnd::Failed(why) => Err(Failure::Error(format!(
                "the sub-agent ended early: {why}\n\n{so_far}\n\n{}",
                report::resumable(&id)
            ))),
            SubAgentEnd::Full(why) => Err(Failure::Error(format!(
                "the sub-agent's context is full: {why}\n\n{so_far}\n\n{}",
                report::FULL
            ))),
            SubAgentEnd::Cancelled => Err(cancelled(format!(
                "cancelled\n\n{so_far}\n\n{}",
                report::resumable(&id)
            ))),
        }
    }
}

/// It looks much up and thinks little.
const EXPLORE_EFFORT: &str = "low";

fn full(why: String) -> SubAgentStop {
    SubAgentStop::Ended(SubAgentEnd::Full(why))
}

fn cancelled(text: String) -> Failure {
    Failure::Cancelled(ToolOutput::Text(text))
}
