//! Commands that came as a list of words, or with a directory of their own.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{patch, path};

const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
const SCRIPT_FLAGS: [&str; 3] = ["-c", "-lc", "-ic"];
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
    let text = match fields.get("cwd").and_then(Value::as_str) {
        Some(directory) => patch::below(directory, &text),
        None => text,
    };
    Some(json!({ patch::FIELD: text }))
}

/// A line that runs another one in a directory.
pub fn line_in(directory: &str, line: &str) -> String {
    format!("cd -- {} || exit\n{line}", quoted(directory))
}

/// The workspace itself need not be named; a directory outside of it is put into the line, so that people
/// and rules see it.
pub fn enter_directory(workspace: &Path, fields: &mut Map<String, Value>) {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let (Some(directory), Some(line)) = (text("cwd"), text("command")) else {
        return;
    };
    let place = path::flatten(&workspace.join(directory));
    let line = match (place == workspace, place.starts_with(workspace)) {
        (true, _) => line.to_owned(),
        (false, true) => return,
        (false, false) => line_in(directory, line),
    };
    fields.remove("cwd");
    fields.insert("command".to_owned(), json!(line));
}
