//! The readings of a line, held against bash itself.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use proptest::prelude::*;

use super::plain_words;
use crate::scratch::Scratch;

/// What bash makes of the words of a line, in an empty directory and without any program to run.
fn words_by_bash(line: &str) -> Vec<String> {
    let scratch = Scratch::new();
    let output = Command::new("bash")
        .env_clear()
        .current_dir(scratch.path(""))
        .args(["--norc", "-c"])
        .arg(format!("PATH=/none\nprintf '%s\\0' {line}"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty(), "{line:?}: {:?}", output.stderr);
    let words = text.strip_suffix('\0').unwrap_or(&text);
    words.split('\0').map(str::to_owned).collect()
}

#[test]
fn plain_words_are_without_quotes_and_blanks() {
    let words = |line| plain_words(line).unwrap_or_default().join("|");
    assert_eq!(words("git  log"), "git|log");
    assert_eq!(words(" g'i't \\l\"og\" ''"), "git|log|");
    assert_eq!(
        words("echo 'a  b' \"c \\\" \\$ \\x\" # d"),
        "echo|a  b|c \" $ \\x"
    );
    for line in [
        "", "#", "ls;ls", "ls $X", "X=1 ls", "ls *", "ls ~", "ls 'a", "ls > a", "! ls",
    ] {
        assert_eq!(plain_words(line), None, "{line}");
    }
}

const PIECES: &[&str] = &[
    " ", " ", " ", "  ", "\t", "ls", "a", "b", "-l", "é", "'", "'", "\"", "\"", "\\", "\\ ", "''",
    "\"\"", "'a b'", "\"a b\"", "\\\n", "\n", ";", "#", "=", "$", "~", "*", "{a,b}", "!", "]", "}",
    "\\'", "\\\"", "$'a'", "\\\\", ":", "@", "%", "^", ",", "1", "+", "?",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn words_called_plain_are_what_bash_gets(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 1..9),
    ) {
        let line = format!("x{}", pieces.concat());
        if let Some(words) = plain_words(&line) {
            prop_assert_eq!(words, words_by_bash(line.trim_matches([' ', '\t', '\n'])), "{:?}", line);
        }
    }
}
