//! Old results make room when a turn starts. Never within a turn: the service has what it read there
//! in its cache.

use std::collections::HashSet;
use std::sync::Arc;

use providers::{Block, Message, ToolResult};
use vocabulary::{Fact, ItemId, StepFact};

use super::compaction::{self, ContextFill};
use super::context::{self, Loaded};
use super::{SessionGone, Talk};
use crate::limits::{
    PRUNED_TOKENS_MIN, PRUNED_TOKENS_MIN_PERCENT, RECENT_RESULTS_PERCENT, RECENT_RESULTS_TOKENS,
};

/// Calls whose results nobody could get again by asking again: plans, skills, notes, answers of people
/// and of other agents.
const KEPT: &[&str] = &[
    "todoWrite",
    "update_plan",
    "skill",
    "memory",
    "ask",
    "spawnAgent",
];
const READ: &str = "read";
/// A result of so few tokens is not worth the trouble.
const SMALL_TOKENS: u64 = 50;

impl Talk<'_> {
    /// Clears old results where the context is half full already.
    pub(super) async fn prune(&mut self, loaded: &Loaded) -> Result<(), SessionGone> {
        let compact_at = self.turn.compact_at(&self.turn.model);
        let request = self.request();
        if self.fill.tokens(&request) * 2 < compact_at {
            return Ok(());
        }
        let mut results = Vec::new();
        for old in old_results(&self.messages, compact_at) {
            if let Some(item) = item_of(loaded, &old) {
                results.push(item.clone());
                context::clear_result(&mut self.messages[old.message], &old.call_id);
            }
        }
        if results.is_empty() {
            return Ok(());
        }
        self.fill = ContextFill::default();
        let (tag, what) = (self.turn.tag(0), StepFact::Pruned { results });
        self.turn.tell(Fact::Step { tag, what }).await
    }
}

fn item_of<'a>(loaded: &'a Loaded, old: &OldResult) -> Option<&'a ItemId> {
    let entry = loaded.entries.get(old.message).copied().flatten()?;
    let mut results = loaded.results.iter();
    let known = results.find(|known| known.entry == entry && known.call_id == old.call_id);
    known.map(|known| &known.item)
}

/// A result that may be cleared.
#[derive(Debug, PartialEq)]
struct OldResult {
    message: usize,
    call_id: String,
}

/// The results to clear, if they are worth it: those of reads that were made again later, and all that
/// are older than the newest ones.
fn old_results(messages: &[Arc<Message>], compact_at: u64) -> Vec<OldResult> {
    let recent_max = RECENT_RESULTS_TOKENS.min(compact_at * RECENT_RESULTS_PERCENT / 100);
    let freed_min = PRUNED_TOKENS_MIN.min(compact_at * PRUNED_TOKENS_MIN_PERCENT / 100);
    let mut made_later = HashSet::new();
    let (mut recent, mut freed) = (0, 0);
    let mut old = Vec::new();
    for (at, message) in messages.iter().enumerate().rev() {
        let Message::ToolResults(results) = &**message else {
            continue;
        };
        for result in results.iter().rev() {
            let tokens = compaction::estimate_result(result);
            let read = (result.name == READ && !result.is_error)
                .then(|| call_of(messages, at, result))
                .flatten();
            let is_repeated = read.is_some_and(|read| !made_later.insert(read));
            if !is_repeated {
                recent += tokens;
            }
            let is_old = is_repeated || recent > recent_max;
            if is_old && may_go(result) && tokens > SMALL_TOKENS {
                freed += tokens;
                old.push(OldResult {
                    message: at,
                    call_id: result.call_id.clone(),
                });
            }
        }
    }
    match freed >= freed_min {
        true => old,
        false => Vec::new(),
    }
}

fn may_go(result: &ToolResult) -> bool {
    !result.is_error && !KEPT.contains(&result.name.as_str())
}

/// The call of a result, to be compared with others.
fn call_of(messages: &[Arc<Message>], at: usize, result: &ToolResult) -> Option<String> {
    let Message::Assistant(blocks) = &**messages.get(at.checked_sub(1)?)? else {
        return None;
    };
    blocks.iter().find_map(|block| match block {
        Block::ToolCall {
            call_id,
            name,
            input,
            ..
        } if *call_id == result.call_id => Some(format!("{name} {input}")),
        Block::ToolCall { .. }
        | Block::Text { .. }
        | Block::Reasoning { .. }
        | Block::File { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use providers::ResultBlock;
    use serde_json::json;

    use super::*;

    /// A step of one call, its result of so many tokens.
    fn step(name: &str, path: &str, tokens: usize) -> [Arc<Message>; 2] {
        let call = Block::ToolCall {
            call_id: "c".to_owned(),
            name: name.to_owned(),
            input: json!({ "filePath": path }),
            native: None,
        };
        let result = ToolResult {
            call_id: "c".to_owned(),
            name: name.to_owned(),
            content: vec![ResultBlock::Text("x".repeat(tokens * 4))],
            is_error: path == "missing",
        };
        [
            Arc::new(Message::Assistant(vec![call])),
            Arc::new(Message::ToolResults(vec![result])),
        ]
    }

    fn cleared(steps: &[(&str, &str, usize)]) -> Vec<usize> {
        let messages: Vec<_> = steps
            .iter()
            .flat_map(|(name, path, tokens)| step(name, path, *tokens))
            .collect();
        let old = old_results(&messages, 200_000);
        let mut steps: Vec<_> = old.iter().map(|old| old.message / 2).collect();
        steps.sort_unstable();
        steps
    }

    #[test]
    fn what_is_older_than_the_newest_results_goes_if_it_is_much() {
        let newest = ("bash", "d", 39_000);
        let much = [("grep", "a", 15_000), ("read", "b", 15_000), newest];
        assert_eq!(cleared(&much), [0, 1]);
        let little = [("grep", "a", 9_000), ("read", "b", 9_000), newest];
        assert_eq!(cleared(&little), [] as [usize; 0]);
    }

    #[test]
    fn errors_plans_skills_and_answers_of_people_stay() {
        let newest = ("bash", "d", 39_000);
        let old = [
            ("read", "missing", 9_000),
            ("todoWrite", "a", 9_000),
            ("update_plan", "a", 9_000),
            ("skill", "a", 9_000),
            ("ask", "a", 9_000),
            ("spawnAgent", "a", 9_000),
            ("read", "b", 25_000),
            ("bash", "c", 10),
            newest,
        ];
        assert_eq!(cleared(&old), [6]);
    }

    #[test]
    fn of_the_same_read_only_the_newest_stays() {
        let reads = [
            ("read", "a", 12_000),
            ("bash", "a", 3_000),
            ("read", "a", 12_000),
            ("bash", "a", 3_000),
            ("read", "b", 3_000),
            ("read", "a", 12_000),
        ];
        assert_eq!(cleared(&reads), [0, 2]);
    }
}
