//! How a policy is written.
//!
//! ```toml
//! ask_timeout_seconds = 300      # an ask that nobody answers is denied then; else it stays open
//!
//! [[rule]]
//! effect = "allow"               # or "ask", "refuse"
//! command = "cargo test"         # the first words of a command: not `cargo tester`
//! any = true                     # with redirections, substitutions and paths outside too
//!
//! [[rule]]
//! effect = "ask"
//! tool = "mcp*"                  # a name, or the beginning of names
//! path = "docs/**"               # all that is named must fit
//! ```

use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use super::Policy;
use super::rule::{Effect, Rule};
use crate::{risk, shell};

const RULES_MAX: usize = 1000;
const TEXT_CHARS_MAX: usize = 1000;
/// Waiting longer is as good as waiting for ever.
const ASK_TIMEOUT_SECONDS_MAX: u64 = 30 * 24 * 60 * 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    #[serde(default)]
    rule: Vec<WrittenRule>,
    ask_timeout_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    effect: Effect,
    tool: Option<String>,
    command: Option<String>,
    path: Option<String>,
    host: Option<String>,
    #[serde(default)]
    any: bool,
}

/// Why a policy cannot be used. The number is the rule's place, from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("a policy has at most {RULES_MAX} rules")]
    TooManyRules,
    #[error("ask_timeout_seconds: give 1 to {ASK_TIMEOUT_SECONDS_MAX}, or leave it out")]
    AskTimeout,
    #[error("rule {0}: name a tool, a command, a path or a host")]
    Empty(usize),
    #[error("rule {0}: {1}: give 1 to {TEXT_CHARS_MAX} characters without a line break")]
    Text(usize, &'static str),
    #[error("rule {0}: command: give the plain first words of one command, such as \"git log\"")]
    Command(usize),
    #[error(
        "rule {0}: path: give a pattern of paths inside the workspace, such as \"src/**\": {1}"
    )]
    Path(usize, String),
    #[error("rule {0}: host: give a host name, or \"*.\" and a domain")]
    Host(usize),
    #[error("rule {0}: `any` is only for rules that allow")]
    Any(usize),
}

impl TryFrom<Written> for Policy {
    type Error = PolicyError;

    fn try_from(written: Written) -> Result<Policy, PolicyError> {
        if written.rule.len() > RULES_MAX {
            return Err(PolicyError::TooManyRules);
        }
        let timeout = written.ask_timeout_seconds;
        if timeout.is_some_and(|seconds| !(1..=ASK_TIMEOUT_SECONDS_MAX).contains(&seconds)) {
            return Err(PolicyError::AskTimeout);
        }
        let rules = written.rule.into_iter().enumerate();
        Ok(Policy {
            rules: rules
                .map(|(index, rule)| rule.read(index + 1))
                .collect::<Result<_, _>>()?,
            ask_timeout: timeout.map(Duration::from_secs),
        })
    }
}

impl WrittenRule {
    fn read(self, number: usize) -> Result<Rule, PolicyError> {
        let named = [
            ("tool", &self.tool),
            ("command", &self.command),
            ("path", &self.path),
            ("host", &self.host),
        ];
        for (key, text) in named {
            if text.as_deref().is_some_and(|text| !is_text(text)) {
                return Err(PolicyError::Text(number, key));
            }
        }
        if named.iter().all(|(_, text)| text.is_none()) {
            return Err(PolicyError::Empty(number));
        }
        if self.any && self.effect != Effect::Allow {
            return Err(PolicyError::Any(number));
        }
        let command = self.command.as_deref();
        Ok(Rule {
            number,
            effect: self.effect,
            is_dangerous: command.is_some_and(risk::is_dangerous_line),
            command: match command {
                Some(text) => words(text).ok_or(PolicyError::Command(number))?,
                None => Vec::new(),
            },
            path: match self.path {
                Some(text) => Some(glob(number, &text)?),
                None => None,
            },
            host: match self.host {
                Some(text) => Some(host(&text).ok_or(PolicyError::Host(number))?),
                None => None,
            },
            tool: self.tool,
            any: self.any,
        })
    }
}

fn is_text(text: &str) -> bool {
    let usable = !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX;
    usable && !text.chars().any(char::is_control)
}

fn words(text: &str) -> Option<Vec<String>> {
    shell::plain_words(text).filter(|words| !words.is_empty())
}

fn glob(number: usize, text: &str) -> Result<GlobMatcher, PolicyError> {
    let outside = text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    if outside {
        return Err(PolicyError::Path(number, "it leads outside".to_owned()));
    }
    let text = text.strip_prefix("./").unwrap_or(text);
    // `*` stays within a directory, so that `src/*` says what it seems to say.
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    match glob {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(PolicyError::Path(number, error.kind().to_string())),
    }
}

fn host(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let name = text.strip_prefix("*.").unwrap_or(&text);
    let in_name =
        |character: char| character.is_ascii_alphanumeric() || "-_.:[]".contains(character);
    (!name.is_empty() && name.chars().all(in_name)).then_some(text.clone())
}
