//! What is known of one model, and how what several sources say becomes one.

/// What one source says, or all of them together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Tokens that go in, or in and out together: sources mean either.
    pub window: Option<u64>,
    /// Tokens that go in; filled in by `merge`.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub price: Option<PriceFacts>,
    pub efforts: Option<Vec<String>>,
    pub default_effort: Option<String>,
    pub vision: Option<bool>,
    pub retires: Option<String>,
    pub successor: Option<String>,
}

/// Micro-dollars for a million tokens, by the length from which on they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceFacts {
    pub base: RateFacts,
    pub tiers: Vec<(u64, RateFacts)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateFacts {
    pub input: u64,
    pub output: u64,
    pub cached: Option<u64>,
    pub cache_write: Option<u64>,
}

/// All sources together, and where they differ.
pub struct Merged {
    pub facts: Facts,
    pub differing: Vec<String>,
}

/// `known`: what each source says, the strongest first.
pub fn merge(known: &[(&str, Facts)]) -> Merged {
    let mut differing = Vec::new();
    let all = |of: fn(&Facts) -> Option<u64>| known.iter().filter_map(move |(_, each)| of(each));
    let widest = all(|each| each.window).max();
    let narrowest = all(|each| each.window).min();
    // A little less is the same number, rounded.
    let rounded = narrowest.zip(widest).is_some_and(|(a, b)| a * 20 >= b * 19);
    let window = if rounded { narrowest } else { widest };
    let output = all(|each| each.output).min();
    let price = price(known, &mut differing);
    let facts = Facts {
        window,
        // Some sources give what may go in, others what goes in and out; the smaller always fits.
        input: narrowest.filter(|input| Some(*input) != window),
        // What could write as much as it can read has no limit of its own.
        output: output.filter(|output| window.is_none_or(|window| *output < window)),
        price,
        efforts: first(known, |each| each.efforts.clone()),
        default_effort: first(known, |each| each.default_effort.clone()),
        vision: vision(known, &mut differing),
        retires: first(known, |each| each.retires.clone()),
        successor: first(known, |each| each.successor.clone()),
    };
    Merged { facts, differing }
}

fn first<T>(known: &[(&str, Facts)], of: impl Fn(&Facts) -> Option<T>) -> Option<T> {
    known.iter().find_map(|(_, each)| of(each))
}

/// The dearer one, so that a budget is kept.
fn price(known: &[(&str, Facts)], differing: &mut Vec<String>) -> Option<PriceFacts> {
    let prices: Vec<_> = known
        .iter()
        .filter_map(|(source, each)| Some((*source, each.price.clone()?)))
        .collect();
    let dearest = prices
        .iter()
        .max_by_key(|(_, price)| (price.base.input + price.base.output, price.tiers.len()))?;
    for (source, price) in &prices {
        if price.base != dearest.1.base {
            let (theirs, ours) = (price.base, dearest.1.base);
            differing.push(format!(
                "{source} has the price {theirs:?}, {} {ours:?}",
                dearest.0
            ));
        }
    }
    Some(dearest.1.clone())
}

/// Only what all say: a picture that is refused is worse than one that is not shown.
fn vision(known: &[(&str, Facts)], differing: &mut Vec<String>) -> Option<bool> {
    let says: Vec<bool> = known.iter().filter_map(|(_, each)| each.vision).collect();
    let (yes, no) = (says.contains(&true), says.contains(&false));
    if yes && no {
        differing.push("the sources do not agree whether it sees pictures".to_owned());
        return None;
    }
    says.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priced(input: u64) -> Option<PriceFacts> {
        let base = RateFacts {
            input,
            output: 5 * input,
            ..RateFacts::default()
        };
        Some(PriceFacts {
            base,
            tiers: Vec::new(),
        })
    }

    #[test]
    fn the_smaller_limit_and_the_dearer_price_are_taken() {
        let one = Facts {
            window: Some(922_000),
            output: Some(128_000),
            price: priced(2),
            vision: Some(true),
            retires: Some("2027-01-01".to_owned()),
            ..Facts::default()
        };
        let other = Facts {
            window: Some(272_000),
            output: Some(64_000),
            price: priced(3),
            vision: Some(false),
            efforts: Some(vec!["low".to_owned()]),
            ..Facts::default()
        };
        let merged = merge(&[("one", one), ("other", other)]);
        let facts = merged.facts;
        assert_eq!((facts.window, facts.input), (Some(922_000), Some(272_000)));
        assert_eq!(facts.output, Some(64_000));
        assert_eq!(facts.price, priced(3));
        assert_eq!(facts.vision, None);
        assert_eq!(facts.efforts, Some(vec!["low".to_owned()]));
        assert_eq!(facts.retires.as_deref(), Some("2027-01-01"));
        assert_eq!(merged.differing.len(), 2, "{:?}", merged.differing);
    }

    #[test]
    fn who_can_write_all_it_reads_has_no_limit_of_its_own() {
        let free = Facts {
            window: Some(500_000),
            output: Some(500_000),
            ..Facts::default()
        };
        let merged = merge(&[("one", free)]).facts;
        assert_eq!((merged.input, merged.output), (None, None));
    }

    #[test]
    fn a_window_that_one_source_has_rounded_is_one_window() {
        let window = |tokens| Facts {
            window: Some(tokens),
            ..Facts::default()
        };
        let merged = merge(&[("one", window(1_048_576)), ("other", window(1_000_000))]).facts;
        assert_eq!((merged.window, merged.input), (Some(1_000_000), None));
    }
}
