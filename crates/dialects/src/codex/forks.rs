//! A thread's past in this protocol: `thread/fork`, `thread/revert`, `thread/rollback`, `thread/delete`.

use vocabulary::{
    Call, ForkPlace, ForkThread, Refusal, Reply, RevertThread, RevertTo, ThreadView, TurnId,
};

use super::act::parse;
use super::calls::{ALL_MESSAGES, CodexPurpose};
use super::new_thread::WantedThread;
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::forks::{ThreadForkParams, ThreadRevertParams, ThreadRollbackParams};
use super::wire::notice::ThreadStarted;
use super::wire::params::ThreadParams;
use super::wire::results::ThreadReadResponse;
use super::{Codex, respond, send, show};
use crate::Action;
use crate::jsonrpc::Id;

#[derive(Debug)]
pub enum ForkRequest {
    Fork(Box<ThreadForkParams>),
    Revert(ThreadRevertParams),
    Rollback(ThreadRollbackParams),
    Delete(ThreadParams),
}

/// What an answer is for.
#[derive(Debug)]
pub enum ForkPurpose {
    Fork {
        id: Id,
        turns: bool,
    },
    /// The fork is there, and is heard from now on.
    Listen {
        id: Id,
        turns: bool,
    },
    Revert(Id),
    Rollback(Id),
}

impl ForkPurpose {
    pub fn id(&self) -> &Id {
        match self {
            ForkPurpose::Fork { id, .. }
            | ForkPurpose::Listen { id, .. }
            | ForkPurpose::Revert(id)
            | ForkPurpose::Rollback(id) => id,
        }
    }

    /// Whether it began what looks like a new thread to this connection.
    pub fn starts(&self) -> bool {
        matches!(self, ForkPurpose::Fork { .. } | ForkPurpose::Listen { .. })
    }
}

impl Codex {
    pub(super) fn fork_request(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: ForkRequest,
    ) -> Result<(), CodexError> {
        match request {
            ForkRequest::Fork(params) => {
                let turns = params.exclude_turns != Some(true);
                let call = Call::ForkThread(Box::new(forked(*params)?));
                self.starting += 1;
                let waiting = ForkPurpose::Fork { id, turns };
                self.calls.make(out, CodexPurpose::Forks(waiting), call);
            }
            ForkRequest::Revert(params) => {
                let call = Call::RevertThread(RevertThread {
                    thread: parse(&params.thread_id)?,
                    to: RevertTo::Before(TurnId::new(params.before_turn_id)),
                    files: params.restore_files == Some(true),
                });
                let waiting = ForkPurpose::Revert(id);
                self.calls.make(out, CodexPurpose::Forks(waiting), call);
            }
            ForkRequest::Rollback(params) => {
                if params.num_turns == 0 {
                    let message = "thread/rollback: numTurns: expected 1 or more";
                    return Err(CodexError::params(message));
                }
                let call = Call::RevertThread(RevertThread {
                    thread: parse(&params.thread_id)?,
                    to: RevertTo::Newest(params.num_turns),
                    files: params.restore_files == Some(true),
                });
                let waiting = ForkPurpose::Rollback(id);
                self.calls.make(out, CodexPurpose::Forks(waiting), call);
            }
            ForkRequest::Delete(params) => {
                let thread = parse(&params.thread_id)?;
                let call = Call::DeleteThread { thread };
                self.calls.make(out, CodexPurpose::Done(id), call);
            }
        }
        Ok(())
    }

    pub(super) fn fork_answer(
        &mut self,
        out: &mut Vec<Action>,
        waiting: &ForkPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match waiting {
            ForkPurpose::Fork { id, turns } => {
                let card = reply.thread()?.card;
                self.announce_own(&card);
                let (id, turns) = (id.clone(), *turns);
                let waiting = CodexPurpose::Forks(ForkPurpose::Listen { id, turns });
                self.calls.listen(out, waiting, card.id);
            }
            ForkPurpose::Listen { id, .. } => self.forked(out, id, &*reply.view()?),
            ForkPurpose::Revert(id) => {
                let thread = reply.thread()?;
                let thread = show::loaded(self.speaking(), &thread, &[], Vec::new());
                send(out, respond(id, &ThreadReadResponse { thread }));
            }
            // That one answers with the turns that are left.
            ForkPurpose::Rollback(id) => {
                let thread = reply.thread()?.card.id;
                let recent = ALL_MESSAGES;
                let call = Call::ReadThread { thread, recent };
                self.calls
                    .make(out, CodexPurpose::ReadTurns(id.clone()), call);
            }
        }
        Ok(())
    }

    /// The response first, with the turns where they are wanted, then the notification without.
    fn forked(&mut self, out: &mut Vec<Action>, id: &Id, view: &ThreadView) {
        self.listening.begin(view);
        let turns = self.turns_of(view);
        let opened = show::opened(self.speaking(), view, &[], turns);
        send(out, respond(id, &opened));
        let notice = ThreadStarted {
            thread_id: opened.thread.id.clone(),
            thread: show::loaded(self.speaking(), &view.thread, &[], Vec::new()),
        };
        send(out, notify("thread/started", &notice));
        self.start_over(out);
    }
}

fn forked(params: ThreadForkParams) -> Result<ForkThread, CodexError> {
    let wanted = WantedThread::read("thread/fork", params.new)?;
    let upto = match (params.last_turn_id, params.before_turn_id) {
        (None, None) => ForkPlace::Rest,
        (Some(turn), None) => ForkPlace::After(TurnId::new(turn)),
        (None, Some(turn)) => ForkPlace::Before(TurnId::new(turn)),
        (Some(_), Some(_)) => {
            let message = "thread/fork: beforeTurnId: expected no lastTurnId beside it";
            return Err(CodexError::params(message));
        }
    };
    Ok(ForkThread {
        thread: parse(&params.thread_id)?,
        upto,
        directory: wanted.directory,
        files: params.with_files == Some(true),
        changes: wanted.changes,
        instructions: wanted.instructions,
        ephemeral: wanted.ephemeral,
    })
}
