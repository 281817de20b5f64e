//! The place of a change and its lines as they are now, so that nobody must read the file again.

use similar::{DiffOp, DiffTag, TextDiff};

/// Unchanged lines that are shown before and after a change.
const AROUND: usize = 2;
/// More lines are not shown.
const LINES_MAX: usize = 40;
/// More places are not named.
const PLACES_MAX: usize = 20;
/// A longer line is cut.
const LINE_CHARS_MAX: usize = 400;

/// A path with the changed lines, such as `src/a.rs:41-47, 60`, and those lines numbered.
pub(crate) struct ChangedLines {
    pub place: String,
    pub lines: String,
    pub added: usize,
    pub removed: usize,
}

impl ChangedLines {
    pub(super) fn of(path: &str, diff: &TextDiff<'_, '_, str>) -> ChangedLines {
        let groups = diff.grouped_ops(AROUND);
        let places = groups.iter().take(PLACES_MAX).map(|group| place(group));
        let mut places: Vec<String> = places.collect();
        if groups.len() > PLACES_MAX {
            places.push("…".to_owned());
        }
        let changed = || diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
        ChangedLines {
            added: changed().map(|op| op.new_range().len()).sum(),
            removed: changed().map(|op| op.old_range().len()).sum(),
            place: format!("{path}:{}", places.join(", ")),
            lines: lines(diff, &groups),
        }
    }
}

/// The changed lines of a group, as they are counted now.
fn place(group: &[DiffOp]) -> String {
    let mut changed = group.iter().filter(|op| op.tag() != DiffTag::Equal);
    let Some(first) = changed.next() else {
        return String::new();
    };
    let last = changed.next_back().unwrap_or(first);
    let (start, end) = (first.new_range().start + 1, last.new_range().end);
    match end.cmp(&start) {
        std::cmp::Ordering::Greater => format!("{start}-{end}"),
        std::cmp::Ordering::Equal => start.to_string(),
        std::cmp::Ordering::Less => format!("{start} ({} removed)", first.old_range().len()),
    }
}

fn lines(diff: &TextDiff<'_, '_, str>, groups: &[Vec<DiffOp>]) -> String {
    let mut shown = Vec::new();
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        if !shown.is_empty() {
            shown.push("…".to_owned());
        }
        for index in first.new_range().start..last.new_range().end {
            if shown.len() > LINES_MAX {
                break;
            }
            let line = diff.new_slice(index).unwrap_or_default();
            shown.push(format!("{}\t{}", index + 1, cut(line)));
        }
    }
    if shown.len() > LINES_MAX {
        shown.truncate(LINES_MAX - 1);
        shown.push("[more lines are not shown]".to_owned());
    }
    shown.join("\n")
}

fn cut(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}… [line cut]", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &str, new: &str) -> (String, String) {
        let changed = ChangedLines::of("a", &TextDiff::from_lines(old, new));
        (changed.place, changed.lines)
    }

    #[test]
    fn changed_lines_are_shown_with_two_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = old.replace("4\n", "four\r\n4b\n").replace("11\n", "");
        let (place, lines) = of(old, &new);
        assert_eq!(place, "a:4-5, 12 (1 removed)");
        assert_eq!(
            lines,
            "2\t2\n3\t3\n4\tfour\n5\t4b\n6\t5\n7\t6\n…\n10\t9\n11\t10\n12\t12"
        );
        assert_eq!(of("x", "y"), ("a:1".to_owned(), "1\ty".to_owned()));
        let gone = ("a:1 (1 removed)".to_owned(), String::new());
        assert_eq!(of("x\n", ""), gone);
    }

    #[test]
    fn many_and_long_lines_are_cut() {
        let old: String = (0..500).map(|n| format!("{n}\n")).collect();
        let new: String = (0..500)
            .map(|n| format!("{n}{}\n", "x".repeat(500)))
            .collect();
        let (place, lines) = of(&old, &new);
        assert_eq!(place, "a:1-500");
        assert_eq!(lines.lines().count(), LINES_MAX);
        assert!(lines.ends_with("x… [line cut]\n[more lines are not shown]"));
        let sparse = |sign: &str| -> String {
            let line = |n: usize| {
                if n.is_multiple_of(10) {
                    sign.to_owned()
                } else {
                    n.to_string()
                }
            };
            (0..500).map(|n| line(n) + "\n").collect()
        };
        let (place, lines) = of(&sparse("a"), &sparse("b"));
        assert!(
            place.starts_with("a:1, 11, 21,") && place.ends_with("191, …"),
            "{place}"
        );
        assert_eq!(lines.lines().count(), LINES_MAX);
    }
}
