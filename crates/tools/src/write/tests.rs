//! What `write` does to files.

#![allow(clippy::unwrap_used)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use vocabulary::FileChange;

use super::*;
use crate::scratch::Scratch;

#[tokio::test]
async fn a_new_file_is_written_with_its_directories() {
    let scratch = Scratch::new();
    let input = json!({"filePath": "a/b.txt", "content": "zwölf\n"});
    let output = scratch.run(&WriteTool, input).await.unwrap();
    assert_eq!(
        output,
        ToolOutput::Files {
            summary: "Wrote 6 chars to a/b.txt".to_owned(),
            changes: vec![FileChange {
                path: "a/b.txt".to_owned(),
                kind: FileChangeKind::Add,
                diff: "zwölf\n".to_owned(),
            }],
        }
    );
    assert_eq!(
        std::fs::read_to_string(scratch.path("a/b.txt")).unwrap(),
        "zwölf\n"
    );
    let left: Vec<_> = std::fs::read_dir(scratch.path("a")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[tokio::test]
async fn an_old_file_keeps_its_mode_and_the_diff_tells_the_change() {
    let scratch = Scratch::new();
    let file = scratch.path("run.sh");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
    let cx = scratch.cx(&Arc::default());
    let input = json!({"filePath": "run.sh"});
    crate::read::ReadTool.run(&cx, input).await.unwrap();
    let input = json!({"filePath": file.to_str().unwrap(), "content": "one\n2\n"});
    let ToolOutput::Files { changes, .. } = WriteTool.run(&cx, input).await.unwrap() else {
        panic!("write tells files");
    };
    assert_eq!(changes[0].path, "run.sh");
    assert_eq!(
        changes[0].diff,
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[tokio::test]
async fn a_file_is_written_in_parts() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let mut said = Vec::new();
    for part in ["one\n", "two\n", "three\n"] {
        let input = json!({"filePath": "long.txt", "content": part, "append": true});
        let subject = WriteTool.subject(&input);
        let Subject::Files(files) = subject else {
            panic!("write is about files");
        };
        let preview = files[0].preview.clone().unwrap();
        assert_eq!(preview.kind, FileChangeKind::Update);
        let ToolOutput::Files { summary, .. } = WriteTool.run(&cx, input).await.unwrap() else {
            panic!("write tells files");
        };
        said.push(summary);
    }
    let expected = [
        "Wrote 4 chars to long.txt",
        "Added 4 chars to long.txt, which has 2 lines now",
        "Added 6 chars to long.txt, which has 3 lines now",
    ];
    assert_eq!(said, expected);
    let text = std::fs::read_to_string(scratch.path("long.txt")).unwrap();
    assert_eq!(text, "one\ntwo\nthree\n");

    // A file that was never read keeps what it has, its line ends too, and stays unread.
    std::fs::write(scratch.path("crlf.txt"), "a\r\n").unwrap();
    let input = json!({"filePath": "crlf.txt", "content": "b\n", "append": true});
    WriteTool.run(&cx, input).await.unwrap();
    let text = std::fs::read_to_string(scratch.path("crlf.txt")).unwrap();
    assert_eq!(text, "a\r\nb\r\n");
    let input = json!({"filePath": "crlf.txt", "content": "all mine"});
    let Err(Failure::Error(refusal)) = WriteTool.run(&cx, input).await else {
        panic!("it was not read");
    };
    assert!(refusal.contains("read it first"), "{refusal}");

    std::fs::write(scratch.path("bin"), b"\0\x01\xff").unwrap();
    let input = json!({"filePath": "bin", "content": "x", "append": true});
    assert!(WriteTool.run(&cx, input).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_nothing_happens() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    std::fs::create_dir(scratch.path("dir")).unwrap();
    std::os::unix::fs::symlink(other.path("x"), scratch.path("link")).unwrap();
    std::fs::write(scratch.path("fixed"), "").unwrap();
    std::fs::set_permissions(scratch.path("fixed"), Permissions::from_mode(0o444)).unwrap();
    let table = [
        (
            json!({"content": ""}),
            "write: \"filePath\" must be a text, got nothing",
        ),
        (
            json!({"filePath": "a"}),
            "write: \"content\" must be a text, got nothing",
        ),
        (
            json!({"filePath": "a", "content": 7}),
            "write: \"content\" must be a text, got 7",
        ),
        (
            json!({"filePath": " ", "content": ""}),
            "must be a text that is not empty",
        ),
        (json!("x"), "write: the input must be an object, got \"x\""),
        (
            json!({"filePath": "../a", "content": ""}),
            " is outside the workspace",
        ),
        (
            json!({"filePath": ".git/config", "content": ""}),
            "belongs to git",
        ),
        (
            json!({"filePath": "dir", "content": ""}),
            "write: dir is not a plain file",
        ),
        (
            json!({"filePath": "link", "content": ""}),
            "write: cannot resolve link",
        ),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&WriteTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
    let input = json!({"filePath": "fixed", "content": "x"});
    assert_eq!(
        scratch.refusal(&WriteTool, input).await,
        "write: fixed is read-only"
    );
    let long = "x".repeat(CONTENT_CHARS_MAX + 1);
    let message = scratch
        .refusal(&WriteTool, json!({"filePath": "a", "content": long}))
        .await;
    assert!(
        message.contains("at most 2000000 characters, got 2000001"),
        "{message}"
    );
    assert!(!other.path("x").exists());
}

#[tokio::test]
async fn what_was_not_read_or_changed_since_is_not_overwritten() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    std::fs::write(scratch.path("a"), "mine").unwrap();
    let input = json!({"filePath": "a", "content": "new"});
    let refused = WriteTool.run(&cx, input.clone()).await;
    let message =
        "write: a exists and you have not read it; read it first, so that nothing is lost";
    assert_eq!(refused, Err(Failure::Error(message.to_owned())));
    let read = json!({"filePath": "a"});
    crate::read::ReadTool.run(&cx, read.clone()).await.unwrap();
    WriteTool.run(&cx, input.clone()).await.unwrap();
    // What it wrote itself it knows.
    let again = json!({"filePath": "a", "content": "newer"});
    WriteTool.run(&cx, again).await.unwrap();
    std::fs::write(scratch.path("a"), "theirs").unwrap();
    let refused = WriteTool.run(&cx, input.clone()).await;
    let message = "write: a changed since you read it; read it again";
    assert_eq!(refused, Err(Failure::Error(message.to_owned())));
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"theirs");
    crate::read::ReadTool.run(&cx, read).await.unwrap();
    WriteTool.run(&cx, input).await.unwrap();
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"new");
}

#[tokio::test]
async fn what_was_edited_but_never_read_is_not_overwritten() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let lines: String = (0..50).map(|n| format!("line {n}\n")).collect();
    std::fs::write(scratch.path("a"), &lines).unwrap();
    let write = || WriteTool.run(&cx, json!({"filePath": "a", "content": "new"}));
    for new in ["first", "second"] {
        let old = if new == "first" {
            "line 7\n"
        } else {
            "first\n"
        };
        let new = format!("{new}\n");
        let input = json!({"filePath": "a", "oldString": old, "newString": new});
        crate::edit::EditTool.run(&cx, input).await.unwrap();
        let message =
            "write: you have edited a but not read it; read it first, so that nothing is lost";
        assert_eq!(write().await, Err(Failure::Error(message.to_owned())));
    }
    let kept = std::fs::read_to_string(scratch.path("a")).unwrap();
    assert_eq!(kept, lines.replace("line 7\n", "second\n"));
    let read = json!({"filePath": "a"});
    crate::read::ReadTool.run(&cx, read).await.unwrap();
    // What was read stays read through an edit.
    let input = json!({"filePath": "a", "oldString": "second", "newString": "third"});
    crate::edit::EditTool.run(&cx, input).await.unwrap();
    write().await.unwrap();
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"new");
}

#[tokio::test]
async fn what_was_read_in_part_is_not_overwritten() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    std::fs::write(scratch.path("a"), "1\n2\n3\n4\n5\n6\n").unwrap();
    let write = || WriteTool.run(&cx, json!({"filePath": "a", "content": "new"}));
    let read = |offset: i64, limit: u64| {
        let input = json!({"filePath": "a", "offset": offset, "limit": limit});
        crate::read::ReadTool.run(&cx, input)
    };
    for (offset, limit, from) in [(-1, 1, 1), (1, 2, 3), (4, 1, 3), (2, 3, 5)] {
        read(offset, limit).await.unwrap();
        let message = format!(
            "write: you have read only a part of a; read from line {from} on first, so that \
             nothing is lost"
        );
        assert_eq!(write().await, Err(Failure::Error(message)));
    }
    // A line less of those that were read.
    let input = json!({"filePath": "a", "oldString": "2\n", "newString": ""});
    crate::edit::EditTool.run(&cx, input).await.unwrap();
    let Err(Failure::Error(message)) = write().await else {
        panic!("two lines were never shown");
    };
    assert!(message.contains("read from line 4 on"), "{message}");
    read(4, 9).await.unwrap();
    write().await.unwrap();
}

#[tokio::test]
async fn a_file_keeps_its_encoding_and_line_ends() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let table: [(&[u8], &str, &[u8], &str); 4] = [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n", "Wrote 6 chars to f"),
        (
            b"\xef\xbb\xbfa",
            "b",
            b"\xef\xbb\xbfb",
            "(encoded as before: UTF-8 with a byte order mark)",
        ),
        (
            b"zw\xf6lf",
            "f\u{fc}nf",
            b"f\xfcnf",
            "(encoded as before: Windows-1252)",
        ),
        (
            b"zw\xf6lf",
            "\u{2192}",
            "\u{2192}".as_bytes(),
            "(now UTF-8; Windows-1252 has not all its characters)",
        ),
    ];
    for (before, content, after, told) in table {
        std::fs::write(scratch.path("f"), before).unwrap();
        crate::read::ReadTool
            .run(&cx, json!({"filePath": "f"}))
            .await
            .unwrap();
        let input = json!({"filePath": "f", "content": content});
        let ToolOutput::Files { summary, .. } = WriteTool.run(&cx, input).await.unwrap() else {
            panic!("write tells files");
        };
        assert!(summary.ends_with(told), "{summary}");
        assert_eq!(std::fs::read(scratch.path("f")).unwrap(), after);
    }
}
