//! What git is told by the environment of a command, over all that a repository says.

use tokio::process::Command;

/// Whether git may run what the repository's settings name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GitPrograms {
    /// As far as it can be switched off from outside, not.
    Off,
    AsConfigured,
}

/// Files of the workspace that look like a repository are none: its settings could make a harmless git
/// command run any program.
const ALWAYS: (&str, &str) = ("safe.bareRepository", "explicit");
const OFF: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null")];

pub(super) fn set(command: &mut Command, programs: GitPrograms) {
    let off = match programs {
        GitPrograms::Off => &OFF[..],
        GitPrograms::AsConfigured => &[],
    };
    let mut count: usize = 0;
    for (key, value) in std::iter::once(&ALWAYS).chain(off) {
        command
            .env(format!("GIT_CONFIG_KEY_{count}"), key)
            .env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
}
