//! Stories of searching.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;

fn tree(files: &[(&str, &[u8])]) -> Scratch {
    let scratch = Scratch::new();
    for (name, content) in files {
        let path = scratch.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    scratch
}

async fn found(scratch: &Scratch, input: Value) -> String {
    match scratch.run(&GrepTool, input).await {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn matches_are_told_by_path_and_line() {
    let scratch = tree(&[
        ("b.rs", b"fn one() {}\nfn two() {}\n"),
        ("a.txt", b"one\r\nfn One\r\n"),
        ("src/utf16.txt", b"\xff\xfef\0n\0 \0o\0n\0e\0\n\0"),
        ("binary", b"fn one\0\n"),
        (".hidden", b"fn one"),
        (".git/x", b"fn one"),
        ("node_modules/x.rs", b"fn one"),
        (".gitignore", b"node_modules\n"),
    ]);
    std::os::unix::fs::symlink("/etc", scratch.path("link")).unwrap();
    let table = [
        (
            json!({"pattern": "fn one"}),
            "b.rs:1:fn one() {}\nsrc/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "FN ONE$", "caseSensitive": false}),
            "a.txt:2:fn One\nsrc/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "two", "contextLines": 1}),
            "b.rs-1-fn one() {}\nb.rs:2:fn two() {}",
        ),
        (
            json!({"pattern": "^fn", "fileGlob": "*.rs"}),
            "b.rs:1:fn one() {}\nb.rs:2:fn two() {}",
        ),
        (
            json!({"pattern": "fn", "fileGlob": "!*.rs", "path": "src"}),
            "src/utf16.txt:1:fn one",
        ),
        (json!({"pattern": "fn", "path": "a.txt"}), "a.txt:2:fn One"),
        (json!({"pattern": "three"}), NOTHING),
        (json!({"pattern": "root:"}), NOTHING),
        (
            json!({"pattern": "one", "path": "binary"}),
            "No matches found. (binary is a binary file; search it with a command)",
        ),
    ];
    for (input, expected) in table {
        assert_eq!(found(&scratch, input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn context_is_parted_as_ripgrep_does() {
    let scratch = tree(&[("a", b"x\n1\n2\n3\nx\n"), ("b", b"x\n")]);
    let answer = found(&scratch, json!({"pattern": "x", "contextLines": 1})).await;
    assert_eq!(answer, "a:1:x\na-2-1\n--\na-4-3\na:5:x\n--\nb:1:x");
}

#[tokio::test]
async fn long_answers_and_lines_are_cut_and_the_rest_is_kept() {
    let scratch = tree(&[
        ("long", "needle\n".repeat(5000).as_bytes()),
        (
            "wide",
            format!("needle{}\n", "x".repeat(100_000)).as_bytes(),
        ),
    ]);
    let home = Scratch::new();
    let mut cx = scratch.cx(&std::sync::Arc::default());
    cx.scope.spill = Some(home.path("spill"));
    let Ok(ToolOutput::Text(answer)) = GrepTool.run(&cx, json!({"pattern": "needle"})).await else {
        panic!("grep answers");
    };
    assert!(answer.chars().count() < ANSWER_CHARS_MAX + 300);
    let (_, path) = answer.split_once("all of it is in ").unwrap();
    let kept = std::fs::read_to_string(path.split_once(", read").unwrap().0).unwrap();
    assert_eq!(kept.lines().count(), 5001);
    let wide = kept.lines().last().unwrap();
    assert!(
        wide.ends_with("x… [line cut]") && wide.len() < 1100,
        "{wide}"
    );
}

#[tokio::test]
async fn what_cannot_be_searched_is_refused() {
    let scratch = tree(&[("a", b"")]);
    let table = [
        (
            json!({"pattern": "a("}),
            "grep: \"pattern\" is not a regular expression; write \\ before",
        ),
        (json!({"pattern": "a\\nb"}), "is matched line by line"),
        (
            json!({"pattern": ""}),
            "grep: \"pattern\" must be a text that is not empty",
        ),
        (
            json!({"pattern": "a", "path": "none"}),
            "grep: none does not exist",
        ),
        (
            json!({"pattern": "a", "path": "/etc"}),
            "grep blocked: path is outside",
        ),
        (
            json!({"pattern": "a", "fileGlob": "a[b"}),
            "grep: \"fileGlob\" is not a glob",
        ),
        (
            json!({"pattern": "a", "contextLines": 51}),
            "from 0 to 50, got 51",
        ),
        (
            json!({"pattern": "a", "caseSensitive": "no"}),
            "must be true or false",
        ),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&GrepTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn private_directories_are_not_searched_and_cancelling_stops() {
    let scratch = tree(&[("home/token", b"secret"), ("a", b"secret")]);
    let mut cx = scratch.cx(&std::sync::Arc::default());
    cx.scope.private.push(scratch.path("home"));
    let input = json!({"pattern": "secret"});
    let answer = GrepTool.run(&cx, input.clone()).await.unwrap();
    assert_eq!(answer, ToolOutput::Text("a:1:secret".to_owned()));
    cx.cancel.cancel();
    let outcome = GrepTool.run(&cx, input).await;
    assert!(matches!(outcome, Err(Failure::Cancelled(_))), "{outcome:?}");
}
