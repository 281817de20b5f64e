//! The folders of settings are spelled once: what guards a folder and what reads it must not disagree.

use super::Finding;
use super::source::{Kind, Source};

/// Where they are spelled.
const HOME: &str = "crates/tools/src/folders.rs";
/// Not whole: this file would break its own rule.
const NAMES: [&str; 2] = [concat!(".", "cowork"), concat!(".", "agent")];

pub fn check(source: &Source<'_>) -> Vec<Finding> {
    let product = source.path.starts_with("crates/") && source.path.contains("/src/");
    if !product || source.path == HOME || source.path.starts_with("crates/testkit/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for token in source.without_tests() {
        let Kind::Text(text) = &token.kind else {
            continue;
        };
        if let Some(name) = NAMES.into_iter().find(|name| is_path(text, name)) {
            let what = format!("`{name}` is spelled in {HOME}; use its constant");
            findings.push(Finding::error(source.path, token.line, what));
        }
    }
    findings
}

/// Whether a text names the folder as a program would: people are told of it below their `~`.
fn is_path(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let begins = before.is_empty() || before.ends_with([' ', '/', '"', '\'']);
        let ends = !after.starts_with(|next: char| next.is_alphanumeric() || "-_.".contains(next));
        begins && ends && !before.ends_with("~/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Source::read(path, text)).len()
    }

    #[test]
    fn a_second_spelling_is_found() {
        let path = "crates/tools/src/a.rs";
        let spelled = |text: &str| format!("const A: &str = \"{text}\";");
        for name in NAMES {
            assert_eq!(found(path, &spelled(name)), 1);
            assert_eq!(found(path, &spelled(&format!("{name}/skills"))), 1);
            assert_eq!(found(path, &spelled(&format!("mv x {name}"))), 1);
            assert_eq!(found(path, &spelled(&format!("default: ~/{name}"))), 0);
            assert_eq!(found(path, &spelled(&format!("call{name}"))), 0);
            assert_eq!(found(HOME, &spelled(name)), 0);
            let test = format!("#[cfg(test)]\nmod tests {{ {} }}", spelled(name));
            assert_eq!(found(path, &test), 0);
        }
    }
}
