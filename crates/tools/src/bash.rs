//! The tool `bash`: runs a command line in the workspace behind the sandbox's fence, shows its output as
//! it comes, and leaves nothing running.

mod blocked;
mod capture;
mod environment;
mod escalation;
mod git_settings;
mod group;
mod lines;
mod ordered;
mod report;
mod within;

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, ToolOutput};

use crate::input::{self, Fields};
use crate::sandbox::Fenced;
use crate::{Failure, Judgement, Sandbox, Scope, Tool, ToolCx, risk};
use capture::CapturedStreams;
use environment::WritesTo;
use escalation::Escalation;
use git_settings::GitPrograms;
use group::Group;
use report::CommandEnd;
pub(crate) use within::run_within;

const COMMAND_CHARS_MAX: usize = 100_000;
/// A command that runs longer is ended.
const TIME_MAX: Duration = Duration::from_secs(600);
const FENCE_TRIES: usize = 3;
/// What `timeout` answers for a command that took too long.
pub(crate) const EXIT_TIMED_OUT: i32 = 124;
const OUTPUT_HELD: &str = "[a process in the background still holds the output; what it writes \
    from now on is lost]";

pub(crate) struct BashTool {
    time_max: Duration,
}

impl Default for BashTool {
    fn default() -> BashTool {
        BashTool { time_max: TIME_MAX }
    }
}

#[async_trait]
impl Tool for BashTool {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> &'static str {
        "Runs a bash command in the workspace.\n\
         Each call is a new shell: directories and variables do not carry over. There is no input \
         and, unless asked for, no terminal. Commands end after ten minutes, and what they start ends with them; of \
         long output the beginning and the end are shown and all is in a file. A sandbox may hold them: then the workspace and $TMPDIR can be written, the \
         network is closed, and the result says what it stopped. Where the task needs more, call with \
         \"escalate\" and a reason: the user is asked, so do it only then."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "maxLength": COMMAND_CHARS_MAX},
                "pty": {
                    "type": "boolean",
                    "description": "Run it at a terminal, for programs that need one; errors come \
                        with the output then.",
                },
                "escalate": {
                    "type": "string",
                    "enum": Escalation::NAMES,
                    "description": "What it needs beyond the sandbox: the network; to write, in a \
                        read-only thread; or to run outside of it. The user must allow it.",
                },
                "reason": {
                    "type": "string",
                    "description": "With escalate: one sentence that tells the user why.",
                },
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::RUNS
    }

    fn subject(&self, input: &Value) -> Subject {
        Subject::Command {
            line: input::text_of(input, "command").to_owned(),
            directory: None,
        }
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        match parse(input) {
            Ok(order) => match order.escalation {
                Some(escalation) => escalation.judgement(order.command, order.reason),
                None => risk::judge_command(scope, order.command),
            },
            Err(_) => Judgement::Allow,
        }
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let order = parse(&input)?;
        if cx.cancel.is_cancelled() {
            let end = CommandEnd::cancelled(Duration::ZERO);
            return Err(Failure::Cancelled(
                end.report(&cx.scope, CapturedStreams::new()),
            ));
        }
        if order.terminal && !cx.sandbox.has_launcher() {
            let message = "bash: there are no terminals here; leave \"pty\" away";
            return Err(Failure::Error(message.to_owned()));
        }
        let programs = match self.judge(&cx.scope, &input) {
            Judgement::Allow => GitPrograms::Off,
            Judgement::Ask { .. } => GitPrograms::AsConfigured,
        };
        let hold = Hold::of(cx, &order);
        let output = self.run_held(cx, programs, order.command, &hold).await?;
        if hold.outside {
            return Ok(output);
        }
        let stopped = blocked::stopped(hold.sandbox.mode(), &cx.scope, &output);
        Ok(match stopped {
            Some(stopped) => report::noted(output, &stopped.note()),
            None => output,
        })
    }
}

impl BashTool {
    /// Runs it once. A fence that could not be set up is tried again: what it was to hide may have
    /// vanished just then.
    async fn run_held(
        &self,
        cx: &ToolCx,
        programs: GitPrograms,
        command: &str,
        hold: &Hold,
    ) -> Result<ToolOutput, Failure> {
        let mut trouble = String::new();
        for _ in 0..FENCE_TRIES {
            let fenced = hold.set_up(command).await;
            let fenced = fenced.map_err(|error| Failure::Error(format!("bash: {error}")))?;
            let group = Group::spawn(&cx.scope, fenced, programs, hold.writes_to)?;
            match run(cx, group, self.time_max).await {
                Ok(output) => return Ok(output),
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::NotFenced(error)) => trouble = error,
            }
        }
        let message = format!("bash: the sandbox could not be set up, nothing has run: {trouble}");
        Err(Failure::Error(message))
    }
}

/// How one call is held.
#[derive(Clone)]
struct Hold {
    sandbox: Sandbox,
    scope: Scope,
    outside: bool,
    writes_to: WritesTo,
}

impl Hold {
    /// Whoever lets a call run has asked a person for what it wants beyond the sandbox.
    fn of(cx: &ToolCx, order: &Order<'_>) -> Hold {
        let wants = |escalation| order.escalation == Some(escalation);
        let sandbox = Sandbox::clone(&cx.sandbox).with_terminal(order.terminal);
        let network = sandbox.network() || wants(Escalation::Network);
        Hold {
            sandbox: sandbox.with_network(network),
            scope: Scope {
                read_only: cx.scope.read_only && !wants(Escalation::Write),
                ..cx.scope.clone()
            },
            outside: wants(Escalation::Outside),
            writes_to: match order.terminal {
                true => WritesTo::Terminal,
                false => WritesTo::Pipes,
            },
        }
    }

    /// Sets the fence up, away from whoever serves others: it looks through the workspace.
    async fn set_up(&self, command: &str) -> Result<Fenced, String> {
        let (hold, command) = (self.clone(), command.to_owned());
        let set_up = move || {
            let words = group::words(&command);
            match hold.outside {
                true => hold.sandbox.open(&words),
                false => hold.sandbox.fence(&hold.scope, &words),
            }
        };
        let fenced = tokio::task::spawn_blocking(set_up).await;
        fenced.unwrap_or_else(|_| Err("the sandbox could not be set up".to_owned()))
    }
}

/// What a call wants.
struct Order<'a> {
    command: &'a str,
    terminal: bool,
    escalation: Option<Escalation>,
    reason: Option<&'a str>,
}

fn parse(input: &Value) -> Result<Order<'_>, Failure> {
    let fields = Fields::of("bash", input)?;
    let command = fields.filled_text("command", COMMAND_CHARS_MAX)?;
    if command.contains('\0') {
        return Err(fields.refuse("command", "a text without NUL"));
    }
    Ok(Order {
        command,
        terminal: fields.optional_flag("pty")?.unwrap_or(false),
        escalation: Escalation::of(&fields)?,
        reason: escalation::reason(&fields)?,
    })
}

/// Why there is no output of a command.
enum Stop {
    /// The fence was not set up: the command has not run.
    NotFenced(String),
    Failed(Failure),
}

/// Why the wait for a command is over.
enum WaitOutcome {
    Exited(std::io::Result<ExitStatus>),
    Cancelled,
    TimedOut,
}

impl WaitOutcome {
    fn told(&self, duration: Duration, time_max: Duration) -> Result<CommandEnd, Stop> {
        match self {
            WaitOutcome::Exited(Ok(status)) => Ok(CommandEnd {
                exit_code: exit_code(*status),
                duration,
                ended_by: None,
                notes: Vec::new(),
            }),
            WaitOutcome::Exited(Err(error)) => {
                let failure = Failure::Error(format!("bash: lost the command: {error}"));
                Err(Stop::Failed(failure))
            }
            WaitOutcome::Cancelled => Ok(CommandEnd::cancelled(duration)),
            WaitOutcome::TimedOut => Ok(CommandEnd {
                exit_code: EXIT_TIMED_OUT,
                duration,
                ended_by: Some("timed out"),
                notes: vec![timed_out(time_max)],
            }),
        }
    }
}

async fn run(cx: &ToolCx, mut group: Group, time_max: Duration) -> Result<ToolOutput, Stop> {
    let begun = Instant::now();
    let mut streams = CapturedStreams::new();
    let (end, output_held) = {
        let mut pumping = group.pump(cx.host.as_ref(), &mut streams);
        let end = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => WaitOutcome::Cancelled,
            () = tokio::time::sleep(time_max) => WaitOutcome::TimedOut,
            status = group.follow(&mut pumping) => WaitOutcome::Exited(status),
        };
        match end {
            WaitOutcome::Exited(Ok(_)) => group.let_go(),
            WaitOutcome::Exited(Err(_)) | WaitOutcome::Cancelled | WaitOutcome::TimedOut => {
                group.stop(&mut pumping).await
            }
        }
        (end, !pumping.is_over())
    };
    if matches!(end, WaitOutcome::Exited(Ok(_))) && !group.stands() {
        let trouble = streams.stderr.into_text("ask for less");
        return Err(Stop::NotFenced(trouble.trim().to_owned()));
    }
    let mut told = end.told(begun.elapsed(), time_max)?;
    if output_held && told.ended_by.is_none() {
        told.notes.push(OUTPUT_HELD.to_owned());
    }
    told.notes.splice(..0, group.finish().await);
    let scope = cx.scope.clone();
    // Writing files must not hold others up.
    let output = tokio::task::spawn_blocking(move || told.report(&scope, streams)).await;
    let output = output.map_err(|error| {
        let failure = Failure::Error(format!("bash: lost the output: {error}"));
        Stop::Failed(failure)
    })?;
    match end {
        WaitOutcome::Cancelled => Err(Stop::Failed(Failure::Cancelled(output))),
        WaitOutcome::Exited(_) | WaitOutcome::TimedOut => Ok(output),
    }
}

fn timed_out(time_max: Duration) -> String {
    format!(
        "Command stopped: it ran longer than {} seconds. Do less at once.",
        time_max.as_secs_f32()
    )
}

/// A signal is told as shells do.
fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests;
