//! The built-in agent: ask the model, make its calls, ask again, until it has nothing more to do.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use providers::{
    Block, Message, Part, Provider, ProviderError, Request, Stop, ToolResult, ToolSpec,
};
use tokio::time::timeout;
use vocabulary::{
    Fact, Growth, Item, ItemId, Opening, ReasoningKind, StopReason, StreamTag, ToolCall,
    ToolOutcome, TurnError, TurnErrorKind, Usage,
};

use super::Agent;
use crate::limits::MODEL_SILENCE_MAX;
use crate::turn::{Due, SessionGone, Start, Turn, TurnEnd, context, tooling};

/// Drives turns with whatever provider the thread's model belongs to.
pub struct ModelAgent;

#[async_trait]
impl Agent for ModelAgent {
    async fn run(&self, turn: Arc<Turn>, start: Start) -> TurnEnd {
        match drive(&turn, start).await {
            Ok(end) => end,
            // Nobody is left to tell; the session has ended this turn already.
            Err(SessionGone) => TurnEnd::Cancelled,
        }
    }
}

async fn drive(turn: &Arc<Turn>, start: Start) -> Result<TurnEnd, SessionGone> {
    let Some(provider) = turn.shared.providers.get(&turn.model.provider).cloned() else {
        return Ok(failed(
            TurnErrorKind::Provider,
            format!(
                "the provider {:?} is not available in this build yet; choose the rehearsal model",
                turn.model.provider
            ),
        ));
    };
    turn.sync().await?;
    let mut messages = match context::load(turn).await {
        Ok(messages) => messages,
        Err(refusal) => return Ok(failed(TurnErrorKind::Internal, refusal.message)),
    };
    let mut step = 0;
    if let Start::PickUp { step: at, calls } = start {
        step = at;
        if make_calls(turn, &mut messages, &calls).await?.is_none() {
            return Ok(TurnEnd::Cancelled);
        }
    }
    loop {
        if step >= turn.permits.borrow().settings.max_steps {
            return Ok(TurnEnd::Completed);
        }
        step += 1;
        let calls = match take_step(turn, provider.as_ref(), &mut messages, step).await? {
            Step::Calls(calls) => calls,
            Step::Ended(end) => return Ok(end),
        };
        if calls.is_empty() {
            return Ok(TurnEnd::Completed);
        }
        if make_calls(turn, &mut messages, &calls).await?.is_none() {
            return Ok(TurnEnd::Cancelled);
        }
    }
}

enum Step {
    Calls(Vec<Due>),
    Ended(TurnEnd),
}

/// One model request, from `StepStarted` to `StepFinished` or `StepFailed`.
async fn take_step(
    turn: &Arc<Turn>,
    provider: &dyn Provider,
    messages: &mut Vec<Message>,
    step: u32,
) -> Result<Step, SessionGone> {
    let tag = turn.tag(step);
    turn.tell(Fact::StepStarted { tag: tag.clone() }).await?;
    let mut answer = Answer::new(turn, tag.clone());
    let streamed = tokio::select! {
        () = turn.cancel.cancelled() => Err(Broken::Cancelled),
        streamed = answer.stream(provider, request(turn, messages)) => streamed,
    };
    match streamed {
        Ok((reason, usage)) => {
            turn.tell(Fact::StepFinished { tag, reason, usage }).await?;
            for block in answer.blocks {
                context::add_block(messages, block);
            }
            Ok(Step::Calls(answer.calls))
        }
        Err(Broken::Gone) => Err(SessionGone),
        Err(Broken::Cancelled) => {
            answer.cut_short().await?;
            let error = "cancelled".to_owned();
            turn.tell(Fact::StepFailed {
                tag,
                reason: StopReason::Aborted,
                error,
            })
            .await?;
            Ok(Step::Ended(TurnEnd::Cancelled))
        }
        Err(Broken::Provider(error)) => {
            answer.cut_short().await?;
            let message = error.message;
            let error = message.clone();
            turn.tell(Fact::StepFailed {
                tag,
                reason: StopReason::Error,
                error,
            })
            .await?;
            Ok(Step::Ended(failed(TurnErrorKind::Provider, message)))
        }
    }
}

fn request(turn: &Turn, messages: &[Message]) -> Request {
    let permits = turn.permits.borrow();
    Request {
        model: turn.model.model.clone(),
        system: String::new(),
        messages: messages.to_vec(),
        tools: match permits.settings.tools {
            true => turn.shared.tools.list().iter().map(tool_spec).collect(),
            false => Vec::new(),
        },
    }
}

fn tool_spec(tool: &Arc<dyn tools::Tool>) -> ToolSpec {
    ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
    }
}

/// Makes the calls one after the other. `None`: the turn was cancelled.
async fn make_calls(
    turn: &Arc<Turn>,
    messages: &mut Vec<Message>,
    calls: &[Due],
) -> Result<Option<()>, SessionGone> {
    let mut going = Some(());
    for due in calls {
        let outcome: Option<ToolOutcome> = tooling::make(turn, due).await?;
        let call = &due.call;
        match outcome {
            Some(outcome) => context::add_result(
                messages,
                ToolResult {
                    call_id: call.call_id.clone(),
                    name: call.name.clone(),
                    is_error: context::is_error(&outcome),
                    text: context::model_text(&outcome),
                },
            ),
            // The rest is told as not run, so that no call stays without an end.
            None => going = None,
        }
    }
    Ok(going)
}

/// Why an answer did not come to its end.
enum Broken {
    Cancelled,
    Gone,
    Provider(ProviderError),
}

impl From<SessionGone> for Broken {
    fn from(_: SessionGone) -> Self {
        Broken::Gone
    }
}

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Self {
        Broken::Provider(error)
    }
}

/// One answer of the model as it comes in.
struct Answer<'a> {
    turn: &'a Turn,
    tag: StreamTag,
    open: Option<OpenBlock>,
    blocks: Vec<Block>,
    calls: Vec<Due>,
}

/// The block that is being written.
struct OpenBlock {
    item: ItemId,
    content: u32,
    growth: Growth,
    text: String,
}

impl<'a> Answer<'a> {
    fn new(turn: &'a Turn, tag: StreamTag) -> Self {
        Self {
            turn,
            tag,
            open: None,
            blocks: Vec::new(),
            calls: Vec::new(),
        }
    }

    async fn stream(
        &mut self,
        provider: &dyn Provider,
        request: Request,
    ) -> Result<(StopReason, Usage), Broken> {
        let silent = || ProviderError {
            status: None,
            message: format!(
                "the model said nothing for {} seconds; try again",
                MODEL_SILENCE_MAX.as_secs()
            ),
        };
        let started = timeout(MODEL_SILENCE_MAX, provider.stream(request)).await;
        let mut parts = started.map_err(|_| silent())??;
        loop {
            let next = timeout(MODEL_SILENCE_MAX, parts.next())
                .await
                .map_err(|_| silent())?;
            let Some(part) = next else {
                return Err(Broken::Provider(ProviderError {
                    status: None,
                    message: "the model's answer was cut off; try again".to_owned(),
                }));
            };
            match part? {
                Part::Finish { stop, usage } => return Ok((stop_reason(stop), usage_of(usage))),
                part => self.take(part).await?,
            }
        }
    }

    async fn take(&mut self, part: Part) -> Result<(), SessionGone> {
        match part {
            Part::TextStart { block } => self.start(block, Opening::Text, Growth::Text).await,
            Part::ReasoningStart { block, summary } => {
                let kind = match summary {
                    true => ReasoningKind::Summary,
                    false => ReasoningKind::Reasoning,
                };
                self.start(block, Opening::Reasoning(kind), Growth::Reasoning(kind))
                    .await
            }
            Part::ToolInputStart {
                block,
                call_id,
                name,
            } => {
                let growth = Growth::ToolInput {
                    call_id: call_id.as_str().into(),
                };
                self.start(block, Opening::ToolInput { call_id, name }, growth)
                    .await
            }
            Part::TextDelta { text, .. }
            | Part::ReasoningDelta { text, .. }
            | Part::ToolInputDelta { json: text, .. } => self.grow(text).await,
            Part::TextEnd { .. } | Part::ReasoningEnd { .. } => self.finish(Whole::Yes).await,
            Part::ToolCall {
                block,
                call_id,
                name,
                input,
            } => {
                self.plan(block, call_id, name, tooling::object_input(input))
                    .await
            }
            Part::Raw(value) => {
                self.turn
                    .tell(Fact::RawReceived {
                        tag: self.tag.clone(),
                        value,
                    })
                    .await
            }
            // Taken by `stream`.
            Part::Finish { .. } => Ok(()),
        }
    }

    async fn start(
        &mut self,
        content: u32,
        opening: Opening,
        growth: Growth,
    ) -> Result<(), SessionGone> {
        let item = self.turn.new_item();
        let (tag, text) = (self.tag.clone(), String::new());
        self.open = Some(OpenBlock {
            item: item.clone(),
            content,
            growth,
            text,
        });
        self.turn
            .tell(Fact::ItemStarted {
                tag,
                item,
                content,
                opening,
            })
            .await
    }

    async fn grow(&mut self, delta: String) -> Result<(), SessionGone> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.text.push_str(&delta);
        let fact = Fact::ItemGrew {
            tag: self.tag.clone(),
            item: open.item.clone(),
            content: open.content,
            growth: open.growth.clone(),
            delta,
        };
        self.turn.tell(fact).await
    }

    async fn finish(&mut self, whole: Whole) -> Result<(), SessionGone> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let (text, partial) = (open.text, whole == Whole::No);
        let body = match open.growth {
            Growth::Text => {
                self.blocks.push(Block::Text(text.clone()));
                Item::AgentMessage { text, partial }
            }
            Growth::Reasoning(kind) => {
                self.blocks.push(Block::Reasoning(text.clone()));
                Item::Reasoning {
                    kind,
                    text,
                    partial,
                }
            }
            Growth::ToolInput { .. } | Growth::Output(_) => return Ok(()),
        };
        let (tag, item, content) = (self.tag.clone(), open.item, open.content);
        self.turn
            .tell(Fact::ItemFinished {
                tag,
                item,
                content,
                body,
            })
            .await
    }

    async fn plan(
        &mut self,
        content: u32,
        call_id: String,
        name: String,
        input: serde_json::Value,
    ) -> Result<(), SessionGone> {
        let item = self
            .open
            .take()
            .map_or_else(|| self.turn.new_item(), |open| open.item);
        let class = tooling::class_of(&self.turn.shared.tools, &name);
        let call = ToolCall {
            item,
            call_id,
            name,
            input,
            class,
        };
        self.blocks.push(Block::ToolCall {
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        });
        self.calls.push(Due {
            tag: self.tag.clone(),
            call: call.clone(),
            reached: false,
        });
        self.turn
            .tell(Fact::ToolPlanned {
                tag: self.tag.clone(),
                content,
                call,
            })
            .await
    }

    /// Finishes what was being written with the text it has, and tells the calls it had planned
    /// as not run.
    async fn cut_short(&mut self) -> Result<(), SessionGone> {
        self.finish(Whole::No).await?;
        for Due { tag, call, .. } in std::mem::take(&mut self.calls) {
            let outcome = ToolOutcome::NotRun {
                why: tooling::CANCELLED.to_owned(),
            };
            let call = vocabulary::ToolCallRef::from(&call);
            self.turn
                .tell(Fact::ToolFinished { tag, call, outcome })
                .await?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

fn stop_reason(stop: Stop) -> StopReason {
    match stop {
        Stop::Stop => StopReason::Stop,
        Stop::ToolUse => StopReason::ToolUse,
        Stop::Length => StopReason::Length,
    }
}

fn usage_of(usage: providers::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
        cost_micro_dollars: 0,
    }
}

fn failed(kind: TurnErrorKind, message: String) -> TurnEnd {
    TurnEnd::Failed(TurnError { kind, message })
}
