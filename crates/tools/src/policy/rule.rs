//! One rule of a policy, and what it fits.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use globset::GlobMatcher;
use serde::Deserialize;

use super::PolicyCall;
use super::within::Within;
use crate::path::PATH_CHARS_MAX;
use crate::shell::{Script, SimpleCommand, Word};
use crate::{Risk, patch};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Allow,
    Ask,
    Refuse,
}

/// All that it names must fit. At least one thing is named.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Its place among the rules, from 1.
    pub number: usize,
    pub effect: Effect,
    /// A name, or the beginning of names: `mcp*`.
    pub tool: Option<String>,
    /// The first words of a command.
    pub command: Vec<String>,
    pub path: Option<GlobMatcher>,
    /// A host, or all below one: `*.example.org`.
    pub host: Option<String>,
    /// Allows a command with redirections, substitutions, expansions, or paths outside too.
    pub any: bool,
    /// The words of `command` are dangerous by themselves: whoever wrote them meant that.
    pub is_dangerous: bool,
}

impl Rule {
    /// Whether a rule against something has to do with the call: loosely, by any of its parts.
    /// What is nested too deep to be seen may be anything.
    pub fn touches(&self, call: &PolicyCall<'_>, readings: &[Script], within: &Within) -> bool {
        let scripts = readings.iter().chain(&within.scripts);
        let commands: Vec<&SimpleCommand> = scripts.flat_map(Script::all_commands).collect();
        self.restricts_tool(call.tool)
            && (self.command.is_empty()
                || within.unseen
                || commands.iter().any(|command| self.runs_in(command)))
            && self.path.as_ref().is_none_or(|glob| {
                let words = commands.iter().flat_map(|command| &command.words);
                within.unseen
                    || call.paths.iter().any(|path| matches(glob, path))
                    || words.flat_map(paths_in).any(|path| matches(glob, path))
            })
            && (self.host.is_none() || call.hosts.iter().any(|host| self.fits_host(host)))
    }

    /// Whether a rule that allows fits the call by its tool, all of its paths and all of its hosts.
    /// Its commands are looked at by [`cover`].
    pub fn admits(&self, call: &PolicyCall<'_>) -> bool {
        let paths = || !call.paths.is_empty() && call.paths.iter().all(|path| self.holds(path));
        let hosts = || !call.hosts.is_empty() && call.hosts.iter().all(|host| self.fits_host(host));
        self.fits_tool(call.tool)
            && (self.command.is_empty() || call.command.is_some())
            && (self.path.is_none() || paths())
            && (self.host.is_none() || hosts())
    }

    /// Whether it can allow what is asked for this reason.
    pub fn reaches(&self, risk: Risk) -> bool {
        match risk {
            Risk::OutsideScope => self.any,
            // Rules speak of what happens within the sandbox and the workspace.
            Risk::OutsideRead | Risk::BeyondSandbox => false,
            Risk::DangerousPattern
            | Risk::ShellControlOperator
            | Risk::ManualReview
            | Risk::FileRead => true,
        }
    }

    /// The more it names, the more it says about a call.
    pub fn specificity(&self) -> (usize, usize, usize, usize) {
        let path = self
            .path
            .as_ref()
            .map_or(0, |path| path.glob().glob().len());
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        (
            self.command.len(),
            path,
            length(&self.host),
            length(&self.tool),
        )
    }

    fn fits_tool(&self, tool: &str) -> bool {
        self.tool
            .as_deref()
            .is_none_or(|name| match name.strip_suffix('*') {
                Some(beginning) => tool.starts_with(beginning),
                None => tool == name,
            })
    }

    /// Whether a rule against a tool is against this one: a patch edits and writes files, whatever the
    /// model at hand calls that.
    fn restricts_tool(&self, tool: &str) -> bool {
        let does = match tool == patch::NAME {
            true => &["edit", "write"][..],
            false => &[],
        };
        self.fits_tool(tool) || does.iter().any(|tool| self.fits_tool(tool))
    }

    fn fits_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.host
            .as_deref()
            .is_some_and(|name| match name.strip_prefix("*.") {
                Some(domain) => host
                    .strip_suffix(domain)
                    .is_some_and(|sub| sub.ends_with('.')),
                None => host == name,
            })
    }

    fn holds(&self, path: &str) -> bool {
        let glob = self.path.as_ref();
        glob.is_some_and(|glob| flat(path).is_some_and(|flat| glob.is_match(flat)))
    }

    /// Whether the command begins with the rule's words, exactly as they are. Whatever the rule, it
    /// must be known which program runs.
    fn begins(&self, command: &SimpleCommand) -> bool {
        let plain_min = match self.any {
            true => self.command.len().max(1),
            false => command.words.len().max(1),
        };
        let words = &command.words;
        words.len() >= plain_min.max(self.command.len())
            && words.iter().take(plain_min).all(|word| word.plain)
            && words
                .iter()
                .zip(&self.command)
                .all(|(word, wanted)| word.text == *wanted)
    }

    /// Whether the rule's words are anywhere in the command: behind assignments and other programs
    /// (`env`, `sudo`, `find -exec`), by a path, with options between them.
    fn runs_in(&self, command: &SimpleCommand) -> bool {
        let Some((program, wanted)) = self.command.split_first() else {
            return false;
        };
        command.words.iter().enumerate().any(|(at, word)| {
            let name = word.text.rsplit('/').next().unwrap_or_default();
            (word.text == *program || name == program) && follow(&command.words[at + 1..], wanted)
        })
    }
}

/// Whether all the commands of a reading are allowed, each by one of the rules.
pub(super) fn cover(rules: &[&Rule], script: &Script) -> bool {
    let commands = script.all_commands();
    !commands.is_empty()
        && commands
            .iter()
            .all(|command| rules.iter().any(|rule| rule.begins(command)))
}

/// Whether the wanted words come in this order, with nothing but options and their values between.
fn follow(words: &[Word], wanted: &[String]) -> bool {
    let Some((next, others)) = wanted.split_first() else {
        return true;
    };
    let mut may_be_value = false;
    for (at, word) in words.iter().enumerate() {
        let is_option = word.text.starts_with('-');
        if word.text == *next && follow(&words[at + 1..], others) {
            return true;
        }
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option;
    }
    false
}

/// What may be a path in a word of a command.
fn paths_in(word: &Word) -> impl Iterator<Item = &str> {
    let value = word.text.split_once('=').map(|(_, value)| value);
    [Some(word.text.as_str()), value].into_iter().flatten()
}

/// Loosely: what is not known to lie inside may still be a way to it, so its end counts.
fn matches(glob: &GlobMatcher, path: &str) -> bool {
    if path.len() > PATH_CHARS_MAX {
        return false;
    }
    match flat(path) {
        Some(flat) => glob.is_match(flat),
        None => {
            let mut rest = Path::new(path).components();
            let mut ends = std::iter::from_fn(|| {
                rest.next()?;
                Some(rest.as_path())
            });
            ends.any(|end| glob.is_match(end))
        }
    }
}

/// A path without `.` and `..`; `None` if it leaves the workspace.
fn flat(path: &str) -> Option<PathBuf> {
    let mut flat = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => flat.push(name),
            Component::ParentDir => {
                if !flat.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(flat)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.effect {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Refuse => "refuse",
        };
        write!(f, "rule {}: {effect}", self.number)?;
        if let Some(tool) = &self.tool {
            write!(f, " tool {tool}")?;
        }
        if !self.command.is_empty() {
            write!(f, " command {}", self.command.join(" "))?;
        }
        if let Some(path) = &self.path {
            write!(f, " path {}", path.glob().glob())?;
        }
        match &self.host {
            Some(host) => write!(f, " host {host}"),
            None => Ok(()),
        }
    }
}
