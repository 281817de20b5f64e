//! Replies as responses.

use vocabulary::{
    Call, LibraryCall, LibraryReply, Refusal, Reply, Status, Thread, TurnId, Why, WorkspaceId,
};

use super::history_read::HistoryReader;
use super::steps::{Goal, RequestStep, RunningRequest};
use super::turn_log::TurnForm;
use super::turn_read::TurnRead;
use super::wire::permission::PermissionRespondResponse;
use super::wire::thread::{
    MovedResponse, ThreadFolderCreateResponse, ThreadFolderDeleteResponse,
    ThreadUnsubscribeResponse, ThreadUnsubscribeStatus,
};
use super::wire::turn::{Turn, TurnResponse, TurnStartResponse, TurnStatus};
use super::wire::workspace::{WorkspaceListResponse, WorkspaceResponse};
use super::{Pioneer, items, refuse, respond, send_error, show, thread_closed};
use crate::Action;

impl Pioneer {
    /// The request under way has an answer to its last call.
    pub(super) fn answered(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        step: RequestStep,
        outcome: Result<Reply, Refusal>,
    ) {
        let done = match outcome {
            Ok(reply) => self.answer(out, running, step, reply),
            Err(refusal) => self.refused(out, running, step, refusal),
        };
        if let Err(refusal) = done {
            self.bound.clone_from(&running.bound_before);
            let wrong = refuse::wrong(&running.method, running.thread.as_deref(), &refusal);
            send_error(out, Some(&running.id), &wrong);
        }
    }

    /// Some refusals are no end.
    fn refused(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        step: RequestStep,
        refusal: Refusal,
    ) -> Result<(), Refusal> {
        match step {
            RequestStep::Start(start) => self.start_refused(out, running, *start, refusal),
            RequestStep::Find(Goal::Unsubscribe) => {
                unsubscribed(out, running, ThreadUnsubscribeStatus::NotLoaded);
                Ok(())
            }
            _ => Err(refusal),
        }
    }

    /// The step says what the answer is.
    fn answer(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        step: RequestStep,
        reply: Reply,
    ) -> Result<(), Refusal> {
        let id = &running.id;
        match step {
            RequestStep::Start(start) => return self.start_answered(out, running, *start, reply),
            RequestStep::Provider(asked) => return asked.answer(out, id, reply),
            RequestStep::Skills(asked) => return self.skills_answered(out, id, asked, reply),
            RequestStep::Servers(asked) => return asked.answer(out, id, reply),
            RequestStep::Find(goal) => self.found(out, running, *reply.thread()?, goal),
            RequestStep::History(read) => self.history_page(out, running, *read, reply.events()?),
            RequestStep::Turns(read) => self.turn_page(out, running, read, *reply.turns()?),
            RequestStep::TurnLog(read) => {
                self.turn_log_page(out, running, *read, reply.events()?);
            }
            RequestStep::TurnStart => {
                let turn = reply.turn()?.turn;
                let turn = items::running(&turn);
                respond(out, id, &TurnStartResponse { turn });
            }
            RequestStep::Cancel { thread, turn } => {
                reply.cancelled()?;
                let turn = Turn {
                    id: turn.into(),
                    status: TurnStatus::Interrupted,
                    error: None,
                };
                let result = TurnResponse {
                    thread_id: &show::wire_id(&thread.card),
                    workspace_id: thread.card.workspace.as_str(),
                    turn,
                };
                respond(out, id, &result);
            }
            RequestStep::Answer {
                request_id,
                resolution,
            } => {
                reply.done()?;
                let result = PermissionRespondResponse {
                    request_id: &request_id,
                    resolution,
                };
                respond(out, id, &result);
            }
            RequestStep::Library { include_hidden } => {
                self.library(out, running, *reply.library()?, include_hidden)?;
            }
        }
        Ok(())
    }

    fn library(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        reply: LibraryReply,
        include_hidden: bool,
    ) -> Result<(), Refusal> {
        let id = &running.id;
        match reply {
            LibraryReply::Workspaces(workspaces) => {
                let workspaces = workspaces.iter().map(show::workspace).collect();
                respond(out, id, &WorkspaceListResponse { workspaces });
            }
            LibraryReply::Workspace(workspace) => {
                // Whoever gets a workspace means to work in it; whoever renames one does not.
                if running.method != "workspace/update" {
                    self.bind(workspace.id.as_str());
                }
                let workspace = show::workspace(&workspace);
                respond(out, id, &WorkspaceResponse { workspace });
            }
            LibraryReply::Tree(tree) => respond(out, id, &show::tree(&tree, include_hidden)),
            LibraryReply::Folder(folder) => {
                let folder = show::folder(&folder);
                respond(out, id, &ThreadFolderCreateResponse { folder });
            }
            LibraryReply::Moved => respond(out, id, &MovedResponse { moved: true }),
            LibraryReply::Deleted(deleted) => {
                respond(out, id, &ThreadFolderDeleteResponse { deleted });
            }
            LibraryReply::Sections(_) | LibraryReply::Section(_) => {
                let message = "this answer is for another question";
                return Err(Refusal::new(Why::Internal, message));
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        thread: Thread,
        goal: Goal,
    ) {
        let id = thread.card.id;
        match goal {
            Goal::History(wanted) => {
                self.read_history(out, running, HistoryReader::new(thread, wanted));
            }
            Goal::Turns(read) => {
                if let TurnRead::One(_) | TurnRead::Log(_, TurnForm::Items) = read {
                    self.bind(thread.card.workspace.as_str());
                }
                self.read_turns(out, running, id, read);
            }
            Goal::Move { workspace, folder } => {
                let call = Call::Library(LibraryCall::MoveThread {
                    thread: id,
                    workspace: WorkspaceId::new(workspace.trim()),
                    folder,
                });
                let include_hidden = true;
                self.call(out, running, RequestStep::Library { include_hidden }, call);
            }
            Goal::Cancel { turn } => {
                let call = Call::CancelTurn {
                    thread: id,
                    turn: Some(TurnId::new(turn.as_str())),
                };
                let thread = Box::new(thread);
                self.call(out, running, RequestStep::Cancel { thread, turn }, call);
            }
            Goal::Unsubscribe => {
                let status = match thread.status {
                    Status::Inactive => ThreadUnsubscribeStatus::NotLoaded,
                    Status::Activating
                    | Status::Ready
                    | Status::Running
                    | Status::Waiting
                    | Status::Deactivating
                    | Status::Error => ThreadUnsubscribeStatus::NotSubscribed,
                };
                unsubscribed(out, running, status);
            }
        }
    }

    /// Only who leaves by itself is told that the thread is closed for it.
    pub(super) fn unsubscribe(
        &mut self,
        out: &mut Vec<Action>,
        running: RunningRequest,
        name: String,
    ) {
        let subscribed = self.subscribed(&name);
        let Some(left) = subscribed.and_then(|thread| self.subscriptions.remove(&thread)) else {
            return self.find(out, running, name, Goal::Unsubscribe);
        };
        let card = &left.thread.card;
        out.push(Action::Unlisten(card.id));
        unsubscribed(out, &running, ThreadUnsubscribeStatus::Unsubscribed);
        out.push(Action::Send(thread_closed(card)));
    }
}

fn unsubscribed(out: &mut Vec<Action>, running: &RunningRequest, status: ThreadUnsubscribeStatus) {
    respond(out, &running.id, &ThreadUnsubscribeResponse { status });
}
