//! Answers that allow something for longer than once: what they allow is kept before they count.

use std::sync::Arc;

use vocabulary::{Answer, ApprovalAnswer, AskId, AskKind, Caller, Refusal, TurnId};

use super::Session;
use crate::grants;

impl Session {
    /// Takes a person's answer. What it allows for longer is on disk before the ask is closed, so that
    /// whoever hears that it was taken can rely on it.
    pub(super) async fn answer_and_grant(
        &mut self,
        id: AskId,
        answer: Answer,
        by: &Caller,
    ) -> Result<(), Refusal> {
        let open = self.state.asks.iter().find(|open| open.ask.id == id);
        let Some((ask, AskKind::Approval(approval))) = open.map(|open| (&open.ask, &open.ask.kind))
        else {
            return self.answer(id, answer);
        };
        let at = self.shared.now();
        let answer = match grants::given(&self.card, &ask.turn, approval, &answer, by, at) {
            Some(grant) => {
                self.shared.grants.add(&self.card.tenant, &grant).await?;
                self.asking.turn_grants |= grant.turn.is_some();
                answer
            }
            None => for_once(answer),
        };
        self.answer(id, answer)
    }

    /// Lets go, in the background, of what was allowed for a turn that ends.
    pub(super) fn forget_turn_grants(&mut self, turn: TurnId) {
        if std::mem::take(&mut self.asking.turn_grants) {
            let (shared, card) = (Arc::clone(&self.shared), Arc::clone(&self.card));
            tokio::spawn(async move { shared.grants.turn_ended(&card, &turn).await });
        }
    }
}

/// A yes for longer, where nothing can be kept, is one for this time.
fn for_once(answer: Answer) -> Answer {
    match answer {
        Answer::Approval(yes) if yes.grants().is_some() => Answer::Approval(ApprovalAnswer::Once),
        answer @ (Answer::Approval(_) | Answer::Questions(_) | Answer::Dismissed) => answer,
    }
}
