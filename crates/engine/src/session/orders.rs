//! What people order in a thread beside what they say: a summary, and commands of their own.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use vocabulary::{
    AgentMode, Caller, Cause, Fact, Idempotency, ItemId, Refusal, Reply, RunShell, StartTurn,
    StartedTurn, StreamTag, TerminalCall, TerminalReply, ToolCall, ToolEvent, ToolFact, Why,
};

use super::{Mail, Outcome, Replied, Session};
use crate::agents::model::{NOTHING_SAID, context};
use crate::limits::{USER_COMMAND_CHARS_MAX, USER_COMMANDS_MAX};
use crate::turn::TurnStart;
use crate::turn::user_commands::{self, UserCommand};

/// The order of a summary, as people see it.
const COMPACT: &str = "/compact";

/// Why a turn of this cause cannot be told more, if so.
pub fn deaf(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Compaction => Some("the conversation is being summarised; say it when that is over"),
        Cause::Review => Some("a review is being made; say it when that is over"),
        Cause::UserMessage | Cause::SlashCommand | Cause::Shell => None,
    }
}

impl Session {
    /// Refuses an order that the thread's agent cannot be given.
    pub(super) fn check_order(&self, cause: Cause) -> Result<(), Refusal> {
        let (settings, own) = (
            &self.state.thread.settings,
            self.shared.own(&self.card.tenant),
        );
        let reads_log = self.shared.agents.of(&own, settings).abilities().reads_log;
        match cause {
            Cause::UserMessage | Cause::SlashCommand | Cause::Shell => Ok(()),
            Cause::Compaction | Cause::Review if reads_log => Ok(()),
            Cause::Compaction | Cause::Review => {
                let message = "this thread's agent keeps its own conversation, which the server \
                               cannot summarise or have reviewed; tell the agent itself";
                Err(Refusal::new(Why::NotAvailable, message))
            }
        }
    }

    /// Summarises the conversation in a turn of its own.
    pub(super) async fn compact(&mut self, caller: &Caller) -> Result<StartedTurn, Refusal> {
        if self.state.thread.message_count == 0 {
            return Err(Refusal::new(Why::NotAvailable, NOTHING_SAID));
        }
        let start = self.order(Cause::Compaction, String::new(), COMPACT.to_owned());
        self.start_turn(start, caller).await
    }

    fn order(&self, cause: Cause, text: String, display: String) -> StartTurn {
        StartTurn {
            files: Vec::new(),
            thread: self.card.id,
            text,
            display: Some(display),
            cause,
            client_message_id: None,
            idempotency: Idempotency::Lasting,
            client_turn_id: None,
            images: Vec::new(),
            changes: Box::default(),
            listen: None,
            pieces: Vec::new(),
        }
    }

    /// Runs a command line of the user's own: in the running turn, or in one of its own.
    pub(super) async fn run_shell(
        &mut self,
        run: RunShell,
        caller: &Caller,
    ) -> Result<StartedTurn, Refusal> {
        check_line(&run.command)?;
        if self.state.thread.settings.mode == AgentMode::Chat {
            let message = "this thread only talks: no commands run in it";
            return Err(Refusal::new(Why::NotAvailable, message));
        }
        let item = ItemId::new(self.shared.new_id().to_string());
        let command = UserCommand::new(item, &run.command, run.timeout_ms);
        if self.state.turn.is_some() {
            return self.run_beside(command);
        }
        let with = TurnStart::UserCommand(Box::new(command));
        let start = self.order(Cause::Shell, run.command.clone(), run.display());
        self.start_turn_with(start, with, caller).await
    }

    fn run_beside(&mut self, command: UserCommand) -> Result<StartedTurn, Refusal> {
        let Some(handle) = self.turn.as_ref().filter(|turn| !turn.cancelled) else {
            return Err(Refusal::busy());
        };
        if handle.user_commands.running() >= USER_COMMANDS_MAX {
            let message = format!("{USER_COMMANDS_MAX} commands of yours run already");
            return Err(Refusal::new(Why::Busy, message));
        }
        let begun = handle.user_commands.begin().zip(handle.running.upgrade());
        let Some((running, turn)) = begun else {
            return Err(Refusal::busy());
        };
        let tag = StreamTag {
            turn: turn.id.clone(),
            model: None,
            step: handle.steers.step(),
            part: 0,
        };
        let id = turn.id.clone();
        self.record(command.planned(tag.clone()))?;
        tokio::spawn(async move {
            // A session that is gone has ended the turn, and the command with it.
            let _ = user_commands::run(&turn, &tag, &command).await;
            drop(turn);
            drop(running);
        });
        let (again, joined) = (false, None);
        Ok(StartedTurn {
            turn: id,
            again,
            joined,
        })
    }

    /// The agent reads what came of the user's own command after the step that is under way, as the log
    /// says it.
    pub(super) fn hear_of_user_command(&self, fact: &mut Fact) {
        let Fact::Tool(ToolEvent {
            tag,
            call,
            what:
                ToolFact::Finished {
                    outcome,
                    duration_ms: None,
                },
        }) = fact
        else {
            return;
        };
        if let (true, Some(turn)) = (call.by_user && call.is_command(), &self.turn) {
            let line = call.input["command"].as_str().unwrap_or_default();
            let note = context::user_command_note(line, outcome);
            tag.step = turn.steers.push_done(call.item.clone(), note);
        }
    }

    /// Looks after the commands in the background. What is typed is told when it was taken, and an end when it
    /// has come.
    pub(super) fn terminals(&mut self, call: TerminalCall, reply: oneshot::Sender<Outcome>) {
        let jobs = Arc::clone(&self.supplies.jobs);
        let last = self.recorder.last();
        match call {
            TerminalCall::List => {
                let list = TerminalReply::List(jobs.terminals());
                // Who does not wait for it any more need not know.
                let _ = reply.send(Ok(Replied::new(last, Reply::Terminals(list))));
            }
            TerminalCall::End { process } => {
                let mail = self.own_mail.clone();
                tokio::spawn(stop(jobs, process, mail, reply));
            }
            TerminalCall::Write { process, text } => {
                let mail = self.own_mail.clone();
                tokio::spawn(type_to(jobs, process, text, mail, reply));
            }
        }
    }

    /// The ends are told before the answer.
    pub(super) fn stopped(&mut self, stopped: StoppedJobs) -> Result<(), Refusal> {
        while let Some(end) = self.supplies.jobs.take_end() {
            self.job_ended(end)?;
        }
        let ended = Reply::Terminals(TerminalReply::Ended(stopped.count));
        // As above.
        let _ = stopped
            .reply
            .send(Ok(Replied::new(self.recorder.last(), ended)));
        Ok(())
    }

    pub(super) fn typed(&mut self, typed: TypedToJob) -> Result<(), Refusal> {
        let TypedToJob {
            call,
            process,
            stdin,
            reply,
        } = typed;
        let running = self.state.turn.as_ref().map(|turn| turn.turn.clone());
        if let (Some(turn), Some(call)) = (running, call) {
            let tag = StreamTag {
                turn,
                model: None,
                step: self.turn.as_ref().map_or(0, |turn| turn.steers.step()),
                part: 0,
            };
            self.record(Fact::tool(
                tag,
                call,
                ToolFact::Interacted { process, stdin },
            ))?;
        }
        let replied = Replied::new(
            self.recorder.last(),
            Reply::Terminals(TerminalReply::Written),
        );
        // As above.
        let _ = reply.send(Ok(replied));
        Ok(())
    }
}

/// Commands in the background that a person has ended.
pub struct StoppedJobs {
    count: usize,
    reply: oneshot::Sender<Outcome>,
}

/// Ends them, away from the session: a command may take its time to end.
async fn stop(
    jobs: Arc<tools::Jobs>,
    process: Option<u32>,
    mail: mpsc::WeakSender<Box<Mail>>,
    reply: oneshot::Sender<Outcome>,
) {
    let count = jobs.stop(process).await;
    if let Some(mail) = mail.upgrade() {
        let stopped = StoppedJobs { count, reply };
        // A session that is gone answers nobody.
        let _ = mail.send(Box::new(Mail::Stopped(stopped))).await;
    }
}

/// What a person typed to a command in the background.
pub struct TypedToJob {
    /// The call that started it.
    call: Option<Arc<ToolCall>>,
    process: u32,
    stdin: String,
    reply: oneshot::Sender<Outcome>,
}

/// Types, away from the session: the command may take its time to read.
async fn type_to(
    jobs: Arc<tools::Jobs>,
    process: u32,
    stdin: String,
    mail: mpsc::WeakSender<Box<Mail>>,
    reply: oneshot::Sender<Outcome>,
) {
    let call = match jobs.type_to(process, &stdin).await {
        Ok(call) => call,
        Err(why) => {
            let message = format!("cannot write to process {process}: {why}");
            // As above.
            let _ = reply.send(Err(Refusal::invalid("processId", message)));
            return;
        }
    };
    let typed = TypedToJob {
        call,
        process,
        stdin,
        reply,
    };
    if let Some(mail) = mail.upgrade() {
        // A session that is gone answers nobody.
        let _ = mail.send(Box::new(Mail::Typed(typed))).await;
    }
}

fn check_line(line: &str) -> Result<(), Refusal> {
    if line.trim().is_empty() || line.contains('\0') {
        let message = "command: expected a command line, without NUL";
        return Err(Refusal::invalid("command", message));
    }
    if line.chars().count() > USER_COMMAND_CHARS_MAX {
        let message = format!("command: at most {USER_COMMAND_CHARS_MAX} characters");
        return Err(Refusal::invalid("command", message));
    }
    Ok(())
}
