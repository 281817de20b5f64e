//! A notebook as text: one cell is written anew, every other byte stays.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellType {
    Code,
    Markdown,
    Raw,
}

impl CellType {
    pub fn of(name: &str) -> Option<CellType> {
        match name {
            "code" => Some(CellType::Code),
            "markdown" => Some(CellType::Markdown),
            "raw" => Some(CellType::Raw),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            CellType::Code => "code",
            CellType::Markdown => "markdown",
            CellType::Raw => "raw",
        }
    }
}

#[derive(Deserialize)]
struct RawNotebook<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// A notebook of format 4.
pub(super) struct Book<'a> {
    text: &'a str,
    /// Where the list of cells stands, brackets included.
    list: Range<usize>,
    /// Where each cell stands.
    cells: Vec<Range<usize>>,
    has_ids: bool,
    indent: String,
}

impl<'a> Book<'a> {
    pub fn parse(text: &'a str) -> Result<Book<'a>, String> {
        let raw: RawNotebook<'a> = serde_json::from_str(text)
            .map_err(|problem| format!("is not a notebook of format 4: {problem}"))?;
        if raw.nbformat != 4 {
            return Err(format!("is of format {}, not 4", raw.nbformat));
        }
        let cells: Vec<&RawValue> = serde_json::from_str(raw.cells.get())
            .map_err(|problem| format!("has cells that cannot be read: {problem}"))?;
        let place = |part: &str| {
            let start = part.as_ptr().addr() - text.as_ptr().addr();
            start..start + part.len()
        };
        Ok(Book {
            text,
            list: place(raw.cells.get()),
            cells: cells.iter().map(|cell| place(cell.get())).collect(),
            has_ids: raw.nbformat_minor >= 5,
            indent: indent(text),
        })
    }

    pub fn replace(
        &self,
        index: usize,
        source: &str,
        cell_type: Option<CellType>,
    ) -> Result<String, String> {
        let place = self.cell(index)?;
        let mut cell: Map<String, Value> = serde_json::from_str(&self.text[place.clone()])
            .map_err(|problem| format!("has a cell {index} that is no object: {problem}"))?;
        let as_text = cell.get("source").is_some_and(Value::is_string);
        let source = match as_text {
            true => json!(source),
            false => lines(source),
        };
        cell.insert("source".to_owned(), source);
        if let Some(cell_type) = cell_type {
            turn_into(&mut cell, cell_type);
        }
        Ok(self.splice(place, &self.written(&cell)?))
    }

    pub fn insert(
        &self,
        index: usize,
        source: &str,
        cell_type: Option<CellType>,
    ) -> Result<String, String> {
        let count = self.cells.len();
        let mut cell = Map::new();
        let cell_type = cell_type.unwrap_or(CellType::Code);
        cell.insert("cell_type".to_owned(), json!(cell_type.name()));
        if cell_type == CellType::Code {
            cell.insert("execution_count".to_owned(), Value::Null);
        }
        if self.has_ids {
            cell.insert("id".to_owned(), json!(self.new_id()));
        }
        cell.insert("metadata".to_owned(), json!({}));
        if cell_type == CellType::Code {
            cell.insert("outputs".to_owned(), json!([]));
        }
        cell.insert("source".to_owned(), lines(source));
        let written = self.written(&cell)?;
        let (line, outer) = (self.line(2), self.line(1));
        match (self.cells.get(index), self.cells.last()) {
            (Some(next), _) => {
                let here = next.start..next.start;
                Ok(self.splice(here, &format!("{written},{line}")))
            }
            (None, Some(last)) if index == count => {
                let here = last.end..last.end;
                Ok(self.splice(here, &format!(",{line}{written}")))
            }
            (None, None) if index == 0 => {
                Ok(self.splice(self.list.clone(), &format!("[{line}{written}{outer}]")))
            }
            _ => Err(format!(
                "has {count} cells; a new one can be put at 0 to {count}"
            )),
        }
    }

    pub fn delete(&self, index: usize) -> Result<String, String> {
        let place = self.cell(index)?;
        let gone = match (self.cells.get(index + 1), index.checked_sub(1)) {
            (Some(next), _) => place.start..next.start,
            (None, Some(previous)) => self.cells[previous].end..place.end,
            (None, None) => return Ok(self.splice(self.list.clone(), "[]")),
        };
        Ok(self.splice(gone, ""))
    }

    fn cell(&self, index: usize) -> Result<Range<usize>, String> {
        match (self.cells.get(index), self.cells.len()) {
            (Some(place), _) => Ok(place.clone()),
            (None, 0) => Err("has no cells; insert one".to_owned()),
            (None, count) => Err(format!(
                "has no cell {index}; its cells are 0 to {}",
                count - 1
            )),
        }
    }

    fn splice(&self, place: Range<usize>, new: &str) -> String {
        [&self.text[..place.start], new, &self.text[place.end..]].concat()
    }

    /// A new line at this depth; nothing where the notebook is written on one line.
    fn line(&self, depth: usize) -> String {
        match self.indent.is_empty() {
            true => String::new(),
            false => format!("\n{}", self.indent.repeat(depth)),
        }
    }

    /// The cell as Jupyter writes it, at its depth.
    fn written(&self, cell: &Map<String, Value>) -> Result<String, String> {
        let failed = |problem| format!("cannot be written: {problem}");
        if self.indent.is_empty() {
            return serde_json::to_string(cell).map_err(failed);
        }
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        cell.serialize(&mut serializer).map_err(failed)?;
        let written = String::from_utf8_lossy(&bytes);
        // Line breaks within texts are escaped, so each of these is one of the layout.
        Ok(written.replace('\n', &self.line(2)))
    }

    /// As Jupyter makes them: eight hexadecimal digits that no other cell has.
    fn new_id(&self) -> String {
        (0..)
            .map(|attempt: u64| format!("{:08x}", RandomState::new().hash_one(attempt) as u32))
            .find(|id| !self.text.contains(&format!("\"{id}\"")))
            .unwrap_or_default()
    }
}

/// What stands before the first key.
fn indent(text: &str) -> String {
    let inner = text.trim_start().strip_prefix('{').unwrap_or_default();
    let blank = inner.len() - inner.trim_start().len();
    match inner[..blank].rsplit_once('\n') {
        Some((_, indent)) => indent.to_owned(),
        None => String::new(),
    }
}

/// A text as a list of its lines with their ends, as Jupyter writes it.
fn lines(source: &str) -> Value {
    json!(source.split_inclusive('\n').collect::<Vec<_>>())
}

/// Gives a cell the fields of its new type and takes those that it may not have.
fn turn_into(cell: &mut Map<String, Value>, cell_type: CellType) {
    cell.insert("cell_type".to_owned(), json!(cell_type.name()));
    if cell_type == CellType::Code {
        cell.entry("execution_count").or_insert(Value::Null);
        cell.entry("outputs").or_insert_with(|| json!([]));
    } else {
        cell.shift_remove("execution_count");
        cell.shift_remove("outputs");
    }
}
