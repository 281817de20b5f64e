//! Commands of the user's own: a line that they want run at once, beside the agent or in a turn of its own.
//! Nobody is asked, since who would be asked has asked for it; but it is held as the agent's commands are.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tools::sandbox::{HELD, Mode};
use tools::{Failure, ToolCx};
use vocabulary::{
    Effects, Fact, ItemId, StreamTag, Subject, ToolCall, ToolFact, ToolOutcome, ToolOutput,
};

use super::tooling::{self, CANCELLED};
use super::{SessionGone, Turn, TurnEnd, TurnStart, gate, writes};
use crate::agents::{Abilities, Agent};
use crate::limits::USER_COMMAND_TIME_MAX;

/// The tool that runs it.
const BASH: &str = "bash";
/// What `timeout` answers for a command that took too long.
const EXIT_TIMED_OUT: i32 = 124;
const NOT_HELD: &str = "not run: this thread may only read, and no sandbox is here that would keep a \
                        command from writing";

/// A command that is to be run.
pub struct UserCommand {
    pub call: Arc<ToolCall>,
    /// After this time it is ended.
    pub time_max: Duration,
}

impl UserCommand {
    pub fn new(item: ItemId, line: &str, timeout_ms: Option<u64>) -> Self {
        let wanted = timeout_ms.map_or(USER_COMMAND_TIME_MAX, Duration::from_millis);
        let call = ToolCall {
            call_id: item.to_string(),
            item,
            name: BASH.to_owned(),
            // The tool itself would leave it to the background after its time.
            input: json!({ "command": line, "timeout": USER_COMMAND_TIME_MAX.as_secs() }),
            subject: Subject::Command {
                line: line.to_owned(),
                directory: None,
            },
            effects: Effects::RUNS,
            native: None,
            problem: None,
            agent: None,
            by_user: true,
        };
        Self {
            call: Arc::new(call),
            time_max: wanted.min(USER_COMMAND_TIME_MAX),
        }
    }

    pub fn planned(&self, tag: StreamTag) -> Fact {
        Fact::tool(
            tag,
            Arc::clone(&self.call),
            ToolFact::Planned { content: 0 },
        )
    }
}

/// The commands that run beside a turn: it is not over before they are.
#[derive(Default)]
pub struct UserCommands {
    standing: Mutex<UserCommandStanding>,
    ended: Notify,
}

#[derive(Default)]
struct UserCommandStanding {
    running: usize,
    /// The turn has ended: none can begin in it any more.
    closed: bool,
}

/// One of them runs as long as this is there.
pub struct RunningUserCommand(Arc<UserCommands>);

impl Drop for RunningUserCommand {
    fn drop(&mut self) {
        self.0.standing.lock().running -= 1;
        self.0.ended.notify_waiters();
    }
}

impl UserCommands {
    /// `None`: the turn is about to end.
    pub fn begin(self: &Arc<Self>) -> Option<RunningUserCommand> {
        let mut standing = self.standing.lock();
        if standing.closed {
            return None;
        }
        standing.running += 1;
        Some(RunningUserCommand(Arc::clone(self)))
    }

    pub fn running(&self) -> usize {
        self.standing.lock().running
    }

    /// Waits until none runs; from then on none can begin.
    pub async fn close(&self) {
        loop {
            let ended = self.ended.notified();
            {
                let mut standing = self.standing.lock();
                if standing.running == 0 {
                    standing.closed = true;
                    return;
                }
            }
            ended.await;
        }
    }
}

/// Runs it to its end, which is told. It was planned already.
pub async fn run(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    command: &UserCommand,
) -> Result<(), SessionGone> {
    let call = &command.call;
    turn.tell(Fact::tool(tag.clone(), Arc::clone(call), ToolFact::Reached))
        .await?;
    let outcome = outcome_of(turn, tag, command).await?;
    // What it gives says how long it took.
    tooling::tell_end(turn, tag, call, &outcome, None).await
}

async fn outcome_of(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    command: &UserCommand,
) -> Result<ToolOutcome, SessionGone> {
    let call = &command.call;
    if turn.cancel.is_cancelled() {
        return Ok(ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        });
    }
    let cx = tooling::context(turn, tag, call).await;
    let scope = cx.scope.clone();
    let is_open = cx.sandbox.mode() == Mode::Nothing;
    let refused = match (is_open, scope.outside.held, scope.read_only) {
        (true, true, _) => Some(HELD.to_owned()),
        (true, false, true) => Some(NOT_HELD.to_owned()),
        // What the server's owner forbids is forbidden to people, too.
        (true, false, false) | (false, _, _) => gate::forbidden(turn, call, &scope),
    };
    let tool = turn.tools().get(BASH);
    let tool = match (refused, tool) {
        (None, Some(tool)) => tool,
        (Some(error), _) => return Ok(ToolOutcome::Failed { error }),
        (None, None) => {
            let error = "not run: this thread has no commands".to_owned();
            return Ok(ToolOutcome::Failed { error });
        }
    };
    writes::before(turn, call).await?;
    turn.commit(Fact::tool(tag.clone(), Arc::clone(call), ToolFact::Started))
        .await?;
    let cancel = turn.cancel.child_token();
    let cx = ToolCx {
        cancel: cancel.clone(),
        ..cx
    };
    let running = tool.run(&cx, call.input.clone());
    tokio::pin!(running);
    let ended = tokio::select! {
        biased;
        ended = &mut running => Some(ended),
        () = tokio::time::sleep(command.time_max) => None,
    };
    let (ended, timed_out) = match ended {
        Some(ended) => (ended, false),
        None => {
            cancel.cancel();
            (running.await, true)
        }
    };
    Ok(match ended {
        Ok(output) => ToolOutcome::Succeeded(output),
        Err(Failure::Error(error)) => ToolOutcome::Failed { error },
        Err(Failure::Cancelled(output)) if timed_out => {
            ToolOutcome::Succeeded(timed_out_after(output, command.time_max))
        }
        Err(Failure::Cancelled(output)) => ToolOutcome::Interrupted(output),
    })
}

/// The output of a command that was ended because its time was over.
fn timed_out_after(output: ToolOutput, time_max: Duration) -> ToolOutput {
    let note = format!(
        "[ended: it ran for longer than {:.1} s]",
        time_max.as_secs_f32()
    );
    match output {
        ToolOutput::Command {
            stdout,
            stderr,
            duration_ms,
            model_text,
            ..
        } => ToolOutput::Command {
            stdout,
            stderr: format!("{stderr}\n{note}").trim_start().to_owned(),
            exit_code: EXIT_TIMED_OUT,
            duration_ms,
            model_text: model_text.map(|text| format!("{text}\n{note}")),
        },
        output @ (ToolOutput::Text(_)
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_)
        | ToolOutput::Content(_)) => output,
    }
}

/// Drives a turn that is made for one command.
pub struct UserCommandAgent;

#[async_trait]
impl Agent for UserCommandAgent {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn run(&self, turn: Arc<Turn>, start: TurnStart) -> TurnEnd {
        let TurnStart::UserCommand(command) = start else {
            return TurnEnd::Completed;
        };
        let tag = turn.tag(1);
        let run = async {
            turn.tell(command.planned(tag.clone())).await?;
            run(&turn, &tag, &command).await
        };
        match run.await {
            Ok(()) if turn.cancel.is_cancelled() => TurnEnd::Cancelled,
            Ok(()) => TurnEnd::Completed,
            // Nobody is left to tell; the session has ended this turn already.
            Err(SessionGone) => TurnEnd::Cancelled,
        }
    }
}
