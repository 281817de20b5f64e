//! What a user said, piece by piece, as `turn/start` takes it.

use vocabulary::{Image, InputPiece, TextMark, UserInput};

use crate::images;
use crate::pioneer::wire::history::Input;
use crate::pioneer::wire::params::{ByteRange, TextElement};

pub fn input(input: &UserInput) -> Vec<Input<'_>> {
    let in_order = in_order(input).filter(|_| !input.pieces.is_empty());
    in_order.unwrap_or_else(|| {
        let text = Input::Text {
            text: input.shown(),
            text_elements: Vec::new(),
        };
        let pictures = input.images.iter().map(picture);
        std::iter::once(text).chain(pictures).collect()
    })
}

/// Nothing where the pieces are not those of this text and these pictures.
fn in_order(input: &UserInput) -> Option<Vec<Input<'_>>> {
    let (text, mut images) = (input.shown(), input.images.iter());
    let (mut said, mut from) = (Vec::new(), 0);
    for piece in &input.pieces {
        said.push(match piece {
            InputPiece::Image => picture(images.next()?),
            InputPiece::Text { bytes, marks } => {
                let end = from + bytes;
                let words = text.get(from..end)?;
                from = end + 1;
                Input::Text {
                    text: words,
                    text_elements: marks.iter().map(element).collect(),
                }
            }
        });
    }
    Some(said)
}

fn element(mark: &TextMark) -> TextElement {
    let (start, end) = (mark.start, mark.end);
    TextElement {
        byte_range: ByteRange { start, end },
        placeholder: mark.placeholder.clone(),
    }
}

fn picture(image: &Image) -> Input<'_> {
    match images::show(image) {
        images::ImageLink::Url(url) => Input::Image { url },
        images::ImageLink::Path(path) => Input::LocalImage { path },
    }
}
