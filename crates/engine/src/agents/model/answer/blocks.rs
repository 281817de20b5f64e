//! The blocks of an answer: how each is told while it grows, and what of it goes into the next
//! request.

use std::sync::Arc;

use providers::{Block, Part};
use tools::normalize::{NormalizedCall, normalize};
use vocabulary::{
    Fact, Growth, Item, ItemFact, ItemId, Native, Opening, OutputStream, PART_BREAK, ReasoningKind,
    StepFact, ToolCall, ToolEvent, ToolFact, ToolOutcome,
};

use super::{Broken, ModelAnswer, Speaker};
use crate::agents::model::context::written;
use crate::turn::{DueCall, SessionGone, tooling};

/// The block that is being written.
pub(super) struct OpenBlock {
    item: ItemId,
    content: u32,
    pub growth: Growth,
    pub text: String,
    /// Where its parts after the first begin.
    pub breaks: Vec<usize>,
}

impl ModelAnswer<'_> {
    pub(super) async fn take(&mut self, part: Part) -> Result<(), SessionGone> {
        match part {
            Part::TextStart { block } if self.plans() => self.start_split(block).await,
            Part::TextStart { block } => self.start(block, Opening::Text, Growth::Text).await,
            Part::ReasoningStart { block, summary } => {
                let kind = match summary {
                    true => ReasoningKind::Summary,
                    false => ReasoningKind::Reasoning,
                };
                let growth = Growth::Reasoning { kind, part: 0 };
                self.start(block, Opening::Reasoning(kind), growth).await
            }
            Part::ToolInputStart {
                block,
                call_id,
                name,
            } => {
                let growth = Growth::ToolInput {
                    call_id: call_id.as_str().into(),
                };
                // What is shown from the start is what is run in the end.
                let tools = self.turn.tools();
                let name = tools.resolve(&name).unwrap_or(&name).to_owned();
                self.start(block, Opening::ToolInput { call_id, name }, growth)
                    .await
            }
            Part::TextDelta { text, .. } if self.split.is_some() => self.grow_split(&text).await,
            Part::TextDelta { text, .. }
            | Part::ReasoningDelta { text, .. }
            | Part::ToolInputDelta { json: text, .. } => self.grow(text).await,
            Part::ReasoningPart { .. } => self.next_part().await,
            Part::TextEnd { native, .. } | Part::ReasoningEnd { native, .. } => {
                self.finish(Whole::Yes, native).await
            }
            Part::ToolCall {
                block,
                call_id,
                name,
                input,
                native,
                problem,
            } => {
                let NormalizedCall { name, input } = normalize(
                    &self.turn.tools(),
                    &self.turn.card.directory,
                    &name,
                    tooling::object_input(input),
                );
                let said = WrittenCall {
                    call_id,
                    name,
                    input,
                    native,
                    problem,
                };
                self.plan(block, said).await
            }
            Part::Source { url, title } => self.note(StepFact::Cited { url, title }).await,
            Part::Raw(value) => self.note(StepFact::RawReceived { value }).await,
            Part::File {
                block,
                media_type,
                base64,
                native,
            } => {
                let body = Item::File {
                    media_type,
                    base64,
                    native,
                };
                self.keep_file(block, body).await
            }
            // Taken by `stream`.
            Part::Finish { .. } | Part::Retrying { .. } => Ok(()),
        }
    }

    /// Whether what it proposes is told apart from what it says.
    fn plans(&self) -> bool {
        matches!(self.speaker, Speaker::Agent) && self.turn.is_planning()
    }

    /// What only those hear who follow the thread's own agent.
    async fn note(&self, what: StepFact) -> Result<(), SessionGone> {
        match self.speaker {
            Speaker::Agent => {
                let tag = self.tag.clone();
                self.turn.tell(Fact::Step { tag, what }).await
            }
            Speaker::Sub { .. } => Ok(()),
        }
    }

    /// A file is there at once, and as a whole.
    async fn keep_file(&mut self, content: u32, body: Item) -> Result<(), SessionGone> {
        self.finish(Whole::Yes, None).await?;
        self.blocks.extend(written(body.clone()));
        if let Speaker::Sub { .. } = self.speaker {
            return Ok(());
        }
        let fact = Fact::Item {
            tag: self.tag.clone(),
            item: self.turn.new_item(),
            content,
            what: ItemFact::Finished { body, began: None },
        };
        self.turn.tell(fact).await
    }

    async fn start(
        &mut self,
        content: u32,
        opening: Opening,
        growth: Growth,
    ) -> Result<(), SessionGone> {
        // A block that was never ended is one all the same.
        self.finish(Whole::Yes, None).await?;
        self.open_item(content, opening, growth).await
    }

    pub(super) async fn open_item(
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
            breaks: Vec::new(),
        });
        if let Speaker::Sub { .. } = self.speaker {
            return Ok(());
        }
        self.turn
            .tell(Fact::Item {
                tag,
                item,
                content,
                what: ItemFact::Started { opening },
            })
            .await
    }

    /// The thought that is being written goes on with another part.
    async fn next_part(&mut self) -> Result<(), SessionGone> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let Growth::Reasoning { kind, part } = open.growth else {
            return Ok(());
        };
        let part = part + 1;
        open.text.push_str(PART_BREAK);
        open.breaks.push(open.text.len());
        open.growth = Growth::Reasoning { kind, part };
        if let Speaker::Sub { .. } = self.speaker {
            return Ok(());
        }
        let fact = Fact::Item {
            tag: self.tag.clone(),
            item: open.item.clone(),
            content: open.content,
            what: ItemFact::Grew {
                growth: Growth::ReasoningPart { kind, part },
                delta: PART_BREAK.to_owned(),
            },
        };
        self.turn.tell(fact).await
    }

    pub(super) async fn grow(&mut self, delta: String) -> Result<(), SessionGone> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.text.push_str(&delta);
        if let Speaker::Sub { call, .. } = &self.speaker {
            if open.growth != Growth::Text {
                return Ok(());
            }
            let call = Arc::clone(call);
            return self.show(call, delta).await;
        }
        let fact = Fact::Item {
            tag: self.tag.clone(),
            item: open.item.clone(),
            content: open.content,
            what: ItemFact::Grew {
                growth: open.growth.clone(),
                delta,
            },
        };
        self.turn.tell(fact).await
    }

    /// Shows a sub-agent's text as the output of the call it works for.
    async fn show(&self, call: Arc<ToolCall>, delta: String) -> Result<(), SessionGone> {
        if let Speaker::Sub { words, .. } = &self.speaker {
            words.lock().push_str(&delta);
        }
        let stream = OutputStream::Stdout;
        let what = ToolFact::Wrote { stream, delta };
        self.turn
            .tell(Fact::tool(self.tag.clone(), call, what))
            .await
    }

    pub(super) async fn finish(
        &mut self,
        whole: Whole,
        native: Option<Box<Native>>,
    ) -> Result<(), SessionGone> {
        if self.split.is_some() {
            return self.finish_split(whole, native).await;
        }
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let (text, partial) = (open.text.clone(), whole == Whole::No);
        let body = match open.growth {
            // A plan is a part of a text, and told with it.
            Growth::Text | Growth::Plan => {
                let kept = native.clone();
                self.blocks.push(Block::Text {
                    text: text.clone(),
                    native,
                });
                Item::AgentMessage {
                    text,
                    partial,
                    native: kept,
                }
            }
            Growth::Reasoning { kind, .. } | Growth::ReasoningPart { kind, .. } => {
                let kept = native.clone();
                self.blocks.push(Block::Reasoning {
                    text: text.clone(),
                    native,
                });
                Item::Reasoning {
                    kind,
                    text,
                    breaks: open.breaks.clone(),
                    partial,
                    native: kept,
                }
            }
            Growth::ToolInput { .. } => {
                self.lost_call = true;
                return Ok(());
            }
        };
        if let Speaker::Sub { call, .. } = &self.speaker {
            let call = Arc::clone(call);
            return match body {
                Item::AgentMessage { .. } => self.show(call, "\n".to_owned()).await,
                Item::Plan { .. }
                | Item::Reasoning { .. }
                | Item::File { .. }
                | Item::ReviewEntered { .. }
                | Item::ReviewExited { .. } => Ok(()),
            };
        }
        self.tell_finished(open, body).await
    }

    pub(super) async fn tell_finished(
        &self,
        open: OpenBlock,
        body: Item,
    ) -> Result<(), SessionGone> {
        let (tag, item, content) = (self.tag.clone(), open.item, open.content);
        self.turn
            .tell(Fact::Item {
                tag,
                item,
                content,
                what: ItemFact::Finished { body, began: None },
            })
            .await
    }

    async fn plan(&mut self, content: u32, said: WrittenCall) -> Result<(), SessionGone> {
        let is_input = |open: &mut OpenBlock| matches!(open.growth, Growth::ToolInput { .. });
        let item = match self.open.take_if(is_input) {
            Some(open) => open.item,
            None => {
                self.finish(Whole::Yes, None).await?;
                self.turn.new_item()
            }
        };
        let (subject, effects) = self.turn.tools().about(&said.name, &said.input);
        let (call_id, agent) = match &self.speaker {
            Speaker::Agent => (said.call_id.clone(), None),
            // A provider's ids are unique within one conversation only.
            Speaker::Sub { agent, call, .. } => (
                format!("{}/{}", call.call_id, said.call_id),
                Some(Box::new(agent.clone())),
            ),
        };
        let call = Arc::new(ToolCall {
            item,
            call_id,
            name: said.name.clone(),
            input: said.input.clone(),
            subject,
            effects,
            native: said.native.clone(),
            problem: said.problem,
            by_user: false,
            agent,
        });
        self.calls.push(DueCall {
            tag: self.tag.clone(),
            call: Arc::clone(&call),
            model_call_id: said.call_id.clone(),
            reached: false,
        });
        let written = self.faces.written(&said.name, &said.input);
        self.blocks.push(Block::ToolCall {
            call_id: said.call_id,
            name: written.name,
            input: written.input,
            native: said.native,
        });
        self.turn
            .tell(Fact::Tool(ToolEvent {
                tag: self.tag.clone(),
                call,
                what: ToolFact::Planned { content },
            }))
            .await
    }

    /// Finishes what was being written with the text it has, and tells the calls it had planned
    /// as not run.
    pub(super) async fn cut_short(&mut self, broken: &Broken) -> Result<(), SessionGone> {
        self.finish(Whole::No, None).await?;
        let why = match broken {
            Broken::Cancelled | Broken::Gone => tooling::CANCELLED,
            Broken::Provider(_) => BROKE_OFF,
        };
        for DueCall { tag, call, .. } in std::mem::take(&mut self.calls) {
            let outcome = ToolOutcome::NotRun {
                why: why.to_owned(),
            };
            self.turn
                .tell(Fact::Tool(ToolEvent {
                    tag,
                    call,
                    what: ToolFact::Finished {
                        outcome,
                        duration_ms: None,
                    },
                }))
                .await?;
        }
        Ok(())
    }
}

/// A call of the model, in the words of the tool that it is for.
struct WrittenCall {
    call_id: String,
    name: String,
    input: serde_json::Value,
    native: Option<Box<Native>>,
    problem: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Yes,
    No,
}

const BROKE_OFF: &str = "not run: the model's answer broke off";
