//! `turn/start`: the turn, and the overrides that stick.

use vocabulary::{AgentMode, Call, Cause, Changes, Idempotency, StartTurn, Thread};

use super::hear::PioneerError;
use super::input::PioneerInput;
use super::steps::{RequestStep, RunningRequest};
use super::wire::params::TurnStartParams;
use super::wire::thread::ThreadMode;
use super::{Pioneer, input, models};
use crate::Action;
use crate::jsonrpc::Id;

impl Pioneer {
    /// What a turn overrides sticks to its thread.
    pub(super) fn start_turn(
        &mut self,
        out: &mut Vec<Action>,
        running: RunningRequest,
        params: TurnStartParams,
    ) -> Result<(), (Id, PioneerError)> {
        let thread = self.subscribed(&params.thread_id);
        let subscription = thread.and_then(|thread| self.subscriptions.get(&thread));
        let Some(subscription) = subscription else {
            let name = &params.thread_id;
            let message = format!("this connection is not subscribed to thread `{name}`");
            return Err((running.id, PioneerError::request(message)));
        };
        let PioneerInput { mut said, files } = match input::read(&params.input) {
            Ok(read) => read,
            Err(message) => {
                let wrong = PioneerError::params(&running.method, message);
                return Err((running.id, wrong));
            }
        };
        let Thread { card, settings, .. } = &subscription.thread;
        let (provider, model) = (params.model_provider.as_ref(), params.model.as_ref());
        // A thread that plans is told as one that works: who says that again wants no other.
        let is_told = |mode: &ThreadMode| {
            settings.mode == AgentMode::Plan && ThreadMode::from(settings.mode) == *mode
        };
        let mode = params.mode.filter(|mode| !is_told(mode));
        let changes = Changes {
            mode: mode.map(ThreadMode::meant),
            ..models::change(provider, model, Some(&settings.model))
        };
        let images = std::mem::take(&mut said.images);
        let pieces = std::mem::take(&mut said.pieces);
        let (text, display) = said.into_texts();
        let turn = StartTurn {
            changes: Box::new(changes),
            listen: None,
            images,
            files,
            thread: card.id,
            text,
            display,
            cause: Cause::UserMessage,
            client_message_id: None,
            idempotency: Idempotency::Lasting,
            client_turn_id: Some(params.turn_id).filter(|id| !id.is_empty()),
            pieces,
        };
        let workspace = card.workspace.clone();
        self.bind(workspace.as_str());
        self.call(out, &running, RequestStep::TurnStart, Call::StartTurn(turn));
        Ok(())
    }
}
