//! The tool `write`: makes a file, or replaces its whole content.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::change::{self, FILE_BYTES_MAX};
use crate::input::Fields;
use crate::path::{self, PATH_CHARS_MAX};
use crate::{Class, Failure, Judgement, Output, Scope, Tool, ToolCx};

/// The longest content.
const CONTENT_CHARS_MAX: usize = 2_000_000;

pub(crate) struct Write;

#[async_trait]
impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> &'static str {
        "Writes a file.\n\
         Replaces the whole content if the file exists; makes missing directories. \
         To change a part of a file, use edit."
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

    fn class(&self) -> Class {
        Class::FileChange
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<Output, Failure> {
        let scope = cx.scope.clone();
        crate::input::blocking(self.name(), move || write(&scope, &input)).await
    }
}

fn write(scope: &Scope, input: &Value) -> Result<Output, Failure> {
    let fields = Fields::of("write", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let content = fields.text("content", CONTENT_CHARS_MAX)?;
    let target = path::resolve_to_change("write", scope, given)?;
    // What cannot be compared (too large, not text) is compared as if it had been empty.
    let old = match std::fs::metadata(&target) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= FILE_BYTES_MAX => {
            Some(std::fs::read_to_string(&target).unwrap_or_default())
        }
        Ok(_) => Some(String::new()),
        Err(_) => None,
    };
    change::replace("write", &target, given, content)?;
    Ok(Output::Files {
        summary: format!("Wrote {} chars to {given}", content.chars().count()),
        changes: vec![change::describe(scope, &target, old.as_deref(), content)],
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch::Scratch;
    use crate::{Change, ChangeKind};

    #[tokio::test]
    async fn a_new_file_is_written_with_its_directories() {
        let scratch = Scratch::new();
        let input = json!({"filePath": "a/b.txt", "content": "zwölf\n"});
        let output = scratch.run(&Write, input).await.unwrap();
        assert_eq!(
            output,
            Output::Files {
                summary: "Wrote 6 chars to a/b.txt".to_owned(),
                changes: vec![Change {
                    path: "a/b.txt".to_owned(),
                    kind: ChangeKind::Add,
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
        let input = json!({"filePath": file.to_str().unwrap(), "content": "one\n2\n"});
        let Output::Files { changes, .. } = scratch.run(&Write, input).await.unwrap() else {
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
            let message = scratch.refusal(&Write, input).await;
            assert!(message.contains(expected), "{message}");
        }
        let input = json!({"filePath": "fixed", "content": "x"});
        assert_eq!(
            scratch.refusal(&Write, input).await,
            "write: fixed is read-only"
        );
        let long = "x".repeat(CONTENT_CHARS_MAX + 1);
        let message = scratch
            .refusal(&Write, json!({"filePath": "a", "content": long}))
            .await;
        assert!(
            message.contains("at most 2000000 characters, got 2000001"),
            "{message}"
        );
        assert!(!other.path("x").exists());
    }
}
