//! What a client says to a turn, once it is read.

use vocabulary::Image;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnInput {
    pub text: String,
    pub images: Vec<Image>,
}

impl TurnInput {
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }
}
