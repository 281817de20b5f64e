//! What an external agent says, told as facts: its words and thoughts as items, its calls as tool calls.
//!
//! It does not say where its requests to its model begin, so a step is taken to be over when all its
//! calls are and the agent says something more: then what was said and done stands in the log in the same
//! order as with our own loop.

use std::sync::Arc;

use acp::schema;
use serde_json::json;
use tools::Scope;
use vocabulary::{
    Fact, Growth, Item, ItemFact, ItemId, Native, Opening, PlanStep, PlanStepStatus, ReasoningKind,
    StepFact, StopReason, TurnFact, Usage,
};

use crate::limits::{AGENT_TURN_BYTES_MAX, ANSWER_BYTES_MAX};
use crate::turn::{SessionGone, Turn, tooling};

mod calls;

use calls::{CallPhase, ToldCall};

/// Why what an agent says cannot be told any more.
pub enum TellError {
    Gone,
    /// It has no end; says how.
    TooMuch(String),
}

impl From<SessionGone> for TellError {
    fn from(_: SessionGone) -> Self {
        TellError::Gone
    }
}

pub struct AgentTeller {
    turn: Arc<Turn>,
    scope: Scope,
    /// What its messages carry, so that its session can be found again.
    native: Native,
    step: u32,
    is_in_step: bool,
    /// The place of the next block in its step.
    content: u32,
    open: Option<OpenText>,
    calls: Vec<ToldCall>,
    bytes: usize,
    /// What its context can hold, where it says so.
    context_limit: Option<u64>,
}

/// What is being said.
struct OpenText {
    item: ItemId,
    content: u32,
    growth: Growth,
    text: String,
}

impl AgentTeller {
    pub fn new(turn: Arc<Turn>, agent: &str, session: &str) -> Self {
        let scope = tooling::scope(&turn);
        Self {
            turn,
            scope,
            native: Native {
                origin: super::origin(agent),
                value: json!({ "session": session }),
            },
            step: 0,
            is_in_step: false,
            content: 0,
            open: None,
            calls: Vec::new(),
            bytes: 0,
            context_limit: None,
        }
    }

    pub fn set_context_limit(&mut self, tokens: u64) {
        self.context_limit = (tokens > 0).then_some(tokens);
    }

    /// Whether one of its calls is under way.
    pub fn has_open_call(&self) -> bool {
        let is_open = |call: &ToldCall| call.phase != CallPhase::Finished;
        self.calls.iter().any(is_open)
    }

    pub async fn say(&mut self, growth: Growth, delta: String) -> Result<(), TellError> {
        self.count(delta.len())?;
        if self.open.as_ref().is_none_or(|open| open.growth != growth) {
            self.start_text(growth.clone()).await?;
        }
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.text.push_str(&delta);
        if open.text.len() > ANSWER_BYTES_MAX {
            let message = format!("its message is past {ANSWER_BYTES_MAX} bytes");
            return Err(TellError::TooMuch(message));
        }
        let (item, content) = (open.item.clone(), open.content);
        let what = ItemFact::Grew { growth, delta };
        self.tell_item(item, content, what).await
    }

    async fn start_text(&mut self, growth: Growth) -> Result<(), TellError> {
        self.finish_text(false).await?;
        self.enter_step().await?;
        let opening = match &growth {
            Growth::Reasoning { kind, .. } | Growth::ReasoningPart { kind, .. } => {
                Opening::Reasoning(*kind)
            }
            Growth::Text | Growth::Plan | Growth::ToolInput { .. } => Opening::Text,
        };
        let (item, content) = (self.turn.new_item(), self.next_content());
        self.open = Some(OpenText {
            item: item.clone(),
            content,
            growth,
            text: String::new(),
        });
        self.tell_item(item, content, ItemFact::Started { opening })
            .await
    }

    /// Finishes what is being said. `partial`: it was cut short.
    pub async fn finish_text(&mut self, partial: bool) -> Result<(), TellError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let native = Some(Box::new(self.native.clone()));
        let text = open.text;
        let body = match open.growth {
            Growth::Reasoning { kind, .. } | Growth::ReasoningPart { kind, .. } => {
                Item::Reasoning {
                    kind,
                    text,
                    breaks: Vec::new(),
                    partial,
                    native: None,
                }
            }
            Growth::Text | Growth::Plan | Growth::ToolInput { .. } => Item::AgentMessage {
                text,
                partial,
                native,
            },
        };
        let what = ItemFact::Finished { body, began: None };
        self.tell_item(open.item, open.content, what).await
    }

    pub async fn plan(&self, plan: &schema::Plan) -> Result<(), TellError> {
        const STEPS_MAX: usize = 200;
        let step = |entry: &schema::PlanEntry| PlanStep {
            content: entry.content.clone(),
            active_form: entry.content.clone(),
            status: match entry.status {
                schema::PlanEntryStatus::InProgress => PlanStepStatus::InProgress,
                schema::PlanEntryStatus::Completed => PlanStepStatus::Completed,
                // What is anything else is not begun.
                _ => PlanStepStatus::Pending,
            },
        };
        let steps = plan.entries.iter().take(STEPS_MAX).map(step).collect();
        let turn = Some(self.turn.id.clone());
        let fact = Fact::Turn(TurnFact::PlanChanged { turn, steps });
        Ok(self.turn.tell(fact).await?)
    }

    /// Tells the end of what is open, and of the step.
    pub async fn end(&mut self, reason: StopReason, usage: Usage) -> Result<(), TellError> {
        let cut = matches!(reason, StopReason::Aborted | StopReason::Error);
        self.finish_text(cut).await?;
        self.end_calls().await?;
        if !self.is_in_step {
            self.enter_step().await?;
        }
        self.finish_step(reason, usage).await
    }

    /// Makes sure that a step is under way, and a new one where the last had its results.
    async fn enter_step(&mut self) -> Result<(), TellError> {
        let step = self.step;
        let of_step = |call: &&ToldCall| call.tag.step == step && call.call.is_some();
        let has_results = self.calls.iter().any(|call| of_step(&call)) && !self.has_reached_call();
        if self.is_in_step && has_results {
            self.finish_step(StopReason::ToolUse, Usage::default())
                .await?;
        }
        if !self.is_in_step {
            self.step += 1;
            self.content = 0;
            self.is_in_step = true;
            let (tag, what) = (self.turn.tag(self.step), StepFact::Started);
            self.turn.tell(Fact::Step { tag, what }).await?;
        }
        Ok(())
    }

    fn has_reached_call(&self) -> bool {
        let is_open = |phase| matches!(phase, CallPhase::Reached | CallPhase::Started);
        self.calls.iter().any(|call| is_open(call.phase))
    }

    async fn finish_step(&mut self, reason: StopReason, usage: Usage) -> Result<(), TellError> {
        self.is_in_step = false;
        let what = StepFact::Finished {
            reason,
            usage,
            context_limit: self.context_limit,
            thread_usage: self.turn.meter.add(usage),
        };
        let tag = self.turn.tag(self.step);
        Ok(self.turn.tell(Fact::Step { tag, what }).await?)
    }

    fn next_content(&mut self) -> u32 {
        let content = self.content;
        self.content += 1;
        content
    }

    fn count(&mut self, bytes: usize) -> Result<(), TellError> {
        self.bytes += bytes;
        match self.bytes > AGENT_TURN_BYTES_MAX {
            true => {
                let message = format!("it wrote more than {AGENT_TURN_BYTES_MAX} bytes");
                Err(TellError::TooMuch(message))
            }
            false => Ok(()),
        }
    }

    async fn tell_item(&self, item: ItemId, content: u32, what: ItemFact) -> Result<(), TellError> {
        let tag = self.turn.tag(self.step);
        let fact = Fact::Item {
            tag,
            item,
            content,
            what,
        };
        Ok(self.turn.tell(fact).await?)
    }
}

/// A thought of an agent's: whether it is whole, nobody knows.
pub const THOUGHT: Growth = Growth::Reasoning {
    kind: ReasoningKind::Reasoning,
    part: 0,
};
