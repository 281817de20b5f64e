//! Reads what the sources say of a model, each in its own form.

use std::collections::BTreeMap;

use serde_json::Value;

use super::facts::{Facts, PriceFacts, RateFacts};

/// Every effort that a request can name, from the least to the most.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// litellm: dollars for one token, and a flag for each ability.
pub fn litellm(entry: &Value) -> Facts {
    let count = |name: &str| entry[name].as_f64().map(|count| count as u64);
    Facts {
        window: count("max_input_tokens"),
        output: count("max_output_tokens"),
        price: litellm_price(entry),
        efforts: litellm_efforts(entry),
        vision: Some(entry["supports_vision"] == true),
        retires: entry["deprecation_date"].as_str().map(str::to_owned),
        ..Facts::default()
    }
}

fn litellm_price(entry: &Value) -> Option<PriceFacts> {
    let rates = |ending: &str| {
        let micro = |name: &str| {
            let dollars = entry[format!("{name}{ending}")].as_f64()?;
            Some((dollars * 1e12).round() as u64)
        };
        rate_facts(
            micro("input_cost_per_token"),
            micro("output_cost_per_token"),
            micro("cache_read_input_token_cost"),
            micro("cache_creation_input_token_cost"),
        )
    };
    let names = entry.as_object()?.keys();
    let lengths = names.filter_map(|name| {
        let rest = name.strip_prefix("input_cost_per_token_above_")?;
        rest.strip_suffix("k_tokens")?.parse::<u64>().ok()
    });
    let tiers = lengths.filter_map(|length| {
        let rates = rates(&format!("_above_{length}k_tokens"))?;
        Some((length * 1_000, rates))
    });
    Some(PriceFacts {
        tiers: tiers.collect(),
        base: rates("")?,
    })
}

fn litellm_efforts(entry: &Value) -> Option<Vec<String>> {
    if entry["supports_reasoning"] != true {
        return None;
    }
    let flag = |effort: &str| entry[format!("supports_{effort}_reasoning_effort")] == true;
    // Of Claude it says whether thinking can be switched off at all.
    let adaptive = entry["supports_adaptive_thinking"] == true;
    let can_be_off = adaptive && entry["thinking_always_on"] != true;
    let has = |effort: &&str| match *effort {
        "none" => flag("none") || can_be_off,
        "low" | "medium" | "high" => true,
        other => flag(other),
    };
    // Without any flag nothing is known of efforts.
    let known = EFFORTS.iter().any(|effort| flag(effort)) || adaptive;
    known.then(|| owned(EFFORTS.iter().copied().filter(has)))
}

/// pi: dollars for a million tokens, and a map of efforts.
pub fn pi(list: &Value, model: &str) -> Option<Facts> {
    let mut groups = list.as_object()?.values();
    let entry = groups.find_map(|group| group.get(format!("chat:{model}")))?;
    let inputs = entry["input"].as_array();
    Some(Facts {
        window: entry["contextWindow"].as_u64(),
        output: entry["maxTokens"].as_u64(),
        price: pi_price(&entry["cost"]),
        efforts: pi_efforts(entry),
        vision: inputs.map(|inputs| inputs.iter().any(|input| input == "image")),
        ..Facts::default()
    })
}

/// The models for conversations that a list has.
pub fn pi_ids(list: &Value) -> Vec<String> {
    let groups = list
        .as_object()
        .into_iter()
        .flat_map(|groups| groups.values());
    let names = groups
        .filter_map(Value::as_object)
        .flat_map(|group| group.keys());
    let ids = names.filter_map(|name| name.strip_prefix("chat:"));
    ids.map(str::to_owned).collect()
}

fn pi_price(cost: &Value) -> Option<PriceFacts> {
    let rates = |cost: &Value| {
        let micro = |name: &str| cost[name].as_f64().map(|cost| (cost * 1e6).round() as u64);
        rate_facts(
            micro("input"),
            micro("output"),
            micro("cacheRead"),
            micro("cacheWrite"),
        )
    };
    let tiers = cost["tiers"].as_array().into_iter().flatten();
    let tiers = tiers.filter_map(|tier| Some((tier["inputTokensAbove"].as_u64()?, rates(tier)?)));
    Some(PriceFacts {
        tiers: tiers.collect(),
        base: rates(cost)?,
    })
}

/// Levels that go out under their own name. The map has null for what a model cannot do; of what it
/// does not name, low to high can be done.
fn pi_efforts(entry: &Value) -> Option<Vec<String>> {
    if entry["reasoning"] != true {
        return None;
    }
    let map = &entry["thinkingLevelMap"];
    let own = ["anthropic", "google"]
        .iter()
        .any(|own| entry["provider"] == *own);
    if map.is_null() && !own {
        return None;
    }
    let switch = &entry["compat"]["thinkingFormat"];
    let has_switch = ["together", "deepseek", "zai", "qwen"]
        .iter()
        .any(|each| switch == each);
    let is_claude = entry["provider"] == "anthropic";
    if entry["compat"]["supportsReasoningEffort"] == false {
        // It thinks or it does not.
        let can_be_off = has_switch && map.get("off").is_none();
        return can_be_off.then(|| owned(["none", "high"].into_iter()));
    }
    let has = |effort: &&str| match *effort {
        "none" => match map.get("off") {
            Some(off) => off == "none",
            None => is_claude || has_switch,
        },
        "low" | "medium" | "high" => map.get(effort).is_none_or(|level| level == effort),
        other => map[other] == *other,
    };
    Some(owned(EFFORTS.iter().copied().filter(has)))
}

/// The Codex CLI: efforts with one to begin with, and what a person is moved on to.
pub fn codex(list: &Value, model: &str) -> Option<Facts> {
    let mut models = list["models"].as_array()?.iter();
    let entry = models.find(|each| each["slug"] == model)?;
    let levels = entry["supported_reasoning_levels"].as_array()?;
    let has = |effort: &&str| levels.iter().any(|level| level["effort"] == **effort);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Facts {
        window: entry["context_window"].as_u64(),
        efforts: Some(owned(EFFORTS.iter().copied().filter(has))),
        default_effort: text(&entry["default_reasoning_level"]),
        successor: text(&entry["upgrade"]["model"]),
        ..Facts::default()
    })
}

/// Nought means that nothing is known; a write to the cache that costs less than any input is the
/// rent of a cache, which is another thing.
fn rate_facts(
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    cache_write: Option<u64>,
) -> Option<RateFacts> {
    let input = input.filter(|price| *price > 0)?;
    Some(RateFacts {
        input,
        output: output.filter(|price| *price > 0)?,
        cached: cached.filter(|price| *price > 0),
        cache_write: cache_write.filter(|price| *price >= input),
    })
}

fn owned<'a>(efforts: impl Iterator<Item = &'a str>) -> Vec<String> {
    efforts.map(str::to_owned).collect()
}

/// OpenAI's SDK announces ends in a comment: quoted ids, then `shutdown date: 2026-12-11`.
pub fn openai_ends(declarations: &str) -> BTreeMap<String, String> {
    let mut ends = BTreeMap::new();
    let words = declarations.replace("\n *", " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    for item in words.split(" - \"").skip(1) {
        let item = item.split("*/").next().unwrap_or_default();
        let Some((ids, rest)) = item.split_once(": Announced shutdown date: ") else {
            continue;
        };
        let Some(date) = rest.get(..10) else {
            continue;
        };
        // What is between quotes is an id, what is between ids is a comma.
        let ids = ids.split('"').step_by(2).filter(|id| !id.is_empty());
        ends.extend(ids.map(|id| (id.to_owned(), date.to_owned())));
    }
    ends
}

/// Anthropic's SDK has a table: `'claude-x': 'November 30th, 2026'`.
pub fn anthropic_ends(code: &str) -> BTreeMap<String, String> {
    let table = code.split("const DEPRECATED_MODELS = {").nth(1);
    let table = table.and_then(|rest| rest.split('}').next());
    let lines = table.unwrap_or_default().lines();
    let entries = lines.filter_map(|line| {
        let mut quoted = line.split('\'').skip(1).step_by(2);
        let (id, end) = (quoted.next()?, quoted.next()?);
        Some((id.to_owned(), day(end)?))
    });
    entries.collect()
}

/// `November 30th, 2026` as `2026-11-30`.
fn day(words: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut words = words.split_whitespace();
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let digits = |word: &str| {
        let end = word.find(|letter: char| !letter.is_ascii_digit());
        word[..end.unwrap_or(word.len())].parse::<u32>().ok()
    };
    let day = digits(words.next()?)?;
    let year = digits(words.next()?)?;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests;
