//! Commands that came as a list of words, or with a directory of their own.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::has_property;
use super::names::fold;
use crate::patch;

const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
const SCRIPT_FLAGS: [&str; 3] = ["-c", "-lc", "-ic"];
/// What the directory of a command is called elsewhere, folded.
const DIRECTORIES: [&str; 6] = [
    "cwd",
    "dir",
    "directory",
    "dirpath",
    "workdir",
    "workingdirectory",
];
/// Signs that mean nothing to a shell, beside letters and digits.
const PLAIN: &str = "_-./=:,@%+";

/// The line that a list of words means; any other value as it is.
pub fn line_of(value: Value) -> Value {
    let Value::Array(words) = &value else {
        return value;
    };
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    match words.as_deref() {
        None | Some([]) => value,
        Some([line]) => json!(line),
        Some([shell, flag, script]) if is_shell(shell) && SCRIPT_FLAGS.contains(flag) => {
            json!(script)
        }
        Some(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            json!(words.join(" "))
        }
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    SHELLS.contains(&name)
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || PLAIN.contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The input of the patch tool, where a command does nothing but apply a patch.
pub fn patch_of(fields: &Map<String, Value>) -> Option<Value> {
    let text = patch::from_command(fields.get("command")?.as_str()?)?;
    let text = match directory_of(fields) {
        Some((_, directory)) => patch::below(directory, &text),
        None => text,
    };
    Some(json!({ patch::FIELD: text }))
}

/// The key and the value of the directory that a command is to run in.
fn directory_of(fields: &Map<String, Value>) -> Option<(&String, &str)> {
    let mut fields = fields.iter();
    fields.find_map(|(key, value)| {
        let is_directory = DIRECTORIES.contains(&fold(key).as_str());
        is_directory.then_some((key, value.as_str()?))
    })
}

/// Puts the directory that a command is to run in into its line, so that people and rules see it.
pub fn enter_directory(schema: &Value, workspace: &Path, fields: &mut Map<String, Value>) {
    if has_property(schema, "cwd") {
        return;
    }
    let Some(Value::String(line)) = fields.get("command") else {
        return;
    };
    let Some((key, directory)) = directory_of(fields) else {
        return;
    };
    let line = match workspace.join(directory) == workspace {
        true => line.clone(),
        false => format!("cd -- {} || exit\n{line}", quoted(directory)),
    };
    let key = key.clone();
    fields.remove(&key);
    fields.insert("command".to_owned(), json!(line));
}
