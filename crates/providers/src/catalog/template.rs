//! Addresses and headers that name variables of the environment, as
//! `https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1`.
//!
//! `{A}` is the value of the variable A, `{A|B}` that of the first that is set, `{A=b}` is `b` where A
//! is not set. Other braces are themselves.

use super::merged::Environment;

/// Why a text could not be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// None of these is set: `A or B`.
    Unset(String),
    /// The value of this one is no name that could stand in an address.
    NotAName(String),
}

/// A text with what the environment says in it.
pub fn filled(text: &str, environment: &Environment) -> Result<String, TemplateError> {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            TemplatePiece::Text(text) => filled.push_str(text),
            TemplatePiece::Variables { names, usual } => {
                let value = names.split('|').find_map(|name| {
                    let value = environment.get(name)?.trim();
                    (!value.is_empty()).then_some(value)
                });
                let unset = || TemplateError::Unset(names.replace('|', " or "));
                filled.push_str(value.or(usual).ok_or_else(unset)?);
            }
        }
    }
    Ok(filled)
}

/// The same for an address. A value is a part of it and not more: a whole URL, pasted where a name
/// belongs, would send a key to somebody else.
pub fn filled_address(text: &str, environment: &Environment) -> Result<String, TemplateError> {
    for piece in pieces(text) {
        let TemplatePiece::Variables { names, .. } = piece else {
            continue;
        };
        let odd = names.split('|').find(|name| {
            let value = environment.get(*name).map(|value| value.trim());
            value.is_some_and(|value| !value.chars().all(fits_an_address))
        });
        if let Some(name) = odd {
            return Err(TemplateError::NotAName(name.to_owned()));
        }
    }
    filled(text, environment)
}

/// The text with something in every place, to see what is around them.
pub fn shape(text: &str) -> String {
    let shaped = pieces(text).into_iter().map(|piece| match piece {
        TemplatePiece::Text(text) => text,
        TemplatePiece::Variables { .. } => "x",
    });
    shaped.collect()
}

enum TemplatePiece<'a> {
    Text(&'a str),
    Variables {
        names: &'a str,
        usual: Option<&'a str>,
    },
}

fn pieces(text: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let inside = &rest[open + 1..];
        let variables = inside.find('}').and_then(|close| {
            let piece = variables(&inside[..close])?;
            Some((piece, &inside[close + 1..]))
        });
        match variables {
            Some((piece, after)) => {
                pieces.push(TemplatePiece::Text(&rest[..open]));
                pieces.push(piece);
                rest = after;
            }
            None => {
                pieces.push(TemplatePiece::Text(&rest[..=open]));
                rest = inside;
            }
        }
    }
    pieces.push(TemplatePiece::Text(rest));
    pieces
}

fn variables(inside: &str) -> Option<TemplatePiece<'_>> {
    let (names, usual) = match inside.split_once('=') {
        Some((names, usual)) => (names, Some(usual)),
        None => (inside, None),
    };
    names
        .split('|')
        .all(is_variable)
        .then_some(TemplatePiece::Variables { names, usual })
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
}

fn fits_an_address(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let pairs = [
            ("A", " one "),
            ("EMPTY", " "),
            ("URL", "https://x.example/"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        pairs.into_iter().collect()
    }

    #[test]
    fn variables_are_filled_in() {
        for (text, expected) in [
            ("https://{A}.example/{A}", "https://one.example/one"),
            ("{B|A}", "one"),
            ("{EMPTY|A}", "one"),
            ("{B=two}-{A=two}", "two-one"),
            ("{B=}", ""),
            ("plain", "plain"),
            // Not variables.
            (r#"{"a": 1} {} {a} {A"#, r#"{"a": 1} {} {a} {A"#),
            ("{{A}}", "{one}"),
        ] {
            assert_eq!(
                filled(text, &environment()).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
        let unset = Err(TemplateError::Unset("B or EMPTY".to_owned()));
        assert_eq!(filled("{B|EMPTY}", &environment()), unset);
    }

    #[test]
    fn only_a_name_goes_into_an_address() {
        assert_eq!(
            filled("{URL}", &environment()).as_deref(),
            Ok("https://x.example/")
        );
        let odd = Err(TemplateError::NotAName("URL".to_owned()));
        assert_eq!(filled_address("https://{URL}.example", &environment()), odd);
        let fine = filled_address("https://{A}.example", &environment());
        assert_eq!(fine.as_deref(), Ok("https://one.example"));
    }

    #[test]
    fn a_shape_has_no_variables() {
        assert_eq!(shape("https://{A|B=c}.example/v1"), "https://x.example/v1");
    }
}
