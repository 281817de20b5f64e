//! The tool `bash`: runs a command line in the workspace behind the sandbox's fence and shows its output as
//! it comes. What takes too long, or is to run in the background, becomes one of the thread's jobs.

mod blocked;
mod capture;
pub(crate) mod command;
pub(crate) mod environment;
mod escalation;
mod git_settings;
mod group;
mod hold;
mod lines;
mod order;
mod ordered;
pub(crate) mod report;
mod within;

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, Subject, TimeLimit, ToolOutput};

use crate::jobs::{JobStart, ThreadNetwork};
use crate::sandbox::Mode;
use crate::{Failure, Jobs, Judgement, Scope, Tool, ToolCx, input, policy, risk};
use blocked::Stopped;
use capture::CapturedStreams;
use command::{EndedBy, NoEnd, RunningCommand, Waited};
use escalation::Escalation;
use git_settings::GitPrograms;
use group::Group;
pub(crate) use group::wait_until_gone;
use hold::Hold;
use order::{BashOrder, COMMAND_CHARS_MAX, TIMEOUT_SECONDS_MAX};
use report::CommandEnd;
pub(crate) use within::run_within;

/// On a machine where sockets come and go quickly one of them can be gone each time.
const FENCE_TRIES: usize = 8;
/// What `timeout` answers for a command that took too long.
pub(crate) const EXIT_TIMED_OUT: i32 = 124;

pub(crate) struct BashTool;

#[async_trait]
impl Tool for BashTool {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> &'static str {
        "Runs a bash command in the workspace.\n\
         Each call is a new shell: directories and variables do not carry over. There is no input and, unless \
         asked for, no terminal. A command that passes its timeout runs on as a job (tool job); start servers \
         and watchers with background, later commands reach them on localhost. Of long output the beginning \
         and the end are shown and all is in a file. Where the sandbox stops something the result says so; \
         if the task needs it, call again with \"escalate\" and a reason: the user is asked, so do it only \
         then."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "maxLength": COMMAND_CHARS_MAX},
                "description": {
                    "type": "string",
                    "description": "What it does, in a few words for the user.",
                },
                "cwd": {
                    "type": "string",
                    "description": "A directory of the workspace to run it in.",
                },
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": TIMEOUT_SECONDS_MAX,
                    "description": "Seconds to wait for it before it becomes a job; 120 if not given.",
                },
                "background": {
                    "type": "boolean",
                    "description": "Make it a job at once; only then, or with pty, it can be written to.",
                },
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
        let directory = input::text_of(input, "cwd");
        Subject::Command {
            line: input::text_of(input, "command").to_owned(),
            directory: (!directory.is_empty()).then(|| directory.to_owned()),
        }
    }

    /// A directory of the workspace only makes paths reach less far up, so the line is judged as at the top.
    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        match BashOrder::parse(input) {
            Ok(order) => match order.escalation {
                // It is refused when it is run: no answer of a person would change that.
                Some(Escalation::Outside) if scope.outside.held => Judgement::Allow,
                Some(escalation) => escalation.judgement(&order.for_people(), order.reason),
                None => match risk::judge_command(scope, order.command) {
                    Judgement::Ask {
                        dangerous,
                        risk,
                        why,
                        ..
                    } => Judgement::Ask {
                        command: order.for_people(),
                        dangerous,
                        risk,
                        why,
                    },
                    Judgement::Allow => Judgement::Allow,
                },
            },
            Err(_) => Judgement::Allow,
        }
    }

    fn looks(&self) -> bool {
        true
    }

    /// The fence of its scope holds it, unless it wants more than that.
    fn changes(&self, _jobs: &Jobs, input: &Value) -> bool {
        BashOrder::parse(input).is_ok_and(|order| order.escalation.is_some())
    }

    /// How long it is waited for, and what it is said to do, make it no other command.
    fn grant_key(&self, input: &Value) -> String {
        let mut input = input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.remove("timeout");
            fields.remove("description");
        }
        policy::grant_key(self.name(), &input)
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let order = BashOrder::parse(&input)?;
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
        if order.background {
            cx.jobs.has_room().map_err(Failure::Error)?;
        }
        let programs = match self.judge(&cx.scope, &input) {
            Judgement::Allow => GitPrograms::Off,
            Judgement::Ask { .. } => GitPrograms::AsConfigured,
        };
        let network = cx.jobs.network(&cx.sandbox).await;
        let hold = Hold::of(cx, &order, &network)?;
        let command = start(cx, programs, order.command, &hold).await?;
        match command.wait(&cx.cancel, order.wait).await {
            Waited::Ended(end) => {
                let Ran { output, stopped } = report(cx, &hold, &command, end).await?;
                let Some(stopped) = stopped.filter(|_| order.escalation.is_none()) else {
                    return Ok(output);
                };
                match may_leave(cx, &order, &stopped).await {
                    true => run_outside(cx, &order, programs, &hold).await,
                    false => Ok(output),
                }
            }
            Waited::Cancelled => {
                let end = command.end_by(EndedBy::Cancelled).await;
                let ran = report(cx, &hold, &command, end).await?;
                Err(Failure::Cancelled(ran.output))
            }
            Waited::TimedOut => run_on(cx, &order, &hold, &network, command).await,
        }
    }
}

/// Starts it. A fence that could not be set up is tried again: what it was to hide may have vanished just
/// then.
async fn start(
    cx: &ToolCx,
    programs: GitPrograms,
    line: &str,
    hold: &Hold,
) -> Result<RunningCommand, Failure> {
    let mut trouble = String::new();
    for _ in 0..FENCE_TRIES {
        let fenced = hold.set_up(line).await;
        let fenced = fenced.map_err(|error| Failure::Error(format!("bash: {error}")))?;
        let group = Group::spawn(fenced, hold.start(programs))?;
        let command = RunningCommand::start(group, Arc::clone(&cx.host));
        tokio::select! {
            () = cx.cancel.cancelled() => {}
            () = command.starts() => {}
        }
        match command.end() {
            Some(Err(NoEnd::NotFenced(error))) => trouble = error,
            Some(Ok(_) | Err(NoEnd::Failed(_))) | None => return Ok(command),
        }
    }
    let message = format!("bash: the sandbox could not be set up, nothing has run: {trouble}");
    Err(Failure::Error(message))
}

/// A command that has ended.
struct Ran {
    output: ToolOutput,
    /// What the sandbox most likely did not let it do; the output says so, too.
    stopped: Option<Stopped>,
}

/// What is told of a command that has ended, and what the sandbox most likely stopped.
async fn report(
    cx: &ToolCx,
    hold: &Hold,
    command: &RunningCommand,
    end: Result<CommandEnd, NoEnd>,
) -> Result<Ran, Failure> {
    let output = report_as_it_is(cx, command, end).await?;
    let stopped = match hold.outside {
        true => None,
        false => blocked::stopped(hold.sandbox.mode(), &cx.scope, &output),
    };
    Ok(Ran {
        output: match &stopped {
            Some(stopped) => report::noted(output, &stopped.note(&cx.scope)),
            None => output,
        },
        stopped,
    })
}

/// Whether a command that was stopped may leave the sandbox. One that failed in it has done part of its
/// work, so it is never run again without a word.
async fn may_leave(cx: &ToolCx, order: &BashOrder<'_>, stopped: &Stopped) -> bool {
    !cx.scope.outside.held
        && !cx.cancel.is_cancelled()
        && cx.host.let_out(order.for_people(), stopped.wanted()).await
}

/// Runs a command again, without the fence that stopped it.
async fn run_outside(
    cx: &ToolCx,
    order: &BashOrder<'_>,
    programs: GitPrograms,
    hold: &Hold,
) -> Result<ToolOutput, Failure> {
    let outside = hold.let_out();
    let command = start(cx, programs, order.command, &outside).await?;
    let ended = |ran: Ran| report::noted(ran.output, LET_OUT);
    match command.wait(&cx.cancel, order.wait).await {
        Waited::Ended(end) => report(cx, &outside, &command, end).await.map(ended),
        Waited::Cancelled => {
            let end = command.end_by(EndedBy::Cancelled).await;
            let ran = report(cx, &outside, &command, end).await?;
            Err(Failure::Cancelled(ran.output))
        }
        Waited::TimedOut => {
            let network = cx.jobs.network(&cx.sandbox).await;
            run_on(cx, order, &outside, &network, command).await
        }
    }
}

const LET_OUT: &str = "[the sandbox stopped this at first; the user let it run outside]";

async fn report_as_it_is(
    cx: &ToolCx,
    command: &RunningCommand,
    end: Result<CommandEnd, NoEnd>,
) -> Result<ToolOutput, Failure> {
    let end = end.map_err(|no_end| match no_end {
        NoEnd::NotFenced(error) => Failure::Error(format!("bash: nothing has run: {error}")),
        NoEnd::Failed(failure) => failure,
    })?;
    let (scope, streams) = (cx.scope.clone(), command.take_streams());
    // Writing files must not hold others up.
    let output = tokio::task::spawn_blocking(move || end.report(&scope, streams)).await;
    output.map_err(|error| Failure::Error(format!("bash: lost the output: {error}")))
}

/// What the model is told where the sandbox most likely stopped a command in the background.
pub(crate) fn note_of_stopped(
    mode: Mode,
    scope: &Scope,
    output: &str,
    exit_code: i32,
) -> Option<String> {
    let output = ToolOutput::Command {
        stdout: String::new(),
        stderr: output.to_owned(),
        exit_code,
        duration_ms: 0,
        model_text: None,
    };
    blocked::stopped(mode, scope, &output).map(|stopped| stopped.note(scope))
}

/// Makes it a job; where there is no room for one, it is ended.
async fn run_on(
    cx: &ToolCx,
    order: &BashOrder<'_>,
    hold: &Hold,
    network: &ThreadNetwork,
    command: RunningCommand,
) -> Result<ToolOutput, Failure> {
    if !order.background {
        cx.host.timed_out(order.wait, TimeLimit::Whole).await;
    }
    let start = JobStart {
        line: order.command.to_owned(),
        directory: hold.directory.clone(),
        call: cx.host.call(),
        fence: hold.of_job(),
    };
    let job = match cx.jobs.adopt(command, start) {
        Ok(job) => job,
        Err(command) => {
            let end = command.end_by(EndedBy::Others("timed out")).await;
            let end = end.map(|end| CommandEnd {
                exit_code: EXIT_TIMED_OUT,
                notes: vec![format!("[ended: {}]", crate::jobs::FULL)],
                ..end
            });
            return report(cx, hold, &command, end).await.map(|ran| ran.output);
        }
    };
    let note = match order.background {
        true => network.note(hold.sandbox.mode(), hold.sandbox.network()),
        false => None,
    };
    let told = job.told_first(order.background).await;
    Ok(ToolOutput::Text(match note {
        Some(note) => format!("{told}\n{note}"),
        None => told,
    }))
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
