//! What a command writes, made into text: whole characters only, and no more than is wanted.

use std::sync::{Arc, Mutex, PoisonError};

use super::lines::StreamLines;
use super::ordered::{KeptOutput, OrderedOutput};

const STDOUT_CHARS_MAX: usize = 30_000;
const STDERR_CHARS_MAX: usize = 10_000;
/// How much of one stream is shown as it comes.
const LIVE_CHARS_MAX: usize = 1_000_000;
const LIVE_CUT_NOTE: &str = "\n[further output is not shown]\n";

/// What a command writes: each stream for clients, both together for the model.
pub(super) struct CapturedStreams {
    pub stdout: Capture,
    pub stderr: Capture,
    both: Arc<Mutex<OrderedOutput>>,
}

impl CapturedStreams {
    pub fn new() -> CapturedStreams {
        let both = Arc::default();
        CapturedStreams {
            stdout: Capture::new(STDOUT_CHARS_MAX, Arc::clone(&both)),
            stderr: Capture::new(STDERR_CHARS_MAX, Arc::clone(&both)),
            both,
        }
    }

    /// Takes what both said; nothing more is read.
    pub fn take_both(&mut self) -> KeptOutput {
        // A pipe that somebody still holds has not ended by itself.
        self.stdout.finish();
        self.stderr.finish();
        let both = self.both.lock();
        both.unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl CapturedStreams {
    /// Takes what both said since the last look; what is begun of a line is shown, too.
    pub fn look(&mut self) -> KeptOutput {
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        self.stdout.lines.finish(&mut both);
        self.stderr.lines.finish(&mut both);
        both.take()
    }

    /// From now on nobody is shown what comes, and only its end is kept for the next look.
    pub fn keep_only_end(&mut self) {
        let both = self.both.lock();
        both.unwrap_or_else(PoisonError::into_inner).keep_only_end();
        for stream in [&mut self.stdout, &mut self.stderr] {
            (stream.room, stream.live_room) = (0, 0);
            stream.kept = String::new();
        }
    }
}

/// Collects the beginning of a stream, counts the rest, and passes all of it on as lines.
pub(super) struct Capture {
    kept: String,
    /// Characters that may still be kept.
    room: usize,
    cut_chars: u64,
    /// Characters that may still be shown.
    live_room: usize,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
    lines: StreamLines,
    both: Arc<Mutex<OrderedOutput>>,
}

impl Capture {
    fn new(chars_max: usize, both: Arc<Mutex<OrderedOutput>>) -> Capture {
        Capture {
            kept: String::new(),
            room: chars_max,
            cut_chars: 0,
            live_room: LIVE_CHARS_MAX,
            begun: Vec::new(),
            lines: StreamLines::default(),
            both,
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
        let shown = self.add(&String::from_utf8_lossy(&begun));
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        self.lines.finish(&mut both);
        shown
    }

    pub fn is_cut(&self) -> bool {
        self.cut_chars > 0
    }

    /// The text, with a note of how much was cut and `rest`: where it is.
    pub fn into_text(mut self, rest: &str) -> String {
        if !self.is_cut() {
            return self.kept;
        }
        // A whole last line reads better, if that does not cost too much.
        let end = match self.kept.rfind('\n') {
            Some(line_end) if line_end > self.kept.len() / 2 => line_end,
            _ => self.kept.len(),
        };
        let more = self.cut_chars + self.kept[end..].chars().count() as u64;
        self.kept.truncate(end);
        let note = format!("\n[{more} more characters were cut; {rest}]");
        self.kept + &note
    }

    fn add(&mut self, text: &str) -> String {
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        self.lines.push(text, &mut both);
        drop(both);
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
        let mut capture = Capture::new(3, Arc::default());
        assert_eq!(capture.push("äö".as_bytes()), "äö");
        assert_eq!(capture.push("üxyz".as_bytes()), "üxyz");
        assert_eq!(
            capture.into_text("ask for less"),
            "äöü\n[3 more characters were cut; ask for less]"
        );
    }

    #[test]
    fn a_cut_at_a_whole_line_is_preferred() {
        let mut capture = Capture::new(8, Arc::default());
        capture.push(b"first\nsecond\n");
        assert_eq!(
            capture.into_text("all in /x"),
            "first\n[8 more characters were cut; all in /x]"
        );
    }

    #[test]
    fn what_is_shown_live_is_bounded() {
        let mut capture = Capture::new(3, Arc::default());
        let much = "x".repeat(LIVE_CHARS_MAX + 5);
        let shown = capture.push(much.as_bytes());
        assert_eq!(shown.len(), LIVE_CHARS_MAX + LIVE_CUT_NOTE.len());
        assert_eq!(capture.push(b"more"), "");
    }

    proptest! {
        #[test]
        fn text_comes_whole_however_it_is_read(text in "\\PC*", size in 1usize..5) {
            let mut capture = Capture::new(usize::MAX, Arc::default());
            let mut shown = String::new();
            for bytes in text.as_bytes().chunks(size) {
                shown.push_str(&capture.push(bytes));
            }
            shown.push_str(&capture.finish());
            prop_assert_eq!(&shown, &text);
            prop_assert_eq!(capture.into_text(""), text);
        }

        #[test]
        fn any_bytes_become_text(bytes: Vec<u8>, size in 1usize..5) {
            let mut capture = Capture::new(10, Arc::default());
            for bytes in bytes.chunks(size) {
                capture.push(bytes);
            }
            capture.finish();
            capture.into_text("");
        }
    }
}
