//! What an external agent says that its session has cost so far.

use acp::schema;

const DOLLARS: &str = "USD";
const MICRO_PER_DOLLAR: f64 = 1_000_000.0;

/// Micro-dollars of a whole session, of which each turn is to count its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedCost {
    /// What earlier turns counted; not known of a session that another process had begun.
    counted: Option<u64>,
    /// What was said last, in this turn.
    told: Option<u64>,
}

impl ReportedCost {
    pub fn of_new_session() -> Self {
        Self {
            counted: Some(0),
            told: None,
        }
    }

    /// Other units than dollars are not counted.
    pub fn hear(&mut self, cost: &schema::Cost) {
        if cost.currency != DOLLARS || !cost.amount.is_finite() {
            return;
        }
        // What is below zero becomes zero.
        let told = (cost.amount * MICRO_PER_DOLLAR).round() as u64;
        self.counted.get_or_insert(told);
        self.told = Some(told);
    }

    /// What this turn cost, where the agent said so.
    pub fn take(&mut self) -> Option<u64> {
        let told = self.told.take()?;
        let before = self.counted.replace(told)?;
        Some(told.saturating_sub(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(amount: f64, currency: &str) -> schema::Cost {
        schema::Cost::new(amount, currency.to_owned())
    }

    #[test]
    fn each_turn_counts_what_it_added() {
        let mut reported = ReportedCost::of_new_session();
        assert_eq!(reported.take(), None, "nothing was said");
        reported.hear(&cost(0.01, "USD"));
        reported.hear(&cost(0.025, "USD"));
        assert_eq!(reported.take(), Some(25_000));
        reported.hear(&cost(0.03, "USD"));
        assert_eq!(reported.take(), Some(5_000));
        reported.hear(&cost(1.0, "EUR"));
        reported.hear(&cost(f64::NAN, "USD"));
        assert_eq!(reported.take(), None);
        reported.hear(&cost(0.0, "USD"));
        assert_eq!(reported.take(), Some(0), "it began anew");
    }

    #[test]
    fn a_session_from_before_counts_from_what_it_says_first() {
        let mut reported = ReportedCost::default();
        reported.hear(&cost(5.0, "USD"));
        reported.hear(&cost(5.5, "USD"));
        assert_eq!(reported.take(), Some(500_000));
    }
}
