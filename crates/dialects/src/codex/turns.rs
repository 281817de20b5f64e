//! Turns that a client starts, and what it says while they run.

use vocabulary::{Call, Catalog, Cause, Changes, StartTurn, SteerTurn, ThreadId, TurnId};

use super::act::{named, parse};
use super::calls::Waiting;
use super::input::{self, Said};
use super::permissions::{self, Wanted};
use super::refuse::Wrong;
use super::wire::params::{TurnStartParams, TurnSteerParams};
use super::{Codex, offer};
use crate::Action;
use crate::jsonrpc::Id;

/// A turn that is to start, with its input read.
#[derive(Clone, Debug)]
pub struct WantedTurn {
    pub thread: ThreadId,
    said: Said,
    permissions: Wanted,
    /// Without the input.
    params: TurnStartParams,
}

impl Codex {
    /// Whoever starts a turn hears it.
    pub(super) fn turn_start(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        mut params: TurnStartParams,
    ) -> Result<(), Wrong> {
        let thread = parse(&params.thread_id)?;
        let said = input::read("turn/start", &std::mem::take(&mut params.input))?;
        permissions::check_mode(params.collaboration_mode.as_ref())?;
        let permissions = permissions::of_turn(
            params.approval_policy.as_ref(),
            params.sandbox_policy.as_ref(),
        )?;
        let wanted = Box::new(WantedTurn {
            thread,
            said,
            permissions,
            params,
        });
        match self.listening.hears(thread) {
            true => self.turn_settings(out, id, wanted),
            false => {
                let waiting = Waiting::TurnListen(id, wanted);
                self.calls.listen(out, waiting, thread);
            }
        }
        Ok(())
    }

    /// Clients repeat the model with every turn; only another one has to be looked up.
    pub(super) fn turn_settings(&mut self, out: &mut Vec<Action>, id: Id, wanted: Box<WantedTurn>) {
        let current = self.listening.settings(wanted.thread);
        let current = current.map(|settings| self.names.of(&settings.model));
        let model = wanted.params.model();
        if model.is_some() && model != current {
            let waiting = Waiting::TurnModel(id, wanted);
            self.calls.make(out, waiting, Call::GetCatalog);
        } else {
            self.turn_change(out, id, *wanted, None);
        }
    }

    pub(super) fn turn_change(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        wanted: WantedTurn,
        catalog: Option<&Catalog>,
    ) {
        let WantedTurn {
            thread,
            said,
            permissions,
            params,
        } = wanted;
        if let Some((card, _, sandbox)) = self.listening.known(thread)
            && let Err(wrong) = permissions.check(card, sandbox)
        {
            return out.push(Action::Send(wrong.frame(Some(&id))));
        }
        let changes = self.changes(thread, &params, &permissions, catalog);
        let start = StartTurn {
            changes: Box::new(changes),
            images: said.images,
            thread,
            text: said.text,
            display: None,
            cause: Cause::UserMessage,
            client_message_id: params.client_user_message_id.filter(|id| !id.is_empty()),
            client_turn_id: None,
        };
        let call = Call::StartTurn(start);
        self.calls.make(out, Waiting::Turn(id), call);
    }

    /// What a turn sets that its thread has not.
    fn changes(
        &self,
        thread: ThreadId,
        params: &TurnStartParams,
        permissions: &Wanted,
        catalog: Option<&Catalog>,
    ) -> Changes {
        let known = self.listening.known(thread);
        let settings = known.map(|(_, settings, _)| settings);
        let sandbox = known.map(|(_, _, sandbox)| sandbox).unwrap_or_default();
        let model = named(catalog, params.model());
        let in_use = model.as_ref().or(settings.map(|now| &now.model));
        let made_up =
            |effort: &&str| in_use.is_some_and(|model| self.names.is_made_up(effort, model));
        let effort = params.effort().filter(|effort| !made_up(effort));
        let effort = effort.map(str::to_owned);
        Changes {
            model: model.filter(|model| settings.is_none_or(|now| now.model != *model)),
            effort: effort
                .filter(|effort| settings.is_none_or(|now| now.effort.as_ref() != Some(effort))),
            ..permissions.of_known(settings, sandbox)
        }
    }

    pub(super) fn turn_steer(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: TurnSteerParams,
    ) -> Result<(), Wrong> {
        let thread = parse(&params.thread_id)?;
        let said = input::read("turn/steer", &params.input)?;
        if said.is_blank() {
            return Err(Wrong::params("turn/steer: input: must not be empty"));
        }
        let call = Call::SteerTurn(SteerTurn {
            thread,
            turn: Some(TurnId::new(params.expected_turn_id)),
            text: said.text,
            client_message_id: params.client_user_message_id.filter(|id| !id.is_empty()),
            images: said.images,
        });
        self.calls.make(out, Waiting::Steer(id), call);
        Ok(())
    }

    /// Remembers how models are called that have a name of their own here.
    pub(super) fn learn_names(&mut self, catalog: &Catalog) {
        self.names = offer::Names::new(catalog);
    }
}
