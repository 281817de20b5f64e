//! The tool `write`: makes a file, or replaces its whole content.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{
    Effects, FileChange, FileChangeKind, FilePreview, FileSubject, Subject, ToolOutput,
};

use crate::change::{self, FILE_BYTES_MAX, PendingChange};
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
         For new files and for files that change as a whole; to change a part, use edit. Replaces \
         the content if the file exists, which must have been read to its end before; makes missing \
         directories. A very long file is written in parts: the first, then more with append."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
                "content": {"type": "string", "maxLength": CONTENT_CHARS_MAX},
                "append": {"type": "boolean", "description": "Add it at the end of the file instead of replacing what is there."},
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
        let content = input::text_of(input, "content");
        let preview = Some(match input["append"].as_bool() {
            Some(true) => FilePreview {
                kind: FileChangeKind::Update,
                diff: change::wanted("", content),
            },
            Some(false) | None => FilePreview {
                kind: FileChangeKind::Add,
                diff: content.to_owned(),
            },
        });
        Subject::Files(vec![FileSubject { path, preview }])
    }

    fn preview(&self, scope: &Scope, _seen: &SeenFiles, input: &Value) -> Vec<FileChange> {
        preview(scope, input).into_iter().collect()
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        protected::judge_change(self.name(), scope, input, "filePath")
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        crate::input::blocking(self.name(), move || write(&scope, &seen, &input)).await
    }
}

fn preview(scope: &Scope, input: &Value) -> Option<FileChange> {
    let given = input::text_of(input, "filePath");
    let content = input::text_of(input, "content");
    let target = path::resolve_to_change("write", scope, given).ok()?;
    let draft = PendingChange::open("write", given, target).ok()?;
    let Some(old) = &draft.old else {
        return Some(draft.describe(scope, None, content));
    };
    let (before, _) = text::decode(old.bytes.as_deref()?)?;
    let written = text::with_ends(content, text::has_crlf(&before));
    let after = match input["append"].as_bool() {
        Some(true) => format!("{before}{written}"),
        Some(false) | None => written.into(),
    };
    Some(draft.describe(scope, Some(&before), &after))
}

fn write(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of("write", input)?;
    let given = fields.filled_text("filePath", PATH_CHARS_MAX)?;
    let content = fields.text("content", CONTENT_CHARS_MAX)?;
    let appends = fields.optional_flag("append")?.unwrap_or(false);
    let target = path::resolve_to_change("write", scope, given)?;
    let _alone = seen.changing();
    let draft = PendingChange::open("write", given, target)?;
    if appends && draft.old.is_some() {
        return append(scope, seen, &draft, given, content);
    }
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

/// Nothing is lost by it, so that the file need not have been read.
fn append(
    scope: &Scope,
    seen: &SeenFiles,
    draft: &PendingChange<'_>,
    given: &str,
    content: &str,
) -> Result<ToolOutput, Failure> {
    let bytes = draft.old.as_ref().and_then(|old| old.bytes.as_deref());
    let bytes = bytes.ok_or_else(|| {
        draft.error(format!(
            "{given} has more than the {FILE_BYTES_MAX} bytes that can be added to; use bash"
        ))
    })?;
    let (before, encoding) = text::decode(bytes)
        .ok_or_else(|| draft.error(format!("{given} is not a text file; use bash")))?;
    let added = text::with_ends(content, text::has_crlf(&before));
    let after = format!("{before}{added}");
    let (bytes_after, note) = encoded(&after, encoding);
    draft.save(seen, &bytes_after)?;
    Ok(ToolOutput::Files {
        summary: format!(
            "Added {} chars to {given}, which has {} lines now{note}",
            added.chars().count(),
            after.lines().count()
        ),
        changes: vec![draft.describe(scope, Some(&before), &after)],
    })
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
mod tests;
