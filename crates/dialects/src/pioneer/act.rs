//! Requests as calls.

use vocabulary::{
    Answer, ApprovalAnswer, AskId, AskKind, Call, Cause, Changes, LibraryCall, StartTurn,
    WorkspaceDirectory, WorkspaceId,
};

use super::hear::{Request, Wrong};
use super::start::{At, Start, model};
use super::steps::{Goal, Running, Step};
use super::wire::params::{
    PermissionRespondParams, ThreadHistoryParams, TurnStartParams, UserInput, WorkspaceUpdateParams,
};
use super::wire::permission::Resolution;
use super::wire::thread::{ThreadMode, ThreadStatus};
use super::{Pioneer, send_error, show};
use crate::Action;
use crate::jsonrpc::Id;

impl Pioneer {
    pub(super) fn act(&mut self, out: &mut Vec<Action>, id: Id, method: String, request: Request) {
        let step = Step::Library {
            include_hidden: true,
        };
        let running = Running { id, method, step };
        let refused = match request {
            Request::ThreadStart(params) => {
                self.bind(&params.workspace_id);
                let start = Start {
                    params: *params,
                    at: At::Finding,
                    again: false,
                };
                self.find_to_start(out, running, start);
                return;
            }
            Request::TurnStart(params) => self.start_turn(out, running, params),
            Request::PermissionRespond(params) => self.respond_to(out, running, params),
            Request::WorkspaceUpdate(params) => self.update_workspace(out, running, params),
            Request::ThreadHistory(params) => self.history(out, running, &params),
            Request::ThreadGet(params) => {
                self.find(out, running, params.thread_id, Goal::Turns);
                return;
            }
            Request::ThreadMove(params) => {
                self.bind(&params.workspace_id);
                let goal = Goal::Move {
                    workspace: params.workspace_id,
                    folder: params.folder_id,
                };
                self.find(out, running, params.thread_id, goal);
                return;
            }
            Request::ThreadUnsubscribe(params) => {
                self.unsubscribe(out, running, params.thread_id);
                return;
            }
            Request::TurnCancel(params) => {
                let turn = params.turn_id;
                self.find(out, running, params.thread_id, Goal::Cancel { turn });
                return;
            }
            Request::TurnGet(params) => {
                let turn = params.turn_id;
                self.find(out, running, params.thread_id, Goal::Turn { turn });
                return;
            }
            Request::TurnItems(params) => {
                let turn = params.turn_id;
                self.find(out, running, params.thread_id, Goal::Items { turn });
                return;
            }
            Request::ThreadTree(params) => {
                self.bind(&params.workspace_id);
                let include_hidden = params.include_hidden.unwrap_or(true);
                let workspace = WorkspaceId::new(params.workspace_id.trim());
                let call = Call::Library(LibraryCall::ReadTree { workspace });
                self.call(out, running.with(Step::Library { include_hidden }), call);
                return;
            }
            Request::WorkspaceList
            | Request::WorkspaceDefault
            | Request::WorkspaceCreate(_)
            | Request::WorkspaceSelect(_)
            | Request::ThreadFolderCreate(_)
            | Request::ThreadFolderMove(_)
            | Request::ThreadFolderDelete(_) => {
                if let Some(call) = self.library_call(request) {
                    self.call(out, running, Call::Library(call));
                }
                return;
            }
        };
        if let Err((id, wrong)) = refused {
            send_error(out, Some(&id), &wrong);
        }
    }

    /// Requests that are one call of the library. A workspace that is answered becomes bound.
    fn library_call(&mut self, request: Request) -> Option<LibraryCall> {
        Some(match request {
            Request::WorkspaceList => LibraryCall::ListWorkspaces,
            Request::WorkspaceDefault => LibraryCall::DefaultWorkspace,
            Request::WorkspaceCreate(params) => LibraryCall::CreateWorkspace {
                id: WorkspaceId::new(params.workspace_id),
                name: params.name,
                make_current: params.make_current.unwrap_or(false),
                directory: WorkspaceDirectory::Managed,
            },
            Request::WorkspaceSelect(params) => LibraryCall::SelectWorkspace {
                id: WorkspaceId::new(params.workspace_id.trim()),
                make_current: params.make_current.unwrap_or(false),
            },
            Request::ThreadFolderCreate(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::CreateFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    parent: params.parent_folder_id,
                    name: params.name,
                }
            }
            Request::ThreadFolderMove(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::MoveFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    folder: params.folder_id,
                    parent: params.parent_folder_id,
                }
            }
            Request::ThreadFolderDelete(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::DeleteFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    folder: params.folder_id,
                }
            }
            _ => return None,
        })
    }

    fn find(&mut self, out: &mut Vec<Action>, running: Running, name: String, goal: Goal) {
        let call = Call::Library(LibraryCall::FindThread { name: name.clone() });
        self.call(out, running.with(Step::Find { name, goal }), call);
    }

    fn update_workspace(
        &mut self,
        out: &mut Vec<Action>,
        running: Running,
        params: WorkspaceUpdateParams,
    ) -> Result<(), (Id, Wrong)> {
        let Some(name) = params.name else {
            let message = "at least one workspace field is required";
            let wrong = Wrong::params(&running.method, message);
            return Err((running.id, wrong));
        };
        let id = WorkspaceId::new(params.workspace_id.trim());
        let call = Call::Library(LibraryCall::UpdateWorkspace { id, name });
        self.call(out, running, call);
        Ok(())
    }

    fn history(
        &mut self,
        out: &mut Vec<Action>,
        running: Running,
        params: &ThreadHistoryParams,
    ) -> Result<(), (Id, Wrong)> {
        if params.limit == Some(0) {
            let wrong = Wrong::params(&running.method, "limit must be greater than 0");
            return Err((running.id, wrong));
        }
        let goal = Goal::History {
            limit: params.limit.map(|limit| limit as usize),
            after: params.after_sequence,
        };
        self.find(out, running, params.thread_id.clone(), goal);
        Ok(())
    }

    fn start_turn(
        &mut self,
        out: &mut Vec<Action>,
        running: Running,
        params: TurnStartParams,
    ) -> Result<(), (Id, Wrong)> {
        let thread = self.subscribed(&params.thread_id);
        let subscription = thread.and_then(|thread| self.subscriptions.get(&thread));
        let Some(subscription) = subscription else {
            let name = &params.thread_id;
            let message = format!("this connection is not subscribed to thread `{name}`");
            return Err((running.id, Wrong::request(message)));
        };
        let text = match text(&params.input) {
            Ok(text) => text,
            Err(message) => {
                let wrong = Wrong::params(&running.method, message);
                return Err((running.id, wrong));
            }
        };
        let known = &subscription.thread;
        let thread = known.card.id;
        let changes = Changes {
            model: model(&params.model_provider, &params.model, &known.settings.model),
            tools: params.mode.map(|mode| mode == ThreadMode::Agent),
            ..Changes::default()
        };
        let changes = match show::thread_status(known.status) {
            // It will be refused; nothing may have changed then.
            ThreadStatus::Active => Changes::default(),
            ThreadStatus::Idle | ThreadStatus::Closed => changes,
        };
        let workspace = known.card.workspace.clone();
        self.bind(workspace.as_str());
        let turn = StartTurn {
            thread,
            text,
            display: None,
            cause: Cause::UserMessage,
            client_message_id: None,
            client_turn_id: Some(params.turn_id).filter(|id| !id.is_empty()),
        };
        if changes == Changes::default() {
            let running = running.with(Step::TurnStart);
            self.call(out, running, Call::StartTurn(turn));
        } else {
            let running = running.with(Step::Overrides(Box::new(turn)));
            self.call(out, running, Call::ChangeThread { thread, changes });
        }
        Ok(())
    }

    fn respond_to(
        &mut self,
        out: &mut Vec<Action>,
        running: Running,
        params: PermissionRespondParams,
    ) -> Result<(), (Id, Wrong)> {
        let ask = params.request_id.parse().ok().map(AskId);
        let open = ask.and_then(|ask| {
            let mut subscriptions = self.subscriptions.values();
            subscriptions.find_map(|each| Some((each.thread.card.id, each.asks.get(&ask)?)))
        });
        let Some((thread, ask)) = open else {
            let id = &params.request_id;
            let message = format!("permission request `{id}` was not found");
            return Err((running.id, Wrong::request(message)));
        };
        let (answer, resolution) = match answer(&ask.kind, &params) {
            Ok(answered) => answered,
            Err(message) => {
                let wrong = Wrong::params(&running.method, message);
                return Err((running.id, wrong));
            }
        };
        let call = Call::AnswerAsk {
            thread,
            ask: ask.id,
            answer,
        };
        let request_id = params.request_id;
        let step = Step::Answer {
            request_id,
            resolution,
        };
        self.call(out, running.with(step), call);
        Ok(())
    }
}

/// The text of an input: its pieces, one below the other.
fn text(input: &[UserInput]) -> Result<String, String> {
    if let Some(other) = input.iter().find(|each| each.kind != "text") {
        let kind = &other.kind;
        return Err(format!(
            "input of type `{kind}` is not available in this build yet"
        ));
    }
    let pieces = input.iter().filter_map(|each| each.text.as_deref());
    let text = pieces.collect::<Vec<_>>().join("\n");
    match text.trim().is_empty() {
        true => Err("input must have some text".to_owned()),
        false => Ok(text),
    }
}

/// What a response says to the ask it is for, and how that is told back. Allowing for a turn
/// allows this one call: a wider grant would outlast the turn.
fn answer(
    kind: &AskKind,
    params: &PermissionRespondParams,
) -> Result<(Answer, Resolution), &'static str> {
    let resolution = params.resolution;
    match kind {
        AskKind::Approval(_) => match resolution.ok_or("resolution is required")? {
            allowed @ (Resolution::AllowOnce | Resolution::AllowForTurn) => {
                Ok((Answer::Approval(ApprovalAnswer::Once), allowed))
            }
            denied @ (Resolution::Deny | Resolution::Cancelled) => {
                Ok((Answer::Approval(ApprovalAnswer::Deny), denied))
            }
            Resolution::Expired | Resolution::Answered => {
                Err("resolution must be allow_once, allow_for_turn or deny")
            }
        },
        AskKind::Questions(_) => match (&params.answers, resolution) {
            (Some(answers), _) => Ok((Answer::Questions(answers.clone()), Resolution::Answered)),
            (None, Some(Resolution::Deny | Resolution::Cancelled)) => {
                Ok((Answer::Dismissed, Resolution::Answered))
            }
            (None, _) => Err("answers are required"),
        },
    }
}
