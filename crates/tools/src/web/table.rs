//! Makes tables ready for Markdown: one row of headings, then rows of cells.
//!
//! The conversion shows headings only in the first row and pads every column to its widest cell, so
//! without this it would drop headings elsewhere, and a small table could become a huge text.

use dom_query::{Document, NodeRef};

/// The most that all tables of a page may come to once their columns are padded.
const PADDED_BYTES_MAX: usize = 10 * 1024 * 1024;
/// A cell of more is text, not data.
const DATA_BYTES_MAX: usize = 200;
const INLINE: &[&str] = &[
    "a", "abbr", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup", "time",
];

pub(crate) fn prepare(document: &Document) {
    let mut left = PADDED_BYTES_MAX;
    for table in document.select("table").nodes() {
        let rows = rows(table);
        let cost = padded_bytes(&rows);
        if cost > left {
            flatten(table, &rows);
            continue;
        }
        left -= cost;
        if has_headings(&rows) || is_data(&rows) {
            set_headings(&rows);
        }
    }
}

/// The cells of a table's own rows; those of a table within it are not among them.
fn rows<'a>(table: &NodeRef<'a>) -> Vec<Vec<NodeRef<'a>>> {
    let mut rows = Vec::new();
    for child in table.children_it(false) {
        if child.has_name("tr") {
            rows.push(cells(&child));
        }
        if ["thead", "tbody", "tfoot"]
            .iter()
            .any(|name| child.has_name(name))
        {
            let own = child.children_it(false).filter(|row| row.has_name("tr"));
            rows.extend(own.map(|row| cells(&row)));
        }
    }
    rows
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    let cells = row.children_it(false);
    cells
        .filter(|cell| cell.has_name("td") || cell.has_name("th"))
        .collect()
}

/// Every row is as wide as the widest cells of all columns together.
fn padded_bytes(rows: &[Vec<NodeRef>]) -> usize {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 1);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.inner_html().len());
        }
    }
    rows.len().saturating_mul(widths.iter().sum())
}

/// Shows each cell as a paragraph.
fn flatten(table: &NodeRef, rows: &[Vec<NodeRef>]) {
    for cell in rows.iter().flatten() {
        if let Some(row) = cell.parent() {
            row.rename("div");
        }
        cell.rename("div");
    }
    for section in table.element_children() {
        section.rename("div");
    }
    table.rename("div");
}

fn has_headings(rows: &[Vec<NodeRef>]) -> bool {
    rows.iter().flatten().any(|cell| cell.has_name("th"))
}

/// Whether a table without headings holds data; many only lay out a page.
fn is_data(rows: &[Vec<NodeRef>]) -> bool {
    let is_short = |cell: &NodeRef| {
        let inline =
            |child: NodeRef| !child.is_element() || INLINE.iter().any(|name| child.has_name(name));
        cell.text().len() <= DATA_BYTES_MAX && cell.children_it(false).all(inline)
    };
    let columns = rows.first().map_or(0, Vec::len);
    let even = columns >= 2 && rows.iter().all(|row| row.len() == columns);
    even && rows.len() >= 2 && rows.iter().flatten().all(is_short)
}

fn set_headings(rows: &[Vec<NodeRef>]) {
    for (index, row) in rows.iter().filter(|row| !row.is_empty()).enumerate() {
        let name = if index == 0 { "th" } else { "td" };
        for cell in row {
            cell.rename(name);
            // Of a head only the first row would be shown.
            let section = cell.parent().and_then(|row| row.parent());
            if let Some(head) = section.filter(|section| section.has_name("thead")) {
                head.rename("tbody");
            }
        }
    }
}
