//! What a call of `bash` wants.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::escalation::{self, Escalation};
use crate::input::Fields;
use crate::path::{self, PATH_CHARS_MAX};
use crate::{Failure, Scope, normalize};

pub(super) const COMMAND_CHARS_MAX: usize = 100_000;
/// How long a command is waited for.
const TIMEOUT_SECONDS: u64 = 120;
pub(super) const TIMEOUT_SECONDS_MAX: u64 = 3_600;
/// How long the first words of a command in the background are waited for; many that fail do so at once.
const FIRST_WORDS: Duration = Duration::from_secs(1);
const DESCRIPTION_CHARS_MAX: usize = 1_000;

pub(super) struct BashOrder<'a> {
    pub command: &'a str,
    pub terminal: bool,
    pub escalation: Option<Escalation>,
    pub reason: Option<&'a str>,
    /// Where it runs, if not at the top of the workspace, as it was given.
    pub directory: Option<&'a str>,
    /// How long it is waited for.
    pub wait: Duration,
    pub background: bool,
}

impl<'a> BashOrder<'a> {
    pub fn parse(input: &'a Value) -> Result<BashOrder<'a>, Failure> {
        let fields = Fields::of("bash", input)?;
        let command = fields.filled_text("command", COMMAND_CHARS_MAX)?;
        if command.contains('\0') {
            return Err(fields.refuse("command", "a text without NUL"));
        }
        let background = fields.optional_flag("background")?.unwrap_or(false);
        // For people, who see the whole call.
        fields.optional_text("description", DESCRIPTION_CHARS_MAX)?;
        Ok(BashOrder {
            command,
            terminal: fields.optional_flag("pty")?.unwrap_or(false),
            escalation: Escalation::of(&fields)?,
            reason: escalation::reason(&fields)?,
            directory: fields.optional_text("cwd", PATH_CHARS_MAX)?,
            wait: match background {
                true => FIRST_WORDS,
                false => timeout(&fields)?,
            },
            background,
        })
    }

    /// The line with the directory that it runs in.
    pub fn for_people(&self) -> String {
        match self.directory.filter(|given| !given.is_empty()) {
            Some(directory) => normalize::line_in(directory, self.command),
            None => self.command.to_owned(),
        }
    }

    /// Where it runs, if not at the top of the workspace.
    pub fn directory_in(&self, scope: &Scope) -> Result<Option<PathBuf>, Failure> {
        let Some(given) = self.directory.filter(|given| !given.is_empty()) else {
            return Ok(None);
        };
        let directory = path::resolve("bash", scope, given)?;
        match directory.is_dir() {
            true => Ok(Some(directory)),
            false => Err(Failure::Error(format!(
                "bash: \"cwd\" must be a directory of the workspace; there is none at {given}"
            ))),
        }
    }
}

/// Elsewhere it is in milliseconds; nobody means two minutes by 120,000 seconds.
fn timeout(fields: &Fields<'_>) -> Result<Duration, Failure> {
    let given = fields.optional_whole("timeout", 1..=TIMEOUT_SECONDS_MAX * 1_000)?;
    Ok(match given.unwrap_or(TIMEOUT_SECONDS) {
        seconds @ ..=TIMEOUT_SECONDS_MAX => Duration::from_secs(seconds),
        milliseconds => Duration::from_millis(milliseconds),
    })
}
