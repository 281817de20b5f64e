//! How fast a client may speak: a sliding window of messages.

use std::collections::VecDeque;

use vocabulary::Timestamp;

const MESSAGES_MAX: usize = 60;
const WINDOW_MS: i64 = 10_000;

/// Counts a message, or says how many milliseconds to wait. What is refused does not count, or a
/// client that tries again and again would never be heard.
pub fn count(heard: &mut VecDeque<Timestamp>, now: Timestamp) -> Result<(), i64> {
    // A clock that was set back must not shut anyone out for longer than the window.
    let past = |at: &Timestamp| (now.millis() - at.millis()).abs() >= WINDOW_MS;
    while heard.front().is_some_and(past) {
        heard.pop_front();
    }
    match heard.front() {
        Some(oldest) if heard.len() >= MESSAGES_MAX => {
            let left = oldest.millis() + WINDOW_MS - now.millis();
            Err(left.clamp(1, WINDOW_MS))
        }
        Some(_) | None => {
            heard.push_back(now);
            Ok(())
        }
    }
}
