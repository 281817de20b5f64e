//! What a person's screen shows: text that no terminal obeys, and colours where there is one.

use std::fmt::Write as _;
use std::io::IsTerminal;

pub const GREEN: &str = "\x1b[32m";
pub const RED: &str = "\x1b[31m";
pub const LOUD: &str = "\x1b[1;31m";
pub const YELLOW: &str = "\x1b[33m";
pub const CYAN: &str = "\x1b[36m";
pub const BOLD: &str = "\x1b[1m";
pub const PLAIN: &str = "\x1b[0m";

/// Whether what is written to this stream may have colours.
pub fn has_colours(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused
}

/// How many letters a line of this stream has; none if it is no terminal.
pub fn width(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Text in lines of at most this many letters, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut line = lines.pop().unwrap_or_default();
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        lines.push(line);
    }
    lines
}

/// Text in a colour, where there are colours.
pub fn painted(text: &str, paint: &str, colours: bool) -> String {
    match colours && !paint.is_empty() {
        true => format!("{paint}{text}{PLAIN}"),
        false => text.to_owned(),
    }
}

/// Text on one line, without anything that a terminal would obey or a reader would not see.
pub fn harmless(text: &str) -> String {
    harmless_but(text, "")
}

/// The same, but for these characters.
pub fn harmless_but(text: &str, but: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_harmful(letter) && !but.contains(letter) {
            true => {
                let _ = write!(shown, "{}", letter.escape_default());
            }
            false => shown.push(letter),
        }
    }
    shown
}

/// Commands to the terminal, marks that turn text round, and letters without a width that make two
/// texts look alike. Joiners and variants stay: scripts and pictures are written with them.
fn is_harmful(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_commands_a_terminal_or_turns_round() {
        assert_eq!(harmless("a\n\x1b[2Jb\u{9b}"), "a\\n\\u{1b}[2Jb\\u{9b}");
        assert_eq!(harmless("gpt\u{202e}5\u{200b}"), "gpt\\u{202e}5\\u{200b}");
        assert_eq!(harmless_but("a\tb\n\x07", "\t\n"), "a\tb\n\\u{7}");
        let fine = "日本 ümlaut می‌خواهم 👩‍💻❤️";
        assert_eq!(harmless(fine), fine);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary a", 5), ["extraordinary", "a"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn there_is_no_paint_without_colours() {
        assert_eq!(painted("x", RED, true), "\x1b[31mx\x1b[0m");
        assert_eq!(painted("x", RED, false), "x");
        assert_eq!(painted("x", "", true), "x");
    }
}
