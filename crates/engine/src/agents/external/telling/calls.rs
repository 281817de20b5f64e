//! The calls of an external agent, told as they go on.

use std::sync::Arc;

use acp::schema::{self, ToolCallId, ToolCallStatus, ToolCallUpdate};
use serde_json::Value;
use tokio::time::Instant;
use vocabulary::{Fact, OutputStream, StreamTag, ToolCall, ToolFact, ToolOutcome, ToolOutput};

use super::super::tool_calls;
use super::{AgentTeller, TellError};
use crate::limits::AGENT_CALLS_MAX;
use crate::turn::tooling;

/// A call, as far as it was told.
pub struct ToldCall {
    pub(super) id: ToolCallId,
    /// As the agent has it; let go of when it is over.
    told: Option<Box<schema::ToolCall>>,
    /// As we have it, once it was told.
    pub call: Option<Arc<ToolCall>>,
    pub tag: StreamTag,
    pub(super) phase: CallPhase,
    /// What of its output was shown.
    shown: String,
    started_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallPhase {
    /// Its input is not known yet.
    Heard,
    Reached,
    Started,
    Finished,
}

impl AgentTeller {
    /// Takes in what an agent says of a call, be it the first or not.
    pub async fn tell_call(&mut self, update: ToolCallUpdate) -> Result<(), TellError> {
        let at = self.hear_call(update)?;
        let ready = self.calls[at].told.as_ref().is_some_and(|told| {
            let has_input = told.raw_input.as_ref().is_some_and(has_content);
            told.status != ToolCallStatus::Pending || has_input
        });
        if ready {
            self.reach_call(at).await?;
            self.follow_call(at).await?;
        }
        Ok(())
    }

    /// Takes in a call for which permission is asked; gives it as it was told.
    pub async fn reach(&mut self, update: ToolCallUpdate) -> Result<&ToldCall, TellError> {
        let at = self.hear_call(update)?;
        self.reach_call(at).await?;
        Ok(&self.calls[at])
    }

    /// Remembers what is said of a call; gives its place.
    fn hear_call(&mut self, update: ToolCallUpdate) -> Result<usize, TellError> {
        let known = self
            .calls
            .iter()
            .position(|call| call.id == update.tool_call_id);
        let at = match known {
            Some(at) => at,
            None if self.calls.len() >= AGENT_CALLS_MAX => {
                let message = format!("it made more than {AGENT_CALLS_MAX} calls");
                return Err(TellError::TooMuch(message));
            }
            None => {
                let id = update.tool_call_id.clone();
                let title = update.fields.title.clone().unwrap_or_default();
                self.calls.push(ToldCall {
                    told: Some(Box::new(schema::ToolCall::new(id.clone(), title))),
                    id,
                    call: None,
                    tag: self.turn.tag(self.step),
                    phase: CallPhase::Heard,
                    shown: String::new(),
                    started_at: None,
                });
                self.calls.len() - 1
            }
        };
        if let Some(told) = &mut self.calls[at].told {
            told.update(update.fields);
        }
        Ok(at)
    }

    async fn reach_call(&mut self, at: usize) -> Result<(), TellError> {
        if self.calls[at].phase != CallPhase::Heard {
            return Ok(());
        }
        self.finish_text(false).await?;
        self.enter_step().await?;
        let (item, content) = (self.turn.new_item(), self.next_content());
        let tag = self.turn.tag(self.step);
        let told = &mut self.calls[at];
        let Some(heard) = &told.told else {
            return Ok(());
        };
        let call = Arc::new(ToolCall {
            item,
            call_id: told.id.to_string(),
            name: tool_calls::name(heard),
            input: tool_calls::input(heard),
            subject: tool_calls::subject(heard, &self.scope),
            effects: tool_calls::effects(heard),
            native: None,
            problem: None,
            by_user: false,
            agent: None,
        });
        told.call = Some(Arc::clone(&call));
        told.tag = tag.clone();
        told.phase = CallPhase::Reached;
        for what in [ToolFact::Planned { content }, ToolFact::Reached] {
            let fact = Fact::tool(tag.clone(), Arc::clone(&call), what);
            self.turn.tell(fact).await?;
        }
        Ok(())
    }

    /// Tells what is new of a call.
    async fn follow_call(&mut self, at: usize) -> Result<(), TellError> {
        let told = &self.calls[at];
        let Some(heard) = told.told.as_deref() else {
            return Ok(());
        };
        match heard.status {
            ToolCallStatus::Pending => Ok(()),
            ToolCallStatus::InProgress => {
                let text = tool_calls::text(heard);
                self.start_call(at).await?;
                self.show_output(at, text).await
            }
            ToolCallStatus::Completed | ToolCallStatus::Failed => {
                let outcome = tool_calls::outcome(heard, &self.scope);
                self.start_call(at).await?;
                self.finish_call(at, outcome).await
            }
            // A later version of the protocol may have more.
            _ => Ok(()),
        }
    }

    async fn start_call(&mut self, at: usize) -> Result<(), TellError> {
        let told = &mut self.calls[at];
        let Some(call) = told
            .call
            .as_ref()
            .filter(|_| told.phase < CallPhase::Started)
        else {
            return Ok(());
        };
        let fact = Fact::tool(told.tag.clone(), Arc::clone(call), ToolFact::Started);
        told.phase = CallPhase::Started;
        told.started_at = Some(Instant::now());
        Ok(self.turn.tell(fact).await?)
    }

    /// Shows by how much the output grew: agents send it whole each time.
    async fn show_output(&mut self, at: usize, text: String) -> Result<(), TellError> {
        let told = &mut self.calls[at];
        let (Some(call), Some(delta)) = (&told.call, text.strip_prefix(&told.shown)) else {
            return Ok(());
        };
        if delta.is_empty() || !call.is_command() {
            return Ok(());
        }
        let what = ToolFact::Wrote {
            stream: OutputStream::Stdout,
            delta: delta.to_owned(),
        };
        let fact = Fact::tool(told.tag.clone(), Arc::clone(call), what);
        told.shown = text;
        Ok(self.turn.tell(fact).await?)
    }

    async fn finish_call(&mut self, at: usize, outcome: ToolOutcome) -> Result<(), TellError> {
        self.count(size(&outcome))?;
        let told = &mut self.calls[at];
        told.told = None;
        told.shown = String::new();
        let call = told
            .call
            .as_ref()
            .filter(|_| told.phase != CallPhase::Finished);
        let (call, tag) = (call.cloned(), told.tag.clone());
        let ran = told.started_at.take().map(|at| at.elapsed());
        told.phase = CallPhase::Finished;
        match call {
            Some(call) => Ok(tooling::tell_end(&self.turn, &tag, &call, &outcome, ran).await?),
            None => Ok(()),
        }
    }

    /// A person, a rule or the thread said yes.
    pub async fn allow(&mut self, id: &ToolCallId) -> Result<(), TellError> {
        match self.calls.iter().position(|call| call.id == *id) {
            Some(at) => self.start_call(at).await,
            None => Ok(()),
        }
    }

    /// It will not be made. What its agent says of it later changes nothing.
    pub async fn forbid(&mut self, id: &ToolCallId, outcome: ToolOutcome) -> Result<(), TellError> {
        match self.calls.iter().position(|call| call.id == *id) {
            Some(at) => self.finish_call(at, outcome).await,
            None => Ok(()),
        }
    }

    /// Ends the calls that will never end by themselves.
    pub(super) async fn end_calls(&mut self) -> Result<(), TellError> {
        for at in 0..self.calls.len() {
            let told = &self.calls[at];
            let outcome = match (told.phase, &told.call) {
                (CallPhase::Heard, _) | (CallPhase::Finished, _) | (_, None) => continue,
                (CallPhase::Reached, Some(_)) => ToolOutcome::NotRun {
                    why: "not run: the agent ended its turn".to_owned(),
                },
                (CallPhase::Started, Some(call)) => interrupted(call),
            };
            self.finish_call(at, outcome).await?;
        }
        Ok(())
    }
}

/// As much as is kept of it.
fn size(outcome: &ToolOutcome) -> usize {
    match outcome {
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Interrupted(output)
        | ToolOutcome::Denied(output) => output.words().len(),
        ToolOutcome::Failed { error } | ToolOutcome::NotRun { why: error } => error.len(),
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

fn interrupted(call: &ToolCall) -> ToolOutcome {
    const WHY: &str = "the agent did not say how it ended";
    ToolOutcome::Interrupted(match call.is_command() {
        true => ToolOutput::Command {
            stdout: String::new(),
            stderr: format!("{WHY}."),
            exit_code: 130,
            duration_ms: 0,
            model_text: None,
        },
        false => ToolOutput::Text(format!("interrupted: {WHY}")),
    })
}
