//! What a user says, as a client sends it: text and pictures.

use vocabulary::{InputPiece, TextMark};

use super::hear::repeated;
use super::refuse::CodexError;
use super::wire::params::{ByteRange, TextElement, UserInput};
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::TurnInput;

/// The longest path or name that is taken.
const NAME_BYTES_MAX: usize = 4096;
/// The most places that are marked in one text.
const MARKS_MAX: usize = 200;

/// The text and the pictures of an input, and what it points at.
pub fn read(method: &str, input: &[UserInput]) -> Result<TurnInput, CodexError> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    let mut pointed = Vec::new();
    let mut pieces = Vec::new();
    let wrong = |why: &str| CodexError::params(format!("{method}: input: {why}"));
    for piece in input {
        match piece.kind.as_str() {
            "text" => {
                let text = piece.text.as_deref();
                let text = text.ok_or_else(|| wrong("expected a text"))?;
                pieces.push(InputPiece::Text {
                    bytes: text.len(),
                    marks: marks(text, &piece.text_elements).map_err(|why| wrong(&why))?,
                });
                texts.push(text);
            }
            "image" => {
                let url = piece.url.as_deref();
                let url = url.ok_or_else(|| wrong("url: expected the URL of the picture"))?;
                let image = images::from_url(url).map_err(|why| wrong(&format!("url: {why}")))?;
                images.push(image);
                pieces.push(InputPiece::Image);
            }
            "localImage" => {
                let path = piece.path.as_deref().unwrap_or_default();
                let image =
                    images::from_path(path).map_err(|why| wrong(&format!("path: {why}")))?;
                images.push(image);
                pieces.push(InputPiece::Image);
            }
            "mention" => pointed.extend(named(piece.path.as_deref(), "the user points at")),
            "skill" => pointed.extend(named(
                piece.name.as_deref(),
                "the user wants this skill to be used:",
            )),
            other => {
                let other = repeated(other);
                return Err(wrong(&format!("expected text or a picture, not {other:?}")));
            }
        }
    }
    if images.len() > IMAGES_MAX {
        return Err(wrong(&format!("at most {IMAGES_MAX} pictures")));
    }
    let text = texts.join("\n");
    Ok(TurnInput {
        text,
        images,
        pieces: if is_usual(&pieces) {
            Vec::new()
        } else {
            pieces
        },
        pointed,
    })
}

/// One text without marks, and then pictures: what is shown of any input of which no more is known.
fn is_usual(pieces: &[InputPiece]) -> bool {
    let is_image = |piece: &InputPiece| *piece == InputPiece::Image;
    match pieces {
        [InputPiece::Text { marks, .. }, rest @ ..] => {
            marks.is_empty() && rest.iter().all(is_image)
        }
        all => all.iter().all(is_image),
    }
}

/// What a client marks in its text, told back to everyone as it is.
fn marks(text: &str, elements: &[TextElement]) -> Result<Vec<TextMark>, String> {
    if elements.len() > MARKS_MAX {
        return Err(format!("text_elements: at most {MARKS_MAX}"));
    }
    let mark = |element: &TextElement| {
        let TextElement {
            byte_range: ByteRange { start, end },
            placeholder,
        } = element;
        if text.get(*start..*end).is_none() {
            return Err("text_elements: byteRange: expected a place within the text".to_owned());
        }
        if placeholder
            .as_ref()
            .is_some_and(|words| words.len() > NAME_BYTES_MAX)
        {
            return Err(format!(
                "text_elements: placeholder: at most {NAME_BYTES_MAX} bytes"
            ));
        }
        Ok(TextMark {
            start: *start,
            end: *end,
            placeholder: placeholder.clone(),
        })
    };
    elements.iter().map(mark).collect()
}

/// What a piece names, in words for the model. A name of several lines is none.
fn named(name: Option<&str>, words: &str) -> Option<String> {
    let name = name.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)?;
    (!name.contains(char::is_control)).then(|| format!("[{words} {name}]"))
}
