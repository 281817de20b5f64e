//! Stories of patches: what they make of a workspace, and why they are refused.

#![allow(clippy::unwrap_used)]

mod shown;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::scratch::Scratch;

type Tree = BTreeMap<String, String>;

fn tree(files: &[(&str, &str)]) -> Tree {
    let owned = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    owned.collect()
}

fn scratch(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    for (path, text) in files {
        let path = scratch.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    scratch
}

/// All files that lie there.
fn found(scratch: &Scratch) -> Tree {
    let mut found = Tree::new();
    let mut directories = vec![scratch.path("")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => {
                    let inner = path.strip_prefix(scratch.path("")).unwrap();
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.insert(inner.display().to_string(), text);
                }
            }
        }
    }
    found
}

async fn applied(scratch: &Scratch, patch: &str) -> Result<ToolOutput, Failure> {
    scratch.run(&PatchTool, json!({ "input": patch })).await
}

/// What a patch makes of these files, and what the model reads of it.
async fn made(files: &[(&str, &str)], patch: &str) -> (Tree, String) {
    let scratch = scratch(files);
    match applied(&scratch, patch).await {
        Ok(ToolOutput::Files { summary, .. }) => (found(&scratch), summary),
        other => panic!("{other:?}"),
    }
}

/// Why a patch is refused; nothing may have changed.
async fn refused(files: &[(&str, &str)], patch: &str) -> String {
    let scratch = scratch(files);
    let message = scratch.refusal(&PatchTool, json!({ "input": patch })).await;
    assert_eq!(found(&scratch), tree(files), "{message}");
    message
}

#[tokio::test]
async fn files_are_added_updated_moved_and_deleted_by_one_patch() {
    let patch = "*** Begin Patch\n\
        *** Add File: docs/new.md\n+# New\n+\n+Text\n\
        *** Update File: src/a.txt\n@@\n one\n-two\n+2\n three\n\
        *** Update File: old/name.txt\n*** Move to: new/dir/name.txt\n@@\n-from here\n+from there\n\
        *** Delete File: gone.txt\n\
        *** End Patch\n";
    let scratch = scratch(&[
        ("src/a.txt", "zero\none\ntwo\nthree\n"),
        ("old/name.txt", "from here\n"),
        ("gone.txt", "1\n2\n"),
    ]);
    let mode = std::fs::Permissions::from_mode(0o750);
    std::fs::set_permissions(scratch.path("old/name.txt"), mode).unwrap();
    let Ok(ToolOutput::Files { summary, changes }) = applied(&scratch, patch).await else {
        panic!("a patch tells files");
    };
    assert_eq!(
        found(&scratch),
        tree(&[
            ("docs/new.md", "# New\n\nText\n"),
            ("src/a.txt", "zero\none\n2\nthree\n"),
            ("new/dir/name.txt", "from there\n"),
        ])
    );
    assert_eq!(
        summary,
        "A docs/new.md (+3)\n\
         M src/a.txt (+1 -1)\n\
         R old/name.txt -> new/dir/name.txt (+1 -1)\n\
         D gone.txt (-2)\n\
         src/a.txt:3\n1\tzero\n2\tone\n3\t2\n4\tthree\n\
         new/dir/name.txt:1\n1\tfrom there"
    );
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("docs/new.md", FileChangeKind::Add),
            ("src/a.txt", FileChangeKind::Update),
            ("old/name.txt", FileChangeKind::Delete),
            ("new/dir/name.txt", FileChangeKind::Add),
            ("gone.txt", FileChangeKind::Delete),
        ]
    );
    assert!(changes[4].diff.ends_with("-1\n-2\n"), "{}", changes[4].diff);
    let moved = std::fs::metadata(scratch.path("new/dir/name.txt")).unwrap();
    assert_eq!(moved.permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn a_file_may_be_named_twice_and_moved_without_a_change() {
    let patch = "*** Begin Patch\n\
        *** Update File: a\n@@\n-1\n+one\n\
        *** Update File: a\n@@\n-2\n+two\n\
        *** Update File: b\n*** Move to: c\n\
        *** End Patch";
    let (after, summary) = made(&[("a", "1\n2\n"), ("b", "same\n")], patch).await;
    assert_eq!(after, tree(&[("a", "one\ntwo\n"), ("c", "same\n")]));
    assert!(
        summary.starts_with("M a (+2 -2)\nR b -> c (+0 -0)\n"),
        "{summary}"
    );
}

#[tokio::test]
async fn wrappers_padding_and_other_line_ends_are_understood() {
    let plain = "*** Begin Patch\n*** Update File: f\n@@\n-old\n+new\n*** End Patch";
    let forms = [
        plain.to_owned(),
        format!("\n\n{plain}\n\n"),
        format!("<<'EOF'\n{plain}\nEOF\n"),
        format!("<<EOF\n{plain}\nEOF"),
        format!("apply_patch <<\"END\"\n{plain}\nEND"),
        plain.replace('\n', "\r\n"),
        plain
            .replace("*** Begin", "  *** Begin")
            .replace("End Patch", "End Patch  "),
        plain.replace("*** Update File: f", "  *** Update File:   f  "),
        plain.replace("*** End", " *** End"),
        plain.replace("@@\n", ""),
        plain.replace("@@\n", "@@ -1,1 +1,1 @@\n"),
        plain.replace("\n*** End", "\n\n*** End"),
    ];
    for form in forms {
        let (after, _) = made(&[("f", "old\n")], &form).await;
        assert_eq!(after, tree(&[("f", "new\n")]), "{form:?}");
    }
}

#[tokio::test]
async fn a_file_keeps_its_line_ends_its_encoding_and_its_last_line() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n+zwei\n+drei\n*** End Patch";
    let table: [(&[u8], &[u8]); 4] = [
        (b"one\r\ntwo\r\nx\r\n", b"one\r\nzwei\r\ndrei\r\nx\r\n"),
        (b"one\ntwo", b"one\nzwei\ndrei"),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nzwei\ndrei\n"),
        (b"zw\xf6lf\none\ntwo\n", b"zw\xf6lf\none\nzwei\ndrei\n"),
    ];
    for (before, after) in table {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("f"), before).unwrap();
        applied(&scratch, patch).await.unwrap();
        let now = std::fs::read(scratch.path("f")).unwrap();
        assert_eq!(now, after, "{}", String::from_utf8_lossy(before));
    }
    let patch = "*** Begin Patch\n*** Add File: n\n+\n*** End Patch";
    assert_eq!(made(&[], patch).await.0, tree(&[("n", "\n")]));
}

#[tokio::test]
async fn what_cannot_be_read_as_a_patch_is_refused_with_the_line() {
    let table = [
        ("", "must be a text that is not empty"),
        (
            "no patch",
            "a patch begins with the line \"*** Begin Patch\"",
        ),
        ("*** Begin Patch\n*** End Patch", "the patch is empty"),
        (
            "*** Begin Patch\n*** Add File: a\n+x",
            "no \"*** End Patch\" as its last line: it was cut",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nmore",
            "goes on behind its end",
        ),
        (
            "*** Begin Patch\n*** Frobnicate File: a\n*** End Patch",
            "line 2 of the patch is \"*** Frobnicate File: a\"",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n*** End Patch",
            "\"*** Update File: f\" has no hunks",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n*** End Patch",
            "the hunk at line 3 of the patch, in f, has no lines",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n@@\nold\n*** End Patch",
            "line 4 of the patch, in f, is \"old\"",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            "every line of a new file begins with +",
        ),
        (
            "*** Begin Patch\n*** Add File:\n+x\n*** End Patch",
            "line 2 of the patch names no file",
        ),
        (
            "*** Begin Patch\n*** Delete File: f\n-old\n*** End Patch",
            "line 3 of the patch follows \"*** Delete File: f\"",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n*** Move to:\n@@\n-old\n+new\n*** End Patch",
            "names no file",
        ),
    ];
    for (patch, expected) in table {
        let message = refused(&[("f", "old\n")], patch).await;
        assert!(message.contains(expected), "{patch:?}: {message}");
    }
}

#[tokio::test]
async fn a_patch_that_fails_for_one_file_changes_none() {
    let files = [
        ("f", "old\n"),
        ("dir/x", "x\n"),
        ("there", "theirs\n"),
        ("bin", "a\0b"),
    ];
    let table = [
        (
            "*** Update File: f\n@@\n-other\n+new",
            "f, hunk 1 (line 5 of the patch): its lines were not found",
        ),
        (
            "*** Update File: missing\n@@\n-old\n+new",
            "missing does not exist; \"*** Add File:\" makes files",
        ),
        ("*** Delete File: missing", "missing does not exist"),
        ("*** Delete File: dir", "dir is not a plain file"),
        (
            "*** Add File: there\n+mine",
            "there exists and you have not read all of it",
        ),
        (
            "*** Update File: f\n*** Move to: there",
            "there exists and you have not read all of it",
        ),
        ("*** Update File: bin\n@@\n-a\n+b", "bin is not a text file"),
        ("*** Update File: f\n@@\n old", "this would change nothing"),
        ("*** Add File: ../out\n+x", "is outside the workspace"),
        (
            "*** Update File: f\n*** Move to: /etc/out\n@@\n-old\n+new",
            "is outside the workspace",
        ),
        ("*** Add File: .git/hooks/pre-commit\n+x", "belongs to git"),
    ];
    for (section, expected) in table {
        let patch = format!("*** Begin Patch\n*** Add File: first\n+x\n{section}\n*** End Patch");
        let message = refused(&files, &patch).await;
        assert!(message.contains(expected), "{section:?}: {message}");
    }
}

#[tokio::test]
async fn a_link_is_changed_through_and_not_taken_for_its_file() {
    let scratch = scratch(&[("real", "one\n")]);
    std::os::unix::fs::symlink("real", scratch.path("link")).unwrap();
    for body in [
        "*** Delete File: link",
        "*** Update File: link\n*** Move to: b",
    ] {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
        let message = scratch.refusal(&PatchTool, json!({ "input": patch })).await;
        assert!(message.contains("link is a link; use bash"), "{message}");
    }
    let patch = "*** Begin Patch\n*** Update File: link\n@@\n-one\n+1\n*** End Patch";
    applied(&scratch, patch).await.unwrap();
    assert!(
        std::fs::symlink_metadata(scratch.path("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(std::fs::read(scratch.path("real")).unwrap(), b"1\n");
}

/// Somebody else is faster than the last step of a patch.
#[tokio::test]
async fn what_was_written_before_a_failure_is_put_back() {
    let files = [("a", "one\n"), ("b", "two\n"), ("d/f", "three\n")];
    let scratch = scratch(&files);
    std::fs::set_permissions(scratch.path("a"), std::fs::Permissions::from_mode(0o751)).unwrap();
    let seen = SeenFiles::default();
    let scope = scratch.scope();
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Add File: new\n+x\n\
        *** Delete File: b\n*** Delete File: d/f\n*** End Patch";
    let sections = parse::parse(patch).unwrap();
    let files_of_patch = PatchedFiles::of(&scope, &seen, &sections).unwrap();
    // Somebody else changes the last of them between the check and the writing.
    std::fs::write(scratch.path("d/f"), "theirs\n").unwrap();
    let Err(Failure::Error(message)) = files_of_patch.write() else {
        panic!("the file is another by now");
    };
    assert_eq!(
        message,
        "applyPatch: d/f was changed by someone else just now; read it again; nothing was changed"
    );
    let expected = [("a", "one\n"), ("b", "two\n"), ("d/f", "theirs\n")];
    assert_eq!(found(&scratch), tree(&expected));
    let mode = std::fs::metadata(scratch.path("a"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o751);
}

#[tokio::test]
async fn a_known_file_may_be_replaced_and_an_edited_one_may_not() {
    let scratch = scratch(&[("a", "1\n2\n3\n")]);
    let cx = scratch.cx(&Arc::default());
    let patch = |body: &str| {
        let input = json!({ "input": format!("*** Begin Patch\n{body}\n*** End Patch") });
        PatchTool.run(&cx, input)
    };
    let write = || {
        let write = crate::Toolbox::builtin().get("write").unwrap();
        let input = json!({"filePath": "b", "content": "new"});
        let cx = &cx;
        async move { write.run(cx, input).await }
    };
    // A move of a file that was never read lets nobody replace what is in it.
    patch("*** Update File: a\n*** Move to: b\n@@\n-1\n+one")
        .await
        .unwrap();
    assert!(write().await.is_err());
    assert!(patch("*** Add File: b\n+all new").await.is_err());
    let read = crate::Toolbox::builtin().get("read").unwrap();
    read.run(&cx, json!({"filePath": "b"})).await.unwrap();
    patch("*** Add File: b\n+all new").await.unwrap();
    assert_eq!(found(&scratch), tree(&[("b", "all new\n")]));
    // What it wrote itself it knows.
    write().await.unwrap();
    std::fs::write(scratch.path("b"), "theirs\nnew\n").unwrap();
    let Ok(ToolOutput::Files { summary, .. }) = patch("*** Update File: b\n@@\n-new\n+old").await
    else {
        panic!("a place that is named by its text is known");
    };
    assert!(
        summary.contains("(b: it had changed since you read it)"),
        "{summary}"
    );
}
