//! `cargo xtask coverage`: which message of a protocol is shown by which story and tested where.
//!
//! Nothing of it is written by hand: the messages are those of the published schemas, the stories those whose
//! transcripts have them, the tests those that name them. A message that no story shows is a finding.

mod frames;
mod page;
mod tests_naming;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Context;
use serde_json::Value;

use crate::run::root;
use crate::tidy::Finding;
use crate::tidy::protocols::schema;
use tests_naming::TestsNaming;

const UPDATE: &str = "`cargo xtask coverage --update`";

/// A protocol, a message of it, and a reason.
type NoStory = (&'static str, &'static str, &'static str);

/// What no story shows, and why. It is a finding when one does.
const NO_STORY: &[NoStory] = &[
    (
        "pioneer",
        "turn/tool_loop/budget_exceeded",
        "its clients cannot set how many steps a turn may take, and a hundred of them are no story",
    ),
    (
        "pioneer",
        "turnToolLoopBudgetExceeded",
        "as the notification",
    ),
];

/// A page of tables, and the protocols that are on it.
struct CoveragePage {
    path: &'static str,
    /// What its first line calls them.
    subject: &'static str,
    /// Where one reads what the messages mean.
    meanings: &'static str,
    protocols: &'static [Covered],
}

/// A protocol, the headline of its part, and whose tests are about it.
struct Covered {
    schema: &'static str,
    title: &'static str,
    tests: &'static str,
}

const PAGES: [CoveragePage; 4] = [
    CoveragePage {
        path: "docs/protocols/cowork-coverage.md",
        subject: "cowork protocols",
        meanings: "cowork.md",
        protocols: &[
            Covered {
                schema: "cowork",
                title: "Protocol 7",
                tests: "crates/dialects/src/cowork/tests/",
            },
            Covered {
                schema: "cowork1",
                title: "Protocol 1",
                tests: "crates/dialects/src/cowork/v1/tests/",
            },
        ],
    },
    CoveragePage {
        path: "docs/protocols/diminuendo-coverage.md",
        subject: "diminuendo protocol",
        meanings: "diminuendo.md",
        protocols: &[Covered {
            schema: "diminuendo",
            title: "Version 1",
            tests: "crates/dialects/src/diminuendo/tests/",
        }],
    },
    CoveragePage {
        path: "docs/protocols/codex-coverage.md",
        subject: "codex and zane protocols",
        meanings: "codex.md",
        protocols: &[
            Covered {
                schema: "codex",
                title: "The codex endpoint",
                tests: "crates/dialects/src/codex/tests/",
            },
            Covered {
                schema: "zane",
                title: "The zane endpoint",
                tests: "crates/dialects/src/codex/tests/",
            },
        ],
    },
    CoveragePage {
        path: "docs/protocols/pioneer-coverage.md",
        subject: "pioneer protocol",
        meanings: "pioneer.md",
        protocols: &[Covered {
            schema: "pioneer",
            title: "The gateway",
            tests: "crates/dialects/src/pioneer/tests/",
        }],
    },
];

/// Which side sends it, as the schemas call it, as a transcript marks it, and for people.
const SIDES: [(&str, char, &str); 2] = [
    ("client", '>', "Client -> Server"),
    ("server", '<', "Server -> Client"),
];

/// Stand for the side of what is no message of its own: the items of turns, and what a history is made of.
const ITEMS: char = '*';
const PAYLOADS: char = '+';

/// What of the tree this reads.
#[derive(Default)]
pub struct CoverageSources {
    schemas: BTreeMap<String, String>,
    /// By protocol, side and message: the stories that have it.
    stories: BTreeMap<(String, char, String), BTreeSet<String>>,
    /// By protocol: what a story shows to be missing.
    unavailable: BTreeSet<(String, String)>,
    tests: TestsNaming,
    /// By path.
    pages: BTreeMap<String, String>,
    no_story: &'static [NoStory],
}

/// One message of one side.
struct MessageRow {
    message: String,
    available: bool,
    stories: Vec<String>,
    /// Why no story shows it.
    excuse: Option<&'static str>,
    tests: Vec<String>,
}

impl CoverageSources {
    pub fn new() -> Self {
        Self {
            no_story: NO_STORY,
            ..Self::default()
        }
    }

    pub fn take(&mut self, path: &str, text: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["schemas", file] => {
                let name = file.trim_end_matches(".json");
                self.schemas.insert(name.to_owned(), text.to_owned());
            }
            ["scenarios", story, file] => {
                if let Some(tongue) = file.strip_suffix(".transcript") {
                    self.read_transcript(story, tongue, text);
                }
            }
            _ if PAGES.iter().any(|page| page.path == path) => {
                self.pages.insert(path.to_owned(), text.to_owned());
            }
            _ if path.ends_with(".rs") => self.tests.take(path, text),
            _ => {}
        }
    }

    fn read_transcript(&mut self, story: &str, tongue: &str, text: &str) {
        for line in text.lines() {
            let Some((mark, frame)) = line.split_once(' ') else {
                continue;
            };
            let Some(side) = mark.chars().last().filter(|mark| "<>".contains(*mark)) else {
                continue;
            };
            let frame: Value = serde_json::from_str(frame).unwrap_or_default();
            if let Some(kind) = frames::kind(&frame) {
                self.shows(story, (tongue, side, kind));
            }
            if side == '<' {
                for item in frames::items(&frame) {
                    self.shows(story, (tongue, ITEMS, item));
                }
                for payload in frames::payloads(&frame) {
                    self.shows(story, (tongue, PAYLOADS, payload));
                }
            }
            let words = frames::words(&frame);
            if let Some((message, _)) = words.split_once(" is not available in this build") {
                let missing = (tongue.to_owned(), message.to_owned());
                self.unavailable.insert(missing);
            }
        }
    }

    fn shows(&mut self, story: &str, (tongue, side, kind): (&str, char, &str)) {
        let key = (tongue.to_owned(), side, kind.to_owned());
        let stories = self.stories.entry(key).or_default();
        stories.insert(story.to_owned());
    }

    fn schema(&self, covered: &Covered) -> anyhow::Result<&str> {
        let name = covered.schema;
        let text = self.schemas.get(name);
        let text = text.with_context(|| format!("schemas/{name}.json is missing"))?;
        Ok(text)
    }

    fn rows(&self, covered: &Covered, side: (&str, char)) -> anyhow::Result<Vec<MessageRow>> {
        let messages = schema::messages(self.schema(covered)?, side.0)?;
        Ok(self.rows_of(covered, side.1, messages.into_keys()))
    }

    /// The kinds of items, where a protocol has them.
    fn item_rows(&self, covered: &Covered) -> anyhow::Result<Vec<MessageRow>> {
        let kinds = frames::item_kinds(self.schema(covered)?)?;
        Ok(self.rows_of(covered, ITEMS, kinds.into_iter()))
    }

    /// The kinds of payloads of a history, where a protocol has them.
    fn payload_rows(&self, covered: &Covered) -> anyhow::Result<Vec<MessageRow>> {
        let kinds = frames::payload_kinds(self.schema(covered)?)?;
        Ok(self.rows_of(covered, PAYLOADS, kinds.into_iter()))
    }

    fn rows_of(
        &self,
        covered: &Covered,
        side: char,
        messages: impl Iterator<Item = String>,
    ) -> Vec<MessageRow> {
        let name = covered.schema;
        let row = |message: String| {
            let key = (name.to_owned(), side, message.clone());
            let stories = self.stories.get(&key).cloned().unwrap_or_default();
            let missing = (name.to_owned(), message.clone());
            MessageRow {
                available: !self.unavailable.contains(&missing),
                stories: stories.into_iter().collect(),
                excuse: self.excuse(name, &message),
                tests: self.tests.naming(covered.tests, &message),
                message,
            }
        };
        messages.map(row).collect()
    }

    fn render(&self, page: &CoveragePage) -> anyhow::Result<String> {
        let mut text = page::opening(page);
        for covered in page.protocols {
            for (side, mark, title) in SIDES {
                let rows = self.rows(covered, (side, mark))?;
                page::table(&mut text, &format!("{}: {title}", covered.title), &rows);
            }
            let items = self.item_rows(covered)?;
            if !items.is_empty() {
                page::table(&mut text, &format!("{}: items", covered.title), &items);
            }
            let payloads = self.payload_rows(covered)?;
            if !payloads.is_empty() {
                page::table(&mut text, &format!("{}: history", covered.title), &payloads);
            }
        }
        Ok(text)
    }

    fn excuse(&self, schema: &str, message: &str) -> Option<&'static str> {
        let mut known = self.no_story.iter();
        let found = known.find(|(of, name, _)| (*of, *name) == (schema, message));
        found.map(|(_, _, why)| *why)
    }

    /// Whether a message has a story, or is known to have none.
    fn shown(&self, covered: &Covered, row: &MessageRow) -> Option<Finding> {
        let (schema, message) = (covered.schema, &row.message);
        let what = match (row.stories.is_empty(), row.excuse.is_some()) {
            (true, false) => format!(
                "no story shows `{message}` of {schema}: add one in scenarios/, whose transcript has it"
            ),
            (false, true) if row.available => {
                format!("`{message}` of {schema} has a story now: take it out of NO_STORY")
            }
            (true, true) | (false, _) => return None,
        };
        Some(Finding::error("xtask/src/coverage.rs", 1, what))
    }

    pub fn check(&self) -> Vec<Finding> {
        let pages = PAGES.iter();
        pages.flat_map(|page| self.check_page(page)).collect()
    }

    fn check_page(&self, page: &CoveragePage) -> Vec<Finding> {
        let mut findings = Vec::new();
        for covered in page.protocols {
            for (side, mark, _) in SIDES {
                let rows = self.rows(covered, (side, mark)).unwrap_or_default();
                findings.extend(rows.iter().filter_map(|row| self.shown(covered, row)));
            }
            let items = self.item_rows(covered).unwrap_or_default();
            findings.extend(items.iter().filter_map(|row| self.shown(covered, row)));
            let payloads = self.payload_rows(covered).unwrap_or_default();
            findings.extend(payloads.iter().filter_map(|row| self.shown(covered, row)));
        }
        match self.render(page) {
            Ok(text) if self.pages.get(page.path) == Some(&text) => {}
            Ok(_) => findings.push(Finding::error(
                page.path,
                1,
                format!("is not what the code says: run {UPDATE}"),
            )),
            Err(error) => findings.push(Finding::error(page.path, 1, format!("{error:#}"))),
        }
        findings
    }
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let update = match arguments {
        [] => false,
        [flag] if flag == "--update" => true,
        _ => anyhow::bail!("`coverage` knows --update and nothing else"),
    };
    let mut sources = CoverageSources::new();
    for path in crate::tidy::files()? {
        if let Ok(text) = fs::read_to_string(root().join(&path)) {
            sources.take(&path, &text);
        }
    }
    for page in &PAGES {
        let (path, text) = (page.path, sources.render(page)?);
        if update {
            fs::write(root().join(path), text).with_context(|| format!("cannot write {path}"))?;
            println!("{path} rewritten");
        } else {
            print!("{text}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"client": {"oneOf": [
        {"properties": {"type": {"const": "say"}}},
        {"properties": {"type": {"const": "upload_file"}}},
        {"properties": {"type": {"const": "sing"}}}
    ]}, "server": {"oneOf": []}}"#;

    impl CoverageSources {
        fn write_pages(&mut self) {
            for page in &PAGES {
                let text = self.render(page).expect("a page");
                self.take(page.path, &text);
            }
        }
    }

    fn sources() -> CoverageSources {
        let mut sources = CoverageSources {
            no_story: &[("cowork", "upload_file", "nobody uploads")],
            ..CoverageSources::default()
        };
        for (path, text) in [
            ("schemas/cowork.json", SCHEMA),
            ("schemas/cowork1.json", r#"{"client": {}, "server": {}}"#),
            ("schemas/diminuendo.json", r#"{"client": {}, "server": {}}"#),
            ("schemas/codex.json", r#"{"client": {}, "server": {}}"#),
            ("schemas/zane.json", r#"{"client": {}, "server": {}}"#),
            ("schemas/pioneer.json", r#"{"client": {}, "server": {}}"#),
            (
                "scenarios/hello/cowork.transcript",
                "# a story\n\n# a: say\na> {\"type\":\"say\"}\na< {\"type\":\"said\"}\n",
            ),
            (
                "crates/dialects/src/cowork/tests/a.rs",
                "#[test]\nfn words_are_heard() {\n    hear(\"say\");\n}\n",
            ),
        ] {
            sources.take(path, text);
        }
        sources
    }

    #[test]
    fn a_message_without_a_story_is_a_finding() {
        let mut sources = sources();
        sources.write_pages();
        let told: Vec<String> = sources.check().into_iter().map(|each| each.what).collect();
        assert_eq!(
            told,
            ["no story shows `sing` of cowork: add one in scenarios/, whose transcript has it"]
        );
        let shown = "> {\"type\":\"sing\"}\n> {\"type\":\"upload_file\"}\n";
        sources.take("scenarios/song/cowork.transcript", shown);
        sources.write_pages();
        let told: Vec<String> = sources.check().into_iter().map(|each| each.what).collect();
        assert_eq!(
            told,
            ["`upload_file` of cowork has a story now: take it out of NO_STORY"]
        );
    }

    #[test]
    fn the_page_is_what_the_code_says() {
        let mut sources = sources();
        sources.write_pages();
        let text = sources.pages[PAGES[0].path].clone();
        let row = "| `say` | works | [hello](../../scenarios/hello) | `words_are_heard` |";
        assert!(text.contains(row), "{text}");
        // Neither claimed nor denied: nobody has looked.
        assert!(text.contains("| `sing` | no story |  |  |"), "{text}");
        let other = text.replace("words_are_heard", "words_are_lost");
        sources.take(PAGES[0].path, &other);
        let last = sources.check().pop().expect("a finding");
        assert!(last.what.contains("is not what the code says"), "{last}");
    }
}
