//! What a command writes, made into text: whole characters only, and no more than is wanted.

/// How much of one stream is shown as it comes.
const LIVE_CHARS_MAX: usize = 1_000_000;
const LIVE_CUT_NOTE: &str = "\n[further output is not shown]\n";

/// Collects the beginning of a stream and counts the rest.
pub(super) struct Capture {
    kept: String,
    /// Characters that may still be kept.
    room: usize,
    cut_chars: u64,
    /// Characters that may still be shown.
    live_room: usize,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl Capture {
    pub fn new(chars_max: usize) -> Capture {
        Capture {
            kept: String::new(),
            room: chars_max,
            cut_chars: 0,
            live_room: LIVE_CHARS_MAX,
            begun: Vec::new(),
        }
    }

    /// Takes what was read; gives what to show of it now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let whole = all.len() - unfinished(&all);
        self.begun = all.split_off(whole);
        self.add(&String::from_utf8_lossy(&all))
    }

    /// The stream has ended; gives what is left to show.
    pub fn finish(&mut self) -> String {
        let begun = std::mem::take(&mut self.begun);
        self.add(&String::from_utf8_lossy(&begun))
    }

    /// The text, with a note of how much was cut.
    pub fn into_text(mut self) -> String {
        if self.cut_chars > 0 {
            let note = format!("\n[{} more characters were cut]", self.cut_chars);
            self.kept.push_str(&note);
        }
        self.kept
    }

    fn add(&mut self, text: &str) -> String {
        let (keep, cut) = split(text, &mut self.room);
        self.kept.push_str(keep);
        self.cut_chars += cut.chars().count() as u64;
        if self.live_room == 0 {
            return String::new();
        }
        let (show, _) = split(text, &mut self.live_room);
        let mut show = show.to_owned();
        if self.live_room == 0 {
            show.push_str(LIVE_CUT_NOTE);
        }
        show
    }
}

/// The characters there is room for, and the others.
fn split<'a>(text: &'a str, room: &mut usize) -> (&'a str, &'a str) {
    match text.char_indices().nth(*room) {
        Some((at, _)) => {
            *room = 0;
            text.split_at(at)
        }
        None => {
            *room -= text.chars().count();
            (text, "")
        }
    }
}

/// How many bytes at the end are the beginning of a character that is not whole yet.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let length = match bytes[bytes.len() - back] {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if length > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_counted() {
        let mut capture = Capture::new(3);
        assert_eq!(capture.push("äö".as_bytes()), "äö");
        assert_eq!(capture.push("üxyz".as_bytes()), "üxyz");
        assert_eq!(capture.into_text(), "äöü\n[3 more characters were cut]");
    }

    #[test]
    fn what_is_shown_live_is_bounded() {
        let mut capture = Capture::new(3);
        let much = "x".repeat(LIVE_CHARS_MAX + 5);
        let shown = capture.push(much.as_bytes());
        assert_eq!(shown.len(), LIVE_CHARS_MAX + LIVE_CUT_NOTE.len());
        assert_eq!(capture.push(b"more"), "");
    }

    proptest! {
        #[test]
        fn text_comes_whole_however_it_is_read(text in "\\PC*", size in 1usize..5) {
            let mut capture = Capture::new(usize::MAX);
            let mut shown = String::new();
            for bytes in text.as_bytes().chunks(size) {
                shown.push_str(&capture.push(bytes));
            }
            shown.push_str(&capture.finish());
            prop_assert_eq!(&shown, &text);
            prop_assert_eq!(capture.into_text(), text);
        }

        #[test]
        fn any_bytes_become_text(bytes: Vec<u8>, size in 1usize..5) {
            let mut capture = Capture::new(10);
            for bytes in bytes.chunks(size) {
                capture.push(bytes);
            }
            capture.finish();
            capture.into_text();
        }
    }
}
