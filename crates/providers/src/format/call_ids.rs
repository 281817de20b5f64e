//! Call ids that the format and the service accept. Those of another provider may be too long, hold
//! letters that are refused, or repeat; they get another one instead, the same in every request of
//! a conversation so that the provider's cache still fits.

use std::borrow::Cow;
use std::collections::HashSet;

use ring::digest::{SHA256, digest};

use super::{CallIdStyle, Wire};

/// Those of one request.
pub(super) struct CallIds {
    wire: Wire,
    style: Option<CallIdStyle>,
    taken: HashSet<String>,
    made: u32,
}

impl CallIds {
    pub fn new(wire: Wire, style: Option<CallIdStyle>) -> Self {
        Self {
            wire,
            style,
            taken: HashSet::new(),
            made: 0,
        }
    }

    pub fn accepted<'a>(&mut self, id: &'a str) -> Cow<'a, str> {
        if self.fits(id) && self.taken.insert(id.to_owned()) {
            return Cow::Borrowed(id);
        }
        let mut attempt = 0;
        loop {
            attempt += 1;
            let made = match self.style {
                Some(CallIdStyle::NineAlphanumeric) => nine_letters(id, attempt),
                None => {
                    self.made += 1;
                    format!("call_{}", self.made)
                }
            };
            if self.taken.insert(made.clone()) {
                return Cow::Owned(made);
            }
        }
    }

    fn fits(&self, id: &str) -> bool {
        if let Some(CallIdStyle::NineAlphanumeric) = self.style {
            return id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric());
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let bytes_max = match self.wire {
            Wire::Chat => 40,
            Wire::Responses | Wire::Messages | Wire::Gemini => 64,
        };
        let letters_fit = match self.wire {
            Wire::Messages => id.chars().all(plain),
            // Compatible servers read meaning into their own: `functions.bash:0`.
            Wire::Responses | Wire::Chat | Wire::Gemini => id.chars().all(|l| l.is_ascii_graphic()),
        };
        !id.is_empty() && id.len() <= bytes_max && letters_fit
    }
}

/// Nine letters and digits that stand for an id.
fn nine_letters(id: &str, attempt: u32) -> String {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let hash = digest(&SHA256, format!("{attempt}:{id}").as_bytes());
    let bytes = hash.as_ref().iter().take(9);
    bytes
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
        .collect()
}
