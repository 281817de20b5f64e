//! What both streams of a command said, in the order in which it came: the beginning and the end.

/// So much of the beginning is kept.
const HEAD_BYTES_MAX: usize = 2 * 1024 * 1024;
/// So much of the end is kept, at least.
const TAIL_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Of what runs on in the background, so much of the end is kept at most until somebody looks.
const RING_BYTES_MAX: usize = 1024 * 1024;

/// Gathers the lines of both streams.
pub(super) struct OrderedOutput {
    head: String,
    tail: String,
    dropped: DroppedOutput,
    head_bytes_max: usize,
    /// So much of the end is kept at least, and twice as much at most.
    tail_bytes_max: usize,
}

impl Default for OrderedOutput {
    fn default() -> Self {
        OrderedOutput {
            head: String::new(),
            tail: String::new(),
            dropped: DroppedOutput::default(),
            head_bytes_max: HEAD_BYTES_MAX,
            tail_bytes_max: TAIL_BYTES_MAX,
        }
    }
}

/// What lies between the beginning and the end that were kept.
#[derive(Clone, Copy, Default)]
struct DroppedOutput {
    lines: usize,
    bytes: usize,
}

/// The output of a command.
pub(crate) struct KeptOutput {
    pub text: String,
    /// All that there were.
    lines: usize,
    dropped: DroppedOutput,
}

/// How much of a long output is shown of its beginning; the rest of the room is its end's.
#[derive(Clone, Copy)]
pub(super) struct HeadPercent(pub usize);

impl OrderedOutput {
    /// From now on only the end is kept.
    pub fn keep_only_end(&mut self) {
        self.head_bytes_max = 0;
        self.tail_bytes_max = RING_BYTES_MAX / 2;
    }

    /// Adds a line with its end, or a piece of a long one.
    pub fn push(&mut self, line: &str) {
        if self.tail.is_empty() && self.head.len() + line.len() <= self.head_bytes_max {
            self.head.push_str(line);
            return;
        }
        self.tail.push_str(line);
        // Not at every line: that would move all that is kept each time.
        if self.tail.len() > 2 * self.tail_bytes_max {
            let end = line_start(&self.tail, self.tail.len() - self.tail_bytes_max);
            self.dropped.bytes += end;
            self.dropped.lines += count_lines(&self.tail[..end]);
            self.tail.drain(..end);
        }
    }

    /// What came since it was taken last.
    pub fn take(&mut self) -> KeptOutput {
        let head = std::mem::take(&mut self.head);
        let tail = std::mem::take(&mut self.tail);
        let dropped = std::mem::take(&mut self.dropped);
        let lines = count_lines(&head) + dropped.lines + count_lines(&tail);
        let between = match dropped.bytes {
            0 => String::new(),
            bytes => format!("[{} bytes were not kept]\n", grouped(bytes)),
        };
        KeptOutput {
            text: head + &between + &tail,
            lines,
            dropped,
        }
    }
}

impl KeptOutput {
    /// Whether all of it is in the text.
    pub fn is_whole(&self) -> bool {
        self.dropped.bytes == 0
    }

    /// The beginning and the end, in whole lines where they are not too long, and between them how much
    /// is left out and `rest`: where it is.
    pub(super) fn shortened(&self, bytes_max: usize, share: HeadPercent, rest: &str) -> String {
        let text = self.text.as_str();
        let head_max = bytes_max * share.0 / 100;
        let head_end = line_end(text, head_max);
        let tail_start = line_start(text, text.len() - (bytes_max - head_max));
        let (head, tail) = (&text[..head_end], &text[tail_start..]);
        let is_start = |at: usize| at == 0 || text[..at].ends_with('\n');
        let left_out = match is_start(head_end) && is_start(tail_start) {
            true => {
                let shown = count_lines(head) + count_lines(tail);
                let left_out = self.lines - shown;
                format!("{} of {} lines", grouped(left_out), grouped(self.lines))
            }
            false => {
                let left_out = tail_start - head_end + self.dropped.bytes;
                format!("{} bytes", grouped(left_out))
            }
        };
        let head = head.strip_suffix('\n').unwrap_or(head);
        format!("{head}\n[… {left_out} left out; {rest}]\n{tail}")
    }
}

/// The end of a line before `at`, or `at` itself in a line that is too long.
fn line_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    match text[..at].rfind('\n') {
        Some(end) if end >= at / 2 => end + 1,
        _ => at,
    }
}

/// The beginning of a line after `at`, or `at` itself in a line that is too long.
fn line_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if text[..at].ends_with('\n') {
        return at;
    }
    let room = text.len() - at;
    match text[at..].find('\n') {
        Some(end) if end < room / 2 => at + end + 1,
        _ => at,
    }
}

fn count_lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// With a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(lines: impl Iterator<Item = String>) -> KeptOutput {
        let mut output = OrderedOutput::default();
        for line in lines {
            output.push(&line);
        }
        output.take()
    }

    #[test]
    fn the_beginning_and_the_end_are_whole_lines_and_what_is_left_out_is_counted() {
        let output = kept((1..=4_001).map(|number| format!("line {number:04}\n")));
        let shown = output.shortened(1_000, HeadPercent(30), "all in /x");
        let (head, rest) = shown.split_once("\n[… ").expect("a note");
        let (note, tail) = rest.split_once("]\n").expect("an end");
        assert_eq!(head.lines().count(), 30);
        assert_eq!(tail.lines().count(), 70);
        assert!(head.ends_with("line 0030") && tail.starts_with("line 3932\n"));
        assert!(tail.ends_with("line 4001\n"));
        assert_eq!(note, "3,901 of 4,001 lines left out; all in /x");
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        let output = kept(std::iter::once("ä".repeat(1_000) + "\n"));
        let shown = output.shortened(100, HeadPercent(15), "ask for less");
        let expected = format!(
            "{}\n[… 1,902 bytes left out; ask for less]\n{}\n",
            "ä".repeat(7),
            "ä".repeat(42)
        );
        assert_eq!(shown, expected);
    }

    #[test]
    fn of_very_much_the_end_is_kept() {
        let count = 1_000_000;
        let output = kept((1..=count).map(|number| format!("line {number:07}\n")));
        assert!(!output.is_whole());
        assert!(output.text.len() <= HEAD_BYTES_MAX + 2 * TAIL_BYTES_MAX + 100);
        assert!(output.text.ends_with("line 1000000\n"));
        let shown = output.shortened(1_300, HeadPercent(30), "most in /x");
        assert!(
            shown.contains("\n[… 999,900 of 1,000,000 lines left out; most in /x]\n"),
            "{shown}"
        );
    }

    #[test]
    fn of_what_runs_on_only_the_end_since_the_last_look_is_kept() {
        let mut output = OrderedOutput::default();
        output.push("before\n");
        assert_eq!(output.take().text, "before\n");
        output.keep_only_end();
        output.push("after\n");
        assert_eq!(output.take().text, "after\n");
        for number in 1..=200_000 {
            output.push(&format!("line {number:07}\n"));
        }
        let kept = output.take();
        assert!(!kept.is_whole());
        assert!(kept.text.len() <= RING_BYTES_MAX + 100);
        assert!(kept.text.starts_with('[') && kept.text.contains(" bytes were not kept]\n"));
        assert!(kept.text.ends_with("line 0200000\n"));
        assert_eq!(output.take().text, "");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_no_longer_than_wanted(
            lines in proptest::collection::vec("[aä]{0,40}\n", 1..40),
            bytes_max in 10usize..100,
            percent in 0usize..=100,
        ) {
            let output = kept(lines.into_iter());
            prop_assume!(output.text.len() > bytes_max);
            let shown = output.shortened(bytes_max, HeadPercent(percent), "x");
            let note = shown.find("[… ").expect("a note");
            let end = note + shown[note..].find("]\n").expect("its end") + 2;
            prop_assert!(shown.len() - (end - note) <= bytes_max + 1);
        }
    }
}
