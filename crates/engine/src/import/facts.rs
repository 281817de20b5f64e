//! A foreign conversation in the facts that would have told it here.

use std::sync::Arc;

use serde_json::Value;
use vocabulary::{
    Cause, Fact, Item, ItemFact, ItemId, ModelRef, ReasoningKind, StepFact, StopReason, StreamTag,
    Subject, Thread, ThreadFact, Timestamp, ToolCall, ToolFact, ToolOutcome, ToolOutput, TurnFact,
    TurnId, TurnOutcome, Usage, UserInput,
};

use crate::Clock;

use super::{ForeignBlock, ForeignMessage, ForeignResult, ForeignThread};

/// All facts in order, each with its time. Of single messages no time is known: they happened when the
/// conversation began, but for the end of the last turn.
pub fn of(thread: Thread, clock: &dyn Clock, foreign: &ForeignThread) -> Vec<(Timestamp, Fact)> {
    let at = foreign.created_at;
    let mut telling = Telling {
        clock,
        model: Arc::new(foreign.model.clone()),
        facts: Vec::new(),
        turn: None,
    };
    let thread = Box::new(thread);
    telling.tell(Fact::Thread(ThreadFact::Created { thread }));
    for message in &foreign.messages {
        match message {
            ForeignMessage::User(text) => telling.start_turn(text),
            ForeignMessage::Assistant(blocks) => telling.answer(blocks),
            ForeignMessage::Results(results) => telling.end_calls(results),
        }
    }
    telling.end_turn();
    if !foreign.plan.is_empty() {
        let (turn, steps) = (None, foreign.plan.clone());
        telling.tell(Fact::Turn(TurnFact::PlanChanged { turn, steps }));
    }
    let last = telling.facts.len().saturating_sub(2);
    let times = (0..telling.facts.len()).map(|place| match place >= last && place > 0 {
        true => foreign.updated_at,
        false => at,
    });
    times.zip(telling.facts).collect()
}

struct Telling<'a> {
    clock: &'a dyn Clock,
    model: Arc<ModelRef>,
    facts: Vec<Fact>,
    turn: Option<OpenTurn>,
}

struct OpenTurn {
    id: TurnId,
    step: u32,
    texts: Vec<String>,
    /// Calls without a result so far.
    calls: Vec<(StreamTag, Arc<ToolCall>)>,
}

impl Telling<'_> {
    fn new_item(&self) -> ItemId {
        ItemId::new(self.clock.new_id().to_string())
    }

    fn tell(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    fn start_turn(&mut self, text: &str) {
        self.end_turn();
        let id = TurnId::new(self.clock.new_id().to_string());
        let item = self.new_item();
        self.tell(Fact::Turn(TurnFact::Started {
            turn: id.clone(),
            cause: Cause::UserMessage,
            input: UserInput {
                item,
                text: text.to_owned(),
                display: None,
                client_id: None,
                images: Vec::new(),
                pieces: Vec::new(),
            },
            model: Some(Arc::clone(&self.model)),
        }));
        self.turn = Some(OpenTurn {
            id,
            step: 0,
            texts: Vec::new(),
            calls: Vec::new(),
        });
    }

    /// One answer of the model is one step.
    fn answer(&mut self, blocks: &[ForeignBlock]) {
        let not_run = "its result was not kept";
        self.end_open_calls(not_run);
        // What was said before any question has nowhere to stand but behind an empty one.
        if self.turn.is_none() {
            self.start_turn("");
        }
        let Some(turn) = &mut self.turn else { return };
        turn.step += 1;
        let tag = StreamTag {
            turn: turn.id.clone(),
            model: Some(Arc::clone(&self.model)),
            step: turn.step,
            part: 0,
        };
        let mut told = Vec::new();
        for (content, block) in blocks.iter().enumerate() {
            let content = content as u32;
            let (tag, item) = (tag.clone(), ItemId::new(self.clock.new_id().to_string()));
            told.push(match block {
                ForeignBlock::Text(text) => {
                    turn.texts.push(text.clone());
                    written(tag, item, content, agent_message(text))
                }
                ForeignBlock::Reasoning(text) => written(tag, item, content, reasoning(text)),
                ForeignBlock::Call {
                    call_id,
                    name,
                    input,
                } => {
                    let call = Arc::new(call(item, call_id, name, input));
                    turn.calls.push((tag.clone(), Arc::clone(&call)));
                    Fact::tool(tag, call, ToolFact::Planned { content })
                }
            });
        }
        let reason = match turn.calls.is_empty() {
            true => StopReason::Stop,
            false => StopReason::ToolUse,
        };
        told.push(Fact::Step {
            tag,
            what: StepFact::Finished {
                reason,
                usage: Usage::default(),
                context_limit: None,
                thread_usage: Usage::default(),
            },
        });
        self.facts.extend(told);
    }

    fn end_calls(&mut self, results: &[ForeignResult]) {
        for result in results {
            let Some(turn) = &mut self.turn else { return };
            let known = |(_, call): &(StreamTag, Arc<ToolCall>)| call.call_id == result.call_id;
            // A result without its call can be shown to no model.
            let Some(at) = turn.calls.iter().position(known) else {
                continue;
            };
            let (tag, call) = turn.calls.remove(at);
            let outcome = match result.is_error {
                true => ToolOutcome::Failed {
                    error: result.output.clone(),
                },
                false => ToolOutcome::Succeeded(ToolOutput::Text(result.output.clone())),
            };
            self.tell(Fact::tool(
                tag.clone(),
                Arc::clone(&call),
                ToolFact::Started,
            ));
            self.tell(Fact::tool(
                tag,
                call,
                ToolFact::Finished {
                    outcome,
                    duration_ms: None,
                },
            ));
        }
    }

    fn end_open_calls(&mut self, why: &str) {
        let open = self
            .turn
            .as_mut()
            .map(|turn| std::mem::take(&mut turn.calls));
        for (tag, call) in open.into_iter().flatten() {
            let why = format!("not run: {why}");
            let outcome = ToolOutcome::NotRun { why };
            self.tell(Fact::tool(
                tag,
                call,
                ToolFact::Finished {
                    outcome,
                    duration_ms: None,
                },
            ));
        }
    }

    fn end_turn(&mut self) {
        self.end_open_calls("the conversation ended");
        let Some(turn) = self.turn.take() else { return };
        self.tell(Fact::Turn(TurnFact::Finished {
            turn: turn.id,
            outcome: TurnOutcome::Completed,
            text: turn.texts.join("\n\n"),
            reasoning: Vec::new(),
            usage: None,
            model: Some(Arc::clone(&self.model)),
            started_at: None,
        }));
    }
}

fn written(tag: StreamTag, item: ItemId, content: u32, body: Item) -> Fact {
    let began = None;
    Fact::Item {
        tag,
        item,
        content,
        what: ItemFact::Finished { body, began },
    }
}

fn agent_message(text: &str) -> Item {
    Item::AgentMessage {
        text: text.to_owned(),
        partial: false,
        native: None,
    }
}

fn reasoning(text: &str) -> Item {
    Item::Reasoning {
        kind: ReasoningKind::Reasoning,
        breaks: Vec::new(),
        text: text.to_owned(),
        partial: false,
        native: None,
    }
}

fn call(item: ItemId, call_id: &str, name: &str, input: &Value) -> ToolCall {
    let command = input.get("command").and_then(Value::as_str);
    let subject = match command.filter(|_| name == "bash") {
        Some(line) => Subject::Command {
            line: line.to_owned(),
            directory: None,
        },
        None => Subject::Other,
    };
    ToolCall {
        item,
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input: input.clone(),
        subject,
        effects: Default::default(),
        native: None,
        problem: None,
        by_user: false,
        agent: None,
    }
}
