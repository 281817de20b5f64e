//! What a user says, as a client sends it: text and pictures.

use super::hear::repeated;
use super::refuse::Wrong;
use super::wire::params::UserInput;
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::TurnInput;

/// The text and the pictures of an input. Mentions repeat what the text says.
pub fn read(method: &str, input: &[UserInput]) -> Result<TurnInput, Wrong> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    let wrong = |why: &str| Wrong::params(format!("{method}: input: {why}"));
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
            "skill" | "mention" => {}
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
    Ok(TurnInput { text, images })
}
