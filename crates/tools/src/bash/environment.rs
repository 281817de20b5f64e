//! What a command knows of the server's environment: all but its secrets.

use std::ffi::{OsStr, OsString};

use tokio::process::Command;

/// Endings of the names of variables that are likely secrets.
const SECRET_ENDINGS: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "_TOKEN",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "_PAT",
];
/// Words that make a variable a likely secret wherever they stand in its name.
const SECRET_WORDS: &[&str] = &["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Sets what a command needs and, of the variables it would inherit, removes the secret ones.
pub(super) fn prepare(command: &mut Command, inherited: impl Iterator<Item = OsString>) {
    for name in inherited {
        if is_secret(&name) {
            command.env_remove(name);
        }
    }
    command
        // A file that bash would run first.
        .env_remove("BASH_ENV")
        // There is nobody to type a password.
        .env("GIT_TERMINAL_PROMPT", "0");
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    name == "TOKEN"
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_inherits_no_secret() {
        let mut command = Command::new("true");
        let inherited = ["PATH", "OPENAI_API_KEY"].map(OsString::from);
        prepare(&mut command, inherited.into_iter());
        let change = |wanted: &str| {
            let mut changes = command.as_std().get_envs();
            changes.find(|(name, _)| *name == wanted)
        };
        assert_eq!(change("PATH"), None);
        assert_eq!(
            change("OPENAI_API_KEY"),
            Some((OsStr::new("OPENAI_API_KEY"), None))
        );
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "my_secret",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "PASSWORD_FILE",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "KEYBOARD",
        ] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
