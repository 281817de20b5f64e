//! What comments say of a protocol page can be looked up there.
//!
//! A comment names a page as `docs/protocols/cowork.md`, perhaps followed by `, decision 5` or
//! `, "A Heading"`. A wire type cites its message: `Server -> Client Events: error`, a method like
//! `thread/start`, or `error: …` at the beginning.

use std::collections::BTreeMap;

use super::page::Page;
use super::{FOLDER, Finding, PARTS, Part, SIDES};

/// Sections besides the messages' that wire types cite.
const TYPES: [&str; 2] = ["Shared Types", "Type Definitions"];

pub fn check(path: &str, text: &str, pages: &BTreeMap<&str, Page<'_>>) -> Vec<Finding> {
    let own = own_part(path).and_then(|part| Some((pages.get(part.page)?, part.prefix)));
    let is_wire = path.contains("/wire");
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = comment(line) else {
            continue;
        };
        let mut wrong = check_mentions(comment, pages);
        if let (Some((page, prefix)), Some(doc)) = (own, comment.strip_prefix("///")) {
            wrong.extend(check_sections(doc, page, prefix));
            if is_wire {
                wrong.extend(check_messages(doc, page));
            }
        }
        let at = |what| Finding::error(path, index + 1, what);
        findings.extend(wrong.into_iter().map(at));
    }
    findings
}

fn own_part(path: &str) -> Option<&'static Part> {
    let below = path.strip_prefix("crates/dialects/src/")?;
    PARTS.iter().find(|part| {
        let rest = below.strip_prefix(part.folder);
        rest.is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    })
}

/// A line's comment, its slashes with it.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.starts_with("//").then_some(line)
}

/// Pages that are named, and decisions that are named without one.
fn check_mentions(comment: &str, pages: &BTreeMap<&str, Page<'_>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, _) in comment.match_indices(FOLDER) {
        let rest = &comment[at + FOLDER.len()..];
        let Some((name, rest)) = rest.split_once(".md") else {
            continue;
        };
        let Some(page) = pages.get(name) else {
            wrong.push(format!("there is no page `{FOLDER}{name}.md`"));
            continue;
        };
        let quoted = rest
            .strip_prefix(", \"")
            .and_then(|rest| rest.split('"').next());
        if let Some(heading) = quoted.filter(|heading| !page.has(heading)) {
            wrong.push(format!("`{FOLDER}{name}.md` has no heading `{heading}`"));
        }
        let decision = rest.strip_prefix(", decision ").and_then(number);
        if let Some(decision) = decision.filter(|decision| !page.decides(*decision)) {
            wrong.push(format!("`{FOLDER}{name}.md` has no decision {decision}"));
        }
    }
    let lower = comment.to_lowercase();
    let bare = |word: &str| {
        let mut found = lower.match_indices(word);
        found.any(|(at, _)| number(&lower[at + word.len()..]).is_some())
    };
    if bare("seed ") || (bare("decision ") && !lower.contains(FOLDER)) {
        let form = format!("{FOLDER}PAGE.md, decision N");
        wrong.push(format!(
            "say where to look it up: `{form}` or the page's heading"
        ));
    }
    wrong
}

fn number(text: &str) -> Option<u32> {
    let end = text.find(|char: char| !char.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// `Section: name`, wherever a section is named.
fn check_sections(doc: &str, page: &Page<'_>, prefix: &str) -> Vec<String> {
    let named = SIDES.into_iter().map(|(_, side)| side).chain(TYPES);
    let mut wrong = Vec::new();
    for start in named {
        let Some(at) = doc.find(start) else {
            continue;
        };
        let cited = &doc[at..];
        let end = cited.find([':', '.', ')', ',']).unwrap_or(cited.len());
        let section = format!("{prefix}{}", &cited[..end]);
        if !page.has_section(&section) {
            wrong.push(format!("the protocol's page has no section `{section}`"));
            continue;
        }
        let name = cited[end..]
            .strip_prefix(": ")
            .map(word)
            .unwrap_or_default();
        if !name.is_empty() && !page.has_below(&section, name) {
            wrong.push(format!(
                "the protocol's page has no `{name}` below `{section}`"
            ));
        }
    }
    wrong
}

/// Methods, and a message's name at the beginning.
fn check_messages(doc: &str, page: &Page<'_>) -> Vec<String> {
    let methods = doc
        .split_whitespace()
        .map(word)
        .filter(|word| is_method(word));
    let first = doc.trim_start().split_once(": ").map(|(first, _)| first);
    let first = first.filter(|first| is_name(first));
    let known = |name: &str| match name.strip_suffix('*') {
        Some(start) => page
            .headings
            .iter()
            .any(|each| each.name.starts_with(start)),
        None => page.has(name),
    };
    let cited = methods.chain(first);
    let unknown = cited.filter(|name| !known(name));
    unknown
        .map(|name| format!("the protocol's page has no heading `{name}`"))
        .collect()
}

/// The first word, without what stands around it.
fn word(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_matches(|char: char| "`,.:;()".contains(char))
}

fn is_method(word: &str) -> bool {
    let part = |part: &str| {
        part == "*"
            || (part.starts_with(|char: char| char.is_ascii_lowercase())
                && part
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || char == '_'))
    };
    word.contains('/') && word.split('/').all(part)
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|char| char.is_ascii_lowercase() || "_.".contains(char))
}
