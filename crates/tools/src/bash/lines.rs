//! The lines of a stream as they stand when they are complete: without colours and other commands to a
//! terminal, and of a line that was written over only what it became.

use super::ordered::OrderedOutput;

/// A longer line is passed on in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;
const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const BACKSPACE: char = '\u{8}';
const STRING_END: char = '\u{9c}';

/// Where in a command to the terminal a stream is.
#[derive(Clone, Copy, Default)]
enum EscapeState {
    #[default]
    Outside,
    Begun,
    /// A control sequence, with the number it has if it has only one.
    Sequence(u32),
    /// A text for the terminal, such as a title.
    Words,
    WordsEnding,
}

/// Makes lines of one stream.
#[derive(Default)]
pub(super) struct StreamLines {
    line: String,
    /// What comes next is written over the line.
    at_start: bool,
    escape: EscapeState,
}

impl StreamLines {
    /// Takes what came and passes on the lines that are complete.
    pub fn push(&mut self, text: &str, output: &mut OrderedOutput) {
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(self.escape, EscapeState::Outside) {
                let plain = rest.find(is_control).unwrap_or(rest.len());
                self.write(&rest[..plain], output);
                rest = &rest[plain..];
            }
            let Some(letter) = rest.chars().next() else {
                return;
            };
            rest = &rest[letter.len_utf8()..];
            self.take(letter, output);
        }
    }

    /// The stream has ended: its last line is complete, too.
    pub fn finish(&mut self, output: &mut OrderedOutput) {
        if !self.line.is_empty() {
            self.end_line(output);
        }
    }

    fn take(&mut self, letter: char, output: &mut OrderedOutput) {
        match self.escape {
            EscapeState::Outside => self.control(letter, output),
            EscapeState::Begun => match letter {
                '[' => self.escape = EscapeState::Sequence(0),
                ']' | 'P' | 'X' | '^' | '_' => self.escape = EscapeState::Words,
                ' '..='/' => {}
                '0'..='~' => self.escape = EscapeState::Outside,
                _ => self.leave(letter, output),
            },
            EscapeState::Sequence(number) => match letter {
                '0'..='9' => {
                    let digit = u32::from(letter) - u32::from('0');
                    let number = number.saturating_mul(10).saturating_add(digit);
                    self.escape = EscapeState::Sequence(number);
                }
                ' '..='?' => self.escape = EscapeState::Sequence(u32::MAX),
                '@'..='~' => {
                    self.escape = EscapeState::Outside;
                    self.obey(letter, number);
                }
                _ => self.leave(letter, output),
            },
            EscapeState::Words => match letter {
                BELL | STRING_END => self.escape = EscapeState::Outside,
                ESCAPE => self.escape = EscapeState::WordsEnding,
                // Words that never end must not take the rest of the output with them.
                '\n' => self.leave(letter, output),
                _ => {}
            },
            EscapeState::WordsEnding => match letter {
                '\\' => self.escape = EscapeState::Outside,
                _ => {
                    self.escape = EscapeState::Begun;
                    self.take(letter, output);
                }
            },
        }
    }

    /// What cannot belong to the command that was begun ends it.
    fn leave(&mut self, letter: char, output: &mut OrderedOutput) {
        self.escape = EscapeState::Outside;
        self.control(letter, output);
    }

    fn control(&mut self, letter: char, output: &mut OrderedOutput) {
        match letter {
            '\n' => self.end_line(output),
            '\r' => self.at_start = true,
            ESCAPE => self.escape = EscapeState::Begun,
            BACKSPACE => {
                self.line.pop();
            }
            '\0' | BELL => {}
            _ => self.write(letter.encode_utf8(&mut [0; 4]), output),
        }
    }

    /// Progress at a terminal is drawn with these as often as with a carriage return.
    fn obey(&mut self, command: char, number: u32) {
        match (command, number) {
            ('G', 0 | 1) => self.at_start = true,
            ('K', 2) => self.line.clear(),
            ('K', 0) if self.at_start => self.line.clear(),
            _ => {}
        }
    }

    fn write(&mut self, text: &str, output: &mut OrderedOutput) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.at_start) {
            self.line.clear();
        }
        self.line.push_str(text);
        if self.line.len() > LINE_BYTES_MAX {
            output.push(&self.line);
            self.line.clear();
        }
    }

    fn end_line(&mut self, output: &mut OrderedOutput) {
        self.line.push('\n');
        output.push(&self.line);
        self.line.clear();
        self.at_start = false;
    }
}

fn is_control(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\0' | ESCAPE | BELL | BACKSPACE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// However it is cut into pieces.
    fn lines(text: &str, size: usize) -> String {
        let (mut lines, mut output) = (StreamLines::default(), OrderedOutput::default());
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            lines.push(&piece.iter().collect::<String>(), &mut output);
        }
        lines.finish(&mut output);
        output.take().text
    }

    #[test]
    fn a_line_is_what_it_became() {
        let table = [
            ("plain\n\ttext", "plain\n\ttext\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: no\n", "error: no\n"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\n", "ab\n"),
            ("\u{1b}(Ba\u{1b}=b\n", "ab\n"),
            ("10%\r20%\r100%\nnext\r\n", "100%\nnext\n"),
            ("10%\r", "10%\n"),
            ("long line\rshort\n", "short\n"),
            ("wait\r\u{1b}[Kdone\n", "done\n"),
            ("wait\u{1b}[2K\u{1b}[1Gdone\n", "done\n"),
            ("wait\r\u{1b}[K\nnext\n", "\nnext\n"),
            ("N\u{8}NA\u{8}A\n", "NA\n"),
            ("a\0b\u{7}c\n", "abc\n"),
            ("\u{1b}]never ends\nnext\n", "\nnext\n"),
            ("\u{1b}[3\nnext\n", "\nnext\n"),
            ("\u{1b}[ä\n", "ä\n"),
            ("a\u{c}b\n", "a\u{c}b\n"),
            ("", ""),
        ];
        for (written, expected) in table {
            for size in [1, 2, 100] {
                assert_eq!(lines(written, size), expected, "{written:?} by {size}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_not_gathered() {
        let (mut lines, mut output) = (StreamLines::default(), OrderedOutput::default());
        for _ in 0..100 {
            lines.push(&"x".repeat(10_000), &mut output);
            assert!(lines.line.len() <= LINE_BYTES_MAX);
        }
        lines.finish(&mut output);
        assert_eq!(output.take().text.len(), 1_000_001);
    }

    proptest! {
        #[test]
        fn any_text_gives_the_same_however_it_is_read(
            text in r"[\x1b\[\](0-9;GK\r\n\x07\x08\x00aä\\]{0,60}",
            size in 1usize..5,
        ) {
            let whole = lines(&text, usize::MAX);
            prop_assert!(!whole.contains([ESCAPE, '\0', '\r']));
            prop_assert_eq!(lines(&text, size), whole);
        }
    }
}
