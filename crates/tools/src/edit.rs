//! The tool `edit`: replaces an exact text within a file.

mod places;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, FileChangeKind, FilePreview, FileSubject, Subject, ToolOutput};

use crate::change::{self, FILE_BYTES_MAX, PendingChange};
use crate::input::{self, Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::seen::{FileKnowledge, SeenFiles};
use crate::{Failure, Judgement, Scope, Tool, ToolCx, nearest, protected, text};

/// The longest text to find, and the longest to put in its place.
const STRING_CHARS_MAX: usize = 2_000_000;
/// How many places of a text that is not unique are named.
const PLACES_SHOWN_MAX: usize = 20;

pub(crate) struct EditTool;

#[async_trait]
impl Tool for EditTool {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replaces an exact text in a file.\n\
         oldString must occur exactly once, blanks and line breaks included, unless replaceAll is \
         true. Do not include the line numbers that read shows. Answers with the changed lines, so \
         there is no need to read them again."
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

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, input: &Value) -> Subject {
        let path = input::text_of(input, "filePath").to_owned();
        let (old, new) = (
            input::text_of(input, "oldString"),
            input::text_of(input, "newString"),
        );
        let preview = Some(FilePreview {
            kind: FileChangeKind::Update,
            diff: change::wanted(old, new),
        });
        Subject::Files(vec![FileSubject { path, preview }])
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        protected::judge_change(self.name(), scope, input, "filePath")
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(self.name(), move || edit(&scope, &seen, &input)).await
    }
}

fn edit(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
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
    let draft = PendingChange::open("edit", given, target)?;
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
        _ if known != FileKnowledge::Current => {
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
    let (change, changed) = draft.describe_edit(scope, &before, &after);
    Ok(ToolOutput::Files {
        summary: format!("Edited {}\n{}", changed.place, changed.lines),
        changes: vec![change],
    })
}

/// The file's bytes.
fn content<'a>(draft: &'a PendingChange<'_>, given: &str) -> Result<&'a [u8], Failure> {
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
mod tests;
