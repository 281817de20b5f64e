//! Sub-agents: an agent that works for one call of another. It has a conversation of its own, fewer
//! tools and its own step limit; what it spends and what it asks are its turn's.

use std::sync::Arc;

use providers::{Message, ModelRequest, Provider};
use tools::Failure;
use vocabulary::{Fact, ModelRef, Purpose, StreamTag, SubAgent, ToolCall, ToolOutput, TurnFact};

use super::answer::{self, Broken, Speaker};
use super::endings::{self, AnswerEndings, FollowUp};
use super::repetition::RecentCalls;
use super::wrap_up::{NO_MORE_CALLS, WrapUp};
use super::{calls, exhausted};
use crate::limits::{SUB_AGENT_DEPTH_MAX, SUB_AGENT_STEPS_MAX};
use crate::prompts;
use crate::turn::{DueCall, SessionGone, Turn, meter, offer, tooling};

/// Runs a sub-agent to its end; gives its last text.
pub async fn run(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    call: &Arc<ToolCall>,
    kind: &str,
    task: String,
) -> Result<String, Failure> {
    let depth = call.agent.as_ref().map_or(0, |agent| agent.depth) + 1;
    if depth > SUB_AGENT_DEPTH_MAX {
        let message = format!("sub-agents go only {SUB_AGENT_DEPTH_MAX} deep; do it yourself");
        return Err(Failure::Error(message));
    }
    let model = model_of(turn);
    let Some(provider) = turn.shared.models.provider(&model.provider) else {
        let message = format!("there is no provider {:?} for sub-agents", model.provider);
        return Err(Failure::Error(message));
    };
    let agent = SubAgent {
        parent: call.item.clone(),
        kind: kind.to_owned(),
        depth,
    };
    let mut work = Work {
        turn,
        tag,
        call,
        agent,
        model,
        provider,
        messages: vec![Arc::new(Message::user(task))],
        endings: AnswerEndings::default(),
        recent: RecentCalls::default(),
        no_calls: false,
        said: String::new(),
        was_cut: false,
    };
    match work.go_on().await {
        Ok(()) => Ok(work.said.trim().to_owned()),
        Err(SubAgentStop::Failed(failure)) => Err(failure),
        Err(SubAgentStop::Gone) => Err(cancelled()),
    }
}

/// The model of sub-agents: the thread's own unless its settings name another of that provider.
fn model_of(turn: &Turn) -> ModelRef {
    let named = turn.permits.borrow().settings.sub_agent_model.clone();
    let mut model = (*turn.model).clone();
    if !named.is_empty() {
        model.model = named;
    }
    model
}

struct Work<'a> {
    turn: &'a Arc<Turn>,
    tag: &'a StreamTag,
    call: &'a Arc<ToolCall>,
    agent: SubAgent,
    model: ModelRef,
    provider: Arc<dyn Provider>,
    messages: Vec<Arc<Message>>,
    endings: AnswerEndings,
    recent: RecentCalls,
    /// It may only say something.
    no_calls: bool,
    /// The newest of its answers that had words.
    said: String,
    /// That answer was cut: the next one goes on with it.
    was_cut: bool,
}

/// Why a sub-agent has no result.
enum SubAgentStop {
    Failed(Failure),
    Gone,
}

impl From<SessionGone> for SubAgentStop {
    fn from(_: SessionGone) -> Self {
        SubAgentStop::Gone
    }
}

impl Work<'_> {
    async fn go_on(&mut self) -> Result<(), SubAgentStop> {
        for _ in 0..SUB_AGENT_STEPS_MAX {
            let (next, calls) = self.take_step().await?;
            self.make(&calls).await?;
            match next {
                FollowUp::MakeCalls if self.recent.go_in_circles() => {
                    return self.wrap_up(WrapUp::Loop).await;
                }
                FollowUp::MakeCalls | FollowUp::AskAgain(None) => {}
                FollowUp::Rest => return Ok(()),
                FollowUp::Continue(note) | FollowUp::AskAgain(Some(note)) => {
                    self.messages.push(Arc::new(Message::note(note)));
                }
                FollowUp::GiveUp(error) => {
                    let message = match self.said.trim() {
                        "" => error.message,
                        said => format!("{}; the last it said: {said}", error.message),
                    };
                    return Err(SubAgentStop::Failed(Failure::Error(message)));
                }
            }
        }
        let limit = WrapUp::StepLimit(SUB_AGENT_STEPS_MAX);
        self.wrap_up(limit).await
    }

    /// Its last words are its result, with why they are the last.
    async fn wrap_up(&mut self, why: WrapUp) -> Result<(), SubAgentStop> {
        self.messages.push(Arc::new(Message::note(why.note())));
        self.no_calls = true;
        let (_, calls) = self.take_step().await?;
        for due in &calls {
            tooling::leave_out(self.turn, due, NO_MORE_CALLS).await?;
        }
        self.said = format!("{}\n\n[{}]", self.said.trim(), why.error().message);
        Ok(())
    }

    async fn take_step(&mut self) -> Result<(FollowUp, Vec<DueCall>), SubAgentStop> {
        if let Some(why) = exhausted(self.turn, &self.model) {
            return Err(SubAgentStop::Failed(Failure::Error(why)));
        }
        let speaker = Speaker::Sub {
            agent: self.agent.clone(),
            call: Arc::clone(self.call),
        };
        let provider = self.provider.as_ref();
        let asked = answer::ask(self.turn, provider, self.tag, speaker, self.request()).await;
        let answered = asked.map_err(|broken| match broken {
            Broken::Gone => SubAgentStop::Gone,
            Broken::Cancelled => SubAgentStop::Failed(cancelled()),
            Broken::Provider(error) => SubAgentStop::Failed(Failure::Error(error.message)),
        })?;
        self.count(answered.usage).await?;
        let next = self.endings.follow_up(&answered);
        self.hear(&text_of(&answered.blocks));
        self.was_cut = matches!(next, FollowUp::Continue(_));
        if endings::says_something(&answered.blocks) {
            let answer = Message::Assistant(answered.blocks);
            self.messages.push(Arc::new(answer));
        }
        Ok((next, answered.calls))
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
        let making = calls::make(self.turn, &mut self.messages, &mut self.recent, calls);
        // Boxed: a call of it may start a sub-agent again.
        let Some(notes) = Box::pin(making).await? else {
            return Err(SubAgentStop::Failed(cancelled()));
        };
        let notes = notes.into_iter().map(Message::note).map(Arc::new);
        self.messages.extend(notes);
        Ok(())
    }

    async fn count(&self, usage: providers::ModelUsage) -> Result<(), SessionGone> {
        let usage = meter::priced(&self.turn.shared, &self.model, usage);
        self.turn.meter.add(usage);
        let fact = Fact::Turn(TurnFact::UsageAdded {
            turn: Some(self.turn.id.clone()),
            model: Arc::new(self.model.clone()),
            purpose: Purpose::SubAgent,
            usage,
        });
        self.turn.tell(fact).await
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            model: self.model.model.clone(),
            system: prompts::sub_agent(&self.agent.kind, &self.turn.card.directory),
            messages: self.messages.clone(),
            tools: offer::specs(self.turn, Some(&self.agent), offer::faces(&self.model)),
            no_calls: self.no_calls,
            purpose: providers::RequestPurpose::Task,
            cache_key: Some(format!("{}/{}", self.turn.card.id, self.agent.parent)),
            ..self
                .turn
                .shared
                .answer_wishes(&self.turn.permits.borrow().settings)
        }
    }
}

fn text_of(blocks: &[providers::Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            providers::Block::Text { text, .. } => Some(text.as_str()),
            providers::Block::Reasoning { .. } | providers::Block::ToolCall { .. } => None,
        })
        .filter(|text| !text.trim().is_empty())
        .collect();
    texts.join("\n\n")
}

fn cancelled() -> Failure {
    Failure::Cancelled(ToolOutput::Text("cancelled".to_owned()))
}
