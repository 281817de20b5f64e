//! Stories of searching.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

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
        (".hidden", b"fn one\nsecond"),
        (".git/x", b"fn one"),
        ("node_modules/x.rs", b"fn one"),
        (".gitignore", b"node_modules\n"),
    ]);
    std::os::unix::fs::symlink("/etc", scratch.path("link")).unwrap();
    let table = [
        (
            json!({"pattern": "fn one"}),
            "a.txt:2:fn One\nb.rs:1:fn one() {}\nsrc/utf16.txt:1:fn one",
        ),
        (json!({"pattern": "fn One"}), "a.txt:2:fn One"),
        (
            json!({"pattern": "fn one", "caseSensitive": true}),
            "b.rs:1:fn one() {}\nsrc/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "FN ONE$", "caseSensitive": false}),
            "a.txt:2:fn One\nsrc/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "two", "context": 1}),
            "b.rs-1-fn one() {}\nb.rs:2:fn two() {}",
        ),
        (
            json!({"pattern": "^fn", "include": "*.rs"}),
            "b.rs:1:fn one() {}\nb.rs:2:fn two() {}",
        ),
        (
            json!({"pattern": "fn one", "include": "*.txt, *.rs", "exclude": "a.*"}),
            "b.rs:1:fn one() {}\nsrc/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "fn", "exclude": "src/"}),
            "a.txt:2:fn One\nb.rs:1:fn one() {}\nb.rs:2:fn two() {}",
        ),
        (
            json!({"pattern": "fn", "include": "!*.rs", "path": "src"}),
            "src/utf16.txt:1:fn one",
        ),
        (
            json!({"pattern": "one\\(\\).*two", "multiline": true}),
            "b.rs:1:fn one() {}\nb.rs:2:fn two() {}",
        ),
        (json!({"pattern": "fn", "path": "a.txt"}), "a.txt:2:fn One"),
        (json!({"pattern": "root:"}), "No matches found in 4 files."),
        (
            json!({"pattern": "fn", "include": "*.py"}),
            "No matches found in 0 files.",
        ),
        (
            json!({"pattern": "second"}),
            "No matches found in 4 files. Files that are hidden or that git ignores have some, such \
             as .hidden: to search them, name a file or directory of them in \"path\".",
        ),
        (
            json!({"pattern": "second", "path": ".hidden"}),
            ".hidden:2:second",
        ),
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
    let answer = found(&scratch, json!({"pattern": "x", "context": 1})).await;
    assert_eq!(answer, "a:1:x\na-2-1\n--\na-4-3\na:5:x\n--\nb:1:x");
}

/// Makes files, each newer than the one before.
fn aged(files: &[(&str, &[u8])]) -> Scratch {
    let scratch = tree(files);
    for (age, (name, _)) in files.iter().enumerate() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age as u64);
        let file = std::fs::File::options()
            .append(true)
            .open(scratch.path(name));
        file.unwrap().set_modified(time).unwrap();
    }
    scratch
}

#[tokio::test]
async fn beyond_the_limit_counts_come_first_and_each_file_has_its_share() {
    let scratch = aged(&[
        ("old", b"x1\nx2\nx3\n"),
        ("middle", b"-\nx1\n-\n"),
        ("new", b"x1\nx2\nx3\nx4\n"),
    ]);
    let answer = found(&scratch, json!({"pattern": "x", "limit": 6})).await;
    assert_eq!(
        answer,
        "[8 matches in 3 files, more than the limit of 6; counts first, the newest file first]\n\
         new:4\nmiddle:1\nold:3\n\n\
         new:1:x1\nnew:2:x2\nmiddle:2:x1\nold:1:x1\nold:2:x2"
    );
    let answer = found(&scratch, json!({"pattern": "x", "limit": 1})).await;
    assert!(answer.ends_with("old:3\n\nnew:1:x1"), "{answer}");
}

#[tokio::test]
async fn files_and_counts_are_told_without_lines() {
    let scratch = aged(&[("a", b"x\nx\n"), ("b", b"x"), ("c", b"y")]);
    let table = [
        (json!({"mode": "files"}), "b\na"),
        (
            json!({"mode": "files", "limit": 1}),
            "b\n[1 of 2 files, the newest; narrow the search or raise limit]",
        ),
        (
            json!({"mode": "counts"}),
            "b:1\na:2\n[3 matches in 2 files]",
        ),
        (
            json!({"mode": "counts", "path": "b"}),
            "b:1\n[1 match in 1 file]",
        ),
    ];
    for (mut input, expected) in table {
        input["pattern"] = json!("x");
        assert_eq!(found(&scratch, input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn long_answers_and_lines_are_cut_and_the_rest_is_kept() {
    let scratch = tree(&[
        ("long", "needle\n".repeat(1900).as_bytes()),
        (
            "wide",
            format!("needle{}\n", "x".repeat(100_000)).as_bytes(),
        ),
    ]);
    let home = Scratch::new();
    let mut cx = scratch.cx(&std::sync::Arc::default());
    cx.scope.spill = Some(home.path("spill"));
    let input = json!({"pattern": "needle", "limit": LIMIT_MAX});
    let Ok(ToolOutput::Text(answer)) = GrepTool.run(&cx, input).await else {
        panic!("grep answers");
    };
    assert!(answer.chars().count() < ANSWER_CHARS_MAX + 300);
    let (_, path) = answer.split_once("all of it is in ").unwrap();
    let kept = std::fs::read_to_string(path.split_once(", read").unwrap().0).unwrap();
    assert_eq!(kept.lines().count(), 1901);
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
        (
            json!({"pattern": "a\\nb"}),
            "is matched line by line; call with \"multiline\": true",
        ),
        (
            json!({"pattern": "a", "mode": "all"}),
            "grep: \"mode\" must be lines, files or counts, got \"all\"",
        ),
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
            " is outside the workspace",
        ),
        (
            json!({"pattern": "a", "include": "a[b"}),
            "grep: \"include\" is not a glob",
        ),
        (
            json!({"pattern": "a", "context": 51}),
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
