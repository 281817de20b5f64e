//! The scripts that a command line runs from a text of its own: `bash -c "…"`, `eval …`, `env -S "…"`.

use std::collections::BTreeSet;

use crate::risk::{self, SHELLS_DEEP_MAX};
use crate::shell::{self, Script, SimpleCommand};

/// More texts than this are not looked at.
const TEXTS_MAX: usize = 500;

/// What is run from texts, at any depth that is looked at.
#[derive(Debug, Default)]
pub(super) struct Within {
    pub scripts: Vec<Script>,
    /// There is more, too deep or too much to be looked at.
    pub unseen: bool,
}

impl Within {
    pub fn of(readings: &[Script]) -> Within {
        let mut within = Within::default();
        let mut known = BTreeSet::new();
        let mut next = texts(readings, &mut known);
        for _ in 0..SHELLS_DEEP_MAX {
            if known.len() > TEXTS_MAX {
                break;
            }
            // The quick reading alone: it rather finds a command too many than one too few.
            let scripts: Vec<Script> = next.iter().map(|text| shell::split(text)).collect();
            next = texts(&scripts, &mut known);
            within.scripts.extend(scripts);
        }
        within.unseen = !next.is_empty();
        within
    }
}

/// The texts that these scripts may run as scripts and that are not known yet.
fn texts(scripts: &[Script], known: &mut BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for command in scripts.iter().flat_map(Script::all_commands) {
        for text in texts_of(command) {
            if known.len() > TEXTS_MAX {
                return found;
            }
            if known.insert(text.clone()) {
                found.push(text);
            }
        }
    }
    found
}

fn texts_of(command: &SimpleCommand) -> Vec<String> {
    let mut found = Vec::new();
    for words in risk::run_as_scripts(command) {
        let alone = words.iter().flat_map(risk::scripts_in);
        found.extend(alone.map(str::to_owned));
        // `eval` and others put their words together; only a word with a blank adds anything to that.
        if words
            .iter()
            .any(|word| risk::scripts_in(word).next().is_some())
        {
            let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            found.push(words.join(" "));
        }
    }
    found
}
