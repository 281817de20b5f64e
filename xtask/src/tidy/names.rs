//! A type name means one thing in the whole workspace. Names of a wire format are not ours to choose, and
//! those in `names.txt` are known; that list can only shrink.

use std::collections::BTreeMap;

use super::Finding;
use super::source::{Kind, Source, Token};

const LIST: &str = "xtask/src/tidy/names.txt";
const LISTED: &str = include_str!("names.txt");
/// What is made for tests only, whatever it is called.
const FOR_TESTS: [&str; 2] = ["crates/testkit/", "crates/store/src/testing/"];

/// What was found in all files so far.
#[derive(Default)]
pub struct Names {
    /// Where each type is defined: path and line.
    defined: BTreeMap<String, Vec<(String, usize)>>,
    /// Files and folders that are compiled for tests only.
    test_modules: Vec<String>,
}

impl Names {
    pub fn read(&mut self, source: &Source<'_>) {
        let path = source.path;
        let product = path.starts_with("crates/") && path.contains("/src/");
        let wire = path.contains("/wire/") || path.ends_with("/wire.rs");
        if !product || wire || FOR_TESTS.iter().any(|tests| path.starts_with(tests)) {
            return;
        }
        for module in test_modules(&source.tokens) {
            let below = folder(path);
            self.test_modules.push(format!("{below}{module}.rs"));
            self.test_modules.push(format!("{below}{module}/"));
        }
        for (name, line) in definitions(&source.without_tests()) {
            let places = self.defined.entry(name).or_default();
            places.push((path.to_owned(), line));
        }
    }

    pub fn check(self) -> Vec<Finding> {
        self.check_against(LISTED)
    }

    fn check_against(mut self, list: &str) -> Vec<Finding> {
        let tests = std::mem::take(&mut self.test_modules);
        let in_test = |path: &str| tests.iter().any(|test| path.starts_with(test));
        for places in self.defined.values_mut() {
            places.retain(|(path, _)| !in_test(path));
        }
        self.defined.retain(|_, places| places.len() > 1);
        let mut findings = Vec::new();
        for (name, line) in entries(list, &mut findings) {
            if self.defined.remove(name).is_none() {
                let what = format!("`{name}` is defined at most once by now; take it off the list");
                findings.push(Finding::error(LIST, line, what));
            }
        }
        for (name, places) in self.defined {
            findings.extend(duplicate(&name, &places));
        }
        findings
    }
}

fn duplicate(name: &str, places: &[(String, usize)]) -> Option<Finding> {
    let (last, others) = places.split_last()?;
    let others: Vec<_> = others.iter().map(|(path, _)| path.as_str()).collect();
    let what = format!(
        "`{name}` is also a type in {}; give one of them a name of its own, or list it with a reason in {LIST}",
        others.join(", ")
    );
    Some(Finding::error(&last.0, last.1, what))
}

/// The names of the list with their lines. A heading may give the reason for all below it.
fn entries<'a>(list: &'a str, findings: &mut Vec<Finding>) -> Vec<(&'a str, usize)> {
    let mut entries = Vec::new();
    let mut reason_for_all = false;
    for (index, line) in list.lines().enumerate() {
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let (name, reason) = line.split_once(": ").unwrap_or((line, ""));
        let has_reason = !reason.trim().is_empty();
        if line.starts_with('#') {
            reason_for_all = has_reason;
            continue;
        }
        if !has_reason && !reason_for_all {
            let what = format!("`{name}` is listed without a reason");
            findings.push(Finding::error(LIST, index + 1, what));
        }
        entries.push((name, index + 1));
    }
    entries
}

/// The modules that are declared behind `#[cfg(test)]` and lie in files of their own.
fn test_modules(tokens: &[Token]) -> Vec<String> {
    const BEFORE: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let matches = |tokens: &[Token]| {
        BEFORE.iter().zip(tokens).all(|(want, token)| {
            token.is_word(want) || want.chars().next().is_some_and(|mark| token.is_mark(mark))
        })
    };
    let windows = tokens.windows(BEFORE.len() + 2);
    let declared = windows.filter(|window| matches(window) && window[9].is_mark(';'));
    declared.filter_map(|window| word(&window[8])).collect()
}

/// Where the modules of a file lie.
fn folder(path: &str) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    match stem.rsplit_once('/') {
        Some((above, "lib" | "main")) => format!("{above}/"),
        _ => format!("{stem}/"),
    }
}

/// Structs, enums, traits and aliases, with their lines.
fn definitions(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    for pair in tokens.windows(2) {
        if pair[0].is_mark('{') {
            depth += 1;
        } else if pair[0].is_mark('}') {
            depth = depth.saturating_sub(1);
        }
        let kinds = ["struct", "enum", "trait", "union"];
        let is_type = kinds.iter().any(|kind| pair[0].is_word(kind));
        // Deeper it is the type of an implementation, whose trait has named it.
        let is_alias = pair[0].is_word("type") && depth == 0;
        if let Some(name) = word(&pair[1]).filter(|_| is_type || is_alias) {
            found.push((name, pair[1].line));
        }
    }
    found
}

fn word(token: &Token) -> Option<String> {
    match &token.kind {
        Kind::Word(word) => Some(word.clone()),
        Kind::Mark(_) | Kind::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], list: &str) -> Vec<String> {
        let mut names = Names::default();
        for (path, text) in files {
            names.read(&Source::read(path, text));
        }
        let findings = names.check_against(list);
        findings.iter().map(ToString::to_string).collect()
    }

    const TWICE: [(&str, &str); 2] = [
        ("crates/a/src/one.rs", "pub struct Waiting;"),
        ("crates/b/src/two.rs", "\nenum Waiting { One }"),
    ];

    #[test]
    fn a_second_meaning_is_found() {
        let findings = found(&TWICE, "");
        assert_eq!(findings.len(), 1);
        let expected = "crates/b/src/two.rs:2: `Waiting` is also a type in crates/a/src/one.rs; ";
        assert!(findings[0].starts_with(expected), "{}", findings[0]);
        let alias = [TWICE[0], ("crates/b/src/lib.rs", "pub type Waiting = u8;")];
        assert_eq!(found(&alias, "").len(), 1);
    }

    #[test]
    fn wires_tests_and_associated_types_are_free() {
        for (path, text) in [
            ("crates/b/src/wire/two.rs", "pub struct Waiting;"),
            ("crates/b/src/wire.rs", "pub struct Waiting;"),
            ("crates/b/tests/it/two.rs", "pub struct Waiting;"),
            ("crates/b/src/tests.rs", "struct Waiting;"),
            ("crates/testkit/src/two.rs", "pub struct Waiting;"),
            (
                "crates/b/src/two.rs",
                "#[cfg(test)]\nmod tests { struct Waiting; }",
            ),
            ("crates/b/src/two.rs", "impl A for B { type Waiting = u8; }"),
        ] {
            assert_eq!(
                found(&[TWICE[0], (path, text)], ""),
                [""; 0],
                "{path}: {text}"
            );
        }
    }

    #[test]
    fn a_module_for_tests_is_free_wherever_it_lies() {
        let declared = [
            TWICE[0],
            ("crates/b/src/lib.rs", "#[cfg(test)]\nmod station;"),
            ("crates/b/src/station.rs", "pub struct Waiting;"),
            ("crates/b/src/station/deep.rs", "pub struct Waiting;"),
        ];
        assert_eq!(found(&declared, ""), [""; 0]);
        assert_eq!(found(&[declared[0], declared[2]], "").len(), 1);
    }

    #[test]
    fn the_list_has_reasons_and_can_only_shrink() {
        assert_eq!(found(&TWICE, "# kept\n\nWaiting: both wait\n"), [""; 0]);
        assert_eq!(found(&TWICE, "# later: to be renamed\nWaiting\n"), [""; 0]);
        let bare = found(&TWICE, "# kept\nWaiting\n");
        let expected = format!("{LIST}:2: `Waiting` is listed without a reason");
        assert_eq!(bare, [expected]);
        let done = found(&TWICE[..1], "# later: to be renamed\nWaiting\n");
        let expected =
            format!("{LIST}:2: `Waiting` is defined at most once by now; take it off the list");
        assert_eq!(done, [expected]);
    }
}
