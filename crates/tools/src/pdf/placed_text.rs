//! Text from where its letters stand: a PDF file has neither lines nor, often, blanks.

use super::widths::PdfFont;

/// A matrix as PDF has it: a b c d e f.
type Matrix = [f64; 6];

const UNCHANGED: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
/// Of the size of the letters: a wider gap is a blank, …
const BLANK_MIN: f64 = 0.2;
/// … a farther way down or up is another line, …
const LINE_MIN: f64 = 0.5;
/// … and a farther way back, too.
const BACK_MIN: f64 = 1.5;
const SAVED_MAX: usize = 256;

/// How letters are set.
#[derive(Clone, Copy)]
pub struct TextStyle {
    pub size: f64,
    pub letter_space: f64,
    pub word_space: f64,
    pub stretch: f64,
    pub leading: f64,
}

/// Letters put together in the order in which they are drawn.
pub struct PlacedText {
    pub style: TextStyle,
    /// From the page's own measures to those of what is drawn.
    page: Matrix,
    saved: Vec<(Matrix, TextStyle)>,
    line: Matrix,
    /// How far along the line.
    along: f64,
    /// Where the last letters ended on the page.
    end: Option<(f64, f64)>,
    text: String,
}

impl Default for PlacedText {
    fn default() -> Self {
        Self {
            style: TextStyle {
                size: 1.0,
                letter_space: 0.0,
                word_space: 0.0,
                stretch: 1.0,
                leading: 0.0,
            },
            page: UNCHANGED,
            saved: Vec::new(),
            line: UNCHANGED,
            along: 0.0,
            end: None,
            text: String::new(),
        }
    }
}

impl PlacedText {
    pub fn save(&mut self) {
        if self.saved.len() < SAVED_MAX {
            self.saved.push((self.page, self.style));
        }
    }

    pub fn restore(&mut self) {
        if let Some((page, style)) = self.saved.pop() {
            (self.page, self.style) = (page, style);
        }
    }

    pub fn transform(&mut self, by: Matrix) {
        self.page = product(by, self.page);
    }

    pub fn begin(&mut self) {
        self.set_matrix(UNCHANGED);
    }

    pub fn set_matrix(&mut self, matrix: Matrix) {
        self.line = matrix;
        self.along = 0.0;
    }

    pub fn move_line(&mut self, right: f64, up: f64) {
        self.set_matrix(product([1.0, 0.0, 0.0, 1.0, right, up], self.line));
    }

    pub fn next_line(&mut self) {
        self.move_line(0.0, -self.style.leading);
    }

    /// By thousandths of the size.
    pub fn move_back(&mut self, thousandths: f64) {
        self.along -= thousandths / 1000.0 * self.style.size * self.style.stretch;
    }

    pub fn show(&mut self, font: &PdfFont<'_>, letters: &[u8]) {
        let Some(text) = font.text(letters) else {
            return;
        };
        let (from, matrix) = self.place();
        self.separate(from, matrix);
        self.text.extend(text.chars().filter(|c| !c.is_control()));
        let TextStyle {
            size,
            letter_space,
            word_space,
            stretch,
            ..
        } = self.style;
        for (width, is_blank) in font.widths(letters) {
            let word_space = if is_blank { word_space } else { 0.0 };
            self.along += (width / 1000.0 * size + letter_space + word_space) * stretch;
        }
        self.end = Some(self.place().0);
    }

    /// Where the next letter stands on the page, and how it is turned and scaled.
    fn place(&self) -> ((f64, f64), Matrix) {
        let moved = product([1.0, 0.0, 0.0, 1.0, self.along, 0.0], self.line);
        let matrix = product(moved, self.page);
        ((matrix[4], matrix[5]), matrix)
    }

    /// Puts a blank or a line end before letters that stand apart from the last ones.
    fn separate(&mut self, from: (f64, f64), matrix: Matrix) {
        let Some(end) = self.end else {
            return;
        };
        let length = matrix[0].hypot(matrix[1]);
        let size = (length * self.style.size).abs();
        if !size.is_normal() {
            return;
        }
        let way = (from.0 - end.0, from.1 - end.1);
        let along = (way.0 * matrix[0] + way.1 * matrix[1]) / length;
        let across = (way.1 * matrix[0] - way.0 * matrix[1]) / length;
        let is_new_line = across.abs() > LINE_MIN * size || along < -BACK_MIN * size;
        if is_new_line {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
        } else if along > BLANK_MIN * size && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    pub fn finish(self) -> String {
        self.text.trim().to_owned()
    }
}

fn product(a: Matrix, b: Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}
