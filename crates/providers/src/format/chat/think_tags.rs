//! `<think>…</think>` at the beginning of an answer: how servers that do not know of thoughts pass
//! them on. Read as it comes, wherever the pieces are cut. A tag further on is what a model says.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What a piece of content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProseKind {
    Thought,
    Text,
}

pub(super) struct ThinkTags {
    place: TagPlace,
    /// What may be blanks before a tag, or the beginning of one.
    held: String,
    /// Whether the model's prompt ended within a thought.
    opened: bool,
    /// What was taken for a thought only because the prompt ended within one. Without a closing tag
    /// it was none.
    presumed: String,
    /// Whether the thought has begun: blanks before it mean nothing.
    begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TagPlace {
    /// Nothing but blanks so far.
    Start,
    Thought,
    /// Behind a thought, where blanks mean nothing.
    Behind,
    Text,
}

impl ThinkTags {
    pub fn new(opened: bool) -> Self {
        Self {
            place: TagPlace::Start,
            held: String::new(),
            opened,
            presumed: String::new(),
            begun: false,
        }
    }

    /// The server tells thoughts apart: what it calls content is no thought.
    pub fn disregard(&mut self) {
        if self.place == TagPlace::Start {
            self.place = TagPlace::Text;
        }
    }

    /// Whether all that follows is text.
    pub fn passed(&self) -> bool {
        self.place == TagPlace::Text && self.held.is_empty()
    }

    /// Reads a piece of content and gives what can be told, in order.
    pub fn feed(&mut self, piece: &str) -> Vec<(ProseKind, String)> {
        let mut told = Vec::new();
        if piece.is_empty() {
            return told;
        }
        self.held.push_str(piece);
        while self.advance(&mut told) {}
        told
    }

    /// No more content comes: what was held is what it seemed.
    pub fn end(&mut self) -> Vec<(ProseKind, String)> {
        if self.passed() {
            return Vec::new();
        }
        let held = std::mem::take(&mut self.held);
        let presumed = std::mem::take(&mut self.presumed);
        let mut told = Vec::new();
        match self.place {
            TagPlace::Start | TagPlace::Behind => {
                if !held.trim().is_empty() {
                    told.push((ProseKind::Text, held));
                }
            }
            TagPlace::Thought if self.opened => told.push((ProseKind::Text, presumed + &held)),
            TagPlace::Thought => told.push((ProseKind::Thought, held)),
            TagPlace::Text => told.push((ProseKind::Text, held)),
        }
        self.place = TagPlace::Text;
        told
    }

    /// Takes what it can of `held`; whether to go on.
    fn advance(&mut self, told: &mut Vec<(ProseKind, String)>) -> bool {
        match self.place {
            TagPlace::Start => self.begin(),
            TagPlace::Thought => self.think(told),
            TagPlace::Behind => {
                self.held.drain(..blanks(&self.held));
                self.place = if self.held.is_empty() {
                    return false;
                } else {
                    TagPlace::Text
                };
                true
            }
            TagPlace::Text => {
                if !self.held.is_empty() {
                    told.push((ProseKind::Text, std::mem::take(&mut self.held)));
                }
                false
            }
        }
    }

    fn begin(&mut self) -> bool {
        let from = blanks(&self.held);
        let seen = &self.held[from..];
        if seen.starts_with(OPEN) {
            self.held.drain(..from + OPEN.len());
            self.opened = false;
            self.place = TagPlace::Thought;
            return true;
        }
        if OPEN.starts_with(seen) {
            return false;
        }
        self.place = match self.opened {
            true => TagPlace::Thought,
            false => TagPlace::Text,
        };
        true
    }

    fn think(&mut self, told: &mut Vec<(ProseKind, String)>) -> bool {
        if !self.begun {
            self.held.drain(..blanks(&self.held));
            self.begun = !self.held.is_empty();
        }
        let (end, closes) = match self.held.find(CLOSE) {
            Some(end) => (end, true),
            None => (self.held.len() - tail(&self.held), false),
        };
        let thought: String = self.held.drain(..end).collect();
        if closes {
            self.held.drain(..CLOSE.len());
            self.presumed.clear();
            self.place = TagPlace::Behind;
        } else if self.opened {
            self.presumed.push_str(&thought);
        }
        if !thought.is_empty() {
            told.push((ProseKind::Thought, thought));
        }
        closes
    }
}

/// How many bytes of blanks a text begins with.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// How many bytes at the end may be the beginning of a closing tag.
fn tail(text: &str) -> usize {
    let lengths = (1..CLOSE.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&CLOSE[..*length]))
        .unwrap_or(0)
}
