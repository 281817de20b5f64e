//! What a command knows of the server's environment: all but its secrets.

use std::ffi::{OsStr, OsString};

use tokio::process::Command;

/// Endings of the names of variables that are likely secrets. `PWD` alone is a directory.
const SECRET_ENDINGS: &[&str] = &[
    "KEY", "KEYS", "PASS", "_PWD", "AUTH", "DSN", "TOKEN", "TOKENS", "JWT", "_PAT", "COOKIE",
];
/// Words that make a variable a likely secret wherever they stand in its name.
const SECRET_WORDS: &[&str] = &[
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CONNECTION_STRING",
];
/// Endings of names of addresses that tell where our own services are, often with a key in them.
const SERVICE_ENDINGS: &[&str] = &["_BASE_URL", "SEARXNG_URL", "DATABASE_URL"];
/// Settings that git was given with the environment; a token in a header is a common one.
const GIT_SETTINGS: &str = "GIT_CONFIG_";
/// Where git's settings lie is no secret, and tests rely on it.
const GIT_FILES: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];
/// Directories of a shell, which end like a password.
const NO_SECRETS: &[&str] = &["PWD", "OLDPWD"];
const KEY_FILE_BEGINS: &str = "-----BEGIN ";

/// Nobody is there to turn pages or to write in an editor, and each step of a progress bar would be read.
const ALWAYS: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    // Nobody is there to type a password.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_PROGRESS_BAR", "off"),
    ("TQDM_DISABLE", "1"),
];
/// The server's own terminal is not the command's.
const WITHOUT_TERMINAL: &[(&str, &str)] = &[("TERM", "dumb"), ("NO_COLOR", "1")];

/// What a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WritesTo {
    Pipes,
    Terminal,
}

/// Sets what a command needs and, of the variables it would inherit, removes the secret ones.
pub(super) fn prepare(
    command: &mut Command,
    inherited: impl Iterator<Item = (OsString, OsString)>,
    writes_to: WritesTo,
) {
    for (name, value) in inherited {
        if is_secret(&name) || tells_a_secret(&value) {
            command.env_remove(name);
        }
    }
    let without_terminal = match writes_to {
        WritesTo::Pipes => WITHOUT_TERMINAL,
        WritesTo::Terminal => &[],
    };
    let settings = ALWAYS.iter().chain(without_terminal);
    command
        // A file that bash would run first.
        .env_remove("BASH_ENV")
        .envs(settings.copied());
}

/// The values of this process's own variables that no command inherits.
pub fn secret_variables() -> impl Iterator<Item = String> {
    let secret =
        std::env::vars_os().filter(|(name, value)| is_secret(name) || tells_a_secret(value));
    secret.filter_map(|(_, value)| value.into_string().ok())
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    if NO_SECRETS.contains(&name.as_str()) || GIT_FILES.contains(&name.as_str()) {
        return false;
    }
    let mut endings = SECRET_ENDINGS.iter().chain(SERVICE_ENDINGS);
    name.starts_with(GIT_SETTINGS)
        || endings.any(|ending| name.ends_with(ending))
        || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a value is a key, or has an address in it with a user or a password.
fn tells_a_secret(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let addresses = value.split("://").skip(1);
    let mut hosts = addresses.map(|rest| {
        let end = rest.find(|c: char| "/?#\"'".contains(c) || c.is_whitespace());
        &rest[..end.unwrap_or(rest.len())]
    });
    value.trim_start().starts_with(KEY_FILE_BEGINS) || hosts.any(|host| host.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited(table: &[(&str, &str)]) -> Vec<String> {
        let mut command = Command::new("true");
        let pairs = table
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        prepare(&mut command, pairs, WritesTo::Pipes);
        let is_removed = |wanted: &str| {
            let mut changes = command.as_std().get_envs();
            changes.any(|(name, value)| name == wanted && value.is_none())
        };
        let names = table.iter().map(|(name, _)| (*name).to_owned());
        names.filter(|name| !is_removed(name)).collect()
    }

    #[test]
    fn a_command_inherits_no_secret() {
        let table = [
            ("PATH", "/usr/bin"),
            ("OPENAI_API_KEY", "sk-1"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("HTTP_PROXY", "http://me:word@proxy:3128"),
            ("REDIS", "redis://:word@db:6379/0"),
            ("MIRRORS", "https://a.example https://token@b.example/x"),
            ("HOMEPAGE", "https://example.com/@me?a=b@c"),
            ("DEPLOY", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ];
        assert_eq!(inherited(&table), ["PATH", "HTTPS_PROXY", "HOMEPAGE"]);
    }

    #[test]
    fn nothing_waits_for_a_person_or_paints_for_one() {
        let set = |writes_to: WritesTo, wanted: &str| {
            let mut command = Command::new("true");
            prepare(&mut command, std::iter::empty(), writes_to);
            let mut changes = command.as_std().get_envs();
            let value = changes.find(|(name, _)| *name == wanted);
            value.and_then(|(_, value)| Some(value?.to_string_lossy().into_owned()))
        };
        for (name, value) in [
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GH_PAGER", "cat"),
            ("GIT_EDITOR", "true"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("PIP_PROGRESS_BAR", "off"),
            ("TQDM_DISABLE", "1"),
        ] {
            for writes_to in [WritesTo::Pipes, WritesTo::Terminal] {
                assert_eq!(set(writes_to, name).as_deref(), Some(value), "{name}");
            }
        }
        for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1")] {
            assert_eq!(set(WritesTo::Pipes, name).as_deref(), Some(value));
            assert_eq!(set(WritesTo::Terminal, name), None);
        }
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "OPENAI_API_KEY",
            "STRIPE_KEY",
            "DEPLOYKEY",
            "GITHUB_TOKEN",
            "TOKEN",
            "NPM_CONFIG__AUTH",
            "MYSQL_PWD",
            "DB_PASS",
            "SMTPPASS",
            "SENTRY_DSN",
            "SESSION_JWT",
            "AZURE_PAT",
            "my_secret",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "PASSWORD_FILE",
            "SEARXNG_URL",
            "OPENAI_BASE_URL",
            "TEST_DATABASE_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "GIT_CONFIG_VALUE_3",
            "GIT_CONFIG_PARAMETERS",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "XAUTHORITY",
            "KEYBOARD",
            "GIT_CONFIG_GLOBAL",
            "PUBLIC_URL",
        ] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
