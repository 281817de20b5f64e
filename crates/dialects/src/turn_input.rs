//! What a client says to a turn, once it is read.

use vocabulary::{Image, InputPiece, TextMark};

/// The longest path or name that is taken.
const NAME_BYTES_MAX: usize = 4096;
/// The most places that are marked in one text.
pub const MARKS_MAX: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnInput {
    pub text: String,
    pub images: Vec<Image>,
    /// In which order they were said, where that is not the text and then the pictures.
    pub pieces: Vec<InputPiece>,
    /// What the user points at beside the text, in words for the model.
    pub pointed: Vec<String>,
}

impl TurnInput {
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// What the model reads, and what people are shown where that is something else.
    pub fn into_texts(self) -> (String, Option<String>) {
        if self.pointed.is_empty() {
            return (self.text, None);
        }
        let pointed = self.pointed.join("\n");
        (format!("{}\n\n{pointed}", self.text), Some(self.text))
    }
}

/// One text without marks, and then pictures: what is shown of any input of which no more is known.
pub fn is_usual(pieces: &[InputPiece]) -> bool {
    let is_image = |piece: &InputPiece| *piece == InputPiece::Image;
    match pieces {
        [InputPiece::Text { marks, .. }, rest @ ..] => {
            marks.is_empty() && rest.iter().all(is_image)
        }
        all => all.iter().all(is_image),
    }
}

/// What a piece names, in words for the model. A name of several lines is none.
pub fn named(name: Option<&str>, words: &str) -> Option<String> {
    let name = name.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)?;
    (!name.contains(char::is_control)).then(|| format!("[{words} {name}]"))
}

/// A place that a client marks in its text, told back to everyone as it is.
pub fn mark(
    text: &str,
    (start, end): (usize, usize),
    placeholder: Option<&String>,
) -> Result<TextMark, String> {
    if text.get(start..end).is_none() {
        return Err("byteRange: expected a place within the text".to_owned());
    }
    if placeholder.is_some_and(|words| words.len() > NAME_BYTES_MAX) {
        return Err(format!("placeholder: at most {NAME_BYTES_MAX} bytes"));
    }
    Ok(TextMark {
        start,
        end,
        placeholder: placeholder.cloned(),
    })
}
