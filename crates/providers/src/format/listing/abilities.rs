//! What a listed model can do: hold a conversation, think, see, call tools. Every service has its own
//! words for it; what none of them says stays unknown.

use serde_json::Value;

use super::{text, texts};
use crate::catalog::EFFORTS;

/// Kinds of models that do something else, where a list has all kinds.
const OTHER_KINDS: [&str; 8] = [
    "image",
    "video",
    "audio",
    "transcribe",
    "embedding",
    "embeddings",
    "moderation",
    "rerank",
];

/// Whether it answers in words when it is asked in words, as far as is told.
pub(super) fn converses(value: &Value) -> bool {
    let can = |list: &Value, ability: &str| {
        let list = list.as_array();
        list.is_none_or(|list| list.iter().any(|each| each == ability))
    };
    // ChatGPT's list has models that are for its own use.
    let shown = text(value, "visibility").is_none_or(|visibility| visibility == "list");
    let kind = text(value, "type").unwrap_or_default();
    shown
        && !OTHER_KINDS.contains(&kind)
        && can(&value["supportedGenerationMethods"], "generateContent")
        && can(&value["architecture"]["output_modalities"], "text")
        && can(&value["supported_output_modalities"], "text")
        && can(&value["output_modalities"], "text")
        && value["capabilities"]["completion_chat"] != false
        && value["supports_chat"] != false
}

/// From the least to the most.
pub(super) fn efforts(value: &Value) -> Option<Vec<String>> {
    let told = of_levels(&value["supported_reasoning_levels"])
        .or_else(|| of_claude(&value["capabilities"]))
        .or_else(|| of_router(value))
        .or_else(|| of_gemini(value))?;
    Some(sorted(told))
}

fn sorted(mut efforts: Vec<String>) -> Vec<String> {
    efforts.retain(|effort| EFFORTS.contains(&effort.as_str()));
    efforts.sort_by_key(|effort| EFFORTS.iter().position(|each| each == effort));
    efforts.dedup();
    efforts
}

fn of_levels(levels: &Value) -> Option<Vec<String>> {
    let levels = levels.as_array()?.iter();
    let word = |level: &Value| {
        level["effort"]
            .as_str()
            .or(level.as_str())
            .map(str::to_owned)
    };
    Some(levels.filter_map(word).collect())
}

/// A Claude that takes no effort may still think within a budget: then nothing is told.
fn of_claude(capabilities: &Value) -> Option<Vec<String>> {
    let effort = capabilities["effort"].as_object()?;
    let supported = |value: &Value| value["supported"] == true;
    if !supported(&capabilities["effort"]) {
        return (!supported(&capabilities["thinking"])).then(Vec::new);
    }
    let levels = effort.iter().filter(|(_, level)| supported(level));
    Some(levels.map(|(name, _)| name.clone()).collect())
}

fn of_router(value: &Value) -> Option<Vec<String>> {
    let parameters = value["supported_parameters"].as_array()?;
    if !parameters.iter().any(|each| each == "reasoning") {
        return Some(Vec::new());
    }
    let told = texts(&value["reasoning"]["supported_efforts"]);
    if !told.is_empty() {
        return Some(told);
    }
    // A router translates these three for every model that thinks.
    Some(["low", "medium", "high"].map(str::to_owned).to_vec())
}

/// Only whether it thinks is told; every one that does takes these two.
fn of_gemini(value: &Value) -> Option<Vec<String>> {
    value["supportedGenerationMethods"].as_array()?;
    match value["thinking"].as_bool()? {
        true => Some(["low", "high"].map(str::to_owned).to_vec()),
        false => Some(Vec::new()),
    }
}

pub(super) fn default_effort(value: &Value) -> Option<String> {
    let told = text(value, "default_reasoning_level")
        .or_else(|| text(&value["reasoning"], "default_effort"))?;
    EFFORTS.contains(&told).then(|| told.to_owned())
}

pub(super) fn vision(value: &Value) -> Option<bool> {
    let inputs = [
        &value["architecture"]["input_modalities"],
        &value["supported_input_modalities"],
        &value["input_modalities"],
    ];
    let sees = |list: &Vec<Value>| list.iter().any(|each| each == "image");
    let flags = [
        &value["capabilities"]["image_input"]["supported"],
        &value["capabilities"]["vision"],
        &value["supports_image_input"],
        &value["supports_image_in"],
    ];
    inputs
        .into_iter()
        .find_map(Value::as_array)
        .map(sees)
        .or_else(|| flags.into_iter().find_map(Value::as_bool))
        .or_else(|| (value["type"] == "vlm").then_some(true))
}

pub(super) fn tools(value: &Value) -> Option<bool> {
    let flags = [
        &value["capabilities"]["function_calling"],
        &value["supports_tools"],
    ];
    let lists = [
        (&value["supported_parameters"], "tools"),
        (&value["capabilities"], "tool-calling"),
    ];
    let listed = |(list, word): (&Value, &str)| {
        let list = list.as_array()?;
        Some(list.iter().any(|each| each == word))
    };
    flags
        .into_iter()
        .find_map(Value::as_bool)
        .or_else(|| lists.into_iter().find_map(listed))
}
