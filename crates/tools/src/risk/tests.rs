//! The rules of judgement, as one table.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::scratch::Scratch;

fn verdict(scope: &Scope, command: &str) -> &'static str {
    match judge_command(scope, command) {
        Judgement::Allow => "allow",
        Judgement::Ask {
            command: told,
            dangerous,
            risk,
            ..
        } => {
            assert_eq!(told, command);
            assert_eq!(dangerous, risk == Risk::DangerousPattern);
            match risk {
                Risk::DangerousPattern => "dangerous",
                Risk::ShellControlOperator => "control",
                Risk::ManualReview => "manual",
                Risk::FileRead => "read",
                Risk::OutsideScope => "outside",
                Risk::OutsideRead => "outside-read",
                Risk::BeyondSandbox => "beyond",
            }
        }
    }
}

/// The lines of the table that say something: what is expected, and the command.
fn table() -> Vec<(&'static str, String)> {
    let lines = include_str!("commands.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows = lines.map(|line| line.split_once(' ').unwrap());
    rows.map(|(expected, command)| (expected, spelled(command.trim_start_matches(' '))))
        .collect()
}

/// A command of the table with its unseen characters put in.
fn spelled(command: &str) -> String {
    let mut spelled = String::new();
    let mut pieces = command.replace("<LF>", "\n");
    while let Some((before, behind)) = pieces.split_once("<U+") {
        let (code, rest) = behind.split_once('>').unwrap();
        let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        spelled.push_str(before);
        spelled.push(character.unwrap());
        pieces = rest.to_owned();
    }
    spelled + &pieces
}

#[test]
fn every_command_is_judged_by_the_first_rule_that_fits() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    std::os::unix::fs::symlink(other.path(""), scratch.path("link")).unwrap();
    let scope = scratch.scope();
    let table = table();
    assert!(table.len() >= 150, "{}", table.len());
    let wrong: Vec<String> = table
        .iter()
        .map(|(expected, command)| (expected, verdict(&scope, command), command))
        .filter(|(expected, found, _)| *expected != found)
        .map(|(expected, found, command)| format!("{command:?}: {found}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn long_lines_are_judged_too() {
    let scratch = Scratch::new();
    let scope = scratch.scope();
    let long = |count| format!("echo {}", "a".repeat(count));
    assert_eq!(verdict(&scope, &long(3000)), "allow");
    assert_eq!(verdict(&scope, &long(5000)), "manual");
    let danger = format!("{}; rm -rf x", long(5000));
    assert_eq!(verdict(&scope, &danger), "dangerous");
}

#[test]
fn a_line_made_to_be_hard_to_read_asks() {
    let scratch = Scratch::new();
    let scope = scratch.scope();
    for piece in [
        "(",
        "$(",
        "{ ",
        "`",
        "\"$(",
        "((",
        "$((",
        "[[ (",
        "<(",
        "if ",
        "${a:-",
        "'",
        "<<A ",
        "a|",
        "a&&",
        "{a,",
        "case a in a) ",
        "\\",
        "a=(",
        "|!",
        "))]]",
        "$[*",
        "bash -c '",
        "$'\\x",
        "\"`",
    ] {
        // As long as the grammar takes them.
        assert_ne!(
            verdict(&scope, &piece.repeat(4000 / piece.len())),
            "allow",
            "{piece}"
        );
        assert_ne!(verdict(&scope, &piece.repeat(5000)), "allow", "{piece}");
    }
}

/// How strict a judgement is: the place of its rule in the order of rules.
fn strictness(scope: &Scope, command: &str) -> usize {
    let found = verdict(scope, command);
    let order = ["allow", "manual", "read", "outside", "control", "dangerous"];
    order.iter().position(|known| *known == found).unwrap()
}

const PIECES: &[&str] = &[
    "$(", ")", "`", "'", "\"", "\\", "$'", "${", "}", "<(", "|", "&", ";", "\n", "#", "~", " ",
    "  ", "bash", "rm", "-rf", "git", "log", "ls", "echo", "é", "/", "<<A", ">", "{", "[[", "]]",
    "(", "*", "=", "$X", "if", "then", "fi", "a", "\u{a0}", "!",
];

fn heap() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_string_is_judged(command in "\\PC*") {
        let scratch = Scratch::new();
        judge_command(&scratch.scope(), &command);
    }

    #[test]
    fn any_heap_of_shell_is_judged_and_unclear_ones_ask(command in heap()) {
        let scratch = Scratch::new();
        let judgement = judge_command(&scratch.scope(), &command);
        let unclear = shell::read(&command).iter().any(|script| script.unclear);
        prop_assert!(!unclear || judgement != Judgement::Allow);
    }

    #[test]
    fn an_operator_never_makes_a_judgement_laxer(
        row in 0..table().len(),
        other in 0..table().len(),
        operator in proptest::sample::select(&[" ; ", " && ", " || ", " | ", " & ", "\n", ";", "|"][..]),
    ) {
        let table = table();
        let (first, second) = (&table[row].1, &table[other].1);
        // Behind an open quote an operator is none.
        prop_assume!(shell::read(first).iter().all(|script| !script.unclear));
        let scratch = Scratch::new();
        let scope = scratch.scope();
        let joined = format!("{first}{operator}{second}");
        prop_assert!(strictness(&scope, &joined) >= strictness(&scope, first), "{}", joined);
    }
}
