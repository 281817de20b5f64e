//! What must not be repeated: the credentials of one request, taken out of whatever the other side
//! says before anyone reads it.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

const MASK: &str = "[hidden]";
/// So much of a secret gives it away, from whichever part of it: a text may have been cut.
const TELLTALE_BYTES: usize = 8;
/// How many characters tell as much in other spellings: two digits for each byte, four letters for
/// three of them.
const TELLTALE_HEX: usize = 2 * TELLTALE_BYTES;
const TELLTALE_BASE64: usize = (4 * TELLTALE_BYTES).div_ceil(3);
/// Shorter ones are placeholders (`-`, `x`); hiding them would make nonsense of every sentence.
const SECRET_CHARS_MIN: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// The value of a header, and of `Bearer <key>` the key alone.
    pub(crate) fn add(&mut self, value: &str) {
        let key = value.rsplit(' ').next().unwrap_or(value);
        if key.chars().count() >= SECRET_CHARS_MIN {
            self.0.push(key.into());
        }
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        let mut hidden = vec![false; text.len()];
        for secret in &self.0 {
            mark(text.as_bytes(), secret.expose_secret(), &mut hidden);
        }
        masked(text, &hidden)
    }

    /// The longest one, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        let lengths = self.0.iter().map(|secret| secret.expose_secret().len());
        lengths.max().unwrap_or(0)
    }
}

/// Marks every run of the text that gives a part of the secret away, in any spelling.
fn mark(text: &[u8], secret: &str, hidden: &mut [bool]) {
    let whole = secret.len().min(TELLTALE_BYTES);
    mark_runs(text, &[secret.to_owned()], whole, hidden);
    if whole < TELLTALE_BYTES {
        return;
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let hex = [hex.to_uppercase(), hex];
    mark_runs(text, &hex, TELLTALE_HEX, hidden);
    mark_runs(text, &in_base64(secret), TELLTALE_BASE64, hidden);
}

/// The letters that stand for it, wherever among other bytes it was when it was encoded.
fn in_base64(secret: &str) -> Vec<String> {
    let mut spellings = Vec::new();
    for before in 0..3 {
        let bytes = [&vec![0; before], secret.as_bytes()].concat();
        // The first letters tell of the bytes before, too.
        let own = |text: String| text[(4 * before).div_ceil(3)..].to_owned();
        spellings.push(own(STANDARD_NO_PAD.encode(&bytes)));
        spellings.push(own(URL_SAFE_NO_PAD.encode(&bytes)));
    }
    spellings
}

/// Marks all that is covered by pieces of this length which are in the text and in a spelling.
fn mark_runs(text: &[u8], spellings: &[String], length: usize, hidden: &mut [bool]) {
    let pieces = spellings
        .iter()
        .flat_map(|each| each.as_bytes().windows(length));
    let pieces: HashSet<&[u8]> = pieces.collect();
    let mut marked = 0;
    for (at, piece) in text.windows(length).enumerate() {
        if pieces.contains(piece) {
            hidden[marked.max(at)..at + length].fill(true);
            marked = at + length;
        }
    }
}

/// The text with one mask for each marked run.
fn masked(text: &str, hidden: &[bool]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut in_run = false;
    for (at, letter) in text.char_indices() {
        let hide = hidden[at..at + letter.len_utf8()].contains(&true);
        match (hide, in_run) {
            (false, _) => shown.push(letter),
            (true, false) => shown.push_str(MASK),
            (true, true) => {}
        }
        in_run = hide;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn mask(secret: &str, text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.add(secret);
        secrets.mask(text)
    }

    #[test]
    fn a_key_is_hidden_wherever_it_stands() {
        let key = "Bearer sk-0123456789";
        assert_eq!(
            mask(key, "bad key sk-0123456789, (Bearer sk-0123456789)"),
            "bad key [hidden], (Bearer [hidden])"
        );
        assert_eq!(mask(key, "nothing here"), "nothing here");
    }

    #[test]
    fn so_is_any_part_of_it_that_tells_enough() {
        for (part, shown) in [
            ("sk-01234", "[hidden]"),
            ("3456789a", "[hidden]"),
            ("89abcdef", "[hidden]"),
            ("…89abcdef", "…[hidden]"),
            ("xsk-0123456789abcdefx", "x[hidden]x"),
            ("é3456789abé", "é[hidden]é"),
            ("9abcdef", "9abcdef"),
            ("sk-0****cdef", "sk-0****cdef"),
        ] {
            assert_eq!(
                mask(KEY, &format!("bad: {part}.")),
                format!("bad: {shown}.")
            );
        }
    }

    #[test]
    fn so_are_its_other_spellings() {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(mask(KEY, &hex), "[hidden]");
        assert_eq!(mask(KEY, &hex.to_uppercase()), "[hidden]");
        assert_eq!(mask(KEY, &hex[6..26]), "[hidden]");
        for before in ["", "a", "ab", "user:"] {
            let text = STANDARD_NO_PAD.encode(format!("{before}{KEY}:after"));
            let shown = mask(KEY, &text);
            assert!(
                shown.contains(MASK) && shown.len() < MASK.len() + 20,
                "{text}: {shown}"
            );
        }
        let odd = "k>>>???~~~>>>???";
        assert_eq!(mask(odd, &URL_SAFE_NO_PAD.encode(&odd[..15])), "[hidden]");
    }

    #[test]
    fn a_placeholder_is_not() {
        assert_eq!(mask("Bearer -", "a - b"), "a - b");
        assert_eq!(mask("pass", "pass it"), "[hidden] it");
        assert_eq!(mask("pass", "pas it, assp"), "pas it, assp");
    }
}
