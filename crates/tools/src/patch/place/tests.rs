//! Where hunks go.

#![allow(clippy::unwrap_used)]

use super::super::parse::{SectionChange, parse};
use super::*;

fn made(before: &str, hunks: &str) -> Result<PatchedText, String> {
    let patch = format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch");
    match &parse(&patch).unwrap()[0].change {
        SectionChange::Update { hunks, .. } => patched(before, hunks),
        other => panic!("{other:?}"),
    }
}

fn check(before: &str, hunks: &str, after: &str) {
    let made = made(before, hunks).unwrap();
    assert_eq!(
        (made.text.as_str(), made.notes),
        (after, Vec::new()),
        "{hunks}"
    );
}

fn check_noted(before: &str, hunks: &str, after: &str, note: &str) {
    let made = made(before, hunks).unwrap();
    assert_eq!(
        (made.text.as_str(), made.notes.join("; ")),
        (after, note.to_owned()),
        "{hunks}"
    );
}

fn check_refused(before: &str, hunks: &str, expected: &str) {
    let problem = made(before, hunks).unwrap_err();
    assert!(problem.contains(expected), "{hunks}: {problem}");
}

#[test]
fn several_hunks_are_made_in_the_order_of_the_file() {
    check(
        "1\n2\n3\n4\n5\n6\n",
        "@@\n 1\n-2\n+two\n@@\n 4\n-5\n 6\n+seven",
        "1\ntwo\n3\n4\n6\nseven\n",
    );
    check(
        "a\nb\nc\nd\ne\nf\n",
        "@@\n a\n-b\n+B\n@@\n c\n d\n-e\n+E\n@@\n f\n+g\n*** End of File",
        "a\nB\nc\nd\nE\nf\ng\n",
    );
    // Only lines that go.
    check("1\n2\n3\n", "@@\n 1\n-2\n 3", "1\n3\n");
    check("1\n", "@@\n-1", "");
    check_refused(
        "1\n2\n3\n",
        "@@\n-3\n+three\n@@\n-1\n+one",
        "hunk 2 (line 6 of the patch): its lines are in the file at line 1, which is not below the hunk before it",
    );
    // The same lines twice would overlap.
    check_refused(
        "1\n2\n3\n",
        "@@\n 1\n-2\n+two\n@@\n-2\n 3\n+four",
        "not below the hunk before it",
    );
}

#[test]
fn new_lines_alone_go_below_their_header_or_to_the_end() {
    check("1\n2\n", "@@\n+3\n+4", "1\n2\n3\n4\n");
    check("1\n2", "@@\n+3", "1\n2\n3");
    check("", "@@\n+1", "1\n");
    check(
        "fn a() {\n}\nfn b() {\n}\n",
        "@@ fn b() {\n+    x();",
        "fn a() {\n}\nfn b() {\n    x();\n}\n",
    );
    check_refused("1\n", "@@ fn b()\n+x", "no line \"fn b()\" was found");
    // What comes after is looked for from the beginning.
    check("1\n2\n3\n", "@@\n+4\n@@\n 1\n-2\n+two", "1\ntwo\n3\n4\n");
}

#[test]
fn headers_narrow_the_search() {
    let code =
        "class A:\n  def f():\n    x = 1\n  def g():\n    x = 1\nclass B:\n  def f():\n    x = 1\n";
    let changed = |line: usize| -> String {
        let lines = code
            .lines()
            .enumerate()
            .map(|(at, text)| match at + 1 == line {
                true => "    x = 2\n".to_owned(),
                false => format!("{text}\n"),
            });
        lines.collect()
    };
    let hunk = "-    x = 1\n+    x = 2";
    check(code, &format!("@@ class A:\n{hunk}"), &changed(3));
    check(code, &format!("@@   def g():\n{hunk}"), &changed(5));
    check(code, &format!("@@ def g():\n{hunk}"), &changed(5));
    check(code, &format!("@@ class B\n{hunk}"), &changed(8));
    check(
        code,
        &format!("@@ class B:\n@@ def f():\n{hunk}"),
        &changed(8),
    );
    // Repeated as the first line of the hunk.
    check(
        code,
        &format!("@@ class B:\n class B:\n   def f():\n{hunk}"),
        &changed(8),
    );
    check(code, &format!("@@\n{hunk}\n*** End of File"), &changed(8));
    // A header that is not there does no harm where the place is clear.
    check("1\n2\n", "@@ fn none()\n-2\n+two", "1\ntwo\n");
    check_refused(
        code,
        &format!("@@\n{hunk}"),
        "its lines occur 3 times, at the lines 3, 5, 8; add lines around the change, or name the function or class in an @@ line",
    );
}

#[test]
fn lines_in_a_slightly_other_form_are_found_and_it_is_said() {
    check_noted(
        "a  \nb\n",
        "@@\n a\n-b\n+c",
        "a  \nc\n",
        "hunk 1 matched with other blanks at line ends",
    );
    check_noted(
        "if x:\n        a()\n        b()\n",
        "@@\n     a()\n-    b()\n+    c()\n+      d()",
        "if x:\n        a()\n        c()\n          d()\n",
        "hunk 1 matched with other indentation",
    );
    check_noted(
        "\ta();\n\tb();\n",
        "@@\n     a();\n-    b();\n+    c();",
        "\ta();\n\tc();\n",
        "hunk 1 matched with other indentation",
    );
    check_noted(
        "say(\u{201c}hi\u{201d}) \u{2014} it\u{2019}s\u{2003}me\nx\n",
        "@@\n say(\"hi\") - it's me\n-x\n+y",
        "say(\u{201c}hi\u{201d}) \u{2014} it\u{2019}s\u{2003}me\ny\n",
        "hunk 1 matched with other quotes, dashes or blanks",
    );
    // Letters beyond ASCII are letters.
    check(
        "naïve\n日本語\n",
        "@@\n naïve\n-日本語\n+中文 ✅",
        "naïve\n中文 ✅\n",
    );
    // An exact place goes before a loose one.
    check("  a\na\n", "@@\n-a\n+b", "  a\nb\n");
    check_refused("  a\n    a\n", "@@\n-a\n+b", "its lines occur 2 times");
}

#[test]
fn what_is_not_found_is_told_with_the_nearest_lines() {
    let before = "fn main() {\n    let count = 1;\n    println!(\"{count}\");\n}\n";
    check_refused(
        before,
        "@@\n fn main() {\n-    let counter = 1;\n+    let counter = 2;",
        "hunk 1 (line 3 of the patch): its lines were not found; nearest:",
    );
    check_refused(
        "x\n",
        "@@\n-a long line that is nowhere\n+b",
        "nothing like it was found; read the file again",
    );
}

#[test]
fn an_empty_line_at_the_end_of_a_hunk_may_be_none_of_the_file() {
    check(
        "1\n2\n3\n",
        "@@\n 1\n-2\n+two\n\n@@\n-3\n+three\n",
        "1\ntwo\nthree\n",
    );
    check("1\n\n2\n", "@@\n 1\n\n-2\n+two", "1\n\ntwo\n");
}
