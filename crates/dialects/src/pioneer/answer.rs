//! Replies as responses.

use vocabulary::{
    Call, LibraryCall, LibraryReply, Refusal, Reply, Status, Thread, TurnId, WorkspaceId,
};

use super::hear::Wrong;
use super::history_read::HistoryReader;
use super::steps::{Goal, Running, Step};
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
        running: Running,
        outcome: Result<Reply, Refusal>,
    ) {
        let Running { id, method, step } = running;
        let rest = |step| Running {
            id: id.clone(),
            method: method.clone(),
            step,
        };
        match (step, outcome) {
            (Step::Start(start), outcome) => {
                let step = Step::TurnStart;
                self.started(out, rest(step), *start, outcome);
            }
            (Step::Provider(asked), outcome) => {
                self.provider_answered(out, &rest(Step::TurnStart), &asked, outcome);
            }
            (Step::Find { name, goal }, Err(refusal)) => {
                let unsubscribes = matches!(goal, Goal::Unsubscribe);
                let running = rest(Step::Find {
                    name: name.clone(),
                    goal,
                });
                match unsubscribes {
                    true => unsubscribed(out, &running, ThreadUnsubscribeStatus::NotLoaded),
                    false => refused(out, &running, Some(&name), &refusal),
                }
            }
            (step, Err(refusal)) => refused(out, &rest(step), None, &refusal),
            (Step::Find { goal, .. }, Ok(Reply::Thread(thread))) => {
                self.found(out, rest(Step::TurnStart), *thread, goal);
            }
            (Step::History(read), Ok(Reply::Events { events, more, .. })) => {
                self.history_page(out, rest(Step::TurnStart), *read, events, more);
            }
            (Step::Turns(read), Ok(Reply::Turns(page))) => {
                self.turn_page(out, rest(Step::TurnStart), read, *page);
            }
            (Step::TurnModel(wanted), Ok(Reply::Catalog(catalog))) => {
                let running = rest(Step::TurnStart);
                self.change_and_start(out, running, *wanted, Some(&catalog));
            }
            (Step::TurnStart, Ok(Reply::Turn { turn, .. })) => {
                let turn = items::running(&turn);
                respond(out, &id, &TurnStartResponse { turn });
            }
            (Step::Cancel { thread, turn }, Ok(Reply::Cancelled { .. })) => {
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
                respond(out, &id, &result);
            }
            (
                Step::Answer {
                    request_id,
                    resolution,
                },
                Ok(Reply::Done),
            ) => {
                let result = PermissionRespondResponse {
                    request_id: &request_id,
                    resolution,
                };
                respond(out, &id, &result);
            }
            // A move.
            (Step::Library { .. }, Ok(Reply::Done)) => {
                respond(out, &id, &MovedResponse { moved: true });
            }
            (Step::Library { include_hidden }, Ok(Reply::Library(reply))) => {
                let running = rest(Step::Library { include_hidden });
                self.library(out, &running, *reply, include_hidden);
            }
            (_, Ok(_)) => {
                let wrong = Wrong::request("the server gave no answer to this; try again");
                send_error(out, Some(&id), &wrong);
            }
        }
    }

    fn library(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        reply: LibraryReply,
        include_hidden: bool,
    ) {
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
            LibraryReply::Deleted(deleted) => {
                respond(out, id, &ThreadFolderDeleteResponse { deleted });
            }
        }
    }

    fn found(&mut self, out: &mut Vec<Action>, running: Running, thread: Thread, goal: Goal) {
        let id = thread.card.id;
        match goal {
            Goal::History(wanted) => {
                self.read_history(out, running, HistoryReader::new(thread, wanted));
            }
            Goal::Turns(read) => {
                if let TurnRead::One(_) | TurnRead::Items(_) = read {
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
                self.call(out, running.with(Step::Library { include_hidden }), call);
            }
            Goal::Cancel { turn } => {
                let call = Call::CancelTurn {
                    thread: id,
                    turn: Some(TurnId::new(turn.as_str())),
                };
                let thread = Box::new(thread);
                self.call(out, running.with(Step::Cancel { thread, turn }), call);
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
                unsubscribed(out, &running, status);
            }
        }
    }

    /// Only who leaves by itself is told that the thread is closed for it.
    pub(super) fn unsubscribe(&mut self, out: &mut Vec<Action>, running: Running, name: String) {
        let subscribed = self.subscribed(&name);
        let Some(left) = subscribed.and_then(|thread| self.subscriptions.remove(&thread)) else {
            let goal = Goal::Unsubscribe;
            let call = Call::Library(LibraryCall::FindThread { name: name.clone() });
            return self.call(out, running.with(Step::Find { name, goal }), call);
        };
        let card = &left.thread.card;
        out.push(Action::Unlisten(card.id));
        unsubscribed(out, &running, ThreadUnsubscribeStatus::Unsubscribed);
        out.push(Action::Send(thread_closed(card)));
    }
}

fn unsubscribed(out: &mut Vec<Action>, running: &Running, status: ThreadUnsubscribeStatus) {
    respond(out, &running.id, &ThreadUnsubscribeResponse { status });
}

fn refused(out: &mut Vec<Action>, running: &Running, thread: Option<&str>, refusal: &Refusal) {
    let wrong = refuse::wrong(&running.method, thread, refusal);
    send_error(out, Some(&running.id), &wrong);
}
