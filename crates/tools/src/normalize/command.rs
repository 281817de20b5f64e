//! Commands that came as a list of words, or with a directory of their own.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::has_property;
use super::names::fold;

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

/// Puts the directory that a command is to run in into its line, so that people and rules see it.
pub fn enter_directory(schema: &Value, workspace: &Path, fields: &mut Map<String, Value>) {
    if has_property(schema, "cwd") {
        return;
    }
    let Some(Value::String(line)) = fields.get("command") else {
        return;
    };
    let is_directory = |(key, value): &(&String, &Value)| {
        DIRECTORIES.contains(&fold(key).as_str()) && value.is_string()
    };
    let Some((key, Value::String(directory))) = fields.iter().find(is_directory) else {
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
