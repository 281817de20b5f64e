//! What a user says, as a client sends it: text and pictures.

use super::wire::params::UserInput;
use crate::images::{self, IMAGES_MAX};
use crate::turn_input::TurnInput;

/// How much of a client's own word an error repeats.
const REPEATED_CHARS_MAX: usize = 80;

/// Its texts one below the other. What is wrong is said with the field that is.
pub fn read(input: &[UserInput]) -> Result<TurnInput, String> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for (at, piece) in input.iter().enumerate() {
        let image = match piece.kind.as_str() {
            "text" => {
                texts.extend(piece.text.as_deref());
                continue;
            }
            "image" => images::from_url(piece.url.as_deref().unwrap_or_default())
                .map_err(|why| format!("input[{at}].url: {why}"))?,
            "localImage" => images::from_path(piece.path.as_deref().unwrap_or_default())
                .map_err(|why| format!("input[{at}].path: {why}"))?,
            other => {
                let other: String = other.chars().take(REPEATED_CHARS_MAX).collect();
                return Err(format!(
                    "input[{at}].type: expected text, image or localImage, not `{other}`"
                ));
            }
        };
        images.push(image);
    }
    if images.len() > IMAGES_MAX {
        return Err(format!("input: at most {IMAGES_MAX} pictures"));
    }
    let text = texts.join("\n");
    match text.trim().is_empty() && images.is_empty() {
        true => Err("input must have some text".to_owned()),
        false => Ok(TurnInput {
            text,
            images,
            pieces: Vec::new(),
            pointed: Vec::new(),
        }),
    }
}
