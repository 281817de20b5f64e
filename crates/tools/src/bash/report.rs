//! What is told of a command that has ended: to clients its two streams, to the model one text that
//! begins with how it ended and shows the end of its output.

use std::time::Duration;

use vocabulary::ToolOutput;

use super::capture::CapturedStreams;
use super::ordered::HeadPercent;
use crate::{Scope, spill};

/// So much of the output does a model read.
const MODEL_BYTES_MAX: usize = 28 * 1024;
const HEAD_OF_SUCCESS: HeadPercent = HeadPercent(30);
/// What went wrong is mostly said last.
const HEAD_OF_FAILURE: HeadPercent = HeadPercent(15);

/// What shells answer for a command that was interrupted.
const EXIT_CANCELLED: i32 = 130;
const ABORTED: &str = "Command aborted.";

/// How a command ended.
pub(super) struct CommandEnd {
    pub exit_code: i32,
    pub duration: Duration,
    /// Why it was ended by others.
    pub ended_by: Option<&'static str>,
    /// What there is to say beside its output.
    pub notes: Vec<String>,
}

impl CommandEnd {
    pub fn cancelled(duration: Duration) -> CommandEnd {
        CommandEnd {
            exit_code: EXIT_CANCELLED,
            duration,
            ended_by: Some("stopped"),
            notes: vec![ABORTED.to_owned()],
        }
    }

    fn heading(&self) -> String {
        let seconds = self.duration.as_secs_f32();
        let ended_by = self.ended_by.map(|why| format!(" · {why}"));
        let ended_by = ended_by.unwrap_or_default();
        format!("exit {} · {seconds:.1} s{ended_by}", self.exit_code)
    }

    /// What a call gives back. What does not fit is written to a file, so this may block.
    pub fn report(self, scope: &Scope, mut streams: CapturedStreams) -> ToolOutput {
        let both = streams.take_both();
        let is_long = both.text.len() > MODEL_BYTES_MAX;
        let is_cut = is_long || streams.stdout.is_cut() || streams.stderr.is_cut();
        let file = is_cut.then(|| spill::keep(scope, "output", &both.text));
        let (rest, rest_for_model) = match file.flatten() {
            Some(path) => {
                let path = path.display();
                let how_much = match both.is_whole() {
                    true => "all",
                    false => "most",
                };
                (
                    format!("{how_much} of it is in {path}, read on there"),
                    format!("{how_much} in {path}"),
                )
            }
            None => ("ask for less".to_owned(), "ask for less".to_owned()),
        };
        let share = match self.exit_code {
            0 => HEAD_OF_SUCCESS,
            _ => HEAD_OF_FAILURE,
        };
        let shown = match is_long {
            true => both.shortened(MODEL_BYTES_MAX, share, &rest_for_model),
            false => both.text,
        };
        let model_text = format!("{}\n{shown}", self.heading());
        let model_text = model_text.trim_end_matches('\n').to_owned();
        let output = ToolOutput::Command {
            stdout: streams.stdout.into_text(&rest),
            stderr: streams.stderr.into_text(&rest),
            exit_code: self.exit_code,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            model_text: Some(model_text),
        };
        let notes = self.notes.iter();
        notes.fold(output, |output, note| noted(output, note))
    }
}

/// The output with a note behind it, for all who read it.
pub(super) fn noted(output: ToolOutput, note: &str) -> ToolOutput {
    match output {
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms,
            model_text,
        } => ToolOutput::Command {
            stdout,
            stderr: on_new_line(stderr, note),
            exit_code,
            duration_ms,
            model_text: model_text.map(|text| on_new_line(text, note)),
        },
        other @ (ToolOutput::Text(_)
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_)
        | ToolOutput::Content(_)) => other,
    }
}

fn on_new_line(mut text: String, note: &str) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(note);
    text
}
