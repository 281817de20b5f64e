//! Requests as calls.

use vocabulary::{
    Answer, ApprovalAnswer, AskId, AskKind, Call, LibraryCall, TurnId, WorkspaceDirectory,
    WorkspaceId,
};

use super::hear::{PioneerError, PioneerRequest};
use super::history::HistoryQuery;
use super::start::ThreadStart;
use super::steps::{Goal, RequestStep, RunningRequest};
use super::turn_log::{TimelineChoice, TurnForm};
use super::turn_read::TurnRead;
use super::wire::params::{PermissionRespondParams, ThreadHistoryParams, WorkspaceUpdateParams};
use super::wire::permission::Resolution;
use super::{Pioneer, send_error};
use crate::Action;
use crate::jsonrpc::Id;

/// The answer says it all.
const WHOLE: RequestStep = RequestStep::Library {
    include_hidden: true,
};

impl Pioneer {
    pub(super) fn act(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        method: String,
        request: PioneerRequest,
    ) {
        let thread = None;
        let bound_before = self.bound.clone();
        let running = RunningRequest {
            id,
            method,
            thread,
            bound_before,
        };
        let refused = match request {
            PioneerRequest::ThreadStart(params) => {
                self.begin_start(out, running, ThreadStart::new(*params));
                return;
            }
            PioneerRequest::TurnStart(params) => self.start_turn(out, running, params),
            PioneerRequest::PermissionRespond(params) => self.respond_to(out, running, params),
            PioneerRequest::WorkspaceUpdate(params) => self.update_workspace(out, running, params),
            PioneerRequest::ThreadHistory(params) => self.history(out, running, &params),
            PioneerRequest::ThreadGet(params) => {
                self.find(
                    out,
                    running,
                    params.thread_id,
                    Goal::Turns(TurnRead::All(Vec::new())),
                );
                return;
            }
            PioneerRequest::ThreadMove(params) => {
                self.bind(&params.workspace_id);
                let goal = Goal::Move {
                    workspace: params.workspace_id,
                    folder: params.folder_id,
                };
                self.find(out, running, params.thread_id, goal);
                return;
            }
            PioneerRequest::ThreadUnsubscribe(params) => {
                self.unsubscribe(out, running, params.thread_id);
                return;
            }
            PioneerRequest::TurnCancel(params) => {
                let turn = params.turn_id;
                self.find(out, running, params.thread_id, Goal::Cancel { turn });
                return;
            }
            PioneerRequest::TurnGet(params) => {
                let read = TurnRead::One(TurnId::new(params.turn_id));
                self.find(out, running, params.thread_id, Goal::Turns(read));
                return;
            }
            PioneerRequest::TurnItems(params) => {
                let read = TurnRead::Log(TurnId::new(params.turn_id), TurnForm::Items);
                self.find(out, running, params.thread_id, Goal::Turns(read));
                return;
            }
            PioneerRequest::TurnTimeline(params) => {
                let form = TurnForm::Timeline(TimelineChoice::of(&params));
                let read = TurnRead::Log(TurnId::new(params.turn_id), form);
                self.find(out, running, params.thread_id, Goal::Turns(read));
                return;
            }
            PioneerRequest::ThreadTree(params) => {
                self.bind(&params.workspace_id);
                let include_hidden = params.include_hidden.unwrap_or(true);
                let workspace = WorkspaceId::new(params.workspace_id.trim());
                let call = Call::Library(LibraryCall::ReadTree { workspace });
                self.call(out, &running, RequestStep::Library { include_hidden }, call);
                return;
            }
            PioneerRequest::Admin(request) => return self.administer(out, &running, request),
            PioneerRequest::ProviderList => return self.provider_list(out, &running),
            PioneerRequest::ProviderModelsList(params) => {
                return self.provider_models(out, &running, params);
            }
            PioneerRequest::ProviderSetApiKey(params) => {
                return self.set_key(out, &running, params);
            }
            PioneerRequest::ProviderDeleteApiKey(params) => {
                return self.delete_key(out, &running, params);
            }
            PioneerRequest::WorkspaceList
            | PioneerRequest::WorkspaceDefault
            | PioneerRequest::WorkspaceCreate(_)
            | PioneerRequest::WorkspaceSelect(_)
            | PioneerRequest::ThreadFolderCreate(_)
            | PioneerRequest::ThreadFolderMove(_)
            | PioneerRequest::ThreadFolderDelete(_) => {
                if let Some(call) = self.library_call(request) {
                    self.call(out, &running, WHOLE, Call::Library(call));
                }
                return;
            }
        };
        if let Err((id, wrong)) = refused {
            send_error(out, Some(&id), &wrong);
        }
    }

    /// Requests that are one call of the library. A workspace that is answered becomes bound.
    fn library_call(&mut self, request: PioneerRequest) -> Option<LibraryCall> {
        Some(match request {
            PioneerRequest::WorkspaceList => LibraryCall::ListWorkspaces,
            PioneerRequest::WorkspaceDefault => LibraryCall::DefaultWorkspace,
            PioneerRequest::WorkspaceCreate(params) => LibraryCall::CreateWorkspace {
                id: WorkspaceId::new(params.workspace_id),
                name: params.name,
                make_current: params.make_current.unwrap_or(false),
                directory: match params.path {
                    Some(path) => WorkspaceDirectory::Given(path.into()),
                    None => WorkspaceDirectory::Managed,
                },
            },
            PioneerRequest::WorkspaceSelect(params) => LibraryCall::SelectWorkspace {
                id: WorkspaceId::new(params.workspace_id.trim()),
                make_current: params.make_current.unwrap_or(false),
            },
            PioneerRequest::ThreadFolderCreate(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::CreateFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    parent: params.parent_folder_id,
                    name: params.name,
                }
            }
            PioneerRequest::ThreadFolderMove(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::MoveFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    folder: params.folder_id,
                    parent: params.parent_folder_id,
                }
            }
            PioneerRequest::ThreadFolderDelete(params) => {
                self.bind(&params.workspace_id);
                LibraryCall::DeleteFolder {
                    workspace: WorkspaceId::new(params.workspace_id.trim()),
                    folder: params.folder_id,
                }
            }
            _ => return None,
        })
    }

    pub(super) fn find(
        &mut self,
        out: &mut Vec<Action>,
        mut running: RunningRequest,
        name: String,
        goal: Goal,
    ) {
        running.thread = Some(name.clone());
        self.call(
            out,
            &running,
            RequestStep::Find(goal),
            Call::FindThread { name },
        );
    }

    fn update_workspace(
        &mut self,
        out: &mut Vec<Action>,
        running: RunningRequest,
        params: WorkspaceUpdateParams,
    ) -> Result<(), (Id, PioneerError)> {
        if params.name.is_none() && params.is_active.is_none() {
            let message = "at least one workspace field is required";
            let wrong = PioneerError::params(&running.method, message);
            return Err((running.id, wrong));
        }
        let call = Call::Library(LibraryCall::UpdateWorkspace {
            id: WorkspaceId::new(params.workspace_id.trim()),
            name: params.name,
            is_active: params.is_active,
        });
        self.call(out, &running, WHOLE, call);
        Ok(())
    }

    fn history(
        &mut self,
        out: &mut Vec<Action>,
        running: RunningRequest,
        params: &ThreadHistoryParams,
    ) -> Result<(), (Id, PioneerError)> {
        if params.limit == Some(0) {
            let wrong = PioneerError::params(&running.method, "limit must be greater than 0");
            return Err((running.id, wrong));
        }
        let goal = Goal::History(HistoryQuery {
            limit: params.limit.map(|limit| limit as usize),
            after: params.after_sequence,
        });
        self.find(out, running, params.thread_id.clone(), goal);
        Ok(())
    }

    fn respond_to(
        &mut self,
        out: &mut Vec<Action>,
        running: RunningRequest,
        params: PermissionRespondParams,
    ) -> Result<(), (Id, PioneerError)> {
        let ask = params.request_id.parse().ok().map(AskId);
        let open = ask.and_then(|ask| {
            let mut subscriptions = self.subscriptions.values();
            subscriptions.find_map(|each| Some((each.thread.card.id, each.asks.get(&ask)?)))
        });
        let Some((thread, ask)) = open else {
            let id = &params.request_id;
            let message = format!("permission request `{id}` was not found");
            return Err((running.id, PioneerError::request(message)));
        };
        let (answer, resolution) = match answer(&ask.kind, &params) {
            Ok(answered) => answered,
            Err(message) => {
                let wrong = PioneerError::params(&running.method, message);
                return Err((running.id, wrong));
            }
        };
        let call = Call::AnswerAsk {
            thread,
            ask: ask.id,
            answer,
        };
        let request_id = params.request_id;
        let step = RequestStep::Answer {
            request_id,
            resolution,
        };
        self.call(out, &running, step, call);
        Ok(())
    }
}

/// What a response says to the ask it is for, and how that is told back.
fn answer(
    kind: &AskKind,
    params: &PermissionRespondParams,
) -> Result<(Answer, Resolution), &'static str> {
    let resolution = params.resolution;
    match kind {
        AskKind::Approval(_) => match resolution.ok_or("resolution is required")? {
            allowed @ Resolution::AllowOnce => {
                Ok((Answer::Approval(ApprovalAnswer::Once), allowed))
            }
            allowed @ Resolution::AllowForTurn => {
                Ok((Answer::Approval(ApprovalAnswer::ForTurn), allowed))
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
