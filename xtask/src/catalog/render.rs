//! Writes the gathered numbers as TOML.

use std::fmt::Write;

use super::facts::{Facts, PriceFacts, RateFacts};

const HEAD: &str = "\
# Limits, prices, efforts and ends of the models that catalog.toml offers.
#
# Made by `cargo xtask catalog` from lists in the package registries; a change by hand is lost with
# the next run and belongs into catalog.toml. Where the sources differ, `input` is the smaller
# window, and the price is the dearer one.
";

/// The whole file. `numbers`: providers with their models.
pub fn file(date: &str, sources: &[String], numbers: &[(String, Vec<(String, Facts)>)]) -> String {
    let mut out = format!("{HEAD}\ndate = {date:?}\nsources = [{}]\n", texts(sources));
    for (provider, models) in numbers.iter().filter(|(_, models)| !models.is_empty()) {
        // Writing to a text cannot fail.
        let _ = write!(out, "\n[[provider]]\nid = {provider:?}\n");
        for (id, facts) in models {
            out.push_str(&model(id, facts));
        }
    }
    out
}

fn model(id: &str, facts: &Facts) -> String {
    let mut out = format!("\n[[provider.model]]\nid = {id:?}\n");
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name} = {value}");
        }
    };
    let quoted = |text: &Option<String>| text.as_ref().map(|text| format!("{text:?}"));
    line("context", facts.window.map(number));
    line("input", facts.input.map(number));
    line("output", facts.output.map(number));
    line("price", facts.price.as_ref().map(price));
    let efforts = facts.efforts.as_ref().filter(|efforts| !efforts.is_empty());
    line(
        "efforts",
        efforts.map(|efforts| format!("[{}]", texts(efforts))),
    );
    line("default_effort", quoted(&facts.default_effort));
    line("vision", facts.vision.map(|vision| vision.to_string()));
    line("retires", quoted(&facts.retires));
    line("successor", quoted(&facts.successor));
    out
}

fn price(price: &PriceFacts) -> String {
    let mut inside = rates(&price.base);
    let tiers = price.tiers.iter();
    let tiers: Vec<String> = tiers
        .map(|(above, tier)| format!("{{ above = {}, {} }}", number(*above), rates(tier)))
        .collect();
    if !tiers.is_empty() {
        inside.push_str(&format!(", tiers = [{}]", tiers.join(", ")));
    }
    format!("{{ {inside} }}")
}

fn rates(rates: &RateFacts) -> String {
    let fields = [
        ("input", Some(rates.input)),
        ("output", Some(rates.output)),
        ("cached", rates.cached),
        ("cache_write", rates.cache_write),
    ];
    let known = fields
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} = {}", number((*price)?))));
    known.collect::<Vec<_>>().join(", ")
}

fn texts(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    quoted.join(", ")
}

/// `1_048_576`
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_written_with_what_is_known_of_it() {
        let base = RateFacts {
            input: 2_000_000,
            output: 10_000_000,
            cached: Some(100_000),
            cache_write: None,
        };
        let facts = Facts {
            window: Some(1_048_576),
            price: Some(PriceFacts {
                base,
                tiers: vec![(272_000, base)],
            }),
            efforts: Some(vec!["low".to_owned(), "high".to_owned()]),
            retires: Some("2027-01-01".to_owned()),
            ..Facts::default()
        };
        let numbers = [("p".to_owned(), vec![("m/1".to_owned(), facts)])];
        let text = file("2026-11-16", &["s 1".to_owned()], &numbers);
        let expected = "\
date = \"2026-11-16\"
sources = [\"s 1\"]

[[provider]]
id = \"p\"

[[provider.model]]
id = \"m/1\"
context = 1_048_576
price = { input = 2_000_000, output = 10_000_000, cached = 100_000, tiers = [{ above = 272_000, input = 2_000_000, output = 10_000_000, cached = 100_000 }] }
efforts = [\"low\", \"high\"]
retires = \"2027-01-01\"
";
        assert_eq!(text.split_once("run").map(|_| ()), Some(()));
        assert!(text.ends_with(expected), "{text}");
        text.parse::<toml::Table>().expect("it is TOML");
    }
}
