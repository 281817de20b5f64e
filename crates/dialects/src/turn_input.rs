//! What a client says to a turn, once it is read.

use vocabulary::{Image, InputPiece};

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
