//! Where a text occurs in a file, whatever the file's line ends are.

use std::ops::Range;

use crate::text;

/// The places of `wanted`. A plain line end in it stands for either kind in the file.
pub(super) fn find(content: &str, wanted: &str) -> Vec<Range<usize>> {
    if wanted.contains('\r') || !content.contains("\r\n") {
        let found = content.match_indices(wanted);
        return found.map(|(at, _)| at..at + wanted.len()).collect();
    }
    // Where a CR was left out, counted in what is left.
    let mut left_out = Vec::new();
    let mut plain = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find("\r\n") {
        plain.push_str(&rest[..at]);
        left_out.push(plain.len());
        plain.push('\n');
        rest = &rest[at + 2..];
    }
    plain.push_str(rest);
    let original = |at: usize| at + left_out.partition_point(|cr| *cr < at);
    let found = plain.match_indices(wanted);
    found
        .map(|(at, _)| original(at)..original(at + wanted.len()))
        .collect()
}

/// The content with `new` in place of `old` at each of the places, its line ends as they are there.
pub(super) fn replace(content: &str, places: &[Range<usize>], old: &str, new: &str) -> String {
    let most = text::has_crlf(content);
    let mut replaced = String::with_capacity(content.len() + places.len() * new.len());
    let mut done = 0;
    for place in places {
        replaced.push_str(&content[done..place.start]);
        let here = &content[place.clone()];
        // Who writes the CR means what they write.
        let crlf = match here.contains('\n') {
            true => !old.contains('\r') && text::has_crlf(here),
            false => most,
        };
        replaced.push_str(&text::with_ends(new, crlf));
        done = place.end;
    }
    replaced.push_str(&content[done..]);
    replaced
}

/// The line on which each place begins, from 1.
pub(super) fn line_numbers(content: &str, places: &[Range<usize>]) -> Vec<u64> {
    let mut numbers = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for place in places {
        let between = &content.as_bytes()[counted..place.start];
        line += memchr::memchr_iter(b'\n', between).count() as u64;
        counted = place.start;
        numbers.push(line);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(content: &str, old: &str, new: &str) -> String {
        replace(content, &find(content, old), old, new)
    }

    #[test]
    fn line_ends_of_the_place_are_kept() {
        assert_eq!(change("a\r\nb\nc\n", "a\nb", "x\ny"), "x\r\ny\nc\n");
        assert_eq!(change("a\r\nb\nc\n", "b\nc", "x\ny"), "a\r\nx\ny\n");
        assert_eq!(change("a\r\nb\r\n", "\nb", ""), "a\r\n");
        assert_eq!(change("a\r\nb\r\n", "a\n", ""), "b\r\n");
        assert_eq!(change("a\r\nb\r\n", "a\r\n", "a\n"), "a\nb\r\n");
        assert_eq!(change("x x", "x", "y\n"), "y\n y\n");
    }

    #[test]
    fn lines_are_counted_from_one() {
        let content = "x\r\n\r\nx x\r\n";
        assert_eq!(line_numbers(content, &find(content, "x")), [1, 3, 3]);
    }
}
