//! Templates of slash commands: which placeholders they have, and what they say with arguments.
//!
//! `$1`, `$2` … stand for single arguments, the highest of them for all that are left; `$ARGUMENTS` for all
//! as they were written. Arguments of a template without any come after it.

use std::collections::BTreeSet;

const ALL: &str = "ARGUMENTS";

/// A template in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandPiece<'a> {
    Text(&'a str),
    /// From 1 on.
    Argument(usize),
    AllArguments,
}

/// The placeholders of a template: the numbers first.
pub fn hints(template: &str) -> Vec<String> {
    let pieces = pieces(template);
    let numbers = numbers(&pieces).into_iter();
    let mut hints: Vec<String> = numbers.map(|number| format!("${number}")).collect();
    if pieces.contains(&CommandPiece::AllArguments) {
        hints.push(format!("${ALL}"));
    }
    hints
}

/// What a template says with these arguments, or nothing where that would be longer than `bytes_max`.
pub fn expand(template: &str, arguments: &str, bytes_max: usize) -> Option<String> {
    let arguments = arguments.trim();
    let pieces = pieces(template);
    let words = split(arguments);
    let highest = numbers(&pieces).last().copied().unwrap_or_default();
    let mut text = String::new();
    for piece in &pieces {
        match piece {
            CommandPiece::Text(plain) => text.push_str(plain),
            CommandPiece::AllArguments => text.push_str(arguments),
            CommandPiece::Argument(number) if *number == highest => {
                let left = words.get(number - 1..).unwrap_or_default();
                text.push_str(&left.join(" "));
            }
            CommandPiece::Argument(number) => {
                text.push_str(words.get(number - 1).copied().unwrap_or_default());
            }
        }
        // A large argument that stands in a template many times is never put together.
        if text.len() > bytes_max {
            return None;
        }
    }
    let takes_none = pieces
        .iter()
        .all(|piece| matches!(piece, CommandPiece::Text(_)));
    let text = match takes_none && !arguments.is_empty() {
        true => format!("{}\n\n{arguments}", text.trim_end()),
        false => text,
    };
    let text = text.trim().to_owned();
    (text.len() <= bytes_max).then_some(text)
}

/// Arguments as one writes them: apart by blanks, those with blanks in quotes. A quote inside of a word
/// or without an end is a letter.
pub fn split(arguments: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = match first {
            '"' | '\'' => rest[1..].split_once(first),
            _ => None,
        };
        let is_whole = |after: &str| after.is_empty() || after.starts_with(char::is_whitespace);
        let (word, after) = match quoted {
            Some((word, after)) if is_whole(after) => (word, after),
            Some(_) | None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn numbers(pieces: &[CommandPiece<'_>]) -> BTreeSet<usize> {
    let number = |piece: &CommandPiece<'_>| match piece {
        CommandPiece::Argument(number) => Some(*number),
        CommandPiece::Text(_) | CommandPiece::AllArguments => None,
    };
    pieces.iter().filter_map(number).collect()
}

fn pieces(template: &str) -> Vec<CommandPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let (placeholder, length) = placeholder(&from[1..]);
        let (dollar, after) = from.split_at(1 + length);
        pieces.push(CommandPiece::Text(before));
        pieces.push(placeholder.unwrap_or(CommandPiece::Text(dollar)));
        rest = after;
    }
    pieces.push(CommandPiece::Text(rest));
    pieces
}

/// What begins behind a `$`, and how long it is.
fn placeholder(text: &str) -> (Option<CommandPiece<'_>>, usize) {
    if text.starts_with(ALL) {
        return (Some(CommandPiece::AllArguments), ALL.len());
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text[..digits].parse::<usize>() {
        Ok(number) if number > 0 => (Some(CommandPiece::Argument(number)), digits),
        Ok(_) | Err(_) => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_the_placeholders() {
        let table: [(&str, &[&str]); 6] = [
            ("Do it.", &[]),
            ("$2 $1 $2 $10", &["$1", "$2", "$10"]),
            ("$ARGUMENTS and $1", &["$1", "$ARGUMENTS"]),
            ("$0 $ $$ $x costs $1,50", &["$1"]),
            ("$99999999999999999999999", &[]),
            ("$ARGUMENTSX", &["$ARGUMENTS"]),
        ];
        for (template, expected) in table {
            assert_eq!(hints(template), expected, "{template}");
        }
    }

    #[test]
    fn a_template_says_what_its_arguments_make_of_it() {
        let table = [
            ("Do it.", "", "Do it."),
            ("Do it.\n", " now  please ", "Do it.\n\nnow  please"),
            ("Do $1 with $2.", "a b c", "Do a with b c."),
            ("Do $1 with $2.", "\"a b\" 'c d' e", "Do a b with c d e."),
            ("Do $2 with $1.", "a", "Do  with a."),
            ("$ARGUMENTS: $1", "  a  \"b\" ", "a  \"b\": a b"),
            ("[$ARGUMENTS]", "$1 $ARGUMENTS", "[$1 $ARGUMENTS]"),
            ("$0 $x $1$", "a", "$0 $x a$"),
            ("$1", "", ""),
            ("", "a", "a"),
            ("é$1é", "ü", "éüé"),
        ];
        for (template, arguments, expected) in table {
            let said = expand(template, arguments, 1_000);
            assert_eq!(said.as_deref(), Some(expected), "{template} {arguments}");
        }
    }

    #[test]
    fn arguments_are_split_as_they_are_written() {
        let table: [(&str, &[&str]); 7] = [
            ("", &[]),
            (" a\tb\nc ", &["a", "b", "c"]),
            ("\"a b\" 'c'", &["a b", "c"]),
            ("it's \"open", &["it's", "\"open"]),
            ("\"\" a", &["", "a"]),
            ("\"a\"b c", &["\"a\"b", "c"]),
            ("'a \"b\" c'", &["a \"b\" c"]),
        ];
        for (arguments, expected) in table {
            assert_eq!(split(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn what_would_be_too_long_is_not_put_together() {
        assert_eq!(
            expand(&"$1 ".repeat(1_000), &"x".repeat(1_000), 2_000),
            None
        );
        assert_eq!(expand("a", "b", 3), None);
        assert!(expand("a", "b", 4).is_some());
    }
}
