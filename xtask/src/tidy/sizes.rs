//! Long files are split before they grow tails.

use super::{Finding, Severity};

const WARN_LINES: usize = 500;
const MAX_LINES: usize = 800;

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    let severity = if lines > MAX_LINES {
        Severity::Error
    } else if lines > WARN_LINES {
        Severity::Warning
    } else {
        return Vec::new();
    };
    vec![Finding {
        path: path.to_owned(),
        line: lines,
        what: format!("{lines} lines; split it by subject (at most {MAX_LINES}, better 200)"),
        severity,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_is_warned_of_and_too_long_is_an_error() {
        let severity = |lines: usize| {
            let findings = check("a.rs", &"\n".repeat(lines));
            findings.first().map(|finding| finding.severity)
        };
        assert_eq!(severity(WARN_LINES), None);
        assert_eq!(severity(WARN_LINES + 1), Some(Severity::Warning));
        assert_eq!(severity(MAX_LINES), Some(Severity::Warning));
        assert_eq!(severity(MAX_LINES + 1), Some(Severity::Error));
    }
}
