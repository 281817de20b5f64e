//! Stories of finding files.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::time::Duration;

use super::*;
use crate::scratch::Scratch;

/// Makes files, each newer than the one before.
fn tree(names: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    for (age, name) in names.iter().enumerate() {
        let path = scratch.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + age as u64);
        File::create(path).unwrap().set_modified(time).unwrap();
    }
    scratch
}

async fn found(scratch: &Scratch, input: Value) -> String {
    match scratch.run(&GlobTool, input).await {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn patterns_find_what_they_say_newest_first() {
    let scratch = tree(&[
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/d.txt",
        ".env",
        ".github/ci.yml",
        "src/.hidden.rs",
        "node_modules/x.rs",
        "we[ird].rs",
    ]);
    std::fs::write(scratch.path(".gitignore"), "node_modules\n").unwrap();
    std::fs::create_dir(scratch.path(".git")).unwrap();
    std::os::unix::fs::symlink("/etc", scratch.path("src/etc")).unwrap();
    let table = [
        ("*.rs", "we[ird].rs\nsrc/deep/c.rs\nsrc/b.rs\na.rs"),
        ("**/*.rs", "we[ird].rs\nsrc/deep/c.rs\nsrc/b.rs\na.rs"),
        ("./*.rs", "we[ird].rs\na.rs"),
        ("c.rs", "src/deep/c.rs"),
        ("x.rs", "node_modules/x.rs\n[git ignores all of these]"),
        ("node_modules/*", "node_modules/x.rs"),
        ("src/**/*.{rs,txt}", "src/d.txt\nsrc/deep/c.rs\nsrc/b.rs"),
        ("./src/*.rs", "src/b.rs"),
        ("src/b.rs", "src/b.rs"),
        ("**/.hidden*", "src/.hidden.rs"),
        (".github/**", ".github/ci.yml"),
        ("{.github,src}/*.{yml,txt}", ".github/ci.yml\nsrc/d.txt"),
        (".hidden.rs", "src/.hidden.rs"),
        (".env", ".env"),
        ("we\\[ird\\].rs", "we[ird].rs"),
        ("*.py", "No files found."),
        ("none/*.py", "No files found."),
        ("src/etc/*", "No files found."),
    ];
    for (pattern, expected) in table {
        if pattern == "src/etc/*" {
            let message = scratch
                .refusal(&GlobTool, json!({"pattern": pattern}))
                .await;
            assert!(
                message.contains("glob blocked: src/etc is outside the workspace"),
                "{message}"
            );
            continue;
        }
        let answer = found(&scratch, json!({"pattern": pattern})).await;
        assert_eq!(answer, expected, "{pattern}");
    }
    let answer = found(&scratch, json!({"pattern": "**/*.rs", "cwd": "src"})).await;
    assert_eq!(answer, "src/deep/c.rs\nsrc/b.rs");
    let absolute = scratch.path("src/*.rs");
    let answer = found(&scratch, json!({"pattern": absolute.to_str().unwrap()})).await;
    assert_eq!(answer, "src/b.rs");
}

#[tokio::test]
async fn a_slash_at_the_end_finds_directories() {
    let scratch = tree(&["src/deep/a", "deep", "src/deeper/b"]);
    let table = [
        ("deep/", "src/deep/"),
        ("src/*p/", "src/deep/"),
        ("none/", "No directories found."),
    ];
    for (pattern, expected) in table {
        let answer = found(&scratch, json!({"pattern": pattern})).await;
        assert_eq!(answer, expected, "{pattern}");
    }
}

#[tokio::test]
async fn too_many_are_cut_to_the_newest() {
    let scratch = tree(&["1", "2", "3"]);
    let answer = found(&scratch, json!({"pattern": "*", "maxResults": 2})).await;
    assert_eq!(
        answer,
        "3\n2\n[2 of 3 files, the newest; narrow the pattern or raise maxResults]"
    );
}

#[tokio::test]
async fn what_cannot_be_searched_is_refused() {
    let scratch = tree(&["a"]);
    let table = [
        (
            json!({"pattern": "a[b"}),
            "glob: \"pattern\" is not a glob: unclosed character class",
        ),
        (
            json!({"pattern": ""}),
            "glob: \"pattern\" must be a text that is not empty",
        ),
        (
            json!({"pattern": "*", "maxResults": 10001}),
            "from 1 to 10000, got 10001",
        ),
        (
            json!({"pattern": "*", "cwd": "a"}),
            "glob: \"cwd\" a is not a directory",
        ),
        (
            json!({"pattern": "*", "cwd": "/etc"}),
            " is outside the workspace",
        ),
        (json!({"pattern": "/etc/*"}), " is outside the workspace"),
        (json!({"pattern": "../*"}), " is outside the workspace"),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&GlobTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn private_directories_are_not_walked_and_cancelling_stops() {
    let scratch = tree(&["home/token", "a"]);
    let mut cx = scratch.cx(&std::sync::Arc::default());
    cx.scope.private.push(scratch.path("home"));
    let input = json!({"pattern": "**"});
    let answer = GlobTool.run(&cx, input.clone()).await.unwrap();
    assert_eq!(answer, ToolOutput::Text("a".to_owned()));
    cx.cancel.cancel();
    let outcome = GlobTool.run(&cx, input).await;
    assert!(matches!(outcome, Err(Failure::Cancelled(_))), "{outcome:?}");
}
