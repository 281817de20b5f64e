//! Every name that a protocol's specification lists has its wire type, and every message its name there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::page::Page;
use super::{Finding, path, schema};

/// The names, as the specifications of both cowork protocols list them.
const NAMES: &str = include_str!("cowork_names.txt");
const FILE: &str = "xtask/src/tidy/protocols/cowork_names.txt";
const PAGE: &str = "cowork";
/// Stands for a type that is a plain text on the wire.
const UNTYPED: &str = "-";

/// The section of the page that has a schema's shared types.
const TYPE_SECTIONS: [(&str, &str); 2] = [
    ("cowork", "Shared Types"),
    ("cowork1", "Protocol 1: Type Definitions"),
];

/// One `[schema side]` of the file.
struct Listed<'a> {
    schema: &'a str,
    side: &'a str,
    /// With the line, and the name that a type has in the code.
    names: Vec<(usize, &'a str, &'a str)>,
}

pub fn check(pages: &BTreeMap<&str, Page<'_>>, schemas: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for listed in read(NAMES) {
        let text = schemas.get(listed.schema).map_or("", String::as_str);
        findings.extend(match listed.side {
            "types" => check_types(&listed, text, pages),
            _ => check_messages(&listed, text),
        });
    }
    findings
}

fn read(text: &str) -> Vec<Listed<'_>> {
    let mut all: Vec<Listed<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let head = line.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        if let Some((schema, side)) = head.and_then(|head| head.split_once(' ')) {
            let names = Vec::new();
            all.push(Listed {
                schema,
                side,
                names,
            });
        } else if !line.is_empty()
            && !line.starts_with('#')
            && let Some(listed) = all.last_mut()
        {
            let (name, wire) = line.split_once(" = ").unwrap_or((line, line));
            listed.names.push((index + 1, name, wire));
        }
    }
    all
}

fn check_messages(listed: &Listed<'_>, schema: &str) -> Vec<Finding> {
    let (name, side) = (listed.schema, listed.side);
    // What cannot be read is told where the page is compared.
    let messages = schema::messages(schema, side).unwrap_or_default();
    let missing = listed
        .names
        .iter()
        .filter(|each| !messages.contains_key(each.1));
    let missing = missing.map(|(line, message, _)| {
        let what = format!("`{message}` has no wire type among those of the {side} in {name}");
        Finding::error(FILE, *line, what)
    });
    let known: BTreeSet<&str> = listed.names.iter().map(|each| each.1).collect();
    let unknown = messages
        .keys()
        .filter(|each| !known.contains(each.as_str()));
    let unknown = unknown.map(|message| {
        let what = format!("`{message}` has a wire type, and the specification of {name} lacks it");
        Finding::error(FILE, 1, what)
    });
    missing.chain(unknown).collect()
}

fn check_types(
    listed: &Listed<'_>,
    schema: &str,
    pages: &BTreeMap<&str, Page<'_>>,
) -> Vec<Finding> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let defined = |name: &str| {
        let sides = ["client", "server"].iter();
        let mut sides = sides.filter_map(|side| schema.get(side)?.get("$defs")?.get(name));
        sides.next().is_some()
    };
    let section = TYPE_SECTIONS.iter().find(|each| each.0 == listed.schema);
    let section = section.map_or("", |each| each.1);
    let page = pages.get(PAGE);
    let mut findings = Vec::new();
    for (line, name, wire) in &listed.names {
        if *wire != UNTYPED && !defined(wire) {
            let what = format!("`{name}` has no wire type `{wire}` in {}", listed.schema);
            findings.push(Finding::error(FILE, *line, what));
        }
        if !page.is_some_and(|page| page.has_below(section, name)) {
            let what = format!("`{name}` has no heading below `{section}`");
            findings.push(Finding::error(&path(PAGE), 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str =
        "# words\n[toy client]\nsay\nshout\n\n[toy types]\nVoice\nPitch = Tone\nTune = -\n";
    const SCHEMA: &str = r##"{
        "client": {"oneOf": [
            {"properties": {"type": {"const": "say"}}},
            {"properties": {"type": {"const": "sing"}}}
        ], "$defs": {"Voice": {}}},
        "server": {"$defs": {}}
    }"##;

    #[test]
    fn both_ways_are_looked_at() {
        let all = read(LISTED);
        assert_eq!(all.len(), 2);
        let told = |findings: Vec<Finding>| -> Vec<String> {
            findings.into_iter().map(|each| each.what).collect()
        };
        assert_eq!(
            told(check_messages(&all[0], SCHEMA)),
            [
                "`shout` has no wire type among those of the client in toy",
                "`sing` has a wire type, and the specification of toy lacks it",
            ]
        );
        let page = Page::read("## Shared Types\n\n### Voice\n");
        let pages = BTreeMap::from([(PAGE, page)]);
        let listed = Listed {
            schema: "cowork",
            side: "types",
            names: all[1].names.clone(),
        };
        assert_eq!(
            told(check_types(&listed, SCHEMA, &pages)),
            [
                "`Pitch` has no wire type `Tone` in cowork",
                "`Pitch` has no heading below `Shared Types`",
                "`Tune` has no heading below `Shared Types`",
            ]
        );
    }
}
