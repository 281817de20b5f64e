//! What is told of a command that has ended: to clients its two streams, to the model one text that
//! begins with how it ended and shows the end of its output.

use std::time::Duration;

use vocabulary::ToolOutput;

use super::capture::CapturedStreams;
use super::ordered::{HeadPercent, KeptOutput};
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
#[derive(Clone, Debug)]
pub(crate) struct CommandEnd {
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

    /// How it ended, in a few words.
    pub fn heading(&self) -> String {
        let ended_by = self.ended_by.map(|why| format!(" · {why}"));
        let ended_by = ended_by.unwrap_or_default();
        let duration = seconds(self.duration);
        format!("exit {} · {duration}{ended_by}", self.exit_code)
    }

    /// What a call gives back. What does not fit is written to a file, so this may block.
    pub(super) fn report(self, scope: &Scope, mut streams: CapturedStreams) -> ToolOutput {
        let both = streams.take_both();
        let is_cut = streams.stdout.is_cut() || streams.stderr.is_cut();
        let rest = Rest::of(scope, &both, is_cut);
        let share = match self.exit_code {
            0 => HEAD_OF_SUCCESS,
            _ => HEAD_OF_FAILURE,
        };
        let shown = both.shown(share, &rest.for_model);
        let model_text = format!("{}\n{shown}", self.heading());
        let model_text = model_text.trim_end_matches('\n').to_owned();
        let output = ToolOutput::Command {
            stdout: streams.stdout.into_text(&rest.for_people),
            stderr: streams.stderr.into_text(&rest.for_people),
            exit_code: self.exit_code,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            model_text: Some(model_text),
        };
        let notes = self.notes.iter();
        notes.fold(output, |output, note| noted(output, note))
    }
}

/// What a model reads of the output of a command that may still run. What does not fit is written to a
/// file, so this may block.
pub(crate) fn shown_so_far(scope: &Scope, both: KeptOutput) -> String {
    let rest = Rest::of(scope, &both, false);
    let shown = both.shown(HEAD_OF_FAILURE, &rest.for_model);
    shown.trim_end_matches('\n').to_owned()
}

/// Where the output is that does not fit.
struct Rest {
    for_people: String,
    for_model: String,
}

impl Rest {
    fn of(scope: &Scope, both: &KeptOutput, is_cut: bool) -> Rest {
        let is_cut = is_cut || both.is_long();
        let file = is_cut.then(|| spill::keep(scope, "output", &both.text));
        let Some(path) = file.flatten() else {
            let less = "ask for less".to_owned();
            return Rest {
                for_people: less.clone(),
                for_model: less,
            };
        };
        let path = path.display();
        let how_much = match both.is_whole() {
            true => "all",
            false => "most",
        };
        Rest {
            for_people: format!("{how_much} of it is in {path}, read on there"),
            for_model: format!("{how_much} in {path}"),
        }
    }
}

impl KeptOutput {
    fn is_long(&self) -> bool {
        self.text.len() > MODEL_BYTES_MAX
    }

    /// As a model reads it, with `rest`: where all of it is.
    fn shown(self, share: HeadPercent, rest: &str) -> String {
        match self.is_long() {
            true => self.shortened(MODEL_BYTES_MAX, share, rest),
            false => self.text,
        }
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f32())
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
