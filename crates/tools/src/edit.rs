//! The tool `edit`: replaces an exact text within a file.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::change::{self, FILE_BYTES_MAX};
use crate::input::{Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::{Class, Failure, Judgement, Output, Scope, Tool, ToolCx};

/// The longest text to find, and the longest to put in its place.
const STRING_CHARS_MAX: usize = 2_000_000;

pub(crate) struct Edit;

#[async_trait]
impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replaces an exact text in a file.\n\
         oldString must occur exactly once, blanks and line breaks included, unless replaceAll is \
         true. Do not include the line numbers that read shows."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
                "oldString": {"type": "string", "description": "The text to replace, exactly as it stands in the file."},
                "newString": {"type": "string", "description": "The text to put in its place."},
                "replaceAll": {"type": "boolean", "default": false},
            },
            "required": ["filePath", "oldString", "newString"],
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
        blocking(self.name(), move || edit(&scope, &input)).await
    }
}

fn edit(scope: &Scope, input: &Value) -> Result<Output, Failure> {
    let fields = Fields::of("edit", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let old_string = fields.text("oldString", STRING_CHARS_MAX)?;
    let new_string = fields.text("newString", STRING_CHARS_MAX)?;
    let replace_all = fields.optional_flag("replaceAll")?.unwrap_or(false);
    if old_string.is_empty() {
        return Err(fields.refuse("oldString", "a text that is not empty (write makes files)"));
    }
    if old_string == new_string {
        return Err(error(
            "\"oldString\" and \"newString\" are the same; nothing to do",
        ));
    }
    let target = path::resolve_to_change("edit", scope, given)?;
    let old = content(&target, given)?;
    match old.matches(old_string).count() {
        0 => {
            return Err(error(format!(
                "\"oldString\" does not occur in {given}; read the file and copy the text exactly"
            )));
        }
        1 => {}
        _ if replace_all => {}
        count => {
            return Err(error(format!(
                "\"oldString\" occurs {count} times in {given}; add lines around it to make it \
                 unique, or set replaceAll"
            )));
        }
    }
    let new = old.replace(old_string, new_string);
    change::replace("edit", &target, given, &new)?;
    Ok(Output::Files {
        summary: "Edit applied.".to_owned(),
        changes: vec![change::describe(scope, &target, Some(&old), &new)],
    })
}

/// The file's text.
fn content(target: &Path, given: &str) -> Result<String, Failure> {
    let failed = |problem: std::io::Error| match problem.kind() {
        std::io::ErrorKind::NotFound => error(format!("{given} does not exist; write makes files")),
        std::io::ErrorKind::InvalidData => error(format!("{given} is not UTF-8 text")),
        _ => error(format!("cannot read {given}: {problem}")),
    };
    let metadata = std::fs::metadata(target).map_err(failed)?;
    if !metadata.is_file() {
        return Err(error(format!("{given} is not a plain file")));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(error(format!(
            "{given} has {} bytes, more than the {FILE_BYTES_MAX} that can be edited; use bash",
            metadata.len()
        )));
    }
    std::fs::read_to_string(target).map_err(failed)
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("edit: {message}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ChangeKind;
    use crate::scratch::Scratch;

    #[tokio::test]
    async fn one_place_is_changed_and_told_as_a_diff() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a.txt"), "one\ntwo\nthree").unwrap();
        let input = json!({"filePath": "a.txt", "oldString": "two", "newString": "2"});
        let output = scratch.run(&Edit, input).await.unwrap();
        let Output::Files { summary, changes } = output else {
            panic!("edit tells files");
        };
        assert_eq!(summary, "Edit applied.");
        assert_eq!(changes[0].kind, ChangeKind::Update);
        assert_eq!(
            changes[0].diff,
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n"
        );
        assert_eq!(
            std::fs::read_to_string(scratch.path("a.txt")).unwrap(),
            "one\n2\nthree"
        );
    }

    #[tokio::test]
    async fn all_places_are_changed_on_request() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "x x x").unwrap();
        let input =
            json!({"filePath": "a", "oldString": "x", "newString": "yx", "replaceAll": true});
        scratch.run(&Edit, input).await.unwrap();
        assert_eq!(
            std::fs::read_to_string(scratch.path("a")).unwrap(),
            "yx yx yx"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_edited_is_refused_and_nothing_happens() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "x x").unwrap();
        std::fs::write(scratch.path("binary"), [0xff, 0xfe]).unwrap();
        let table = [
            ("a", "z", "y", "edit: \"oldString\" does not occur in a;"),
            ("a", "x", "y", "edit: \"oldString\" occurs 2 times in a;"),
            (
                "a",
                "x",
                "x",
                "edit: \"oldString\" and \"newString\" are the same",
            ),
            (
                "a",
                "",
                "x",
                "edit: \"oldString\" must be a text that is not empty",
            ),
            ("none", "a", "b", "edit: none does not exist"),
            ("binary", "a", "b", "edit: binary is not UTF-8 text"),
            (".", "a", "b", "edit: . is not a plain file"),
            ("/etc/hosts", "a", "b", "edit blocked: path is outside"),
        ];
        for (file, old, new, expected) in table {
            let input = json!({"filePath": file, "oldString": old, "newString": new});
            let message = scratch.refusal(&Edit, input).await;
            assert!(message.contains(expected), "{message}");
        }
        let input =
            json!({"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": "yes"});
        let message = scratch.refusal(&Edit, input).await;
        assert_eq!(
            message,
            "edit: \"replaceAll\" must be true or false, got \"yes\""
        );
        assert_eq!(std::fs::read_to_string(scratch.path("a")).unwrap(), "x x");
    }
}
