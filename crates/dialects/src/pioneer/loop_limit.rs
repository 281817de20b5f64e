//! A turn that comes to a limit of its own, as its tool loop's budget.

use vocabulary::TurnLimit;

use super::wire::recovery::{LoopLimitAction, LoopLimitKind};

pub struct LoopLimit {
    pub kind: LoopLimitKind,
    pub action: LoopLimitAction,
    pub reason: &'static str,
}

impl From<TurnLimit> for LoopLimit {
    fn from(limit: TurnLimit) -> Self {
        match limit {
            TurnLimit::Steps => Self {
                kind: LoopLimitKind::AgentRounds,
                action: LoopLimitAction::RequestFinalNoToolsRound,
                reason: "the turn has taken all its steps; one more follows, in words alone",
            },
            TurnLimit::CallsInWrapUp => Self {
                kind: LoopLimitKind::ProviderReturnedToolsAfterToolsDisabled,
                action: LoopLimitAction::FailTurn,
                reason: "the model called tools where only words were wanted; they are not run",
            },
        }
    }
}
