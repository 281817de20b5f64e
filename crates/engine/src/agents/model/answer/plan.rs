//! A proposed plan within the text of an answer: told apart from it while it comes, wherever the pieces
//! of the text are cut.

const BEGINS: &str = "<proposed_plan>";
const ENDS: &str = "</proposed_plan>";

/// A piece of an answer's text. All pieces together, marks included, are the text as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanPiece {
    /// Of what stands around plans.
    Text(String),
    /// A plan begins, after what marked it.
    Begin(String),
    Plan(String),
    /// It ends, before what marked it and the space after that; nothing where the answer ended first.
    End(String),
}

/// Tells the plans of one block of text apart from the rest of it. A plan begins with its mark at the
/// beginning of a line, and ends with the other wherever that stands.
#[derive(Debug)]
pub struct PlanSplitter {
    place: Place,
    /// How much of the next mark has come.
    matched: usize,
    /// Whether nothing but space stands before this on its line.
    begins_line: bool,
    /// What has come and is not told yet, beside the mark: space between texts and plans, or the marks
    /// around a plan.
    kept: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first text, or behind a plan: space here is not worth a text of its own.
    Between,
    Text,
    /// Right behind the first mark: the end of its line belongs to it.
    Begun,
    Plan,
    /// Behind the second one: so does the space that follows.
    Ended,
}

impl Default for PlanSplitter {
    fn default() -> Self {
        Self {
            place: Place::Between,
            matched: 0,
            begins_line: true,
            kept: String::new(),
        }
    }
}

impl PlanSplitter {
    pub fn push(&mut self, delta: &str) -> Vec<PlanPiece> {
        let mut pieces = Vec::new();
        delta
            .chars()
            .for_each(|letter| self.take(letter, &mut pieces));
        pieces
    }

    /// The text is over.
    pub fn finish(&mut self) -> Vec<PlanPiece> {
        let mut pieces = Vec::new();
        match self.place {
            Place::Between | Place::Text => {
                let kept = std::mem::take(&mut self.kept);
                add_text(&mut pieces, &kept);
                add_text(&mut pieces, &BEGINS[..self.matched]);
            }
            Place::Begun => {
                pieces.push(PlanPiece::Begin(std::mem::take(&mut self.kept)));
                pieces.push(PlanPiece::End(String::new()));
            }
            Place::Plan => {
                add_plan(&mut pieces, &ENDS[..self.matched]);
                pieces.push(PlanPiece::End(String::new()));
            }
            Place::Ended => pieces.push(PlanPiece::End(std::mem::take(&mut self.kept))),
        }
        *self = Self::default();
        pieces
    }

    fn take(&mut self, letter: char, pieces: &mut Vec<PlanPiece>) {
        match self.place {
            Place::Between | Place::Text => self.take_text(letter, pieces),
            Place::Begun if matches!(letter, '\r' | '\n') => {
                self.kept.push(letter);
                if letter == '\n' {
                    self.begin(pieces);
                }
            }
            Place::Begun => {
                self.begin(pieces);
                self.take_plan(letter, pieces);
            }
            Place::Plan => self.take_plan(letter, pieces),
            Place::Ended if letter.is_whitespace() => self.kept.push(letter),
            Place::Ended => {
                let marks = std::mem::take(&mut self.kept);
                self.begins_line = marks.contains('\n');
                pieces.push(PlanPiece::End(marks));
                self.place = Place::Between;
                self.take_text(letter, pieces);
            }
        }
    }

    fn begin(&mut self, pieces: &mut Vec<PlanPiece>) {
        pieces.push(PlanPiece::Begin(std::mem::take(&mut self.kept)));
        self.place = Place::Plan;
    }

    fn take_text(&mut self, letter: char, pieces: &mut Vec<PlanPiece>) {
        let may_begin = self.matched > 0 || self.begins_line;
        if may_begin && BEGINS[self.matched..].starts_with(letter) {
            self.matched += letter.len_utf8();
            if self.matched == BEGINS.len() {
                self.matched = 0;
                self.kept.push_str(BEGINS);
                self.place = Place::Begun;
            }
            return;
        }
        let matched = std::mem::take(&mut self.matched);
        if matched == 0 && self.place == Place::Between && letter.is_whitespace() {
            self.begins_line |= letter == '\n';
            return self.kept.push(letter);
        }
        add_text(pieces, &std::mem::take(&mut self.kept));
        add_text(pieces, &BEGINS[..matched]);
        add_text(pieces, letter.encode_utf8(&mut [0; 4]));
        self.place = Place::Text;
        self.begins_line =
            letter == '\n' || (self.begins_line && matched == 0 && letter.is_whitespace());
    }

    fn take_plan(&mut self, letter: char, pieces: &mut Vec<PlanPiece>) {
        if !ENDS[self.matched..].starts_with(letter) {
            // The mark has its first letter nowhere else.
            add_plan(pieces, &ENDS[..std::mem::take(&mut self.matched)]);
        }
        if !ENDS[self.matched..].starts_with(letter) {
            return add_plan(pieces, letter.encode_utf8(&mut [0; 4]));
        }
        self.matched += letter.len_utf8();
        if self.matched == ENDS.len() {
            self.matched = 0;
            self.kept.push_str(ENDS);
            self.place = Place::Ended;
        }
    }
}

fn add_text(pieces: &mut Vec<PlanPiece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(PlanPiece::Text(before)) => before.push_str(text),
        Some(PlanPiece::Begin(_) | PlanPiece::Plan(_) | PlanPiece::End(_)) | None => {
            pieces.push(PlanPiece::Text(text.to_owned()));
        }
    }
}

fn add_plan(pieces: &mut Vec<PlanPiece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(PlanPiece::Plan(before)) => before.push_str(text),
        Some(PlanPiece::Begin(_) | PlanPiece::Text(_) | PlanPiece::End(_)) | None => {
            pieces.push(PlanPiece::Plan(text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests;
