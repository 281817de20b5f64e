//! What a word of the tree says once its quotes are gone.

use tree_sitter::Node;

use super::{ScriptReader, children};
use crate::shell::{SimpleCommand, Word};

impl ScriptReader<'_> {
    /// Adds one piece of a word to it.
    pub(super) fn piece(&mut self, command: &mut SimpleCommand, word: &mut Word, node: Node<'_>) {
        if self.depth >= super::DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        self.depth += 1;
        let text = self.text(node);
        match node.kind() {
            "word" if node.named_child_count() == 0 => bare(word, text),
            "number" if node.named_child_count() == 0 => word.text.push_str(text),
            "raw_string" => word.text.push_str(between(text, "'", "'")),
            "string" => self.quoted(command, word, node),
            "ansi_c_string" => {
                word.plain = false;
                word.text.push_str(&ansi(between(text, "$'", "'")));
            }
            "concatenation" | "translated_string" => self.joined(command, word, node),
            _ => {
                word.plain = false;
                word.text.push_str(text);
                self.expansion(command, node);
            }
        }
        self.depth -= 1;
    }

    /// Pieces without a gap between them.
    fn joined(&mut self, command: &mut SimpleCommand, word: &mut Word, node: Node<'_>) {
        word.plain &= node.kind() == "concatenation";
        let mut end = node.start_byte();
        for child in children(node) {
            let gap = self.line.get(end..child.start_byte()).unwrap_or("?");
            // A line that goes on behind a backslash is no gap.
            self.script.unclear |= !gap.replace("\\\n", "").is_empty();
            end = child.end_byte();
            self.piece(command, word, child);
        }
    }

    /// `"…"`: the text between its expansions, as it stands in the line. (The tree's own pieces leave
    /// out some of the blanks.)
    fn quoted(&mut self, command: &mut SimpleCommand, word: &mut Word, node: Node<'_>) {
        let (start, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
        let mut at = start;
        for child in children(node) {
            if !child.is_named() || child.kind() == "string_content" {
                continue;
            }
            in_double_quotes(word, self.line.get(at..child.start_byte()).unwrap_or("$"));
            self.piece(command, word, child);
            at = child.end_byte();
        }
        in_double_quotes(word, self.line.get(at..end).unwrap_or("$"));
    }

    /// Looks for commands within what the shell expands.
    fn expansion(&mut self, command: &mut SimpleCommand, node: Node<'_>) {
        match node.kind() {
            "command_substitution" | "process_substitution" => self.nest(command, node),
            "arithmetic_expansion" => {
                self.script.control |= self.text(node).starts_with("$(");
                self.expansions_of(command, node);
            }
            _ => self.expansions_of(command, node),
        }
    }

    pub(super) fn expansions_of(&mut self, command: &mut SimpleCommand, node: Node<'_>) {
        if self.depth >= super::DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        self.depth += 1;
        for child in children(node) {
            self.expansion(command, child);
        }
        self.depth -= 1;
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let text = text.strip_prefix(open).unwrap_or(text);
    text.strip_suffix(close).unwrap_or(text)
}

/// A word, or a piece of one, without quotes.
fn bare(word: &mut Word, text: &str) {
    if word.text.is_empty() && word.plain && text.starts_with('~') {
        (word.plain, word.tilde) = (false, true);
    }
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped) => word.text.push(escaped),
                None => word.plain = false,
            },
            '*' | '?' | '[' | '{' | '$' | '`' | '\'' | '"' => {
                word.plain = false;
                word.text.push(character);
            }
            _ => word.text.push(character),
        }
    }
}

fn in_double_quotes(word: &mut Word, text: &str) {
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next_if(|c| "$`\"\\\n".contains(*c)) {
                Some('\n') => {}
                Some(escaped) => word.text.push(escaped),
                None => word.text.push('\\'),
            },
            '$' | '`' => {
                word.plain = false;
                word.text.push(character);
            }
            _ => word.text.push(character),
        }
    }
}

/// The text of `$'…'`, so that a dangerous word is seen through it. It is not plain all the same.
fn ansi(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let (decoded, behind) = escape(&rest[at + 1..]);
        plain.extend(decoded);
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

/// One escape, without its backslash; and what comes behind it.
fn escape(text: &str) -> (Option<char>, &str) {
    let mut rest = text.chars();
    let numbered = |digits: &'_ str, radix: u32, digits_max: usize| {
        let count = digits
            .chars()
            .take(digits_max)
            .take_while(|c| c.is_digit(radix))
            .count();
        let value = u32::from_str_radix(&digits[..count], radix).ok();
        (value.and_then(char::from_u32), count)
    };
    let (radix, digits_max) = match rest.next() {
        Some('x') => (16, 2),
        Some('u') => (16, 4),
        Some('U') => (16, 8),
        Some('0'..='7') => (8, 3),
        Some('n') => return (Some('\n'), rest.as_str()),
        Some('t') => return (Some('\t'), rest.as_str()),
        other => return (other, rest.as_str()),
    };
    let digits = match radix {
        8 => text,
        _ => rest.as_str(),
    };
    let (decoded, count) = numbered(digits, radix, digits_max);
    (decoded, &digits[count..])
}
