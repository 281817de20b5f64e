//! A line diff for people: what was kept, what is now, and a little of what surrounds it.

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Same,
    Gone,
    New,
}

pub fn lines(kept: &str, now: &str) -> String {
    let kept: Vec<&str> = kept.lines().collect();
    let now: Vec<&str> = now.lines().collect();
    let script = script(&kept, &now);
    let mut out = String::new();
    let mut skipped = 0;
    for (at, (change, line)) in script.iter().enumerate() {
        let near = script[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(script.len())]
            .iter()
            .any(|(change, _)| *change != Change::Same);
        if !near {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            out.push_str(&format!("  … {skipped} lines\n"));
            skipped = 0;
        }
        let mark = match change {
            Change::Same => ' ',
            Change::Gone => '-',
            Change::New => '+',
        };
        out.push_str(&format!("{mark} {line}\n"));
    }
    if skipped > 0 {
        out.push_str(&format!("  … {skipped} lines\n"));
    }
    out
}

/// The shortest way from one to the other, by longest common subsequence.
fn script<'a>(kept: &[&'a str], now: &[&'a str]) -> Vec<(Change, &'a str)> {
    let mut common = vec![vec![0u32; now.len() + 1]; kept.len() + 1];
    for (i, old) in kept.iter().enumerate().rev() {
        for (j, new) in now.iter().enumerate().rev() {
            common[i][j] = match old == new {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut script = Vec::new();
    while i < kept.len() || j < now.len() {
        if i < kept.len() && j < now.len() && kept[i] == now[j] {
            script.push((Change::Same, kept[i]));
            i += 1;
            j += 1;
        } else if j == now.len() || (i < kept.len() && common[i + 1][j] >= common[i][j + 1]) {
            script.push((Change::Gone, kept[i]));
            i += 1;
        } else {
            script.push((Change::New, now[j]));
            j += 1;
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn changes_stand_in_their_surroundings() {
        let kept = "a\nb\nc\nd\ne\nf\ng";
        let now = "a\nb\nc\nd\nE\nf\ng\nh";
        assert_eq!(
            lines(kept, now),
            "  … 2 lines\n  c\n  d\n- e\n+ E\n  f\n  g\n+ h\n"
        );
    }
}
