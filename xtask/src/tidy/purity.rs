//! Dialects do no IO, and what lies below them knows no dialect by name.

use super::Finding;
use super::source::{Kind, Source, Token};

const PURE: &str = "crates/dialects/src/";
const IMPURE_WORDS: [&str; 3] = ["tokio", "SystemTime", "rand"];
const IMPURE_STD: [&str; 5] = ["fs", "net", "env", "process", "thread"];
const IMPURE_CALLS: [(&str, &str); 4] = [
    ("Instant", "now"),
    ("Timestamp", "now"),
    ("Uuid", "now"),
    ("Uuid", "new_v"),
];

const BELOW: [&str; 4] = [
    "crates/engine/src/",
    "crates/snapshots/src/",
    "crates/store/src/",
    "crates/vocabulary/src/",
];
const DIALECTS: [&str; 5] = ["cowork", "diminuendo", "codex", "zane", "pioneer"];

/// Where time and ids come in with the engine's configuration, and the one file that has them.
const CLOCKED: [&str; 2] = ["crates/engine/src/", "crates/snapshots/src/"];
const CLOCK: &str = "crates/engine/src/clock.rs";

pub fn check(source: &Source<'_>) -> Vec<Finding> {
    let is_in = |folder: &&str| source.path.starts_with(*folder);
    if is_in(&PURE) {
        return impure(source);
    }
    let mut findings = Vec::new();
    if BELOW.iter().any(&is_in) {
        findings.extend(names(source));
    }
    if CLOCKED.iter().any(is_in) && source.path != CLOCK {
        findings.extend(own_time(source));
    }
    findings
}

/// Instants are fine: tests stop them with the runtime's clock.
fn own_time(source: &Source<'_>) -> Vec<Finding> {
    let tokens = source.without_tests();
    let found = (0..tokens.len()).filter_map(|at| {
        let what = impurity(&tokens[at..])?;
        let is_meant =
            what == "SystemTime" || what.starts_with("Uuid::") || what == "Timestamp::now";
        let what = format!("`{what}` in the engine; take time and ids from `Config::clock`");
        is_meant.then(|| Finding::error(source.path, tokens[at].line, what))
    });
    found.collect()
}

fn impure(source: &Source<'_>) -> Vec<Finding> {
    let tokens = source.without_tests();
    let found = (0..tokens.len()).filter_map(|at| {
        let what = impurity(&tokens[at..])?;
        let what = format!(
            "`{what}` in a dialect; let time, ids and IO come in with `Cx` or go out as an `Action`"
        );
        Some(Finding::error(source.path, tokens[at].line, what))
    });
    found.collect()
}

fn impurity(tokens: &[Token]) -> Option<String> {
    let Kind::Word(word) = &tokens[0].kind else {
        return None;
    };
    if IMPURE_WORDS.contains(&word.as_str()) {
        return Some(word.clone());
    }
    if !(tokens.get(1)?.is_mark(':') && tokens.get(2)?.is_mark(':')) {
        return None;
    }
    if word == "std" {
        return impure_std(&tokens[3..]).map(|module| format!("std::{module}"));
    }
    let Kind::Word(next) = &tokens.get(3)?.kind else {
        return None;
    };
    IMPURE_CALLS
        .into_iter()
        .find(|(owner, call)| word == owner && next.starts_with(call))
        .map(|_| format!("{word}::{next}"))
}

/// What follows `std::`: one module, or a group in braces.
fn impure_std(tokens: &[Token]) -> Option<&'static str> {
    let first = tokens.first()?;
    let group: &[Token] = if first.is_mark('{') {
        let end = tokens.iter().position(|token| token.is_mark(';'));
        &tokens[..end.unwrap_or(tokens.len())]
    } else {
        &tokens[..1]
    };
    IMPURE_STD
        .into_iter()
        .find(|module| group.iter().any(|token| token.is_word(module)))
}

fn names(source: &Source<'_>) -> Vec<Finding> {
    let found = source.tokens.iter().filter_map(|token| {
        let (Kind::Word(text) | Kind::Text(text)) = &token.kind else {
            return None;
        };
        let text = text.to_lowercase();
        let name = DIALECTS.into_iter().find(|name| text.contains(name))?;
        let what = format!("the dialect `{name}` named below the dialects; say it in core words");
        Some(Finding::error(source.path, token.line, what))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Source::read(path, text)).len()
    }

    #[test]
    fn io_clock_and_chance_are_found_in_a_dialect() {
        let path = "crates/dialects/src/a.rs";
        for bad in [
            "use std::fs;",
            "use std::{collections::BTreeMap, net};",
            "let x = tokio::spawn(y);",
            "SystemTime::UNIX_EPOCH",
            "std::time::Instant::now()",
            "Uuid::now_v7()",
            "Uuid::new_v4()",
            "rand::random()",
        ] {
            assert_eq!(found(path, bad), 1, "{bad}");
        }
        assert_eq!(found(path, "use std::fmt; // tokio and std::fs"), 0);
        assert_eq!(found("crates/server/src/a.rs", "use std::fs;"), 0);
    }

    #[test]
    fn the_engine_has_one_clock() {
        for bad in [
            "SystemTime::now()",
            "Uuid::now_v7()",
            "uuid::Uuid::new_v4()",
        ] {
            assert_eq!(found("crates/engine/src/a.rs", bad), 1, "{bad}");
            assert_eq!(found("crates/snapshots/src/a.rs", bad), 1, "{bad}");
            assert_eq!(found(CLOCK, bad), 0, "{bad}");
        }
        for good in ["Instant::now()", "tokio::spawn(x)", "self.shared.now()"] {
            assert_eq!(found("crates/engine/src/a.rs", good), 0, "{good}");
        }
    }

    #[test]
    fn a_dialect_named_below_is_found() {
        let path = "crates/engine/src/a.rs";
        assert_eq!(found(path, "struct CoworkSession;"), 1);
        assert_eq!(found(path, "let x = \"codex\";"), 1);
        assert_eq!(found(path, "// as pioneer does\nstruct Session;"), 0);
        assert_eq!(found("crates/dialects/src/a.rs", "mod cowork;"), 0);
    }
}
