//! The policy: what people decided beforehand about calls of tools, as data.
//!
//! A rule allows, asks or refuses. Refusing beats asking, asking beats allowing, and all of them are
//! laid over the tool's own judgement. Like that one it is no fence: it goes by what can be read
//! in a call. So a rule that is against something matches loosely, and one that allows matches only
//! what is wholly understood.

mod grant;
mod rule;
mod within;
mod written;

use std::time::Duration;

use serde::Deserialize;

use crate::shell::{self, Script};
use crate::{Judgement, Risk};
pub use grant::grant_key;
pub use rule::Effect;
use rule::Rule;
use within::Within;
pub use written::PolicyError;

/// What was decided beforehand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "written::Written")]
pub struct Policy {
    rules: Vec<Rule>,
    ask_timeout: Option<Duration>,
}

impl Policy {
    /// The rules of both. The stricter counts, as among the rules of one.
    pub fn and(mut self, other: Policy) -> Policy {
        self.rules.extend(other.rules);
        self
    }
}

/// One call of a tool, as far as a policy looks at it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyCall<'a> {
    pub tool: &'a str,
    /// One line for the person who is asked: `edit src/main.rs`.
    pub summary: &'a str,
    /// The command line, where the call is one.
    pub command: Option<&'a str>,
    /// The files it names, relative to the workspace where they lie inside it.
    pub paths: &'a [String],
    /// The hosts it names.
    pub hosts: &'a [String],
    /// What the tool itself thinks of the call.
    pub judgement: &'a Judgement,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask {
        command: String,
        dangerous: bool,
        risk: Risk,
        /// The rule that wants it asked; none if the tool itself does.
        why: Option<String>,
    },
    Refuse {
        why: String,
    },
}

impl Policy {
    /// What is to be done with a call.
    pub fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        let readings = call.command.map(shell::read);
        let readings = readings.as_ref().map_or(&[][..], |both| &both[..]);
        let within = match self.rules.is_empty() {
            true => Within::default(),
            false => Within::of(readings),
        };
        if let Some(why) = self.against(Effect::Refuse, call, readings, &within) {
            return Decision::Refuse { why };
        }
        if let Some(why) = self.against(Effect::Ask, call, readings, &within) {
            return ask(call, Some(why));
        }
        let allowed = match call.judgement {
            Judgement::Allow => true,
            Judgement::Ask { risk, .. } => self.lifts(*risk, call, readings),
        };
        match allowed {
            true => Decision::Allow,
            false => ask(call, None),
        }
    }

    /// After how long an ask that nobody answered is denied. `None`: it stays open.
    pub fn ask_timeout(&self) -> Option<Duration> {
        self.ask_timeout
    }

    /// What is said of an ask that was denied because nobody answered it.
    pub fn timed_out_why(&self) -> Option<String> {
        let seconds = self.ask_timeout?.as_secs();
        Some(format!(
            "denied by the policy: nobody answered within {seconds} seconds"
        ))
    }

    /// Names the most specific rule of this effect that the call runs into.
    fn against(
        &self,
        effect: Effect,
        call: &PolicyCall<'_>,
        readings: &[Script],
        within: &Within,
    ) -> Option<String> {
        let hit = self
            .rules
            .iter()
            .filter(|rule| rule.effect == effect && rule.touches(call, readings, within))
            // Of equal ones the first.
            .rev()
            .max_by_key(|rule| rule.specificity())?;
        Some(match effect {
            Effect::Refuse => format!("refused by the policy: {hit}"),
            Effect::Ask => format!("the policy wants this asked: {hit}"),
            Effect::Allow => format!("allowed by the policy: {hit}"),
        })
    }

    /// Whether rules allow what the tool would ask.
    fn lifts(&self, risk: Risk, call: &PolicyCall<'_>, readings: &[Script]) -> bool {
        let fitting = self
            .rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow && rule.admits(call) && rule.reaches(risk));
        let mut fitting: Vec<&Rule> = fitting.collect();
        if readings.is_empty() {
            return risk != Risk::DangerousPattern && !fitting.is_empty();
        }
        if readings.iter().any(|script| script.unclear) {
            return false;
        }
        if readings.iter().any(Script::has_side_ways) {
            fitting.retain(|rule| rule.any);
        }
        if risk == Risk::DangerousPattern {
            // The danger may be in how commands are joined, so only a lone one is lifted.
            let alone = readings
                .iter()
                .all(|script| script.only_plain_words().is_some());
            fitting.retain(|rule| alone && rule.is_dangerous);
        }
        readings.iter().all(|script| rule::cover(&fitting, script))
    }
}

fn ask(call: &PolicyCall<'_>, why: Option<String>) -> Decision {
    match call.judgement {
        Judgement::Ask {
            command,
            dangerous,
            risk,
            ..
        } => Decision::Ask {
            command: command.clone(),
            dangerous: *dangerous,
            risk: *risk,
            why,
        },
        Judgement::Allow => Decision::Ask {
            command: call.command.unwrap_or(call.summary).to_owned(),
            dangerous: false,
            risk: Risk::ManualReview,
            why,
        },
    }
}

#[cfg(test)]
mod tests;
