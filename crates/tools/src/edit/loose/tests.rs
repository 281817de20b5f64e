//! What is taken for the same text, and what is not.

#![allow(clippy::unwrap_used)]

use super::*;

fn change(content: &str, old: &str, new: &str) -> Option<(String, &'static str)> {
    let found = find(content, old, new)?;
    let place = std::slice::from_ref(&found.place);
    let after = places::replace(content, place, "", &found.new);
    Some((after, found.how))
}

#[test]
fn other_line_ends_and_blanks_at_line_ends_are_the_same() {
    assert_eq!(
        change("a\nb\nc\n", "a\r\nb", "x\r\ny"),
        Some(("x\ny\nc\n".to_owned(), "other line ends"))
    );
    // The first line is context alone and keeps its blanks.
    assert_eq!(
        change("a  \nb\t\nc\n", "a\nb\n", "a\nd\n"),
        Some(("a  \nd\nc\n".to_owned(), "other blanks at line ends"))
    );
    assert_eq!(
        change("a\r\nb \r\nc\r\n", "b\nc", "d\ne\nf"),
        Some((
            "a\r\nd\r\ne\r\nf\r\n".to_owned(),
            "other blanks at line ends"
        ))
    );
}

#[test]
fn one_shift_of_indentation_is_given_to_the_new_text() {
    let file = "mod a {\n    fn b() {\n        c();\n\n    }\n}\n";
    let table = [
        // Too little, too much.
        (
            file,
            "fn b() {\n    c();\n\n}",
            "fn b() {\n    if x {\n        d();\n    }\n\n}",
            "mod a {\n    fn b() {\n        if x {\n            d();\n        }\n\n    }\n}\n",
        ),
        (
            file,
            "          c();\n",
            "          c();\n          e();\n",
            "mod a {\n    fn b() {\n        c();\n        e();\n\n    }\n}\n",
        ),
        // Spaces for tabs, tabs for spaces.
        (
            "if x {\n\ty();\n\t\tz();\n}\n",
            "if x {\n  y();\n    z();\n}",
            "if x {\n  y();\n    w();\n   v();\n}",
            "if x {\n\ty();\n\t\tw();\n\t v();\n}\n",
        ),
        (
            file,
            "\tfn b() {\n\t\tc();\n",
            "\tfn b() {\n\t\tc();\n\t\td();\n",
            "mod a {\n    fn b() {\n        c();\n        d();\n\n    }\n}\n",
        ),
    ];
    for (content, old, new, after) in table {
        let changed = change(content, old, new);
        assert_eq!(changed, Some((after.to_owned(), "other indentation")));
    }
}

#[test]
fn typographic_punctuation_is_as_a_keyboard_has_it() {
    let content = "“One” – it’s\u{a0}one\nand ‘two’\n";
    assert_eq!(
        change(content, "it's one\nand", "it's one\nor"),
        Some((
            "“One” – it’s\u{a0}one\nor ‘two’\n".to_owned(),
            "other quotes, dashes or blanks"
        ))
    );
    assert_eq!(
        change("say(\"a\")\n", "say(“a”)", "say(\"b\")"),
        Some(("say(\"b\")\n".to_owned(), "other quotes, dashes or blanks"))
    );
}

#[test]
fn what_is_not_safe_is_not_found() {
    let table = [
        // Two places, though one would fit exactly but for its blanks.
        ("  a\n    a\n", "\ta\n", "b\n"),
        ("a \na  \n", "a\t", "b"),
        // Not one shift for all lines.
        ("if x:\n    a\n      b\n", "if x:\n  a\n  b\n", "c\n"),
        ("  a\n\tb\n", "a\nb\n", "c\n"),
        // Less indentation than is to be taken away.
        ("a\nb\n", "  a\n  b\n", "c\n"),
        // Other lines, another count of lines, blanks alone.
        ("a b\n", "a  b\n", "c\n"),
        ("a\n\nb\n", "a \nb\n", "c\n"),
        ("a\n \n", "  \n", "c\n"),
        ("‘a’ ‘a’\n", "'a'", "c"),
        ("a", "a\nb", "c"),
    ];
    for (content, old, new) in table {
        assert_eq!(change(content, old, new), None, "{content:?} {old:?}");
    }
}
