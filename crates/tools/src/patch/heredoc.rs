//! Commands that are nothing but a patch: some models know the tool as a program of their shell.

use serde_json::Value;

use super::{FIELD, GPT_NAME, parse};

const PROGRAMS: [&str; 2] = [GPT_NAME, "applypatch"];
/// What a patch ends with; the first that is no line of it.
const TAGS: [&str; 3] = ["EOF", "PATCH", "END_OF_PATCH"];

/// The command that is this call of the patch tool.
pub(crate) fn command(input: &Value) -> Option<String> {
    let patch = input[FIELD].as_str()?;
    let has = |tag: &str| patch.lines().any(|line| line.trim() == tag);
    let tag = TAGS.into_iter().find(|tag| !has(tag))?;
    Some(format!("{GPT_NAME} <<'{tag}'\n{patch}\n{tag}"))
}

/// The patch of a command that does nothing else, with its paths as they are from where the command
/// runs.
pub(crate) fn from_command(command: &str) -> Option<String> {
    let command = command.trim();
    let (directory, command) = match entered(command) {
        Some((directory, rest)) => (Some(directory), rest),
        None => (None, command),
    };
    let rest = PROGRAMS
        .iter()
        .find_map(|name| command.strip_prefix(name))?;
    let patch = heredoc(rest).or_else(|| argument(rest))?;
    Some(match directory {
        Some(directory) => parse::below(&directory, &patch),
        None => patch,
    })
}

/// `cd DIRECTORY &&` at the beginning, and what follows.
fn entered(command: &str) -> Option<(String, &str)> {
    let rest = command.strip_prefix("cd ")?.trim_start();
    let rest = rest.strip_prefix("-- ").unwrap_or(rest).trim_start();
    let (directory, rest) = match rest.chars().next()? {
        quote @ ('\'' | '"') => rest[1..].split_once(quote)?,
        _ => rest.split_once(char::is_whitespace)?,
    };
    // What a shell would make something else of is left to it.
    let is_plain = !directory.is_empty()
        && !directory.contains([
            '$', '`', '~', '*', '?', ';', '&', '|', '<', '>', '\\', '\'', '"',
        ]);
    let rest = rest.trim_start().strip_prefix("&&")?.trim_start();
    is_plain.then(|| (directory.to_owned(), rest))
}

/// The text between `<<TAG` and the line `TAG`, if nothing is around it.
fn heredoc(rest: &str) -> Option<String> {
    let (head, body) = rest.split_once('\n')?;
    let tag = head.trim().strip_prefix("<<")?;
    let tag = tag.strip_prefix('-').unwrap_or(tag).trim_start();
    let tag = ['\'', '"']
        .into_iter()
        .find_map(|quote| tag.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(tag);
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    if tag.is_empty() || !tag.chars().all(is_word) {
        return None;
    }
    let mut lines: Vec<&str> = body.trim_end().lines().collect();
    let last = lines.pop()?;
    // A line of the patch that is the tag would end it for a shell, and something would follow.
    let is_end = |line: &&str| line.trim_end() == tag;
    (last.trim() == tag && !lines.iter().any(is_end)).then(|| lines.join("\n"))
}

/// The text as the only argument, in single quotes.
fn argument(rest: &str) -> Option<String> {
    let quoted = rest.strip_prefix(char::is_whitespace)?.trim();
    let inner = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    let text = inner.replace(r"'\''", "\u{0}");
    (!text.contains('\'')).then(|| text.replace('\u{0}', "'"))
}

#[cfg(test)]
mod tests;
