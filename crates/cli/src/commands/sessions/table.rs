//! A table that fits the terminal: the columns that may be cut share what the others leave.

use crate::screen::{self, BOLD, GREEN, RED, YELLOW, harmless, painted};

/// As narrow as a column that is cut can become.
const CUT_CHARS_MIN: usize = 8;
const GAP: &str = "  ";

pub struct Column {
    name: &'static str,
    cut: Option<CutEnd>,
}

/// Which end of a text is left out where there is no room.
#[derive(Clone, Copy)]
enum CutEnd {
    Start,
    End,
}

impl Column {
    pub fn fixed(name: &'static str) -> Self {
        Self { name, cut: None }
    }

    pub fn cut_at_start(name: &'static str) -> Self {
        let cut = Some(CutEnd::Start);
        Self { name, cut }
    }

    pub fn cut_at_end(name: &'static str) -> Self {
        let cut = Some(CutEnd::End);
        Self { name, cut }
    }
}

/// On standard output: as wide as its terminal, in full where that is none.
pub fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let output = std::io::stdout();
    let width = screen::width(&output).unwrap_or(usize::MAX);
    laid_out(columns, rows, width, screen::has_colours(&output))
}

fn laid_out(columns: &[Column], rows: &[Vec<String>], width: usize, colours: bool) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| harmless(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let widths = widths(columns, &rows, width);
    let names: Vec<String> = columns
        .iter()
        .map(|column| column.name.to_owned())
        .collect();
    let heading = line(columns, &names, &widths, &|_, cell| {
        painted(cell, BOLD, colours)
    });
    let body = rows.iter().map(|row| {
        line(columns, row, &widths, &|text, cell| {
            painted(cell, paint(text), colours)
        })
    });
    std::iter::once(heading).chain(body).collect()
}

/// Words that a reader should see first.
fn paint(text: &str) -> &'static str {
    match text {
        "running" => GREEN,
        "waiting" => YELLOW,
        "failed" | "cut off" => RED,
        // tidy: wildcard, because all other texts have no colour.
        _ => "",
    }
}

fn widths(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let widest = |place: usize, column: &Column| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let cells = cells.map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(column.name.len())
    };
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| widest(place, column))
        .collect();
    let gaps = GAP.len() * columns.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    // The widest of those that may be cut goes first, letter by letter: so they end alike.
    while over > 0 {
        let cuttable = columns.iter().zip(&mut widths);
        let cuttable =
            cuttable.filter(|(column, width)| column.cut.is_some() && **width > CUT_CHARS_MIN);
        let Some((_, widest)) = cuttable.max_by_key(|(_, width)| **width) else {
            break;
        };
        *widest -= 1;
        over -= 1;
    }
    widths
}

fn line(
    columns: &[Column],
    row: &[String],
    widths: &[usize],
    paint: &dyn Fn(&str, &str) -> String,
) -> String {
    let mut line = String::new();
    let last = columns.len().saturating_sub(1);
    for (place, (column, text)) in columns.iter().zip(row).enumerate() {
        let cell = cut(text, widths[place], column.cut.unwrap_or(CutEnd::End));
        let room = widths[place].saturating_sub(cell.chars().count());
        line.push_str(&paint(text, &cell));
        if place < last {
            line.push_str(&" ".repeat(room));
            line.push_str(GAP);
        }
    }
    format!("{}\n", line.trim_end())
}

fn cut(text: &str, width: usize, end: CutEnd) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    match end {
        CutEnd::End => text.chars().take(kept).chain(['…']).collect(),
        CutEnd::Start => {
            let tail: String = text.chars().skip(count - kept).collect();
            format!("…{tail}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, colours: bool) -> String {
        let columns = [
            Column::fixed("ID"),
            Column::cut_at_start("DIRECTORY"),
            Column::cut_at_end("TITLE"),
        ];
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["abc", "/home/me/projects/one", "A title that is long"]),
            row(["running", "/two", "Short\x1b"]),
        ];
        laid_out(&columns, &rows, width, colours)
    }

    #[test]
    fn what_does_not_fit_is_cut_where_it_says_least() {
        let expected = "ID       DIRECTORY          TITLE\n\
                        abc      …/me/projects/one  A title that is…\n";
        let text = shown(44, false);
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 44),
            "{text}"
        );
        assert!(shown(usize::MAX, false).contains("/home/me/projects/one  A title that is long\n"));
        // Narrower than anything fits: it is still a table.
        assert!(shown(5, false).contains("…cts/one"), "{}", shown(5, false));
    }

    #[test]
    fn colours_take_no_room_and_nothing_commands_the_terminal() {
        let text = shown(usize::MAX, true);
        assert!(text.contains("\x1b[32mrunning\x1b[0m  /two "), "{text:?}");
        assert!(text.contains("Short\\u{1b}"), "{text:?}");
    }
}
