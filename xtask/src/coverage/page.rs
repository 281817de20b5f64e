//! The page: one table for each side of each protocol.

use std::fmt::Write as _;

use super::{CoveragePage, MessageRow};

pub fn opening(page: &CoveragePage) -> String {
    let CoveragePage {
        subject, meanings, ..
    } = page;
    let tongues = page.protocols.iter();
    let tongues: Vec<String> = tongues
        .map(|covered| format!("`scenarios::{}::…`", covered.schema))
        .collect();
    format!(
        "\
# The {subject}, message by message

Made by `cargo xtask coverage --update` from the schemas, the transcripts of the [scenarios](../../scenarios) and the tests; `cargo xtask tidy`
says when it is out of date, and when no story shows a message. What each one means is on [its page]({meanings}). A few stories and tests
stand for all that have it; a story is a test, too ({}).
",
        tongues.join(", ")
    )
}

/// Enough to find the rest.
const NAMES_SHOWN_MAX: usize = 3;

pub fn table(text: &mut String, title: &str, rows: &[MessageRow]) {
    let _ = write!(
        text,
        "\n## {title}\n\n| message | status | stories | tests |\n|---|---|---|---|\n"
    );
    for row in rows {
        let status = match (row.available, row.stories.is_empty()) {
            (false, _) => "not available",
            (true, false) => "works",
            (true, true) => "no story",
        };
        let story = |name: &String| format!("[{name}](../../scenarios/{name})");
        let stories = row.stories.iter().take(NAMES_SHOWN_MAX).map(story);
        let excuse = row.excuse.map(|why| format!("none: {why}"));
        let tests = row.tests.iter().take(NAMES_SHOWN_MAX);
        let tests = tests.map(|name| format!("`{name}`"));
        let _ = writeln!(
            text,
            "| `{}` | {status} | {} | {} |",
            row.message,
            stories.chain(excuse).collect::<Vec<_>>().join(", "),
            tests.collect::<Vec<_>>().join(", ")
        );
    }
}
