//! `turn/start`: the overrides that stick, then the turn itself.

use vocabulary::{Call, Catalog, Cause, Changes, StartTurn, ThreadId};

use super::hear::Wrong;
use super::input::{self, Said};
use super::models::Named;
use super::steps::{Running, Step};
use super::wire::params::TurnStartParams;
use super::wire::thread::ThreadMode;
use super::{Pioneer, send_error};
use crate::Action;
use crate::jsonrpc::Id;

/// A turn that is to start, with its input read.
pub struct WantedTurn {
    thread: ThreadId,
    said: Said,
    /// Without the input.
    params: TurnStartParams,
}

impl WantedTurn {
    fn named(&self) -> Named<'_> {
        Named::new(&self.params.model_provider, &self.params.model)
    }
}

impl Pioneer {
    pub(super) fn start_turn(
        &mut self,
        out: &mut Vec<Action>,
        running: Running,
        mut params: TurnStartParams,
    ) -> Result<(), (Id, Wrong)> {
        let thread = self.subscribed(&params.thread_id);
        let subscription = thread.and_then(|thread| self.subscriptions.get(&thread));
        let Some(subscription) = subscription else {
            let name = &params.thread_id;
            let message = format!("this connection is not subscribed to thread `{name}`");
            return Err((running.id, Wrong::request(message)));
        };
        let said = match input::read(&std::mem::take(&mut params.input)) {
            Ok(said) => said,
            Err(message) => {
                let wrong = Wrong::params(&running.method, message);
                return Err((running.id, wrong));
            }
        };
        let card = &subscription.thread.card;
        let (thread, workspace) = (card.id, card.workspace.clone());
        self.bind(workspace.as_str());
        let wanted = WantedTurn {
            thread,
            said,
            params,
        };
        if wanted.named().is_half() {
            let step = Step::TurnModel(Box::new(wanted));
            self.call(out, &running, step, Call::GetCatalog);
        } else {
            self.change_and_start(out, &running, wanted, None);
        }
        Ok(())
    }

    /// What a turn overrides sticks to its thread.
    pub(super) fn change_and_start(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        wanted: WantedTurn,
        catalog: Option<&Catalog>,
    ) {
        let changes = match self.overrides(&wanted, catalog) {
            Ok(changes) => changes,
            Err(message) => {
                let wrong = Wrong::params(&running.method, message);
                return send_error(out, Some(&running.id), &wrong);
            }
        };
        let thread = wanted.thread;
        let turn = StartTurn {
            changes: Box::new(changes),
            images: wanted.said.images,
            thread,
            text: wanted.said.text,
            display: None,
            cause: Cause::UserMessage,
            client_message_id: None,
            client_turn_id: Some(wanted.params.turn_id).filter(|id| !id.is_empty()),
        };
        self.call(out, running, Step::TurnStart, Call::StartTurn(turn));
    }

    fn overrides(&self, wanted: &WantedTurn, catalog: Option<&Catalog>) -> Result<Changes, String> {
        let known = self.subscriptions.get(&wanted.thread);
        let known = known.map(|subscription| &subscription.thread);
        let model = known.map(|thread| &thread.settings.model);
        let model = wanted.named().choose(catalog, model)?;
        Ok(Changes {
            model,
            mode: wanted.params.mode.map(ThreadMode::meant),
            ..Changes::default()
        })
    }
}
