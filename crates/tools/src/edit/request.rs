//! What a call of `edit` asks for: one replacement, or a list of them.

use serde_json::{Value, json};
use vocabulary::{FileChangeKind, FilePreview, FileSubject, Subject};

use crate::Failure;
use crate::change;
use crate::input::{self, Fields};

/// The longest text to find, and the longest to put in its place.
const STRING_CHARS_MAX: usize = 2_000_000;
const EDITS_MAX: usize = 200;

/// One replacement.
pub(super) struct TextEdit<'a> {
    /// Which one of a list it is; empty for a single one.
    pub label: String,
    pub old: &'a str,
    pub new: &'a str,
    pub replace_all: bool,
}

impl<'a> TextEdit<'a> {
    pub fn all(fields: &Fields<'a>) -> Result<Vec<TextEdit<'a>>, Failure> {
        // Some models fill in every field.
        let is_empty = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
        if fields.get("edits").is_none_or(is_empty) {
            return Ok(vec![TextEdit::of(fields, String::new())?]);
        }
        let single = fields.optional_text("oldString", STRING_CHARS_MAX)?;
        if single.is_some_and(|old| !old.is_empty()) {
            return Err(fields.refuse("oldString", "absent where edits are given"));
        }
        let list = fields.list("edits", 1..=EDITS_MAX)?.iter().enumerate();
        let edits = list.map(|(index, value)| {
            let fields = fields.entry("edits", index, value)?;
            TextEdit::of(&fields, format!("edits[{index}] "))
        });
        edits.collect()
    }

    fn of(fields: &Fields<'a>, label: String) -> Result<TextEdit<'a>, Failure> {
        let edit = TextEdit {
            label,
            old: fields.text("oldString", STRING_CHARS_MAX)?,
            new: fields.text("newString", STRING_CHARS_MAX)?,
            replace_all: fields.optional_flag("replaceAll")?.unwrap_or(false),
        };
        if edit.old == edit.new {
            let message = "edit: \"oldString\" and \"newString\" are the same; nothing to do";
            return Err(edit.refusal(Failure::Error(message.to_owned())));
        }
        Ok(edit)
    }

    /// The refusal of one edit, which says of which, and that the others were not made either.
    pub fn refusal(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Error(message) if !self.label.is_empty() => {
                let message = message.strip_prefix("edit: ").unwrap_or(&message);
                let label = self.label.trim_end();
                Failure::Error(format!(
                    "edit: none of the edits was made, because of {label}: {message}"
                ))
            }
            other => other,
        }
    }
}

pub(super) fn parameters() -> Value {
    let edits = json!({
        "type": "array",
        "description": "Several replacements, instead of oldString and newString.",
        "items": {
            "type": "object",
            "properties": {
                "oldString": {"type": "string"},
                "newString": {"type": "string"},
                "replaceAll": {"type": "boolean"},
            },
            "required": ["oldString", "newString"],
            "additionalProperties": false,
        },
    });
    json!({
        "type": "object",
        "properties": {
            "filePath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
            "oldString": {"type": "string", "description": "The text to replace, exactly as it stands in the file."},
            "newString": {"type": "string", "description": "The text to put in its place."},
            "replaceAll": {"type": "boolean", "default": false},
            "edits": edits,
        },
        "required": ["filePath"],
        "additionalProperties": false,
    })
}

pub(super) fn subject(input: &Value) -> Subject {
    let path = input::text_of(input, "filePath").to_owned();
    let list = input.get("edits").and_then(Value::as_array);
    let edits = list.map_or(std::slice::from_ref(input), Vec::as_slice);
    let diff = edits.iter().map(|edit| {
        let old = input::text_of(edit, "oldString");
        change::wanted(old, input::text_of(edit, "newString"))
    });
    let preview = Some(FilePreview {
        kind: FileChangeKind::Update,
        diff: diff.collect(),
    });
    Subject::Files(vec![FileSubject { path, preview }])
}
