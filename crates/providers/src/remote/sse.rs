//! Reads server-sent events out of chunks of bytes: one buffer, a limit, and no allocation for an
//! event that fits into what earlier ones left behind. What the format says to ignore (unknown
//! fields, comments, lines without a colon) is ignored, because proxies and model servers send it.
//! One thing it says to ignore is not: a line that is a JSON object is an event of its own, because
//! some servers leave out `data:`, most of all where they tell of an error.

use crate::format::SseEvent;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(crate) struct Events {
    /// Bytes that came; those before `read` are done with, those before `scanned` hold no line end.
    buffer: Vec<u8>,
    read: usize,
    scanned: usize,
    /// Fields of the event that is being read.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The event was handed out; its fields go before the next line is read.
    told: bool,
    /// The last line ended with a carriage return: a line feed now belongs to it.
    after_return: bool,
    at_start: bool,
    event_bytes_max: usize,
}

/// An event is larger than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Events {
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            read: 0,
            scanned: 0,
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            told: false,
            after_return: false,
            at_start: true,
            event_bytes_max,
        }
    }

    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.read);
        self.scanned -= self.read;
        self.read = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// The next event, or nothing until more is fed.
    pub(crate) fn next(&mut self) -> Result<Option<SseEvent<'_>>, TooLong> {
        if self.told {
            self.forget();
        }
        while let Some((from, to)) = self.line() {
            if !self.has_data && is_object(&self.buffer[from..to]) {
                self.bare(from, to)?;
                return Ok(Some(self.tell()));
            }
            if from < to {
                self.field(from, to)?;
            } else if self.has_data && !self.data.is_empty() {
                return Ok(Some(self.tell()));
            } else {
                self.forget();
            }
        }
        if self.buffer.len() - self.read > self.event_bytes_max {
            return Err(TooLong);
        }
        Ok(None)
    }

    /// The event that lacks only its empty line when the stream ends. Some servers leave it out
    /// after their last event; a line that was cut in the middle is not taken.
    pub(crate) fn last(&mut self) -> Option<SseEvent<'_>> {
        if self.told {
            self.forget();
        }
        let (from, to) = (self.read, self.buffer.len());
        if !self.has_data && is_object(&self.buffer[from..to]) && self.bare(from, to).is_ok() {
            return Some(self.tell());
        }
        let whole = self.has_data && !self.data.is_empty() && !self.told;
        (whole && self.read == self.buffer.len()).then(|| self.tell())
    }

    /// Where the next complete line lies, without its end.
    fn line(&mut self) -> Option<(usize, usize)> {
        if self.after_return && self.read < self.buffer.len() {
            self.after_return = false;
            if self.buffer[self.read] == b'\n' {
                self.read += 1;
                self.scanned = self.scanned.max(self.read);
            }
        }
        let unscanned = &self.buffer[self.scanned..];
        let Some(end) = unscanned.iter().position(|&b| b == b'\n' || b == b'\r') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + end;
        let mut from = self.read;
        self.after_return = self.buffer[end] == b'\r';
        self.read = end + 1;
        self.scanned = self.read;
        if std::mem::take(&mut self.at_start) && self.buffer[from..end].starts_with(BYTE_ORDER_MARK)
        {
            from += BYTE_ORDER_MARK.len();
        }
        Some((from, end))
    }

    fn field(&mut self, from: usize, to: usize) -> Result<(), TooLong> {
        let line = &self.buffer[from..to];
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.data.len() + value.len() > self.event_bytes_max {
                    return Err(TooLong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => {
                if value.len() > self.event_bytes_max {
                    return Err(TooLong);
                }
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    /// A line that is an event without the name of its field.
    fn bare(&mut self, from: usize, to: usize) -> Result<(), TooLong> {
        if to - from > self.event_bytes_max {
            return Err(TooLong);
        }
        self.data.extend_from_slice(&self.buffer[from..to]);
        self.has_data = true;
        Ok(())
    }

    fn tell(&mut self) -> SseEvent<'_> {
        self.told = true;
        let name = text(&mut self.name);
        SseEvent {
            event: (!name.is_empty()).then_some(name),
            data: text(&mut self.data),
        }
    }

    fn forget(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        self.told = false;
    }
}

fn is_object(line: &[u8]) -> bool {
    line.first() == Some(&b'{') && line.trim_ascii_end().last() == Some(&b'}')
}

/// As UTF-8; what is not becomes a replacement character, as the format has it.
fn text(bytes: &mut Vec<u8>) -> &str {
    if std::str::from_utf8(bytes).is_err() {
        *bytes = String::from_utf8_lossy(bytes).into_owned().into_bytes();
    }
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 1024;

    /// Everything that comes out of these chunks: names and data.
    fn read(chunks: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut events = Events::new(MAX);
        let mut out = Vec::new();
        let owned = |event: SseEvent<'_>| (event.event.map(str::to_owned), event.data.to_owned());
        for chunk in chunks {
            events.feed(chunk);
            while let Some(event) = events.next().expect("within the limit") {
                out.push(owned(event));
            }
        }
        out.extend(events.last().map(owned));
        out
    }

    fn data(text: &str) -> (Option<String>, String) {
        (None, text.to_owned())
    }

    fn named(name: &str, text: &str) -> (Option<String>, String) {
        (Some(name.to_owned()), text.to_owned())
    }

    #[test]
    fn names_data_and_several_lines() {
        let text = b"event: a\ndata: 1\n\ndata:2\ndata:  3\n\n";
        assert_eq!(read(&[text]), [named("a", "1"), data("2\n 3")]);
    }

    #[test]
    fn every_line_end_and_a_byte_order_mark() {
        let text = b"\xEF\xBB\xBFdata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n";
        assert_eq!(read(&[text]), [data("1"), data("2"), data("3")]);
        assert_eq!(read(&[b"data: 1\r", b"\n\r", b"\n"]), [data("1")]);
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        let text = b": ping\nnonsense\nx-field: 1\nid: 7\nretry: soon\n\nevent: ping\n\ndata:\n\ndata: 1\n\n";
        assert_eq!(read(&[text]), [data("1")]);
        assert_eq!(
            read(&[b"event: a\nevent: b\ndata: 1\n\n"]),
            [named("b", "1")]
        );
    }

    #[test]
    fn a_last_event_needs_its_line_end_but_no_empty_line() {
        assert_eq!(read(&[b"data: [DONE]\n"]), [data("[DONE]")]);
        assert_eq!(read(&[b"data: {\"cut"]), []);
        assert_eq!(read(&[b"data: 1\ndata: {\"cut"]), []);
    }

    #[test]
    fn a_line_that_is_an_object_is_an_event() {
        let lines = b"{\"a\": 1}\n{\"b\": 2}\r\n\r\ndata: 3\n\n{\"error\": \"no\"}";
        let expected = [
            data("{\"a\": 1}"),
            data("{\"b\": 2}"),
            data("3"),
            data("{\"error\": \"no\"}"),
        ];
        assert_eq!(read(&[lines]), expected);
        assert_eq!(
            read(&[b"event: error\n{\"a\": 1}\n\n"]),
            [named("error", "{\"a\": 1}")]
        );
        assert_eq!(read(&[b"{\"cut\": 1\n", b"{\"cut"]), []);
        assert_eq!(read(&[b"data: 1\n{\"within\": 1}\n\n"]), [data("1")]);
    }

    #[test]
    fn what_is_not_utf8_is_replaced() {
        assert_eq!(read(&[b"data: a\xFFb\n\n"]), [data("a\u{FFFD}b")]);
    }

    #[test]
    fn a_line_or_an_event_without_end_is_stopped() {
        let mut events = Events::new(MAX);
        events.feed(&[b'x'; MAX]);
        assert_eq!(events.next(), Ok(None));
        events.feed(b"x");
        assert_eq!(events.next(), Err(TooLong));

        let mut events = Events::new(MAX);
        let line = [b"data: ".as_slice(), &[b'x'; 100], b"\n"].concat();
        let refused = (0..MAX).find(|_| {
            events.feed(&line);
            events.next().is_err()
        });
        assert_eq!(refused, Some(10));
    }

    proptest! {
        #[test]
        fn where_it_is_cut_into_chunks_does_not_matter(
            lines in prop::collection::vec("(data: ?[a-zé\"{}]{0,9}|event: [a-z]{1,3}|:.{0,3}|)(\n|\r|\r\n)", 0..20),
            cuts in prop::collection::vec(0usize..300, 0..8),
        ) {
            let whole = lines.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|two| &whole[two[0]..two[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[&whole]));
        }
    }
}
