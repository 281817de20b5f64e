//! A Jupyter notebook as `read` shows it: its cells with what they wrote, without the JSON around them.

use serde::Deserialize;
use serde_json::Value;

/// Of a longer output the rest is not shown.
const OUTPUT_CHARS_MAX: usize = 4000;

#[derive(Deserialize)]
struct NotebookText {
    nbformat: u64,
    cells: Vec<CellText>,
}

#[derive(Deserialize)]
struct CellText {
    cell_type: String,
    #[serde(default)]
    source: Value,
    #[serde(default)]
    outputs: Vec<Value>,
}

/// The cells in order, each under a line with its index and type; `None` if it is no notebook of
/// format 4.
pub(super) fn in_words(text: &str) -> Option<String> {
    let notebook: NotebookText = serde_json::from_str(text).ok()?;
    if notebook.nbformat != 4 {
        return None;
    }
    let mut words = String::new();
    for (index, cell) in notebook.cells.iter().enumerate() {
        words.push_str(&format!("[cell {index}: {}]\n", cell.cell_type));
        push_lines(&mut words, &joined(&cell.source));
        for output in &cell.outputs {
            words.push_str(&format!("[output of cell {index}]\n"));
            push_lines(&mut words, &shortened(output_text(output)));
        }
    }
    Some(words)
}

fn push_lines(words: &mut String, text: &str) {
    words.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        words.push('\n');
    }
}

/// A text that is written whole or as a list of its lines.
fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What of an output can be read as text.
fn output_text(output: &Value) -> String {
    if let Some(text) = output.get("text") {
        return joined(text);
    }
    if let (Some(name), Some(value)) = (output.get("ename"), output.get("evalue")) {
        return format!("{}: {}", joined(name), joined(value));
    }
    let Some(data) = output.get("data").and_then(Value::as_object) else {
        return String::new();
    };
    let text = data.get("text/plain").map(joined).unwrap_or_default();
    let others = data.keys().filter(|kind| *kind != "text/plain");
    let others: String = others
        .map(|kind| format!("[{kind} is not shown]\n"))
        .collect();
    match text.is_empty() || text.ends_with('\n') {
        true => text + &others,
        false => text + "\n" + &others,
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(OUTPUT_CHARS_MAX) {
        Some((cut, _)) => format!("{}…\n[the rest of this output is not shown]", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_shown_with_their_text_outputs() {
        let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# One\n", "two"]},
            {"cell_type": "code", "metadata": {}, "source": "plot()", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                {"output_type": "display_data", "metadata": {}, "data": {
                    "image/png": "aGVsbG8=", "text/plain": ["<Figure>"]}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
                {"output_type": "stream", "name": "stdout", "text": "x".repeat(5000)},
            ]},
        ]});
        let cut = "x".repeat(OUTPUT_CHARS_MAX);
        let expected = format!(
            "[cell 0: markdown]\n# One\ntwo\n[cell 1: code]\nplot()\n\
             [output of cell 1]\na\nb\n\
             [output of cell 1]\n<Figure>\n[image/png is not shown]\n\
             [output of cell 1]\nValueError: no\n\
             [output of cell 1]\n{cut}…\n[the rest of this output is not shown]\n"
        );
        assert_eq!(in_words(&notebook.to_string()), Some(expected));
        assert_eq!(in_words("{\"nbformat\": 3, \"cells\": []}"), None);
        assert_eq!(in_words("not JSON"), None);
    }
}
