//! Under which key an approval is remembered.

use serde_json::Value;

use crate::shell;

/// Words that the shell itself understands when they are not quoted, so that `time ls` and
/// `'time' ls` are not the same.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// A longer key is kept as its hash.
const KEY_BYTES_MAX: usize = 4_096;

/// The tool whose `command` is a line for the shell.
const SHELL_TOOL: &str = "bash";

/// What an approval of this call is remembered under: the same call has the same key, any other
/// another one.
///
/// A command line that is one plain command goes by its words, so that blanks and quotes make no
/// difference; any other line goes by its exact text. All other input goes by its value. What is
/// long goes by its hash, in a place where no input stands.
pub fn grant_key(tool: &str, input: &Value) -> String {
    let mut input = sorted(input);
    if tool == SHELL_TOOL
        && let Some(command) = input.get_mut("command")
        && let Some(line) = command.as_str()
    {
        *command = command_key(line);
    }
    let key = Value::from(vec![Value::from(tool), input]).to_string();
    match key.len() > KEY_BYTES_MAX {
        true => {
            let hash = blake3::hash(key.as_bytes()).to_hex();
            Value::from(vec![tool.to_owned(), format!("blake3 {hash}")]).to_string()
        }
        false => key,
    }
}

fn command_key(command: &str) -> Value {
    let words = shell::plain_words(command);
    match words.filter(|words| words.first().is_some_and(|first| !is_reserved(first))) {
        Some(words) => Value::from(words),
        None => Value::from(command),
    }
}

fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word) || word.contains('=')
}

/// The same input whatever the order of its fields.
fn sorted(input: &Value) -> Value {
    match input {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            let sorted = fields
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(sorted.collect())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => input.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_grant_fits_the_same_command_and_no_other() {
        let key = |command: &str| grant_key("bash", &json!({"command": command}));
        assert_eq!(key("cargo test"), key(" cargo   'test' # again"));
        let different = [
            "cargo test",
            "cargo test x",
            "cargo 'test x'",
            "cargo",
            "cargo test; ls",
            "cargo test;ls",
            "cargo test > a",
            "cargo test $X",
            "cargo test '$X'",
            "cargo test \"$X\"",
            "X=1 cargo test",
            "'X=1' cargo test",
            "time cargo test",
            "'time' cargo test",
            "[\"cargo\",\"test\"]",
            "cargo test *",
            "cargo test '*'",
            "cargo test ~",
            "cargo test '~'",
            "cargo 'test",
            "Cargo test",
        ];
        let keys: std::collections::BTreeSet<String> = different.map(key).into();
        assert_eq!(keys.len(), different.len());
        assert_ne!(key("ls"), grant_key("other", &json!({"command": "ls"})));
        assert_ne!(
            key("ls"),
            grant_key("bash", &json!({"command": "ls", "pty": true}))
        );
    }

    #[test]
    fn a_grant_of_another_tool_goes_by_its_input() {
        let one = grant_key("edit", &json!({"a": 1, "b": {"c": 2, "d": 3}}));
        assert_eq!(
            one,
            grant_key("edit", &json!({"b": {"d": 3, "c": 2}, "a": 1}))
        );
        assert_ne!(
            one,
            grant_key("write", &json!({"a": 1, "b": {"c": 2, "d": 3}}))
        );
        assert_ne!(
            one,
            grant_key("edit", &json!({"a": 1, "b": {"c": 2, "d": 4}}))
        );
        // Only the shell's command is read as one.
        let spaced = |text: &str| grant_key("mcp.x", &json!({"command": text}));
        assert_ne!(spaced("a  b"), spaced("a b"));
    }
}
