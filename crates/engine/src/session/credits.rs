//! What a session reserves for a turn before it starts.

use store::CreditHolder;
use vocabulary::{Refusal, StartTurn, TurnId};

use super::Session;
use super::given::changed_settings;
use crate::agents::model::compaction::BYTES_PER_TOKEN;
use crate::limits::FIXED_TOKENS_ABOUT;

impl Session {
    /// Reserves what the first step of a turn can cost; refused where the balance does not cover it.
    pub(super) async fn reserve_first_step(
        &mut self,
        turn: &TurnId,
        start: &StartTurn,
    ) -> Result<CreditHolder, Refusal> {
        let holder = CreditHolder {
            tenant: self.card.tenant.clone(),
            thread: self.card.id,
            turn: turn.clone(),
        };
        if !self.shared.has_balance(&holder.tenant).await? {
            return Ok(holder);
        }
        let known = &self.state.thread.settings;
        let changed = changed_settings(known, &start.changes)?;
        let settings = changed.as_ref().unwrap_or(known);
        let (agents, own) = (&self.shared.agents, self.shared.own(&holder.tenant));
        let model = match agents.is_external(settings) {
            // The model that it is chosen by has no price.
            true => None,
            false if agents.of(&own, settings).abilities().uses_model => Some(&settings.model),
            false => return Ok(holder),
        };
        let said = start.text.len() as u64 / BYTES_PER_TOKEN;
        // What was counted last has the fixed part in it.
        let tokens = said + self.state.context_tokens.max(FIXED_TOKENS_ABOUT);
        let reserved = self.shared.reserve_first_step(&holder, model, tokens);
        reserved.await.map(|()| holder)
    }
}
