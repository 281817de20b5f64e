//! The tool `notebookEdit`: changes one cell of a Jupyter notebook and nothing else.

mod book;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use vocabulary::{Effects, FileChangeKind, FilePreview, FileSubject, Subject, ToolOutput};

use crate::change::{self, FILE_BYTES_MAX, PendingChange};
use crate::input::{self, Fields, blocking};
use crate::path::{self, PATH_CHARS_MAX};
use crate::protected;
use crate::seen::{FileKnowledge, SeenFiles};
use crate::{Failure, Judgement, Scope, Tool, ToolCx};
use book::{Book, CellType};

const NAME: &str = "notebookEdit";
/// The longest text of a cell.
const SOURCE_CHARS_MAX: usize = 1_000_000;
const INDEX_MAX: u64 = 100_000;

pub(crate) struct NotebookEditTool;

#[async_trait]
impl Tool for NotebookEditTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "Changes a cell of a Jupyter notebook (.ipynb).\n\
         Cells are counted from 0. editMode replace puts newSource into the cell and keeps its \
         outputs as they are until it is run again; insert puts a new cell before the one at \
         cellIndex (or at the end); delete removes the cell. Read the notebook first."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "notebookPath": {"type": "string", "description": "Relative to the workspace, or absolute inside it."},
                "cellIndex": {"type": "integer", "minimum": 0, "description": "The cell, counted from 0."},
                "newSource": {"type": "string", "description": "The whole new text of the cell; not needed to delete."},
                "cellType": {"type": "string", "enum": ["code", "markdown", "raw"], "description": "Kept as it is, or code for a new cell, if absent."},
                "editMode": {"type": "string", "enum": ["replace", "insert", "delete"], "default": "replace"},
            },
            "required": ["notebookPath", "cellIndex"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::WRITES
    }

    fn subject(&self, input: &Value) -> Subject {
        let path = input::text_of(input, "notebookPath").to_owned();
        let preview = Some(FilePreview {
            kind: FileChangeKind::Update,
            diff: change::wanted("", input::text_of(input, "newSource")),
        });
        Subject::Files(vec![FileSubject { path, preview }])
    }

    fn judge(&self, scope: &Scope, input: &Value) -> Judgement {
        protected::judge_change(NAME, scope, input, "notebookPath")
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let (scope, seen) = (cx.scope.clone(), Arc::clone(&cx.seen));
        blocking(self.name(), move || edit(&scope, &seen, &input)).await
    }
}

/// What is to be done with a cell.
enum CellEdit<'a> {
    Replace(&'a str),
    Insert(&'a str),
    Delete,
}

fn wish<'a>(fields: &Fields<'a>) -> Result<CellEdit<'a>, Failure> {
    let source = || fields.text("newSource", SOURCE_CHARS_MAX);
    match fields.optional_text("editMode", PATH_CHARS_MAX)? {
        None | Some("replace") => Ok(CellEdit::Replace(source()?)),
        Some("insert") => Ok(CellEdit::Insert(source()?)),
        Some("delete") => Ok(CellEdit::Delete),
        Some(_) => Err(fields.refuse("editMode", "\"replace\", \"insert\" or \"delete\"")),
    }
}

fn cell_type(fields: &Fields<'_>) -> Result<Option<CellType>, Failure> {
    match fields.optional_text("cellType", PATH_CHARS_MAX)? {
        None => Ok(None),
        Some(name) => match CellType::of(name) {
            Some(cell_type) => Ok(Some(cell_type)),
            None => Err(fields.refuse("cellType", "\"code\", \"markdown\" or \"raw\"")),
        },
    }
}

fn edit(scope: &Scope, seen: &SeenFiles, input: &Value) -> Result<ToolOutput, Failure> {
    let fields = Fields::of(NAME, input)?;
    let given = fields.filled_text("notebookPath", PATH_CHARS_MAX)?;
    let index = fields.optional_whole("cellIndex", 0..=INDEX_MAX)?;
    let index = index.ok_or_else(|| fields.refuse("cellIndex", "a whole number"))? as usize;
    let (wish, cell_type) = (wish(&fields)?, cell_type(&fields)?);
    if !given.to_ascii_lowercase().ends_with(".ipynb") {
        return Err(error(format!(
            "{given} is not a notebook (.ipynb); use edit"
        )));
    }
    let target = path::resolve_to_change(NAME, scope, given)?;
    let _alone = seen.changing();
    let draft = PendingChange::open(NAME, given, target)?;
    let known = draft.known(seen)?;
    let before = content(&draft, given)?;
    // A cell is named by its number alone, which says nothing about what is in it.
    if matches!(known, FileKnowledge::Never | FileKnowledge::Edited) {
        return Err(error(format!("you have not read {given}; read it first")));
    }
    let book = Book::parse(before).map_err(|problem| error(format!("{given} {problem}")))?;
    let after = match wish {
        CellEdit::Replace(source) => book.replace(index, source, cell_type),
        CellEdit::Insert(source) => book.insert(index, source, cell_type),
        CellEdit::Delete => book.delete(index),
    }
    .map_err(|problem| error(format!("{given} {problem}")))?;
    draft.save(seen, after.as_bytes())?;
    let done = match wish {
        CellEdit::Replace(_) => "Replaced",
        CellEdit::Insert(_) => "Inserted",
        CellEdit::Delete => "Deleted",
    };
    Ok(ToolOutput::Files {
        summary: format!("{done} cell {index} of {given}"),
        changes: vec![draft.describe(scope, Some(before), &after)],
    })
}

fn content<'a>(draft: &'a PendingChange<'_>, given: &str) -> Result<&'a str, Failure> {
    let Some(old) = &draft.old else {
        return Err(error(format!("{given} does not exist")));
    };
    let Some(bytes) = &old.bytes else {
        return Err(error(format!(
            "{given} has more than the {FILE_BYTES_MAX} bytes that can be edited; clear its outputs"
        )));
    };
    std::str::from_utf8(bytes).map_err(|_| error(format!("{given} is not UTF-8 text")))
}

fn error(message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("{NAME}: {message}"))
}

#[cfg(test)]
mod tests;
