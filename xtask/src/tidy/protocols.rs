//! The pages in docs/protocols and the wire types tell of the same messages, with the same fields.
//!
//! The wire types are read in the schemas that are made from them: a type that is not published is
//! none. A heading below `Client -> Server …` or `Server -> Client …` is a message; one without a
//! type says so, with a reason:
//!
//! ```text
//! **No type**: nothing types into a command here.
//! **Not available**: there are no slash commands yet.
//! ```

mod citations;
mod listed;
mod page;
pub mod schema;

use std::collections::BTreeMap;

use super::Finding;
use page::{Heading, Page};
use schema::Fields;

const FOLDER: &str = "docs/protocols/";
const NO_TYPE: &str = "No type";
const NOT_AVAILABLE: &str = "Not available";

/// A dialect's folder, the page that describes it, how the headings of its part of the page begin,
/// and its schemas.
struct Part {
    folder: &'static str,
    page: &'static str,
    prefix: &'static str,
    schemas: &'static [&'static str],
}

/// A new dialect is an entry here; a folder within another's comes first.
const PARTS: [Part; 5] = [
    part("cowork/v1", "cowork", "Protocol 1: ", &["cowork1"]),
    part("cowork", "cowork", "", &["cowork"]),
    part("diminuendo", "diminuendo", "", &["diminuendo"]),
    part("codex", "codex", "", &["codex", "zane"]),
    part("pioneer", "pioneer", "", &["pioneer"]),
];

const fn part(
    folder: &'static str,
    page: &'static str,
    prefix: &'static str,
    schemas: &'static [&'static str],
) -> Part {
    Part {
        folder,
        page,
        prefix,
        schemas,
    }
}

/// Who sends it, as the headings above messages begin.
const SIDES: [(&str, &str); 2] = [
    ("client", "Client -> Server"),
    ("server", "Server -> Client"),
];

/// What of the tree this rule reads.
#[derive(Default)]
pub struct Documents {
    pages: BTreeMap<String, String>,
    schemas: BTreeMap<String, String>,
    sources: Vec<(String, String)>,
}

impl Documents {
    pub fn take(&mut self, path: &str, text: &str) {
        let name = |rest: &str, end: &str| rest.strip_suffix(end).map(str::to_owned);
        if let Some(page) = path.strip_prefix(FOLDER).and_then(|rest| name(rest, ".md")) {
            self.pages.insert(page, text.to_owned());
        } else if let Some(schema) = path
            .strip_prefix("schemas/")
            .and_then(|rest| name(rest, ".json"))
        {
            self.schemas.insert(schema, text.to_owned());
        } else if path.starts_with("crates/") && path.ends_with(".rs") {
            self.sources.push((path.to_owned(), text.to_owned()));
        }
    }

    fn read_pages(&self) -> BTreeMap<&str, Page<'_>> {
        let pages = self.pages.iter();
        pages
            .map(|(name, text)| (name.as_str(), Page::read(text)))
            .collect()
    }

    /// What the specifications list is there, and nothing else.
    pub fn check_listed(&self) -> Vec<Finding> {
        listed::check(&self.read_pages(), &self.schemas)
    }

    pub fn check(&self) -> Vec<Finding> {
        let pages = self.read_pages();
        let mut findings = Vec::new();
        for part in &PARTS {
            match pages.get(part.page) {
                Some(page) => findings.extend(self.check_part(part, page)),
                None => {
                    let what = "there is no page for this dialect";
                    findings.push(Finding::error(&path(part.page), 1, what));
                }
            }
        }
        findings.extend(self.unlisted_schemas());
        for (source, text) in &self.sources {
            findings.extend(citations::check(source, text, &pages));
        }
        findings
    }

    fn check_part(&self, part: &Part, page: &Page<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (side, section) in SIDES {
            let section = format!("{}{section}", part.prefix);
            let mut messages: BTreeMap<String, Fields> = BTreeMap::new();
            for name in part.schemas {
                let text = self.schemas.get(*name).map_or("", String::as_str);
                match schema::messages(text, side) {
                    Ok(found) => {
                        for (message, fields) in found {
                            messages.entry(message).or_default().extend(fields);
                        }
                    }
                    Err(error) => {
                        let file = format!("schemas/{name}.json");
                        let what =
                            format!("cannot be read ({error}); run `cargo xtask schemas --update`");
                        findings.push(Finding::error(&file, 1, what));
                    }
                }
            }
            let headings: Vec<_> = page.below(&section).collect();
            findings.extend(compare(&path(part.page), &section, &headings, &messages));
        }
        findings
    }

    /// A schema that no page describes.
    fn unlisted_schemas(&self) -> Vec<Finding> {
        let listed = |name: &str| PARTS.iter().any(|part| part.schemas.contains(&name));
        let unlisted = self.schemas.keys().filter(|name| !listed(name));
        let what = "no page describes it; write one in docs/protocols and list it in xtask/src/tidy/protocols.rs";
        unlisted
            .map(|name| Finding::error(&format!("schemas/{name}.json"), 1, what))
            .collect()
    }
}

fn path(page: &str) -> String {
    format!("{FOLDER}{page}.md")
}

fn compare(
    path: &str,
    section: &str,
    headings: &[&Heading<'_>],
    messages: &BTreeMap<String, Fields>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for message in messages.keys() {
        if !headings.iter().any(|heading| heading.name == message) {
            let what = format!("`{message}` has a wire type and no heading below `{section} …`");
            findings.push(Finding::error(path, 1, what));
        }
    }
    for heading in headings {
        let marked = [NO_TYPE, NOT_AVAILABLE]
            .into_iter()
            .find(|mark| heading.has_mark(mark));
        match (messages.get(heading.name), marked) {
            (None, None) => {
                let what = format!(
                    "`{}` has no wire type; say why below it: `**{NO_TYPE}**: …` or `**{NOT_AVAILABLE}**: …`",
                    heading.name
                );
                findings.push(Finding::error(path, heading.line, what));
            }
            (Some(_), Some(NO_TYPE)) => {
                let what = format!("`{}` has a wire type now; describe it", heading.name);
                findings.push(Finding::error(path, heading.line, what));
            }
            (Some(fields), _) => findings.extend(compare_fields(path, heading, fields)),
            (None, Some(_)) => {}
        }
    }
    findings
}

fn compare_fields(path: &str, heading: &Heading<'_>, fields: &Fields) -> Vec<Finding> {
    let listed = heading.fields();
    let name = heading.name;
    let missing = fields
        .iter()
        .filter(|field| !listed.iter().any(|(_, known)| known == *field))
        .map(|field| {
            (
                heading.line,
                format!("`{name}` has a field `{field}`, which its table lacks"),
            )
        });
    let unknown = listed
        .iter()
        .filter(|(_, field)| !fields.contains(*field))
        .map(|(line, field)| {
            (
                *line,
                format!("the wire type of `{name}` has no field `{field}`"),
            )
        });
    missing
        .chain(unknown)
        .map(|(line, what)| Finding::error(path, line, what))
        .collect()
}

#[cfg(test)]
mod tests;
