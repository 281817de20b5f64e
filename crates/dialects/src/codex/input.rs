//! What a user says, as a client sends it: text and pictures.

use vocabulary::{InputPiece, TextMark};

use super::hear::repeated;
use super::refuse::CodexError;
use super::wire::params::{ByteRange, TextElement, UserInput};
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::{self, MARKS_MAX, TurnInput, is_usual, named};

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

/// What a client marks in its text, told back to everyone as it is.
fn marks(text: &str, elements: &[TextElement]) -> Result<Vec<TextMark>, String> {
    if elements.len() > MARKS_MAX {
        return Err(format!("text_elements: at most {MARKS_MAX}"));
    }
    let mark = |element: &TextElement| {
        let ByteRange { start, end } = element.byte_range;
        let mark = turn_input::mark(text, (start, end), element.placeholder.as_ref());
        mark.map_err(|why| format!("text_elements: {why}"))
    };
    elements.iter().map(mark).collect()
}
