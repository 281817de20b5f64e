//! The tool `edit`: replaces an exact text within a file.

mod places;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::change::{Draft, FILE_BYTES_MAX};
use crate::input::{Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::seen::{Known, Seen};
use crate::{Class, Failure, Judgement, Output, Scope, Tool, ToolCx, nearest, text};

/// The longest text to find, and the longest to put in its place.
const STRING_CHARS_MAX: usize = 2_000_000;
/// How many places of a text that is not unique are named.
const PLACES_SHOWN_MAX: usize = 20;

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
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(self.name(), move || edit(&scope, &seen, &input)).await
    }
}

fn edit(scope: &Scope, seen: &Seen, input: &Value) -> Result<Output, Failure> {
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
    let _alone = seen.changing();
    let draft = Draft::open("edit", given, target)?;
    let bytes = content(&draft, given)?;
    let known = draft.known(seen)?;
    let Some((before, encoding)) = text::decode(bytes) else {
        return Err(error(format!("{given} is not a text file; use bash")));
    };
    let found = places::find(&before, old_string);
    match found.len() {
        0 => return Err(missed(given, &before, old_string)),
        1 => {}
        count if !replace_all => return Err(ambiguous(given, &before, &found, count)),
        // One place that is named by its text is known by that. Of several in a file that was never
        // read the model cannot know what they are.
        _ if known == Known::Never => {
            return Err(error(format!(
                "you have not read {given}; read it first, or change one place at a time"
            )));
        }
        _ => {}
    }
    let after = places::replace(&before, &found, old_string, new_string);
    let bytes = text::encode(&after, encoding).map_err(|letter| {
        error(format!(
            "{given} is encoded as {}, which has no {letter:?}; use other characters, or write the \
             whole file, which makes it UTF-8",
            encoding.name()
        ))
    })?;
    draft.save(seen, &bytes)?;
    Ok(Output::Files {
        summary: "Edit applied.".to_owned(),
        changes: vec![draft.describe(scope, Some(&before), &after)],
    })
}

/// The file's bytes.
fn content<'a>(draft: &'a Draft<'_>, given: &str) -> Result<&'a [u8], Failure> {
    let Some(old) = &draft.old else {
        return Err(error(format!("{given} does not exist; write makes files")));
    };
    old.bytes.as_deref().ok_or_else(|| {
        error(format!(
            "{given} has more than the {FILE_BYTES_MAX} bytes that can be edited; use bash"
        ))
    })
}

fn missed(given: &str, content: &str, old_string: &str) -> Failure {
    let near = nearest::describe(content, old_string);
    let near = near.unwrap_or_else(|| "nothing like it was found; read the file again".to_owned());
    error(format!("\"oldString\" does not occur in {given}; {near}"))
}

fn ambiguous(
    given: &str,
    content: &str,
    found: &[std::ops::Range<usize>],
    count: usize,
) -> Failure {
    let lines = places::line_numbers(content, &found[..count.min(PLACES_SHOWN_MAX)]);
    let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
    let more = if count > PLACES_SHOWN_MAX {
        ", …"
    } else {
        ""
    };
    error(format!(
        "\"oldString\" occurs {count} times in {given}, on the lines {}{more}; add lines around it \
         to make it unique, or set replaceAll",
        lines.join(", ")
    ))
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
        let cx = scratch.cx(&Arc::default());
        let Err(Failure::Error(message)) = Edit.run(&cx, input.clone()).await else {
            panic!("a file that was not read");
        };
        assert_eq!(
            message,
            "edit: you have not read a; read it first, or change one place at a time"
        );
        let read = json!({"filePath": "a"});
        crate::read::Read.run(&cx, read).await.unwrap();
        Edit.run(&cx, input).await.unwrap();
        assert_eq!(
            std::fs::read_to_string(scratch.path("a")).unwrap(),
            "yx yx yx"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_edited_is_refused_and_nothing_happens() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "x x").unwrap();
        std::fs::write(scratch.path("binary"), [0x7f, 0]).unwrap();
        let table = [
            ("a", "z", "y", "edit: \"oldString\" does not occur in a;"),
            (
                "a",
                "x",
                "y",
                "edit: \"oldString\" occurs 2 times in a, on the lines 1, 1; add",
            ),
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
            (
                "binary",
                "a",
                "b",
                "edit: binary is not a text file; use bash",
            ),
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

    #[tokio::test]
    async fn what_changed_since_it_was_read_is_not_edited() {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        let input = json!({"filePath": "a", "content": "one two"});
        crate::write::Write.run(&cx, input).await.unwrap();
        let edit = |old: &str, new: &str| {
            let input = json!({"filePath": "a", "oldString": old, "newString": new});
            Edit.run(&cx, input)
        };
        // What it wrote and edited itself it knows.
        edit("one", "1").await.unwrap();
        edit("two", "2").await.unwrap();
        std::fs::write(scratch.path("a"), "1 3").unwrap();
        let message = "edit: a changed since you read it; read it again";
        let refused = edit("1", "one").await;
        assert_eq!(refused, Err(Failure::Error(message.to_owned())));
        assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"1 3");
    }

    #[tokio::test]
    async fn the_form_of_a_file_is_kept() {
        let scratch = Scratch::new();
        let table: [(&[u8], &str, &str, &[u8]); 5] = [
            (b"a\r\nb\r\nc\r\n", "a\nb", "1\n2", b"1\r\n2\r\nc\r\n"),
            (b"a\r\nb\r\n", "b", "1\n2", b"a\r\n1\r\n2\r\n"),
            (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
            (b"\xff\xfea\0\n\0", "a\n", "b\n", b"\xff\xfeb\0\n\0"),
            (b"zw\xf6lf \x81", "zw\u{f6}lf", "f\u{fc}nf", b"f\xfcnf \x81"),
        ];
        for (before, old, new, after) in table {
            std::fs::write(scratch.path("f"), before).unwrap();
            let input = json!({"filePath": "f", "oldString": old, "newString": new});
            scratch.run(&Edit, input).await.unwrap();
            assert_eq!(std::fs::read(scratch.path("f")).unwrap(), after, "{old:?}");
        }
        let input = json!({"filePath": "f", "oldString": "nf", "newString": "\u{2192}"});
        let message = scratch.refusal(&Edit, input).await;
        assert!(
            message.contains("Windows-1252, which has no '\u{2192}'"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn a_link_inside_the_workspace_is_edited_where_it_leads() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("real"), "one").unwrap();
        std::os::unix::fs::symlink("real", scratch.path("link")).unwrap();
        let input = json!({"filePath": "link", "oldString": "one", "newString": "two"});
        scratch.run(&Edit, input).await.unwrap();
        assert_eq!(std::fs::read(scratch.path("real")).unwrap(), b"two");
        assert!(scratch.path("link").is_symlink());
    }

    #[tokio::test]
    async fn a_miss_says_what_the_file_has_instead() {
        let scratch = Scratch::new();
        let content = "fn main() {\n\tprintln!(\"hi\");\n}\n";
        std::fs::write(scratch.path("a.rs"), content).unwrap();
        let input =
            json!({"filePath": "a.rs", "oldString": "    println!(\"hi\");", "newString": "x"});
        let message = scratch.refusal(&Edit, input).await;
        assert_eq!(
            message,
            "edit: \"oldString\" does not occur in a.rs; line 2 differs only in blanks or line breaks \
             (- what you gave, + what the file has, tabs shown as \\t):\n\
             -    println!(\"hi\");\n+\\tprintln!(\"hi\");"
        );
    }
}
