//! Sub-agents: an agent that works for one call of another. It has a conversation of its own, fewer
//! tools and its own step limit; what it spends and what it asks are its turn's.

use std::sync::Arc;

use providers::{Message, ModelRequest, Provider};
use tools::Failure;
use vocabulary::{Fact, ModelRef, Purpose, StreamTag, SubAgent, ToolCall, ToolOutput, TurnFact};

use super::answer::{self, Broken, Speaker};
use super::{calls, exhausted};
use crate::limits::{SUB_AGENT_DEPTH_MAX, SUB_AGENT_STEPS_MAX};
use crate::prompts;
use crate::turn::{SessionGone, Turn, meter, offer};

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
    };
    match work.go_on().await {
        Ok(outcome) => outcome,
        Err(SessionGone) => Err(cancelled()),
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
}

impl Work<'_> {
    async fn go_on(&mut self) -> Result<Result<String, Failure>, SessionGone> {
        let mut last = String::new();
        for _ in 0..SUB_AGENT_STEPS_MAX {
            if let Some(why) = exhausted(self.turn, &self.model) {
                return Ok(Err(Failure::Error(why)));
            }
            let speaker = Speaker::Sub {
                agent: self.agent.clone(),
                call: Arc::clone(self.call),
            };
            let provider = self.provider.as_ref();
            let asked = answer::ask(self.turn, provider, self.tag, speaker, self.request()).await;
            let answered = match asked {
                Ok(answered) => answered,
                Err(Broken::Gone) => return Err(SessionGone),
                Err(Broken::Cancelled) => return Ok(Err(cancelled())),
                Err(Broken::Provider(error)) => return Ok(Err(Failure::Error(error.message))),
            };
            self.count(answered.usage).await?;
            let said = text_of(&answered.blocks);
            if !said.is_empty() {
                last = said;
            }
            self.messages
                .push(Arc::new(Message::Assistant(answered.blocks)));
            if answered.calls.is_empty() {
                return Ok(Ok(last));
            }
            // Boxed: a call of it may start a sub-agent again.
            if !Box::pin(calls::make(self.turn, &mut self.messages, &answered.calls)).await? {
                return Ok(Err(cancelled()));
            }
        }
        let message = format!(
            "the sub-agent was stopped after {SUB_AGENT_STEPS_MAX} steps; the last it said: {last}"
        );
        Ok(Err(Failure::Error(message)))
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
            tools: offer::specs(self.turn, Some(&self.agent)),
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
            providers::Block::Text { text, .. } => Some(text.trim()),
            providers::Block::Reasoning { .. } | providers::Block::ToolCall { .. } => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

fn cancelled() -> Failure {
    Failure::Cancelled(ToolOutput::Text("cancelled".to_owned()))
}
