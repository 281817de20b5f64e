//! One model of the catalog, as people and programs read it.

use providers::catalog::{Day, Model, Price, PriceTier};
use serde_json::{Value, json};

/// What a table of models has above it.
pub const HEADING: [&str; 8] = [
    "MODEL", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT", "EFFORTS", "SEES", "",
];

/// A model with what is known of it beside the catalog.
pub struct ModelLine<'a> {
    /// The id of its provider.
    pub provider: &'a str,
    pub model: &'a Model,
    pub connected: bool,
    pub is_default: bool,
    pub today: Day,
}

impl ModelLine<'_> {
    pub fn row(&self) -> Vec<String> {
        let model = self.model;
        vec![
            format!("{}/{}", self.provider, model.id),
            context(model),
            model.output.map_or("?".to_owned(), tokens),
            price(model, |price| price.input, |tier| tier.input),
            price(model, |price| price.output, |tier| tier.output),
            efforts(model),
            match model.vision {
                Some(true) => "yes",
                Some(false) => "no",
                None => "?",
            }
            .to_owned(),
            self.note(),
        ]
    }

    /// Whether it can be used, and how long still.
    fn note(&self) -> String {
        let standing = match (self.is_default, self.connected, self.model.offered) {
            (true, _, _) => Some("default"),
            (false, true, Some(false)) => Some("not offered by the provider"),
            (false, true, Some(true) | None) => None,
            (false, false, _) => Some("not connected"),
        };
        let end = self.model.retirement_words(self.today);
        let parts = standing.map(str::to_owned).into_iter().chain(end);
        parts.collect::<Vec<_>>().join(", ")
    }

    pub fn json(&self) -> Value {
        let model = self.model;
        let price = |part: fn(&Price) -> Option<u64>| model.price.as_ref().and_then(part);
        let tiers = model.price.iter().flat_map(|price| &price.tiers);
        json!({
            "provider": self.provider,
            "model": model.id,
            "name": model.name,
            "connected": self.connected,
            "default": self.is_default,
            "context": model.context,
            "input": model.input,
            "output": model.output,
            "inputMicroDollarsPerMillion": price(|price| Some(price.input)),
            "outputMicroDollarsPerMillion": price(|price| Some(price.output)),
            "cachedMicroDollarsPerMillion": price(|price| price.cached),
            "cacheWriteMicroDollarsPerMillion": price(|price| price.cache_write),
            "priceTiers": tiers.map(tier).collect::<Vec<_>>(),
            "efforts": model.efforts,
            "defaultEffort": model.default_effort,
            "vision": model.vision,
            "tools": model.tools,
            "offered": model.offered,
            "retires": model.retires,
            "successor": model.successor,
        })
    }
}

/// What it holds, and in brackets what it reads of that, where that is less.
fn context(model: &Model) -> String {
    match (model.context, model.input) {
        (Some(context), Some(input)) if input < context => {
            format!("{} ({} in)", tokens(context), tokens(input))
        }
        (Some(tokens_held), _) | (None, Some(tokens_held)) => tokens(tokens_held),
        (None, None) => "?".to_owned(),
    }
}

/// From the least to the most, the model's own with a star.
fn efforts(model: &Model) -> String {
    let own = model.default_effort.as_deref();
    let word = |effort: &String| match own == Some(effort.as_str()) {
        true => format!("{effort}*"),
        false => effort.clone(),
    };
    match model.efforts.is_empty() {
        true => "-".to_owned(),
        false => model.efforts.iter().map(word).collect::<Vec<_>>().join(" "),
    }
}

/// With what longer requests cost in brackets.
fn price(model: &Model, part: fn(&Price) -> u64, of_tier: fn(&PriceTier) -> u64) -> String {
    let Some(price) = &model.price else {
        return "?".to_owned();
    };
    let mut shown = dollars(part(price));
    for tier in &price.tiers {
        let (above, cost) = (tokens(tier.above), dollars(of_tier(tier)));
        shown.push_str(&format!(" ({cost} above {above})"));
    }
    shown
}

fn tier(tier: &PriceTier) -> Value {
    json!({
        "aboveInputTokens": tier.above,
        "inputMicroDollarsPerMillion": tier.input,
        "outputMicroDollarsPerMillion": tier.output,
        "cachedMicroDollarsPerMillion": tier.cached,
        "cacheWriteMicroDollarsPerMillion": tier.cache_write,
    })
}

fn tokens(count: u64) -> String {
    match count {
        1_000_000.. if count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        1_000_000.. => format!("{:.2}M", count as f64 / 1_000_000.0),
        1_000.. => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}

/// With cents, and with more than that only where there is more.
fn dollars(micro: u64) -> String {
    let exact = format!("{:.3}", micro as f64 / 1_000_000.0);
    exact.strip_suffix('0').unwrap_or(&exact).to_owned()
}

#[cfg(test)]
mod tests {
    use providers::catalog::day;

    use super::*;

    fn model() -> Model {
        Model {
            id: "m".to_owned(),
            name: "M".to_owned(),
            context: Some(1_050_000),
            input: Some(272_000),
            output: Some(128_000),
            price: Some(Price {
                input: 750_000,
                output: 4_500_000,
                cached: Some(75_000),
                tiers: vec![PriceTier {
                    above: 200_000,
                    input: 1_500_000,
                    output: 9_000_000,
                    ..PriceTier::default()
                }],
                ..Price::default()
            }),
            efforts: ["none", "low", "high"].map(str::to_owned).to_vec(),
            default_effort: Some("high".to_owned()),
            vision: Some(true),
            retires: Some("2026-11-30".to_owned()),
            successor: Some("next".to_owned()),
            ..Model::default()
        }
    }

    fn with<T>(model: &Model, read: impl FnOnce(ModelLine<'_>) -> T) -> T {
        read(ModelLine {
            provider: "p",
            model,
            connected: true,
            is_default: true,
            today: day(20_780 * 86_400_000),
        })
    }

    #[test]
    fn a_row_says_what_a_model_holds_costs_and_can() {
        let row = with(&model(), |line| line.row());
        let cells = [
            "p/m",
            "1.05M (272k in)",
            "128k",
            "0.75 (1.50 above 200k)",
            "4.50 (9.00 above 200k)",
            "none low high*",
            "yes",
            "default, retires on 2026-11-30; use next",
        ];
        assert_eq!(row, cells);
        assert_eq!(row.len(), HEADING.len());
        let unknown = with(&Model::default(), |line| line.row());
        assert_eq!(unknown[1..7], ["?", "?", "?", "?", "-", "?"]);
    }

    #[test]
    fn numbers_are_short_and_true() {
        for (count, shown) in [
            (800, "800"),
            (272_000, "272k"),
            (1_000_000, "1M"),
            (1_048_576, "1.05M"),
        ] {
            assert_eq!(tokens(count), shown);
        }
        for (micro, shown) in [
            (4_500_000, "4.50"),
            (75_000, "0.075"),
            (20_000_000, "20.00"),
        ] {
            assert_eq!(dollars(micro), shown);
        }
    }

    #[test]
    fn programs_are_told_everything() {
        let told = with(&model(), |line| line.json());
        assert_eq!(told["input"], 272_000);
        assert_eq!(told["defaultEffort"], "high");
        assert_eq!(told["cachedMicroDollarsPerMillion"], 75_000);
        assert_eq!(told["cacheWriteMicroDollarsPerMillion"], Value::Null);
        assert_eq!(told["priceTiers"][0]["aboveInputTokens"], 200_000);
        assert_eq!(told["retires"], "2026-11-30");
        assert_eq!(told["successor"], "next");
    }
}
