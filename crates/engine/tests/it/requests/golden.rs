//! Requests as they are checked in: readable, the same on every machine, and without what the
//! request before already had.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The parts of a body that make up the cached prefix, under their names in four wire formats.
const SYSTEM: [&str; 3] = ["instructions", "system", "systemInstruction"];
const MESSAGES: [&str; 3] = ["input", "messages", "contents"];
const TOOLS: &str = "tools";

/// One request with the name of its file.
pub struct SentRequest {
    pub file: String,
    pub text: String,
}

/// A title needs no tools; nor does a summary, which comes later.
pub fn is_title(body: &Value) -> bool {
    body.get(TOOLS).is_none() && body.to_string().contains("title")
}

/// Each request begins with the one before it: the same system prompt, the same tools, and all the
/// messages that were there. The marks of a cache move; they are no words.
pub fn check_prefixes(model: &str, bodies: &[Value]) {
    let bodies: Vec<Value> = bodies.iter().map(unmarked).collect();
    for (at, pair) in bodies.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        for part in SYSTEM.iter().chain([&TOOLS]) {
            assert_eq!(before.get(part), after.get(part), "{model}, {part} of {at}");
        }
        let (before, after) = (messages(before), messages(after));
        let same = before.iter().zip(after).take_while(|(old, new)| old == new);
        let same = same.count();
        assert!(
            same == before.len() && after.len() > same,
            "{model}: request {} differs from the one before at message {same}:\n{:#}\n{:#}",
            at + 2,
            before.get(same).unwrap_or(&Value::Null),
            after.get(same).unwrap_or(&Value::Null),
        );
    }
}

fn messages(body: &Value) -> &[Value] {
    let list = MESSAGES.iter().find_map(|name| body.get(name)?.as_array());
    list.expect("a list of messages")
}

fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "cache_control")
            .map(|(name, value)| (name.clone(), unmarked(value)))
            .collect(),
        Value::Array(items) => items.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

/// The requests of one model as files of its folder.
pub fn sent<'a>(
    folder: &str,
    title: &Value,
    steps: impl Iterator<Item = (&'a &'static str, &'a Value)>,
    place: &Path,
) -> Vec<SentRequest> {
    let place = place.to_string_lossy();
    let file = |name: &str, body: &Value| SentRequest {
        file: format!("{folder}/{name}.json"),
        text: serde_json::to_string_pretty(body).expect("JSON") + "\n",
    };
    let mut requests = vec![file("0-title", &readable(title, &place))];
    let steps = steps.map(|(name, body)| (name, readable(body, &place)));
    let steps: Vec<_> = steps.collect();
    for (at, (name, body)) in steps.iter().enumerate() {
        let shown = match at.checked_sub(1) {
            Some(before) => since(&steps[before].1, &steps[0], body),
            None => body.clone(),
        };
        requests.push(file(name, &shown));
    }
    requests
}

/// The same with long texts as lists of lines, and names for what differs from machine to machine.
fn readable(value: &Value, place: &str) -> Value {
    match value {
        Value::String(text) => {
            let text = named(text, place);
            match text.contains('\n') {
                true => json!({ "lines": text.split('\n').collect::<Vec<_>>() }),
                false => json!(text),
            }
        }
        Value::Array(items) => items.iter().map(|item| readable(item, place)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), readable(value, place)))
            .collect(),
        other => other.clone(),
    }
}

fn named(text: &str, place: &str) -> String {
    let text = text.replace(place, "<scratch>");
    let lines: Vec<String> = text.split('\n').filter_map(line).collect();
    lines.join("\n")
}

/// A line as it is everywhere; none where it is not there on every machine.
fn line(line: &str) -> Option<String> {
    for (start, name) in [("System: ", "<system>"), ("Date: ", "<date>")] {
        if line.starts_with(start) {
            return Some(format!("{start}{name}"));
        }
    }
    if line.starts_with("Also installed: ") {
        return None;
    }
    Some(match line.split_once(" · ") {
        Some((exit, _)) if exit.starts_with("exit ") => format!("{exit} · <time>"),
        _ => line.to_owned(),
    })
}

/// A body without what is the same in the one before it, or in the first: that is only named.
fn since(before: &Value, first: &(&&'static str, Value), body: &Value) -> Value {
    let Value::Object(fields) = body else {
        return body.clone();
    };
    let mut shown = Map::new();
    for (name, value) in fields {
        let old = &before[name.as_str()];
        let is_prefix = name == TOOLS || SYSTEM.contains(&name.as_str());
        let value = match (old, value) {
            _ if is_prefix && old == value => json!("as before"),
            _ if is_prefix && first.1[name.as_str()] == *value => {
                json!(format!("as in {}", first.0))
            }
            (Value::Array(old), Value::Array(new)) if MESSAGES.contains(&name.as_str()) => {
                messages_since(old, new)
            }
            _ => value.clone(),
        };
        shown.insert(name.clone(), value);
    }
    Value::Object(shown)
}

/// Those that were there before are counted; where a mark of the cache is among them is said.
fn messages_since(old: &[Value], new: &[Value]) -> Value {
    let pairs = old.iter().zip(new);
    let same = pairs.take_while(|(old, new)| unmarked(old) == unmarked(new));
    let same = same.count();
    let mut shown = Vec::new();
    let mut counted = 0;
    for message in &new[..same] {
        counted += 1;
        if unmarked(message) != *message {
            shown.push(json!(format!(
                "{counted} as before, a cache mark in the last"
            )));
            counted = 0;
        }
    }
    if counted > 0 {
        shown.push(json!(format!("{counted} as before")));
    }
    shown.extend_from_slice(&new[same..]);
    Value::Array(shown)
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/agent")
}

/// `DRAGOMAN_REQUESTS=update` rewrites; anything else compares.
pub fn compare(requests: &[SentRequest]) {
    let now: BTreeMap<&str, &str> = requests
        .iter()
        .map(|each| (each.file.as_str(), each.text.as_str()))
        .collect();
    if std::env::var("DRAGOMAN_REQUESTS").is_ok_and(|mode| mode == "update") {
        std::fs::remove_dir_all(root()).ok();
        for (file, text) in &now {
            let path = root().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a written request");
        }
    }
    let kept = kept();
    let names: BTreeSet<&str> = kept
        .keys()
        .map(String::as_str)
        .chain(now.keys().copied())
        .collect();
    let different: Vec<&str> = names
        .into_iter()
        .filter(|name| kept.get(*name).map(String::as_str) != now.get(name).copied())
        .collect();
    let shown = different
        .first()
        .map(|name| difference(kept.get(*name), now.get(name)));
    assert!(
        different.is_empty(),
        "these are not the requests that go out now: {different:#?}; `cargo xtask prompt --update` \
         rewrites them, and the difference is to be read before it is committed. The first:\n{}",
        shown.unwrap_or_default()
    );
}

fn kept() -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for folder in std::fs::read_dir(root()).expect("the folder of golden requests") {
        let folder = folder.expect("an entry").path();
        for file in std::fs::read_dir(&folder).expect("a folder of a model") {
            let path = file.expect("an entry").path();
            let name = path.strip_prefix(root()).expect("below it");
            let text = std::fs::read_to_string(&path).expect("a request");
            kept.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    kept
}

/// From the first line that differs.
fn difference(kept: Option<&String>, now: Option<&&str>) -> String {
    let kept: Vec<&str> = kept.map_or("", String::as_str).lines().collect();
    let now: Vec<&str> = now.copied().unwrap_or_default().lines().collect();
    let same = kept.iter().zip(&now).take_while(|(old, new)| old == new);
    let same = same.count();
    let show = |mark: &str, lines: &[&str]| -> String {
        let lines = lines.iter().skip(same).take(5);
        lines.map(|line| format!("{mark} {line}\n")).collect()
    };
    show("-", &kept) + &show("+", &now)
}
