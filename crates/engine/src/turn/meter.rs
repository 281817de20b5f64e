//! The meter: what a turn and its thread have spent, held against what they may spend.

use parking_lot::Mutex;
use providers::Models;
use vocabulary::{Budgets, ModelRef, Usage};

/// Shared by everyone who spends for one turn: its own steps, its sub-agents, its compaction.
pub struct Meter {
    spent: Mutex<Spent>,
}

#[derive(Clone, Copy, Debug)]
struct Spent {
    turn: Usage,
    thread: Usage,
    /// What the sub-agents that run now may spend, and how many they are.
    share: TurnShare,
    sharing: usize,
}

/// Half of what a turn has left: what it may have spent in all when that is used up.
#[derive(Clone, Copy, Debug, Default)]
struct TurnShare {
    tokens: Option<HalfLeft>,
    micro_dollars: Option<HalfLeft>,
}

#[derive(Clone, Copy, Debug)]
struct HalfLeft {
    half: u64,
    until: u64,
}

impl HalfLeft {
    fn of(spent: u64, budget: Option<u64>) -> Option<Self> {
        let half = budget?.saturating_sub(spent) / 2;
        let until = spent + half;
        Some(Self { half, until })
    }
}

impl Meter {
    pub fn new(thread: Usage, turn: Usage) -> Self {
        let spent = Spent {
            turn,
            thread,
            share: TurnShare::default(),
            sharing: 0,
        };
        Self {
            spent: Mutex::new(spent),
        }
    }

    /// Counts, and gives what the thread has spent by now.
    pub fn add(&self, usage: Usage) -> Usage {
        let mut spent = self.spent.lock();
        spent.turn.add(usage);
        spent.thread.add(usage);
        spent.thread
    }

    /// Counts what the thread spent beside the turn.
    pub fn add_beside(&self, usage: Usage) {
        self.spent.lock().thread.add(usage);
    }

    /// A sub-agent begins. Together, those that run at the same time may spend half of what was left
    /// when the first of them began, so that its turn can go on with what they found.
    pub fn share(&self, budgets: &Budgets) -> SubAgentShare<'_> {
        let mut spent = self.spent.lock();
        if spent.sharing == 0 {
            let (tokens, cost) = (spent.turn.total_tokens(), spent.turn.cost_micro_dollars);
            spent.share = TurnShare {
                tokens: HalfLeft::of(tokens, budgets.turn_tokens),
                micro_dollars: HalfLeft::of(cost.unwrap_or(0), budgets.turn_micro_dollars),
            };
        }
        spent.sharing += 1;
        SubAgentShare(self)
    }

    /// Why nothing more may be spent, if so.
    pub fn exhausted(&self, budgets: &Budgets) -> Option<String> {
        let spent = *self.spent.lock();
        let lines = [
            over_tokens("turn", spent.turn, budgets.turn_tokens),
            over_tokens("thread", spent.thread, budgets.thread_tokens),
            over_money("turn", spent.turn, budgets.turn_micro_dollars),
            over_money("thread", spent.thread, budgets.thread_micro_dollars),
        ];
        lines.into_iter().flatten().next()
    }
}

/// What a sub-agent may spend, for as long as it runs.
pub struct SubAgentShare<'a>(&'a Meter);

impl SubAgentShare<'_> {
    /// Why it may spend nothing more, if so.
    pub fn used_up(&self) -> Option<String> {
        let spent = *self.0.spent.lock();
        let over = |share: Option<HalfLeft>, used: u64| share.filter(|share| used >= share.until);
        let (tokens, cost) = (spent.turn.total_tokens(), spent.turn.cost_micro_dollars);
        let tokens = over(spent.share.tokens, tokens).map(|share| format!("{} tokens", share.half));
        let money = over(spent.share.micro_dollars, cost.unwrap_or(0));
        let money = money.map(|share| format!("${}", dollars(share.half)));
        tokens.or(money).map(|half| {
            format!(
                "stopped before its work was done: sub-agents that run at the same time may use \
                 half of what the turn has left, here {half}, and that is used up"
            )
        })
    }
}

impl Drop for SubAgentShare<'_> {
    fn drop(&mut self) {
        self.0.spent.lock().sharing -= 1;
    }
}

fn over_tokens(whose: &str, spent: Usage, budget: Option<u64>) -> Option<String> {
    let (used, most) = (spent.total_tokens(), budget?);
    (used >= most).then(|| {
        format!(
            "the {whose}'s token budget is used up ({used} of {most}); raise the budget or start \
             a new {whose}"
        )
    })
}

fn over_money(whose: &str, spent: Usage, budget: Option<u64>) -> Option<String> {
    let most = budget?;
    if spent == Usage::default() {
        return None;
    }
    let Some(used) = spent.cost_micro_dollars else {
        return Some(format!(
            "the {whose} has a money budget, but the price of a model it used is not known, so it \
             cannot be kept; add the price to the catalog or lift the budget"
        ));
    };
    (used >= most).then(|| {
        format!(
            "the {whose}'s money budget is used up (${} of ${}); raise the budget or start a new \
             {whose}",
            dollars(used),
            dollars(most)
        )
    })
}

/// Micro-dollars as people read them.
pub fn dollars(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// A thread's own budgets where it has some, the server's where not.
pub fn effective(own: &Budgets, server: &Budgets) -> Budgets {
    Budgets {
        turn_tokens: own.turn_tokens.or(server.turn_tokens),
        turn_micro_dollars: own.turn_micro_dollars.or(server.turn_micro_dollars),
        thread_tokens: own.thread_tokens.or(server.thread_tokens),
        thread_micro_dollars: own.thread_micro_dollars.or(server.thread_micro_dollars),
    }
}

/// Why a money budget cannot be kept with this model, if so.
pub fn unpriced(models: &Models, model: &ModelRef, budgets: &Budgets) -> Option<String> {
    let limited = budgets.turn_micro_dollars.or(budgets.thread_micro_dollars);
    let known = models.model(&model.provider, &model.model);
    let priced = known.is_some_and(|known| known.price.is_some());
    (limited.is_some() && !priced).then(|| {
        format!(
            "there is a money budget, but the price of {}/{} is not known, so it cannot be kept; \
             add the price to the catalog or lift the budget",
            model.provider, model.model
        )
    })
}

/// Usage as the provider counts it, with what it costs where that is known: as the provider says, or
/// by its prices.
pub fn priced(models: &Models, model: &ModelRef, usage: providers::ModelUsage) -> Usage {
    let known = models.model(&model.provider, &model.model);
    let by_price = known.and_then(|known| known.price);
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cost_micro_dollars: usage
            .cost_micro_dollars
            .or_else(|| by_price.map(|price| price.of(usage))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(tokens: u64, cost: Option<u64>) -> Usage {
        Usage {
            input_tokens: tokens,
            cost_micro_dollars: cost,
            ..Usage::default()
        }
    }

    #[test]
    fn a_budget_stops_at_its_limit_and_says_which_one() {
        let meter = Meter::new(used(900, Some(500_000)), Usage::default());
        let budgets = Budgets {
            turn_tokens: Some(100),
            thread_micro_dollars: Some(2_500_000),
            ..Budgets::default()
        };
        assert_eq!(meter.exhausted(&budgets), None);
        meter.add(used(99, Some(0)));
        assert_eq!(meter.exhausted(&budgets), None);
        meter.add(used(1, Some(2_000_000)));
        let why = meter.exhausted(&budgets).expect("used up");
        assert!(
            why.contains("turn's token budget") && why.contains("100 of 100"),
            "{why}"
        );
        let money = Budgets {
            turn_tokens: None,
            ..budgets
        };
        let why = meter.exhausted(&money).expect("used up");
        assert!(why.contains("$2.5 of $2.5"), "{why}");
    }

    #[test]
    fn a_money_budget_does_not_take_an_unknown_price_for_nothing() {
        let meter = Meter::new(Usage::default(), Usage::default());
        let budgets = Budgets {
            turn_micro_dollars: Some(1_000_000),
            ..Budgets::default()
        };
        assert_eq!(meter.exhausted(&budgets), None, "nothing was spent yet");
        meter.add(used(10, None));
        let why = meter.exhausted(&budgets).expect("cannot be kept");
        assert!(why.contains("not known"), "{why}");
    }

    #[test]
    fn sub_agents_share_half_of_what_is_left() {
        let meter = Meter::new(Usage::default(), used(100, None));
        let budgets = Budgets {
            turn_tokens: Some(1_100),
            ..Budgets::default()
        };
        let first = meter.share(&budgets);
        meter.add(used(400, None));
        let second = meter.share(&budgets);
        meter.add(used(99, None));
        assert_eq!((first.used_up(), second.used_up()), (None, None));
        meter.add(used(1, None));
        let why = first.used_up().expect("used up");
        assert!(why.contains("here 500 tokens"), "{why}");
        assert_eq!(second.used_up(), Some(why));
        assert_eq!(meter.exhausted(&budgets), None, "the turn can go on");
        drop((first, second));
        let third = meter.share(&budgets);
        assert_eq!(third.used_up(), None);
        meter.add(used(250, None));
        assert!(third.used_up().is_some());
        assert!(meter.share(&Budgets::default()).used_up().is_some());
        drop(third);
        assert_eq!(meter.share(&Budgets::default()).used_up(), None);
    }

    #[test]
    fn a_threads_own_budget_goes_before_the_servers() {
        let own = Budgets {
            turn_tokens: Some(5),
            ..Budgets::default()
        };
        let server = Budgets {
            turn_tokens: Some(1),
            thread_tokens: Some(2),
            ..Budgets::default()
        };
        let both = effective(&own, &server);
        assert_eq!((both.turn_tokens, both.thread_tokens), (Some(5), Some(2)));
    }
}
