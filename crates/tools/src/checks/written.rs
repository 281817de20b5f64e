//! How rules are written in a settings file.
//!
//! ```toml
//! [[check]]
//! files = "**/*.rs"                # or a list of patterns
//! run = "cargo check -q"           # {files} stands for the changed files
//! timeout = 60                     # seconds
//!
//! [[format]]
//! files = ["*.ts", "*.tsx"]
//! run = "npx prettier --write {files}"
//! ```

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule::{CheckKind, CheckRule, RuleOrigin, TIMEOUT_USUAL, matcher};

const RULES_MAX: usize = 50;
const PATTERNS_MAX: usize = 50;
const TEXT_CHARS_MAX: usize = 2000;
const TIMEOUT_MAX: u64 = 600;
const KEYS: [&str; 3] = ["files", "run", "timeout"];

/// Why a rule cannot be used: where in the text, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    pub at: usize,
    pub message: String,
}

/// The rules of both kinds that a workspace's own settings have; the rest of the file is not ours.
pub fn in_workspace(text: &str) -> Result<Vec<CheckRule>, (usize, String)> {
    let line = |at: usize| line_of(text, at);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (line(at), error.message().to_owned())
    })?;
    let mut rules = Vec::new();
    for kind in CheckKind::ALL {
        let entry = table.get_ref().iter();
        let mut entry = entry.filter(|(key, _)| key.get_ref() == kind.key());
        let Some((_, value)) = entry.next() else {
            continue;
        };
        let origin = |at: usize| RuleOrigin::Workspace(line(at));
        let read = read_rules(kind, value, &origin);
        rules.extend(read.map_err(|error| (line(error.at), error.message))?);
    }
    Ok(rules)
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// The rules of one kind: what a settings file has under its key. `origin` gets the place of each.
pub fn read_rules(
    kind: CheckKind,
    value: &Spanned<DeValue<'_>>,
    origin: &dyn Fn(usize) -> RuleOrigin,
) -> Result<Vec<CheckRule>, RuleError> {
    let key = kind.key();
    let DeValue::Array(entries) = value.get_ref() else {
        let message = format!("`{key}`: write [[{key}]], and below it `files` and `run`");
        return Err(error(value, message));
    };
    if entries.len() > RULES_MAX {
        let message = format!("`{key}`: there may be {RULES_MAX} of them");
        return Err(error(value, message));
    }
    entries
        .iter()
        .map(|entry| read_rule(kind, entry, origin(entry.span().start)))
        .collect()
}

fn read_rule(
    kind: CheckKind,
    entry: &Spanned<DeValue<'_>>,
    origin: RuleOrigin,
) -> Result<CheckRule, RuleError> {
    let key = kind.key();
    let DeValue::Table(table) = entry.get_ref() else {
        let message = format!("`{key}`: write [[{key}]], and below it `files` and `run`");
        return Err(error(entry, message));
    };
    for (name, _) in table {
        if !KEYS.contains(&name.get_ref().as_ref()) {
            let message = format!(
                "`{key}.{}`: unknown key; known are {}",
                name.get_ref(),
                KEYS.join(", ")
            );
            let at = name.span().start;
            return Err(RuleError { at, message });
        }
    }
    let required = |name: &str| {
        let missing = || error(entry, format!("`{key}.{name}` is missing"));
        table.get(name).ok_or_else(missing)
    };
    let files = patterns(key, required("files")?)?;
    let run = required("run")?;
    Ok(CheckRule {
        kind,
        origin,
        matcher: matcher(&files)
            .map_err(|why| error(entry, format!("`{key}.files`: not a pattern: {why}")))?,
        files,
        run: text(run).ok_or_else(|| {
            let message = format!("`{key}.run`: give a command line, as a text without NUL");
            error(run, message)
        })?,
        timeout: match table.get("timeout") {
            Some(value) => seconds(key, value)?,
            None => TIMEOUT_USUAL,
        },
    })
}

fn patterns(key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, RuleError> {
    let expected = || {
        let message = format!("`{key}.files`: give a pattern like \"**/*.rs\", or a list of them");
        error(value, message)
    };
    let patterns: Option<Vec<String>> = match value.get_ref() {
        DeValue::Array(entries) => entries.iter().map(text).collect(),
        _ => text(value).map(|one| vec![one]),
    };
    let patterns = patterns.ok_or_else(expected)?;
    match patterns.len() {
        1..=PATTERNS_MAX => Ok(patterns),
        _ => Err(expected()),
    }
}

fn text(value: &Spanned<DeValue<'_>>) -> Option<String> {
    let DeValue::String(text) = value.get_ref() else {
        return None;
    };
    let usable = !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX;
    (usable && !text.contains('\0')).then(|| text.as_ref().to_owned())
}

fn seconds(key: &str, value: &Spanned<DeValue<'_>>) -> Result<Duration, RuleError> {
    let given = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    };
    match given {
        Some(seconds @ 1..=TIMEOUT_MAX) => Ok(Duration::from_secs(seconds)),
        Some(_) | None => {
            let message = format!("`{key}.timeout`: give 1 to {TIMEOUT_MAX} seconds");
            Err(error(value, message))
        }
    }
}

fn error(value: &Spanned<DeValue<'_>>, message: String) -> RuleError {
    let at = value.span().start;
    RuleError { at, message }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn refused(text: &str) -> String {
        let (line, what) = in_workspace(text).expect_err("a bad file");
        format!("line {line}: {what}")
    }

    fn matched(pattern: &str, file: &str) -> bool {
        let text = format!("[[check]]\nfiles = {pattern:?}\nrun = 'x'");
        let rules = in_workspace(&text).expect("a good file");
        !rules[0].matching(&[PathBuf::from(file)]).is_empty()
    }

    #[test]
    fn rules_are_read_with_their_lines_and_formatters_come_first() {
        let text = "model = \"a/b\"\n\n[[check]]\nfiles = \"**/*.rs\"\nrun = \"cargo check\"\n\
                    timeout = 5\n\n[[format]]\nfiles = [\"*.ts\", \"*.tsx\"]\nrun = \"fmt {files}\"\n";
        let rules = in_workspace(text).expect("a good file");
        let [format, check] = &rules[..] else {
            panic!("{rules:?}")
        };
        assert_eq!(
            (format.kind, check.kind),
            (CheckKind::Format, CheckKind::Check)
        );
        assert_eq!(check.origin, RuleOrigin::Workspace(3));
        assert_eq!(format.origin, RuleOrigin::Workspace(8));
        assert_eq!(check.timeout, Duration::from_secs(5));
        assert_eq!(format.timeout, Duration::from_secs(60));
        assert_eq!(format.files, ["*.ts", "*.tsx"]);
    }

    #[test]
    fn a_bad_entry_is_named_with_its_key_and_line() {
        let entry = "[[check]]\nfiles = \"*.rs\"\nrun = \"x\"\n";
        for (text, expected) in [
            ("check = 1", "line 1: `check`: write [[check]]"),
            ("[[format]]\nrun = 'x'", "line 1: `format.files` is missing"),
            (
                "[[check]]\nfiles = '*.rs'",
                "line 1: `check.run` is missing",
            ),
            (
                "[[check]]\nfiles = 3\nrun = 'x'",
                "line 2: `check.files`: give a pattern",
            ),
            (
                "[[check]]\nfiles = 'a[b'\nrun = 'x'",
                "line 1: `check.files`: not a pattern: ",
            ),
            (
                "[[check]]\nfiles = []\nrun = 'x'",
                "line 2: `check.files`: give a pattern",
            ),
            (
                "[[check]]\nfiles = '*'\nrun = ' '",
                "line 3: `check.run`: give a command line",
            ),
            (
                &format!("{entry}timeout = 601"),
                "line 4: `check.timeout`: give 1 to 600 seconds",
            ),
            (
                &format!("{entry}timeout = '5s'"),
                "line 4: `check.timeout`: give 1 to 600 seconds",
            ),
            (
                &format!("{entry}comand = 'x'"),
                "line 4: `check.comand`: unknown key; known are files, run, timeout",
            ),
        ] {
            let error = refused(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_pattern_says_what_it_seems_to_say() {
        assert!(matched("**/*.rs", "a.rs") && matched("**/*.rs", "src/a/b.rs"));
        assert!(matched("*.rs", "src/a/b.rs"));
        assert!(matched("src/*.rs", "src/a.rs") && !matched("src/*.rs", "src/a/b.rs"));
        assert!(!matched("**/*.rs", "a.rsx"));
    }

    #[test]
    fn files_are_named_so_that_a_shell_takes_them_as_they_are() {
        let text = "[[format]]\nfiles = '*'\nrun = 'fmt {files} --all'";
        let rules = in_workspace(text).expect("a good file");
        let files = ["a b.rs", "-x", "it's $(touch y)"].map(PathBuf::from);
        assert_eq!(
            rules[0].line(&files),
            r"fmt 'a b.rs' './-x' 'it'\''s $(touch y)' --all"
        );
    }
}
