//! What a user says, as a client sends it: text and pictures.

use super::hear::repeated;
use super::refuse::CodexError;
use super::wire::params::UserInput;
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::TurnInput;

/// The longest path or name that is taken.
const NAME_BYTES_MAX: usize = 4096;

/// The text and the pictures of an input, and what it points at.
pub fn read(method: &str, input: &[UserInput]) -> Result<TurnInput, CodexError> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    let mut pointed = Vec::new();
    let wrong = |why: &str| CodexError::params(format!("{method}: input: {why}"));
    for piece in input {
        match piece.kind.as_str() {
            "text" => {
                let text = piece.text.as_deref();
                texts.push(text.ok_or_else(|| wrong("expected a text"))?);
            }
            "image" => {
                let url = piece.url.as_deref();
                let url = url.ok_or_else(|| wrong("url: expected the URL of the picture"))?;
                let image = images::from_url(url).map_err(|why| wrong(&format!("url: {why}")))?;
                images.push(image);
            }
            "localImage" => {
                let path = piece.path.as_deref().unwrap_or_default();
                let image =
                    images::from_path(path).map_err(|why| wrong(&format!("path: {why}")))?;
                images.push(image);
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
        pointed,
    })
}

/// What a piece names, in words for the model. A name of several lines is none.
fn named(name: Option<&str>, words: &str) -> Option<String> {
    let name = name.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)?;
    (!name.contains(char::is_control)).then(|| format!("[{words} {name}]"))
}
