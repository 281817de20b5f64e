//! Log lines about what the agent goes through, for people who watch.

use std::borrow::Cow;

use super::log_lines::LOGGED_CHARS_MAX;
use super::tools::log;
use crate::Frame;
use crate::cowork::sanitize::shortened;

/// The history stays whole; only the model reads less of it.
pub fn compacted(session: &str, tokens_before: u64) -> Frame {
    let line = match tokens_before {
        0 => "[compaction] the context was replaced by a summary".to_owned(),
        tokens => format!("[compaction] {tokens} tokens of context were replaced by a summary"),
    };
    log(session, &line)
}

/// A provider failed, and is asked again.
pub fn delayed(session: &str, failed_attempt: u32, delay_ms: u64, error: &str) -> Frame {
    let error = shortened(Cow::Borrowed(error.trim_end_matches('.')), LOGGED_CHARS_MAX);
    let (delay, next) = (seconds(delay_ms), failed_attempt.saturating_add(1));
    let line = format!("[retry] {error}; trying again in {delay} s (attempt {next})");
    log(session, &line)
}

/// To a tenth, where it is not whole.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}
