//! One job: a command in the background, and what the model has seen of it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use vocabulary::{BackgroundTerminal, ToolCall, ToolOutcome, ToolOutput};

use crate::bash::command::{EndedBy, NoEnd, RunningCommand, Waited};
use crate::bash::{note_of_stopped, report};
use crate::sandbox::Mode;
use crate::{PlacedCall, Scope};

/// How much of a command line is shown in lists.
const LINE_CHARS_MAX: usize = 80;
/// What a model is told of what a person typed: so many texts, each so long.
const TYPED_KEPT_MAX: usize = 16;
const TYPED_CHARS_MAX: usize = 200;
/// A command that does not read its input must not hold up who types.
const TYPING_MAX: Duration = Duration::from_secs(5);
const NO_INPUT: &str = "it has no input";
const NOTHING_NEW: &str = "[no new output]";

/// What a job may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobReach {
    Fenced,
    /// A person allowed it something beyond the sandbox.
    Escalated,
    /// There is no sandbox.
    NoSandbox,
}

/// What a job was started in.
pub(crate) struct JobFence {
    pub reach: JobReach,
    pub scope: Scope,
    pub mode: Mode,
    pub takes_input: bool,
}

impl JobFence {
    /// Whether it can change nothing, whatever is typed to it.
    pub fn only_reads(&self) -> bool {
        self.reach == JobReach::Fenced && self.scope.read_only
    }
}

pub(crate) struct JobStart {
    pub line: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// The call that started it.
    pub call: Option<PlacedCall>,
    pub fence: JobFence,
}

/// How a job ended.
pub struct JobEnd {
    /// For people, in one line.
    pub note: String,
    /// The call that started it, and what came of it after all.
    pub call: Option<(PlacedCall, ToolOutcome)>,
}

pub(crate) struct BackgroundJob {
    pub id: u32,
    line: String,
    directory: PathBuf,
    call: Option<PlacedCall>,
    /// What a person typed to it, as far as the model does not know.
    typed: Mutex<Vec<String>>,
    pub fence: JobFence,
    pub command: RunningCommand,
    /// Whether the model knows that it has ended.
    end_is_known: AtomicBool,
    _watch: AbortOnDropHandle<()>,
}

impl BackgroundJob {
    pub fn new(
        id: u32,
        command: RunningCommand,
        start: JobStart,
        watch: AbortOnDropHandle<()>,
    ) -> BackgroundJob {
        BackgroundJob {
            id,
            line: start.line,
            directory: start.directory,
            call: start.call,
            typed: Mutex::default(),
            fence: start.fence,
            command,
            end_is_known: AtomicBool::new(false),
            _watch: watch,
        }
    }

    pub fn started_by(&self) -> Option<&Arc<ToolCall>> {
        self.call.as_ref().map(|placed| &placed.call)
    }

    pub fn is_running(&self) -> bool {
        self.command.end().is_none()
    }

    /// What the call that started it gives back.
    pub async fn told_first(&self, background: bool) -> String {
        self.command.run_in_background();
        let output = self.output().await;
        let (id, age) = (self.id, report::seconds(self.command.begun.elapsed()));
        let heading = match background {
            true => format!("running as job {id} · {age}"),
            false => format!("still running as job {id} · {age}"),
        };
        let output = match output.is_empty() {
            true => "[no output yet]",
            false => &output,
        };
        format!(
            "{heading}\n{output}\n[it runs on in the background; tool job with id {id}: wait, output, \
             stop]"
        )
    }

    /// Waits for its end, but not for longer than this; gives whether nobody cancelled it.
    pub async fn wait(&self, cancel: &CancellationToken, time_max: Duration) -> bool {
        match self.command.wait(cancel, time_max).await {
            Waited::Ended(_) | Waited::TimedOut => true,
            Waited::Cancelled => false,
        }
    }

    /// How it stands and what it wrote since the last look. The time of one that runs makes every look
    /// another, so it is told only to who waited.
    pub async fn look(&self, with_time: bool) -> String {
        // Before the output is taken, so that nothing can come after it.
        let end = self.command.end();
        let output = self.output().await;
        let id = self.id;
        let Some(end) = end else {
            let age = match with_time {
                true => format!(" · {}", report::seconds(self.command.begun.elapsed())),
                false => String::new(),
            };
            return format!("job {id} · running{age}\n{}", or_nothing(&output));
        };
        let is_first = !self.end_is_known.swap(true, Ordering::Relaxed);
        let end = match end {
            Ok(end) => end,
            Err(no_end) => return format!("job {id} · {}", lost(&no_end)),
        };
        let mut told = format!("job {id} · {}\n{}", end.heading(), or_nothing(&output));
        let stopped = note_of_stopped(self.fence.mode, &self.fence.scope, &output, end.exit_code);
        for note in end.notes.iter().chain(&stopped).filter(|_| is_first) {
            told.push('\n');
            told.push_str(note);
        }
        told
    }

    async fn output(&self) -> String {
        let (scope, output) = (self.fence.scope.clone(), self.command.look());
        // What does not fit is written to a file.
        let shown = move || report::shown_so_far(&scope, output);
        tokio::task::spawn_blocking(shown).await.unwrap_or_default()
    }

    /// One line about it.
    pub fn listed(&self) -> String {
        let state = match self.command.end() {
            None => format!(
                "running · {}",
                report::seconds(self.command.begun.elapsed())
            ),
            Some(Ok(end)) => end.heading(),
            Some(Err(no_end)) => lost(&no_end),
        };
        format!("job {} · {state} · {}", self.id, self.short_line())
    }

    /// How it ended, in one line.
    pub fn news(&self) -> String {
        let (id, line) = (self.id, self.short_line());
        match self.command.end() {
            None => format!("job {id} runs: {line}"),
            Some(Ok(end)) => {
                let why = end.ended_by.map(|why| format!(", {why}"));
                let (code, why) = (end.exit_code, why.unwrap_or_default());
                let seconds = end.duration.as_secs();
                format!("job {id} ended: exit {code} after {seconds} s{why}: {line}")
            }
            Some(Err(no_end)) => format!("job {id} ended: {}: {line}", lost(&no_end)),
        }
    }

    /// The same for people and for who shows the call that started it.
    pub fn end(&self) -> JobEnd {
        let outcome = |command: &RunningCommand| match command.end()? {
            Ok(end) => Some(ToolOutcome::Succeeded(ToolOutput::Command {
                // The rest of its output is the model's to read.
                stdout: format!("[{}]\n", end.heading()),
                stderr: String::new(),
                exit_code: end.exit_code,
                duration_ms: u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX),
                model_text: None,
            })),
            Err(no_end) => Some(ToolOutcome::Failed {
                error: lost(&no_end),
            }),
        };
        let call = self.call.clone();
        JobEnd {
            note: format!("[job] {}", self.news()),
            call: call.zip(outcome(&self.command)),
        }
    }

    /// The same for the model, if it does not know yet.
    pub fn take_news(&self) -> Option<String> {
        let is_news = !self.is_running() && !self.end_is_known.swap(true, Ordering::Relaxed);
        is_news.then(|| self.news())
    }

    /// What a person typed to it since the model was last told.
    pub fn take_typed(&self) -> Vec<String> {
        let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        let id = self.id;
        let told = |text: String| format!("the user typed to job {id}: {text:?}");
        std::mem::take(&mut *typed).into_iter().map(told).collect()
    }

    /// A person writes to it.
    pub async fn type_to(&self, text: &str) -> Result<(), String> {
        if !self.fence.takes_input {
            return Err(NO_INPUT.to_owned());
        }
        let bytes = text.as_bytes().to_vec();
        let write = self.command.write(bytes, false);
        let written = tokio::time::timeout(TYPING_MAX, write).await;
        written.unwrap_or_else(|_| Err("it does not read what is typed".to_owned()))?;
        let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        if typed.len() < TYPED_KEPT_MAX {
            typed.push(text.chars().take(TYPED_CHARS_MAX).collect());
        }
        Ok(())
    }

    /// As people see it in a list.
    pub fn as_terminal(&self) -> BackgroundTerminal {
        BackgroundTerminal {
            process: self.id,
            item: self.started_by().map(|call| call.item.clone()),
            line: self.line.clone(),
            directory: self.directory.clone(),
        }
    }

    pub fn ask_to_end(&self, why: &'static str) {
        self.command.ask_to_end(EndedBy::Others(why));
    }

    fn short_line(&self) -> String {
        let line = self.line.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LINE_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }
}

fn or_nothing(output: &str) -> &str {
    match output.is_empty() {
        true => NOTHING_NEW,
        false => output,
    }
}

fn lost(no_end: &NoEnd) -> String {
    match no_end {
        NoEnd::NotFenced(error) => format!("not run: {error}"),
        NoEnd::Failed(crate::Failure::Error(error)) => error.clone(),
        NoEnd::Failed(crate::Failure::Cancelled(_)) => "cancelled".to_owned(),
    }
}
