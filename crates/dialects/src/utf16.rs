//! Places in a text as clients count them: in UTF-16 code units.

use std::ops::Range;

/// Ranges of bytes, in order, as ranges of UTF-16 code units.
pub fn ranges(text: &str, bytes: &[Range<usize>]) -> Vec<Range<u32>> {
    let units = |part: Option<&str>| {
        let count = part.unwrap_or_default().encode_utf16().count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let (mut at, mut passed) = (0, 0_u32);
    let mut reach = |place: usize| {
        passed = passed.saturating_add(units(text.get(at..place)));
        at = place;
        passed
    };
    bytes
        .iter()
        .map(|range| reach(range.start)..reach(range.end))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_outside_the_basic_plane_counts_twice() {
        let text = "é🙂 key 🙂 key";
        let bytes: Vec<_> = text
            .match_indices("key")
            .map(|(at, it)| at..at + it.len())
            .collect();
        assert_eq!(super::ranges(text, &bytes), [4..7, 11..14]);
        assert_eq!(super::ranges("", &[]), []);
    }
}
