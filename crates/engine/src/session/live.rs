//! What is being written right now, and what the running turn has written so far.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::Draft;
use tokio::time::Instant;
use vocabulary::{
    CallRef, Event, Fact, Growth, Item, ItemFact, ItemId, LiveItem, ModelRef, Opening, PlanMarks,
    ReasoningKind, Seq, StepFact, StopReason, StreamTag, ToolCall, ToolEvent, ToolFact, TurnFact,
    TurnId, UserInput,
};

use crate::limits::LIVE_OUTPUT_BYTES_MAX;

/// The part of a running turn that the state row does not hold: it is in the log, or in drafts.
#[derive(Default)]
pub struct Live {
    pub next_part: u32,
    /// With the step they belong to.
    texts: Vec<(u32, String)>,
    reasoning: Vec<(u32, ReasoningKind, String)>,
    /// The steps whose text was cut: the next text goes on with it.
    cut: Vec<u32>,
    /// The step whose answer broke off and is asked for again.
    broken_off: Option<u32>,
    /// The step under way.
    step: Option<StreamTag>,
    items: Vec<GrowingItem>,
    /// The calls that have not ended, as people were shown them last.
    pub calls: Vec<Arc<ToolCall>>,
    /// What was said to the turn and has no place yet, with the step after which it is read.
    unplaced: Vec<(u32, UserInput)>,
}

struct GrowingItem {
    /// Where it began.
    began: Option<Seq>,
    tag: StreamTag,
    /// The part by which it grew last.
    part: u32,
    item: LiveItem,
    /// How much of the text is in the drafts table.
    saved: usize,
}

/// What a draft says about its item, so that it can be finished after a crash.
#[derive(Serialize, Deserialize)]
struct About {
    turn: TurnId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<ModelRef>>,
    step: u32,
    content: u32,
    reasoning: Option<ReasoningKind>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    breaks: Vec<usize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    plan: bool,
}

impl Live {
    /// Gives a fact its place among the turn's stream parts, of which it makes so many.
    pub fn number(&mut self, fact: &mut Fact, parts: u32) {
        if let Some(tag) = fact.tag_mut() {
            tag.part = self.next_part;
            self.next_part += parts;
        }
    }

    /// Follows a numbered fact.
    pub fn follow(&mut self, fact: &Fact) {
        match fact {
            Fact::Item {
                tag,
                item,
                content,
                what,
            } => match what {
                ItemFact::Started { opening } => self.items.push(GrowingItem {
                    began: None,
                    tag: tag.clone(),
                    part: tag.part,
                    item: opened(item, *content, opening),
                    saved: 0,
                }),
                ItemFact::Grew { growth, delta } => self.grow(tag, item, growth, delta),
                ItemFact::Finished { body, .. } => self.finish(tag, item, body),
            },
            Fact::Tool(ToolEvent { tag, call, what }) => match what {
                ToolFact::Planned { .. } => {
                    self.end(&call.item);
                    self.calls.push(Arc::clone(call));
                }
                ToolFact::Finished { .. } => {
                    self.end(&call.item);
                    self.calls.retain(|known| known.item != call.item);
                }
                ToolFact::Wrote { delta, .. } => self.write(tag, call, delta),
                ToolFact::Reached => {
                    let known = self.calls.iter_mut().find(|known| known.item == call.item);
                    known.into_iter().for_each(|known| known.clone_from(call));
                }
                ToolFact::Started
                | ToolFact::Interacted { .. }
                | ToolFact::JobEnded { .. }
                | ToolFact::Progressed { .. }
                | ToolFact::TimedOut { .. }
                | ToolFact::Exited { .. } => {}
            },
            Fact::Step { tag, what } => match what {
                StepFact::Started => self.step = Some(tag.clone()),
                StepFact::Delayed { discards: true, .. } => {
                    self.broken_off = Some(tag.step);
                    self.forget_tool_inputs();
                }
                StepFact::Finished { reason, .. } => {
                    if *reason == StopReason::Length && self.calls.is_empty() {
                        self.cut.push(tag.step);
                    }
                    self.step = None;
                    self.forget_tool_inputs();
                }
                StepFact::Failed { .. } => {
                    self.step = None;
                    self.forget_tool_inputs();
                }
                StepFact::Delayed { .. }
                | StepFact::Compacted { .. }
                | StepFact::Pruned { .. }
                | StepFact::Retried { .. }
                | StepFact::LimitReached { .. }
                | StepFact::CompactionStarted
                | StepFact::Informed { .. }
                | StepFact::Cited { .. }
                | StepFact::RawReceived { .. } => {}
            },
            Fact::Turn(TurnFact::Steered {
                input, after_step, ..
            }) => self.unplaced.push((*after_step, input.clone())),
            Fact::Turn(TurnFact::SteerPlaced { input, .. }) => {
                self.unplaced.retain(|(_, known)| known.item != input.item);
            }
            Fact::Thread(_) | Fact::Turn(_) | Fact::Ask { .. } | Fact::Files(_) | Fact::Note(_) => {
            }
        }
    }

    /// What is read by this step at the latest, and has no place yet.
    pub fn due_at(&self, step: u32) -> Vec<UserInput> {
        let due = self.unplaced.iter().filter(|(after, _)| *after < step);
        due.map(|(_, input)| input.clone()).collect()
    }

    pub fn has_unplaced(&self) -> bool {
        !self.unplaced.is_empty()
    }

    /// What was said and has no place yet.
    pub fn unplaced(&self) -> Vec<ItemId> {
        let items = self.unplaced.iter().map(|(_, input)| input.item.clone());
        items.collect()
    }

    /// The item that was followed last began at this number.
    pub fn began_at(&mut self, seq: Seq) {
        if let Some(growing) = self.items.last_mut() {
            growing.began.get_or_insert(seq);
        }
    }

    /// Where an item began that is still growing.
    pub fn began(&self, item: &ItemId) -> Option<Seq> {
        let growing = self.items.iter().find(|growing| growing.id() == item)?;
        growing.began
    }

    /// Follows a turn's events as the log has them, after a restart.
    pub fn catch_up(&mut self, events: &[Event], parts: u32) {
        self.next_part = parts;
        for event in events {
            // Where something was said has its place is told by the first event of its step alone.
            if let Some(tag) = event.fact.tag() {
                self.unplaced.retain(|(after, _)| *after >= tag.step);
            }
            self.follow(&event.fact);
        }
    }

    fn finish(&mut self, tag: &StreamTag, item: &ItemId, body: &Item) {
        self.end(item);
        // The first of a new answer replaces all of the one that broke off.
        if let Some(broken) = self.broken_off.take_if(|step| *step == tag.step) {
            self.texts.retain(|(step, _)| *step != broken);
            self.reasoning.retain(|(step, ..)| *step != broken);
        }
        match body {
            Item::AgentMessage { text, .. } | Item::Plan { text, .. } => {
                self.texts.push((tag.step, text.clone()));
            }
            Item::File { .. } | Item::ReviewEntered { .. } | Item::ReviewExited { .. } => {}
            Item::Reasoning { text, .. } if text.is_empty() => {}
            Item::Reasoning { kind, text, .. } => {
                self.reasoning.push((tag.step, *kind, text.clone()));
            }
        }
    }

    fn grow(&mut self, tag: &StreamTag, item: &ItemId, growth: &Growth, delta: &str) {
        let known = self.items.iter_mut().rev().find(|known| known.id() == item);
        let Some(growing) = known else { return };
        growing.part = tag.part;
        match &mut growing.item {
            LiveItem::Text { text, .. } | LiveItem::Plan { text, .. } => text.push_str(delta),
            LiveItem::Reasoning { text, breaks, .. } => {
                text.push_str(delta);
                if let Growth::ReasoningPart { .. } = growth {
                    breaks.push(text.len());
                }
            }
            LiveItem::ToolInput { json, .. } => json.push_str(delta),
            LiveItem::Output { text, .. } => push_bounded(text, delta),
        }
    }

    fn write(&mut self, tag: &StreamTag, call: &Arc<ToolCall>, delta: &str) {
        if self.items.iter().any(|known| *known.id() == call.item) {
            return self.grow(tag, &call.item, &Growth::Text, delta);
        }
        self.items.push(GrowingItem {
            began: None,
            tag: tag.clone(),
            part: tag.part,
            item: LiveItem::Output {
                call: Arc::clone(call),
                text: delta.to_owned(),
            },
            saved: 0,
        });
    }

    /// A tool input that never became a call is nothing.
    fn forget_tool_inputs(&mut self) {
        self.items
            .retain(|growing| !matches!(growing.item, LiveItem::ToolInput { .. }));
    }

    fn end(&mut self, item: &ItemId) {
        self.items.retain(|growing| growing.id() != item);
    }

    pub fn items(&self) -> Vec<vocabulary::Growing> {
        let growing = self.items.iter().map(|growing| vocabulary::Growing {
            tag: growing.tag.clone(),
            began: growing.began,
            part: growing.part,
            item: growing.item.clone(),
        });
        growing.collect()
    }

    /// The whole of a call that has not ended.
    pub fn call(&self, wanted: &CallRef) -> Arc<ToolCall> {
        let known = self.calls.iter().find(|call| call.item == wanted.item);
        known
            .cloned()
            .unwrap_or_else(|| Arc::new(ToolCall::from(wanted.clone())))
    }

    pub fn step(&self) -> Option<StreamTag> {
        self.step.clone()
    }

    /// All the agent's text of the turn so far, finished or not.
    pub fn text(&self) -> String {
        let mut whole = String::new();
        let mut before = None;
        for (step, text) in &self.texts {
            let goes_on = before.is_some_and(|step| self.cut.contains(&step));
            if before.is_some() && !(goes_on && before != Some(*step)) {
                whole.push_str("\n\n");
            }
            whole.push_str(text);
            before = Some(*step);
        }
        whole.trim().to_owned()
    }

    /// The text of the agent's finished messages, in order.
    pub fn texts(&self) -> Vec<String> {
        self.texts.iter().map(|(_, text)| text.clone()).collect()
    }

    pub fn reasoning(&self) -> Vec<(ReasoningKind, String)> {
        let pair = |(_, kind, text): &(u32, ReasoningKind, String)| (*kind, text.clone());
        self.reasoning.iter().map(pair).collect()
    }

    /// Facts that finish what is still growing, with the text it has.
    pub fn cut_short(&self) -> Vec<Fact> {
        self.items
            .iter()
            .filter_map(GrowingItem::cut_short)
            .collect()
    }

    /// The next piece of text that is not in the drafts table yet.
    pub fn next_draft(&mut self) -> Option<Draft> {
        self.items.iter_mut().find_map(GrowingItem::next_draft)
    }

    pub fn has_unsaved_text(&self) -> bool {
        self.items.iter().any(|growing| {
            growing
                .text()
                .is_some_and(|text| text.len() > growing.saved)
        })
    }
}

impl GrowingItem {
    fn id(&self) -> &ItemId {
        match &self.item {
            LiveItem::Text { item, .. }
            | LiveItem::Plan { item, .. }
            | LiveItem::Reasoning { item, .. }
            | LiveItem::ToolInput { item, .. } => item,
            LiveItem::Output { call, .. } => &call.item,
        }
    }

    fn text(&self) -> Option<&str> {
        match &self.item {
            LiveItem::Text { text, .. }
            | LiveItem::Plan { text, .. }
            | LiveItem::Reasoning { text, .. } => Some(text),
            LiveItem::ToolInput { .. } | LiveItem::Output { .. } => None,
        }
    }

    fn cut_short(&self) -> Option<Fact> {
        let (content, body) = match &self.item {
            LiveItem::Text { content, text, .. } => (
                *content,
                Item::AgentMessage {
                    native: None,
                    text: text.clone(),
                    partial: true,
                },
            ),
            LiveItem::Plan { content, text, .. } => (*content, unfinished_plan(text.clone())),
            LiveItem::Reasoning {
                content,
                kind,
                text,
                breaks,
                ..
            } => (
                *content,
                Item::Reasoning {
                    native: None,
                    kind: *kind,
                    text: text.clone(),
                    breaks: breaks.clone(),
                    partial: true,
                },
            ),
            LiveItem::ToolInput { .. } | LiveItem::Output { .. } => return None,
        };
        Some(Fact::Item {
            tag: self.tag.clone(),
            item: self.id().clone(),
            content,
            what: ItemFact::Finished { body, began: None },
        })
    }

    fn next_draft(&mut self) -> Option<Draft> {
        let text = self.text()?;
        if text.len() <= self.saved {
            return None;
        }
        let (content, reasoning, breaks) = match &self.item {
            LiveItem::Text { content, .. } | LiveItem::Plan { content, .. } => {
                (*content, None, Vec::new())
            }
            LiveItem::Reasoning {
                content,
                kind,
                breaks,
                ..
            } => (*content, Some(*kind), breaks.clone()),
            LiveItem::ToolInput { .. } | LiveItem::Output { .. } => return None,
        };
        let about = About {
            turn: self.tag.turn.clone(),
            model: self.tag.model.clone(),
            step: self.tag.step,
            content,
            reasoning,
            breaks,
            plan: matches!(self.item, LiveItem::Plan { .. }),
        };
        let draft = Draft {
            item: self.id().clone(),
            about: serde_json::to_string(&about).ok()?,
            text: text[self.saved..].to_owned(),
        };
        self.saved = text.len();
        Some(draft)
    }
}

/// The item a draft was written for, as far as it came.
pub fn from_draft(draft: &Draft) -> Option<Fact> {
    let about: About = serde_json::from_str(&draft.about).ok()?;
    let text = draft.text.clone();
    Some(Fact::Item {
        tag: StreamTag {
            turn: about.turn,
            model: about.model,
            step: about.step,
            part: 0,
        },
        item: draft.item.clone(),
        content: about.content,
        what: ItemFact::Finished {
            body: match about.reasoning {
                None if about.plan => unfinished_plan(text),
                None => Item::AgentMessage {
                    native: None,
                    text,
                    partial: true,
                },
                Some(kind) => Item::Reasoning {
                    native: None,
                    kind,
                    text,
                    breaks: about.breaks,
                    partial: true,
                },
            },
            began: None,
        },
    })
}

/// A plan as far as it came. Its mark is the usual one, whatever stood there.
fn unfinished_plan(text: String) -> Item {
    Item::Plan {
        text,
        partial: true,
        marks: PlanMarks::begun(),
        native: None,
    }
}

fn opened(item: &ItemId, content: u32, opening: &Opening) -> LiveItem {
    let (item, text) = (item.clone(), String::new());
    match opening {
        Opening::Text => LiveItem::Text {
            item,
            content,
            text,
        },
        Opening::Plan => LiveItem::Plan {
            item,
            content,
            text,
        },
        Opening::Reasoning(kind) => LiveItem::Reasoning {
            item,
            content,
            kind: *kind,
            text,
            breaks: Vec::new(),
        },
        Opening::ToolInput { call_id, name } => LiveItem::ToolInput {
            item,
            content,
            call_id: call_id.clone(),
            name: name.clone(),
            json: text,
        },
    }
}

/// Appends, and forgets the oldest text past the limit.
fn push_bounded(text: &mut String, delta: &str) {
    text.push_str(delta);
    if text.len() > LIVE_OUTPUT_BYTES_MAX {
        let mut cut = text.len() - LIVE_OUTPUT_BYTES_MAX;
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        text.drain(..cut);
    }
}

/// When drafts are next to be saved.
pub fn next_save(live: &Live, last_save: Instant) -> Option<Instant> {
    live.has_unsaved_text()
        .then(|| last_save + crate::limits::DRAFT_EVERY)
}
