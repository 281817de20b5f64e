//! What a model was told of its surroundings, as its conversation has it: after a sleep, a crash or a
//! summary there is nothing else to go by, and nothing else is needed.

use std::sync::Arc;

use providers::Message;

/// What every text about the surroundings begins with, and hardly any other.
pub const BEGINS: &str = "<context>\nFrom the server, not from the user: ";

/// What a file's own section begins with.
const FILE: &str = "<file path=\"";

/// The texts about the surroundings in a conversation, the newest first.
pub struct ToldContext<'a>(Vec<&'a str>);

impl<'a> ToldContext<'a> {
    pub fn of(messages: &'a [Arc<Message>]) -> Self {
        let texts = messages
            .iter()
            .rev()
            .filter_map(|message| match &**message {
                Message::User(said) => said.text.starts_with(BEGINS).then_some(said.text.as_str()),
                Message::Assistant(_) | Message::ToolResults(_) => None,
            });
        Self(texts.collect())
    }

    /// Whether the conversation has the whole block at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The newest value of a line of the environment.
    pub fn line(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find_map(|text| {
            let (_, rest) = text.split_once("<environment>\n")?;
            let (environment, _) = rest.split_once("</environment>")?;
            let mut lines = environment.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        })
    }

    /// Whether the newest section that begins like this one is this one.
    pub fn has_newest(&self, section: &str) -> bool {
        // A file by its path, whatever else is said of it.
        let end = match section.starts_with(FILE) {
            true => section[FILE.len()..].find('"').map(|at| FILE.len() + at),
            false => section.find('>'),
        };
        let begins = end.map_or(section, |end| &section[..=end]);
        let newest = self.0.iter().find_map(|text| {
            let at = text.rfind(begins)?;
            text.get(at..)
        });
        newest.is_some_and(|newest| newest.starts_with(section))
    }

    /// Whether these words are in one of the texts.
    pub fn has(&self, words: &str) -> bool {
        self.0.iter().any(|text| text.contains(words))
    }

    /// The paths of all instruction files that were told.
    pub fn files(&self) -> Vec<&'a str> {
        let mut files: Vec<&str> = self
            .0
            .iter()
            .flat_map(|text| text.split(FILE).skip(1))
            .filter_map(|rest| Some(rest.split_once('"')?.0))
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}
