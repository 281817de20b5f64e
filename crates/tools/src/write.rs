//! The tool `write`: makes a file, or replaces its whole content.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, FileChangeKind, FilePreview, FileSubject, Subject, ToolOutput};

use crate::change::PendingChange;
use crate::input::{self, Fields};
use crate::path::{self, PATH_CHARS_MAX};
use crate::protected;
use crate::seen::{FileKnowledge, SeenFiles};
use crate::text::{self, Encoding};
use crate::{Failure, Judgement, Scope, Tool, ToolCx};

/// The longest content.
const CONTENT_CHARS_MAX: usize = 2_000_000;

pub(crate) struct WriteTool;

#[async_trait]
impl Tool for WriteTool {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> &'static str {
        "Writes a file.\n\
         Replaces the whole content if the file exists, which must have been read before; makes \
         missing directories. To change a part of a file, use edit."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
                "content": {"type": "string", "maxLength": CONTENT_CHARS_MAX},
            },
            "required": ["filePath", "content"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, input: &Value) -> Subject {
        let path = input::text_of(input, "filePath").to_owned();
        let preview = Some(FilePreview {
            kind: FileChangeKind::Add,
            diff: input::text_of(input, "content").to_owned(),
        });
        Subject::Files(vec![FileSubject { path, preview }])
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        protected::judge_change(self.name(), scope, input, "filePath")
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        crate::input::blocking(self.name(), move || write(&scope, &seen, &input)).await
    }
}

fn write(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("write", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let content = fields.text("content", CONTENT_CHARS_MAX)?;
    let target = path::resolve_to_change("write", scope, given)?;
    let _alone = seen.changing();
    let draft = PendingChange::open("write", given, target)?;
    let known = draft.known(seen)?;
    let Some(old) = &draft.old else {
        draft.save_whole(seen, content.as_bytes())?;
        return Ok(tell(scope, &draft, given, None, content, ""));
    };
    // What cannot be compared (too large, not text) is compared as if it had been empty.
    let bytes = old.bytes.as_deref();
    let decoded = bytes.and_then(text::decode);
    let (before, encoding) = decoded.unwrap_or_default();
    let after = text::with_ends(content, text::has_crlf(&before));
    let (bytes_after, note) = encoded(&after, encoding);
    // A model that never saw the file cannot know what it would destroy.
    let harmless = bytes.is_some_and(|bytes| bytes.is_empty() || bytes == bytes_after);
    let unread = match known {
        FileKnowledge::Current => None,
        FileKnowledge::Never | FileKnowledge::Changed => {
            Some(format!("{given} exists and you have not read it; read it"))
        }
        FileKnowledge::Edited => Some(format!("you have edited {given} but not read it; read it")),
        FileKnowledge::Partly(known) => Some(format!(
            "you have read only a part of {given}; read from line {} on",
            known + 1
        )),
    };
    if let Some(unread) = unread.filter(|_| !harmless) {
        return Err(draft.error(format!("{unread} first, so that nothing is lost")));
    }
    draft.save_whole(seen, &bytes_after)?;
    Ok(tell(scope, &draft, given, Some(&before), &after, &note))
}

/// The bytes in the file's own encoding where that has all characters, and what to say of it.
fn encoded(content: &str, encoding: Encoding) -> (Vec<u8>, String) {
    match (text::encode(content, encoding), encoding) {
        (Ok(bytes), Encoding::Utf8) => (bytes, String::new()),
        (Ok(bytes), _) => (bytes, format!(" (encoded as before: {})", encoding.name())),
        (Err(_), _) => {
            let note = format!(
                " (now UTF-8; {} has not all its characters)",
                encoding.name()
            );
            (content.as_bytes().to_vec(), note)
        }
    }
}

fn tell(
    scope: &Scope,
    draft: &PendingChange<'_>,
    given: &str,
    before: Option<&str>,
    after: &str,
    note: &str,
) -> ToolOutput {
    ToolOutput::Files {
        summary: format!("Wrote {} chars to {given}{note}", after.chars().count()),
        changes: vec![draft.describe(scope, before, after)],
    }
}

#[cfg(test)]
mod tests {
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
                "write blocked: path is outside",
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
}
