//! What we say in all stories, beside the shapes of everything that the reference server was recorded to say.
//!
//! Ids, times and texts are left aside: a shape is a field's place and its JSON type. What differs on purpose is
//! listed in `differences.txt` with its reason, and that list must stay exact.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

const SHAPES: &str = include_str!("../../../tests/data/cowork7/v7.0-event-shapes.json");
const DIFFERENCES: &str = include_str!("../../../tests/data/cowork7/differences.txt");
const RECORDINGS: [&str; 3] = [
    include_str!("../../../tests/data/cowork7/01-connect.json"),
    include_str!("../../../tests/data/cowork7/04-turn-text.json"),
    include_str!("../../../tests/data/cowork7/06-approval.json"),
];

/// What stands below these is a tool's, a model's or a name's, and no field of the protocol.
const FREE: [&str; 8] = [
    "rawPart",
    "part.input.",
    "part.output",
    "messages[].content",
    "methods.",
    "default.",
    "servers[].transport.env.",
    "context.metadata.",
];

/// The fields of one kind of event: where, which types, and in how many of the events.
#[derive(Default)]
struct Shape {
    events: usize,
    fields: BTreeMap<String, (BTreeSet<String>, usize)>,
}

type Shapes = BTreeMap<String, Shape>;

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn walk(value: &Value, at: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    if !at.is_empty() {
        let types = found.entry(at.to_owned()).or_default();
        types.insert(json_type(value).to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if at.is_empty() { "" } else { "." };
                walk(value, &format!("{at}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            let at = format!("{at}[]");
            items.iter().for_each(|item| walk(item, &at, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn add(shapes: &mut Shapes, event: &Value) {
    let Some(kind) = event["type"].as_str() else {
        return;
    };
    let kind = match event["partType"].as_str() {
        Some(part) => format!("{kind}:{part}"),
        None => kind.to_owned(),
    };
    let shape = shapes.entry(kind).or_default();
    shape.events += 1;
    let mut found = BTreeMap::new();
    walk(event, "", &mut found);
    for (at, types) in found {
        let (known, count) = shape.fields.entry(at).or_default();
        known.extend(types);
        *count += 1;
    }
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// What the server says in the transcripts of all stories.
fn ours() -> Shapes {
    let mut shapes = Shapes::default();
    for story in std::fs::read_dir(scenarios()).expect("scenarios") {
        let file = story.expect("a story").path().join("cowork.transcript");
        // Some are told in other dialects only.
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        for line in text.lines() {
            let Some((mark, frame)) = line.split_once(' ') else {
                continue;
            };
            if mark.ends_with('<') {
                add(
                    &mut shapes,
                    &serde_json::from_str(frame).unwrap_or_default(),
                );
            }
        }
    }
    assert!(shapes.len() > 40, "the transcripts were found");
    shapes
}

/// What the reference server said, gathered from all its recordings.
fn theirs() -> BTreeMap<String, BTreeMap<String, (BTreeSet<String>, bool)>> {
    let shapes: BTreeMap<String, Value> = serde_json::from_str(SHAPES).expect("shapes");
    let fields = |shape: &Value| {
        let fields = shape["fields"].as_object().expect("fields");
        let field = |(at, field): (&String, &Value)| {
            let types = field["types"].as_array().expect("types");
            let types = types.iter().filter_map(Value::as_str).map(str::to_owned);
            (at.clone(), (types.collect(), field["always"] == true))
        };
        fields.iter().map(field).collect()
    };
    shapes
        .iter()
        .map(|(kind, shape)| (kind.clone(), fields(shape)))
        .collect()
}

fn is_free(at: &str) -> bool {
    FREE.iter().any(|free| at.starts_with(free))
}

fn differences() -> Vec<String> {
    let (ours, theirs) = (ours(), theirs());
    let mut found = Vec::new();
    for (kind, fields) in &theirs {
        let Some(shape) = ours.get(kind) else {
            found.push(format!("{kind}: never sent"));
            continue;
        };
        for (at, (types, count)) in shape.fields.iter().filter(|field| !is_free(field.0)) {
            match fields.get(at) {
                // An item of a list that was always empty there.
                None if at
                    .strip_suffix("[]")
                    .is_some_and(|list| fields.contains_key(list)) => {}
                None => found.push(format!("{kind} {at}: not there")),
                Some((known, _)) if !types.is_subset(known) => {
                    found.push(format!("{kind} {at}: is {types:?}, there {known:?}"));
                }
                Some((_, true)) if *count < shape.events && !at.contains("[]") => {
                    found.push(format!("{kind} {at}: there always"));
                }
                Some(_) => {}
            }
        }
        let missing = fields
            .iter()
            .filter(|(at, (_, always))| *always && !is_free(at));
        let missing = missing.filter(|(at, _)| !shape.fields.contains_key(*at));
        found.extend(missing.map(|(at, _)| format!("{kind} {at}: only there")));
    }
    found.extend(
        ours.keys()
            .filter(|kind| !theirs.contains_key(*kind))
            .map(|kind| format!("{kind}: only here")),
    );
    found
}

/// The list without its reasons.
fn decided() -> Vec<String> {
    let lines = DIFFERENCES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = lines.map(|line| {
        let (what, reason) = line.split_once(" -- ").expect("a reason");
        assert!(!reason.is_empty(), "{line}");
        what.to_owned()
    });
    known.collect()
}

#[test]
fn events_have_the_recorded_shapes_but_for_what_is_decided() {
    let (found, decided) = (differences(), decided());
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these
            .iter()
            .filter(|each| !those.contains(each))
            .cloned()
            .collect()
    };
    let (new, gone) = (only(&found, &decided), only(&decided, &found));
    assert!(
        new.is_empty() && gone.is_empty(),
        "differences.txt does not list {new:#?}, and lists what is no more: {gone:#?}"
    );
}

#[test]
fn the_recordings_are_among_the_shapes() {
    let theirs = theirs();
    for recording in RECORDINGS {
        let recording: Value = serde_json::from_str(recording).expect("a recording");
        let mut shapes = Shapes::default();
        let frames = recording["frames"].as_array().expect("frames");
        for frame in frames.iter().filter(|frame| frame["dir"] == "s2c") {
            add(&mut shapes, &frame["data"]);
        }
        assert!(!shapes.is_empty());
        for (kind, shape) in shapes {
            let known = theirs.get(&kind).unwrap_or_else(|| panic!("{kind}"));
            for at in shape.fields.keys().filter(|at| !is_free(at)) {
                assert!(known.contains_key(at), "{kind} {at}");
            }
        }
    }
}
