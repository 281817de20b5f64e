//! Which facts change what a list shows of a thread.

use vocabulary::{AskFact, Fact, TurnFact};

/// Whether a fact changes the thread's row in the list. Counts alone do not: the row follows at
/// the next turn boundary, and the state row has the exact number.
pub fn changes_list_row(fact: &Fact) -> bool {
    match fact {
        Fact::Thread(_) => fact.durable(),
        Fact::Turn(TurnFact::Started { .. } | TurnFact::Finished { .. }) => true,
        Fact::Turn(
            TurnFact::Steered { .. }
            | TurnFact::SteerPlaced { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. },
        ) => false,
        Fact::Ask { what, .. } => match what {
            AskFact::Opened { .. } | AskFact::Closed { .. } => true,
            AskFact::Progressed { .. } => false,
        },
        Fact::Step { .. } | Fact::Item { .. } | Fact::Tool(_) | Fact::Files(_) | Fact::Note(_) => {
            false
        }
    }
}
