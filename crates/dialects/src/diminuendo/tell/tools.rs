//! Tool calls and their ends.

use std::borrow::Cow;

use vocabulary::{StreamTag, ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput};

use super::{At, Spelled};
use crate::diminuendo::wire::ServerEvent;
use crate::diminuendo::wire::parts::ToolStatus;

impl<'a> At<'a> {
    pub fn tool(self, tool: &'a ToolEvent) -> Option<Spelled<'a>> {
        let ToolEvent { tag, call, what } = tool;
        match what {
            ToolFact::Planned { .. } => Some(self.planned(tag, call)),
            // What a tool writes that is no command belongs in no terminal.
            ToolFact::Wrote { delta, .. } if call.is_command() => Some(self.wrote(tag, delta)),
            ToolFact::Exited { exit_code } => Some(self.exited(tag, *exit_code)),
            ToolFact::Finished { outcome, .. } => self.tool_finished(tag, call, outcome),
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. } => None,
        }
    }

    fn wrote(self, tag: &'a StreamTag, data: &'a str) -> Spelled<'a> {
        Spelled::Numbered(ServerEvent::TerminalStream {
            session_id: self.session_id,
            turn_id: tag.turn.as_str(),
            data,
            seq: self.seq,
            ts: self.ts,
        })
    }

    fn planned(self, tag: &'a StreamTag, call: &'a ToolCall) -> Spelled<'a> {
        Spelled::Numbered(ServerEvent::ToolCall {
            session_id: self.session_id,
            turn_id: tag.turn.as_str(),
            tool_call_id: &call.call_id,
            tool_name: &call.name,
            args: &call.input,
            seq: self.seq,
            ts: self.ts,
        })
    }

    fn exited(self, tag: &'a StreamTag, exit_code: i32) -> Spelled<'a> {
        Spelled::Numbered(ServerEvent::TerminalComplete {
            session_id: self.session_id,
            turn_id: tag.turn.as_str(),
            exit_code,
            seq: self.seq,
            ts: self.ts,
        })
    }

    fn tool_finished(
        self,
        tag: &'a StreamTag,
        call: &'a ToolCall,
        outcome: &'a ToolOutcome,
    ) -> Option<Spelled<'a>> {
        let At {
            session_id,
            seq,
            ts,
            ..
        } = self;
        let (turn_id, tool_call_id) = (tag.turn.as_str(), call.call_id.as_str());
        let (status, output) = match outcome {
            ToolOutcome::Succeeded(output) => (status_of(output), output),
            ToolOutcome::Denied(output) | ToolOutcome::Interrupted(output) => {
                (ToolStatus::Error, output)
            }
            ToolOutcome::Failed { error } => {
                return Some(Spelled::Numbered(ServerEvent::ToolError {
                    session_id,
                    turn_id,
                    tool_call_id,
                    error,
                    seq,
                    ts,
                }));
            }
            ToolOutcome::NotRun { .. } => return None,
        };
        Some(Spelled::Numbered(ServerEvent::ToolResult {
            session_id,
            turn_id,
            tool_call_id,
            status,
            output: output_text(output),
            seq,
            ts,
        }))
    }
}

fn status_of(output: &ToolOutput) -> ToolStatus {
    match output {
        ToolOutput::Command { exit_code, .. } if *exit_code != 0 => ToolStatus::Error,
        ToolOutput::Command { .. }
        | ToolOutput::Text(_)
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_)
        | ToolOutput::Content(_) => ToolStatus::Success,
    }
}

fn output_text(output: &ToolOutput) -> Cow<'_, str> {
    match output {
        ToolOutput::Command { stdout, stderr, .. } => match (stdout.as_str(), stderr.as_str()) {
            (only, "") | ("", only) => Cow::Borrowed(only),
            (stdout, stderr) => Cow::Owned(format!("{}\n{stderr}", stdout.trim_end_matches('\n'))),
        },
        ToolOutput::Text(_)
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_)
        | ToolOutput::Content(_) => output.words(),
    }
}
