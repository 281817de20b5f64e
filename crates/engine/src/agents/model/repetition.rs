//! Calls that go round in circles: the same calls with the same results, again and again.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use vocabulary::{ToolCall, ToolOutcome, ToolOutput};

use crate::limits::{
    FAILED_CALLS_NOTED, REPEATED_CALLS_MAX, REPEATED_CALLS_NOTED, REPEATED_CALLS_RUN_MAX,
    REPETITION_CALLS_MAX,
};

const CALLS_KEPT: usize = REPETITION_CALLS_MAX * REPEATED_CALLS_MAX;

/// The newest calls of one conversation, as far as they can be told apart.
#[derive(Default)]
pub struct RecentCalls {
    calls: Vec<CallDigest>,
    failed_in_a_row: u32,
    counts: CallCounts,
}

/// The calls of one conversation, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    pub made: u32,
    pub failed: u32,
    /// Of the failed ones those that were to change files.
    pub failed_changes: u32,
    /// Not made, because their result is known.
    pub repeated: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallDigest {
    call: u64,
    result: u64,
}

impl RecentCalls {
    /// Whether this call has given the same result so often that it need not be made again.
    pub fn is_known(&self, call: &ToolCall) -> bool {
        self.expected(call).is_some()
    }

    /// Takes in a call that was made, and gives the note that the model is told after it.
    pub fn made(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Option<String> {
        self.counts.made += 1;
        if let ToolOutcome::Failed { .. } = outcome {
            self.counts.failed += 1;
            self.counts.failed_changes += u32::from(call.effects.writes);
        }
        let (call, result) = (digest_of_call(call), digest_of_result(outcome));
        self.push(CallDigest { call, result });
        self.failed_in_a_row = match outcome {
            ToolOutcome::Failed { .. } => self.failed_in_a_row + 1,
            ToolOutcome::Succeeded(_)
            | ToolOutcome::Denied(_)
            | ToolOutcome::Interrupted(_)
            | ToolOutcome::NotRun { .. } => 0,
        };
        let times = repeats(&self.calls);
        if times >= REPEATED_CALLS_NOTED {
            return Some(format!(
                "The same call gave the same result {times} times; change something or stop."
            ));
        }
        (self.failed_in_a_row == FAILED_CALLS_NOTED).then(|| {
            format!(
                "{FAILED_CALLS_NOTED} calls in a row failed; say what you assume, and check it."
            )
        })
    }

    /// Takes in a call that was not made because its result is known.
    pub fn not_made(&mut self, call: &ToolCall) {
        self.counts.repeated += 1;
        if let Some(expected) = self.expected(call) {
            self.push(expected);
        }
    }

    pub fn counts(&self) -> CallCounts {
        self.counts
    }

    /// Whether nothing else can be hoped for.
    pub fn go_in_circles(&self) -> bool {
        repeats(&self.calls) >= REPEATED_CALLS_MAX
    }

    fn push(&mut self, made: CallDigest) {
        self.calls.push(made);
        let extra = self.calls.len().saturating_sub(CALLS_KEPT);
        self.calls.drain(..extra);
    }

    /// What this call would be if it gave the same result once more, where that is too often.
    fn expected(&self, call: &ToolCall) -> Option<CallDigest> {
        let call = digest_of_call(call);
        (1..=REPETITION_CALLS_MAX).find_map(|period| {
            let at = self.calls.len().checked_sub(period)?;
            let before = self.calls[at];
            let mut calls = self.calls.clone();
            calls.push(before);
            let times = repeats_of(&calls, period);
            (before.call == call && times > REPEATED_CALLS_RUN_MAX).then_some(before)
        })
    }
}

/// How often the newest calls came in a row, alone or as a group.
fn repeats(calls: &[CallDigest]) -> usize {
    let times = (1..=REPETITION_CALLS_MAX).map(|period| repeats_of(calls, period));
    times.max().unwrap_or(0)
}

/// How often the newest `period` calls came in a row.
fn repeats_of(calls: &[CallDigest], period: usize) -> usize {
    let newest = calls.iter().rev();
    let same = newest.clone().zip(newest.skip(period));
    same.take_while(|(new, old)| new == old).count() / period + 1
}

fn digest_of_call(call: &ToolCall) -> u64 {
    // The order of the fields makes it no other call.
    let mut input = call.input.clone();
    input.sort_all_objects();
    digest((&call.name, input.to_string()))
}

/// How long a command took makes it no other result.
fn digest_of_result(outcome: &ToolOutcome) -> u64 {
    match outcome {
        ToolOutcome::Succeeded(ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            ..
        }) => digest((stdout, stderr, exit_code)),
        ToolOutcome::Succeeded(_)
        | ToolOutcome::Denied(_)
        | ToolOutcome::Interrupted(_)
        | ToolOutcome::Failed { .. }
        | ToolOutcome::NotRun { .. } => digest(format!("{outcome:?}")),
    }
}

fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(word: &str) -> Vec<CallDigest> {
        let digest = |letter: char| CallDigest {
            call: u64::from(letter),
            result: 0,
        };
        word.chars().map(digest).collect()
    }

    #[test]
    fn calls_repeat_alone_and_in_groups() {
        for (word, times) in [
            ("", 1),
            ("a", 1),
            ("ab", 1),
            ("baa", 2),
            ("aaa", 3),
            ("abab", 2),
            ("xababab", 3),
            ("abcabcabc", 3),
            ("abcdabcdabcd", 3),
            ("abcdeabcdeabcde", 1),
            ("aaaaaaab", 1),
        ] {
            assert_eq!(repeats(&calls(word)), times, "{word}");
        }
    }

    #[test]
    fn another_result_is_no_repetition() {
        let mut other = calls("aaaa");
        other[3].result = 1;
        assert_eq!(repeats(&other), 1);
    }
}
