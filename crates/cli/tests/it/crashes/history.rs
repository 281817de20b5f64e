//! A session's history as the server keeps it, and whether it keeps its promises.

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::ledger::TurnSeen;

#[derive(Debug, Default)]
pub struct History {
    turns: Vec<TurnKept>,
}

#[derive(Debug, Default)]
struct TurnKept {
    user: String,
    /// The text blocks, joined as `assistant_message` joins them.
    text: String,
    results: Vec<String>,
}

impl History {
    pub fn parse(messages: &[Value]) -> anyhow::Result<Self> {
        let mut turns: Vec<TurnKept> = Vec::new();
        for message in messages {
            let content = &message["content"];
            if message["role"] == "user" {
                turns.push(TurnKept {
                    user: content
                        .as_str()
                        .context("a user message without text")?
                        .to_owned(),
                    ..TurnKept::default()
                });
                continue;
            }
            let turn = turns
                .last_mut()
                .context("history begins with no user message")?;
            turn.add(content);
        }
        Ok(Self { turns })
    }

    /// Every acknowledged message once and in order, with all that was told of its turn.
    /// `kept_by`: text that was seen before this moment must be kept, even if the turn broke off.
    pub fn check(&self, seen: &[TurnSeen], kept_by: Instant) -> anyhow::Result<()> {
        let mut kept = self.turns.iter();
        for turn in seen {
            let Some(kept) = kept.find(|kept| kept.user == turn.user) else {
                bail!("acknowledged but lost (or out of order): {:?}", turn.user);
            };
            kept.check(turn, kept_by)
                .with_context(|| format!("in the turn {:?}", turn.user))?;
        }
        let mut users = HashSet::new();
        for turn in &self.turns {
            ensure!(users.insert(&turn.user), "kept twice: {:?}", turn.user);
        }
        Ok(())
    }
}

impl TurnKept {
    fn add(&mut self, content: &Value) {
        if let Some(text) = content.as_str() {
            self.add_text(text);
        }
        for block in content.as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "text" => self.add_text(block["text"].as_str().unwrap_or_default()),
                "tool-result" => {
                    let call = block["toolCallId"].as_str().unwrap_or_default();
                    self.results.push(call.to_owned());
                }
                _ => {}
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    fn check(&self, seen: &TurnSeen, kept_by: Instant) -> anyhow::Result<()> {
        if let Some(answer) = &seen.answer {
            ensure!(
                self.text.trim() == answer.trim(),
                "the answer {answer:?} is kept as {:?}",
                self.text
            );
        }
        let partial = seen.text_by(kept_by);
        // What stands between two texts of a turn is not streamed, and who came back in the middle of a
        // turn has not seen its first text.
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        ensure!(
            letters(&self.text).contains(&letters(&partial)),
            "{} characters were seen early enough, and of these {:?} is kept",
            partial.len(),
            self.text
        );
        for call in &seen.results {
            let times = self.results.iter().filter(|kept| *kept == call).count();
            ensure!(times == 1, "the result of {call} is kept {times} times");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn kept() -> History {
        let messages = [
            json!({"role": "user", "content": "one"}),
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "bash", "input": {}},
            ]}),
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1"}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}),
            json!({"role": "user", "content": "two"}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "half of"}]}),
        ];
        History::parse(&messages).expect("a history")
    }

    fn seen(user: &str) -> TurnSeen {
        TurnSeen {
            user: user.to_owned(),
            ..TurnSeen::default()
        }
    }

    #[test]
    fn what_was_seen_is_found() {
        let now = Instant::now();
        let mut one = seen("one");
        one.answer = Some("Let me see.\n\nDone.".to_owned());
        one.results.push("c1".to_owned());
        let mut two = seen("two");
        let later = now + Duration::from_secs(1);
        two.pieces = vec![(now, "half ".to_owned()), (later, "of it".to_owned())];
        assert!(kept().check(&[one, two.clone()], now).is_ok());
        assert!(kept().check(&[two], later).is_err(), "text that is missing");
    }

    #[test]
    fn what_is_missing_or_out_of_order_is_found() {
        let now = Instant::now();
        assert!(kept().check(&[seen("three")], now).is_err());
        assert!(kept().check(&[seen("two"), seen("one")], now).is_err());
        let mut other = seen("one");
        other.answer = Some("Done.".to_owned());
        assert!(kept().check(&[other], now).is_err());
        let mut missing = seen("two");
        missing.results.push("c2".to_owned());
        assert!(kept().check(&[missing], now).is_err());
    }
}
