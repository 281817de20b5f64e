//! Turns that a client starts, and what it says while they run.

use vocabulary::{
    Call, Catalog, Cause, Changes, Idempotency, Refusal, StartTurn, StartedTurn, SteerTurn,
    ThreadId, ThreadView, TurnId, Why,
};

use super::act::parse;
use super::calls::CodexPurpose;
use super::listening::KnownThread;
use super::permissions::{PermissionFields, RequestedPermissions};
use super::refuse::CodexError;
use super::settings::WantedMode;
use super::wire::params::{TurnStartParams, TurnSteerParams};
use super::wire::results::TurnSteerResponse;
use super::{Codex, Endpoint, input, offer, respond, thinking};
use crate::jsonrpc::Id;
use crate::turn_input::TurnInput;
use crate::{Action, Dialect};

/// A turn that is to start, with its input read.
#[derive(Clone, Debug)]
pub struct WantedTurn {
    thread: ThreadId,
    said: TurnInput,
    permissions: RequestedPermissions,
    mode: Option<WantedMode>,
    /// Without the input.
    params: TurnStartParams,
}

impl Codex {
    /// Whoever starts a turn hears it. What a turn sets depends on its thread, so one that is not heard
    /// is looked at first.
    pub(super) fn turn_start(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        mut params: TurnStartParams,
    ) -> Result<(), CodexError> {
        let thread = parse(&params.thread_id)?;
        let said = input::read("turn/start", &std::mem::take(&mut params.input))?;
        let mode = WantedMode::read("turn/start", params.collaboration_mode.as_ref())?;
        let permissions = PermissionFields {
            method: "turn/start",
            approval_policy: params.approval_policy.as_ref(),
            sandbox_policy: params.sandbox_policy.as_ref(),
            profile: params.permissions.as_deref(),
            ..PermissionFields::default()
        };
        let permissions = permissions.read()?;
        let wanted = WantedTurn {
            thread,
            said,
            permissions,
            mode,
            params,
        };
        let Some(known) = self.listening.known(thread) else {
            let waiting = CodexPurpose::TurnThread(id, Box::new(wanted));
            let call = Call::ReadThread { thread, recent: 0 };
            self.calls.make(out, waiting, call);
            return Ok(());
        };
        let start = self.start_of(known, wanted)?;
        self.calls
            .make(out, CodexPurpose::Turn(id), Call::StartTurn(start));
        Ok(())
    }

    /// The thread is known now, and is heard from before the turn's first event.
    pub(super) fn turn_in(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        wanted: WantedTurn,
        view: &ThreadView,
    ) {
        match self.start_of(&KnownThread::new(view), wanted) {
            Ok(start) => {
                let call = Call::StartTurn(StartTurn {
                    listen: Some(self.variant().audience()),
                    ..start
                });
                self.calls.make(out, CodexPurpose::Turn(id.clone()), call);
            }
            Err(wrong) => out.push(Action::Send(wrong.frame(Some(id)))),
        }
    }

    fn start_of(&self, known: &KnownThread, wanted: WantedTurn) -> Result<StartTurn, CodexError> {
        let WantedTurn {
            thread,
            mut said,
            permissions,
            mode,
            params,
        } = wanted;
        permissions.check("turn/start", &known.card)?;
        let summary = thinking::summary("turn/start: summary", params.summary.as_deref())?;
        let mode = mode.map(|mode| mode.changes(known)).unwrap_or_default();
        let images = std::mem::take(&mut said.images);
        let pieces = std::mem::take(&mut said.pieces);
        let (text, display) = said.into_texts();
        Ok(StartTurn {
            files: Vec::new(),
            changes: Box::new(Changes {
                summary: summary.filter(|_| summary != known.settings.summary),
                mode: mode.mode,
                instructions: mode.instructions,
                ..self.changes(known, &params, &permissions)
            }),
            listen: None,
            images,
            pieces,
            thread,
            text,
            display,
            cause: Cause::UserMessage,
            client_message_id: params.client_user_message_id.filter(|id| !id.is_empty()),
            client_turn_id: None,
            idempotency: Idempotency::Lasting,
        })
    }

    /// What a turn sets that its thread has not: clients repeat everything with every turn.
    fn changes(
        &self,
        known: &KnownThread,
        params: &TurnStartParams,
        permissions: &RequestedPermissions,
    ) -> Changes {
        let (named_model, effort) = self.chosen(known, params.model(), params.effort());
        Changes {
            named_model,
            effort,
            ..permissions.of_known(self.endpoint, &known.settings, known.sandbox)
        }
    }

    pub(super) fn turn_steer(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: TurnSteerParams,
    ) -> Result<(), CodexError> {
        let thread = parse(&params.thread_id)?;
        let mut said = input::read("turn/steer", &params.input)?;
        if said.is_blank() {
            return Err(CodexError::params("turn/steer: input: must not be empty"));
        }
        let images = std::mem::take(&mut said.images);
        let pieces = std::mem::take(&mut said.pieces);
        let steer = SteerTurn {
            thread,
            turn: match self.endpoint {
                Endpoint::Codex => Some(TurnId::new(params.expected_turn_id)),
                // Whatever runs by now: its client shows nothing of a no, and what was said is lost.
                Endpoint::Zane => None,
            },
            text: said.into_texts().0,
            client_message_id: params.client_user_message_id.filter(|id| !id.is_empty()),
            images,
            pieces,
        };
        let purpose = match self.endpoint {
            Endpoint::Codex => CodexPurpose::Steer(id),
            Endpoint::Zane => CodexPurpose::SteerOrStart(id, Box::new(steer.clone())),
        };
        self.calls.make(out, purpose, Call::SteerTurn(steer));
        Ok(())
    }

    /// The turn is over: what was said begins the next one.
    pub(super) fn not_steered(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        steer: &SteerTurn,
        refusal: &Refusal,
    ) {
        if refusal.why != Why::NoRunningTurn {
            out.push(Action::Send(CodexError::steer(refusal).frame(Some(id))));
            return;
        }
        let hears = self.listening.hears(steer.thread);
        let call = Call::StartTurn(StartTurn {
            files: Vec::new(),
            changes: Box::default(),
            listen: (!hears).then(|| self.variant().audience()),
            images: steer.images.clone(),
            pieces: steer.pieces.clone(),
            thread: steer.thread,
            text: steer.text.clone(),
            display: None,
            cause: Cause::UserMessage,
            client_message_id: steer.client_message_id.clone(),
            client_turn_id: None,
            idempotency: Idempotency::Lasting,
        });
        let purpose = CodexPurpose::StartInstead(id.clone(), Box::new(steer.clone()));
        self.calls.make(out, purpose, call);
    }

    /// Somebody else has started one meanwhile: it is said to that one.
    pub(super) fn not_started(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        steer: &SteerTurn,
        refusal: &Refusal,
    ) {
        if refusal.why != Why::Busy {
            out.push(Action::Send(CodexError::from(refusal).frame(Some(id))));
            return;
        }
        let call = Call::SteerTurn(steer.clone());
        self.calls.make(out, CodexPurpose::Steer(id.clone()), call);
    }

    pub(super) fn started_instead(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        started: &StartedTurn,
    ) {
        if let Some(view) = &started.joined {
            let asks = self.listening.begin(view);
            self.request_again(out, &asks);
        }
        let turn_id = started.turn.as_str();
        out.push(Action::Send(respond(id, &TurnSteerResponse { turn_id })));
    }

    /// Remembers how models are called that have a name of their own here.
    pub(super) fn learn_names(&mut self, catalog: &Catalog) {
        self.names = offer::Names::new(catalog);
    }
}
