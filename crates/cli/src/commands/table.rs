//! Tables for people.

use crate::screen::harmless;

/// Rows as lines, each column as wide as its widest cell; the first row is the heading. What stands
/// in them may come from anyone, so it is shown without what a terminal would obey.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| harmless(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_stand_under_each_other() {
        let row = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect();
        let rows = [row(&["a", "long"]), row(&["wider", "b"]), row(&["x"])];
        assert_eq!(aligned(&rows), "a      long\nwider  b\nx\n");
    }

    #[test]
    fn a_cell_cannot_command_the_terminal() {
        let rows = [vec!["a\x1b]0;t\x07".to_owned(), "b\u{202e}c\n".to_owned()]];
        assert_eq!(aligned(&rows), "a\\u{1b}]0;t\\u{7}  b\\u{202e}c\\n\n");
    }
}
