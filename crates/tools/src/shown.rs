//! Text as a person reads it before they decide: nothing in it can hide, move or colour other text.
//!
//! Only what is shown goes through here. What runs, and what a grant covers, stays as it is.

use std::borrow::Cow;

use crate::shell::is_hidden;

/// A text that may have several lines, like a command: line breaks and tabs stay.
pub fn script(text: &str) -> Cow<'_, str> {
    visible(text, is_hidden)
}

/// A text that stands on one line.
pub fn line(text: &str) -> Cow<'_, str> {
    visible(text, |letter| {
        is_hidden(letter) || matches!(letter, '\n' | '\t')
    })
}

/// A name that people gave or read, on one line: blanks of all kinds are spaces, and what joins letters
/// or picks the look of a picture stays where it does that.
pub fn title(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut joins = false;
    for letter in text.chars() {
        match letter {
            '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' if joins => shown.push(letter),
            letter if letter.is_whitespace() => shown.push(' '),
            letter if is_hidden(letter) => escape(&mut shown, letter),
            letter => shown.push(letter),
        }
        joins = !letter.is_ascii() && (joins || !is_hidden(letter));
    }
    shown
}

fn visible(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match hidden(letter) {
            true => escape(&mut shown, letter),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

fn escape(shown: &mut String, letter: char) {
    match letter {
        '\n' | '\r' | '\t' => shown.extend(letter.escape_default()),
        letter => shown.extend(letter.escape_unicode()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: &str = "a\u{1b}[2Kb\u{202e}c\u{200b}d\re\u{85}f\u{a0}g\u{ad}h\0";

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        let shown = "a\\u{1b}[2Kb\\u{202e}c\\u{200b}d\\re\\u{85}f\\u{a0}g\\u{ad}h\\u{0}";
        assert_eq!(script(HIDDEN), shown);
        assert_eq!(line(HIDDEN), shown);
    }

    #[test]
    fn a_script_has_lines_and_a_line_has_none() {
        let text = "if x\n\tthen y\r\n";
        assert_eq!(script(text), "if x\n\tthen y\\r\n");
        assert_eq!(line(text), "if x\\n\\tthen y\\r\\n");
        for plain in ["grün && 日本 | 'ñ'", ""] {
            assert!(matches!(line(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    #[test]
    fn a_title_keeps_what_belongs_to_its_script() {
        assert_eq!(
            title("fix\n\x1b[31mit\u{202e} \u{feff}now"),
            "fix \\u{1b}[31mit\\u{202e} \\u{feff}now"
        );
        let family = "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} می\u{200c}خواهم 日本\u{3000}語";
        assert_eq!(title(family), family.replace('\u{3000}', " "));
        assert_eq!(title("a\u{200d}b\u{fe0f}"), "a\\u{200d}b\\u{fe0f}");
    }
}
