//! Commands that people wrote down: under `command` in a `config.json`, or as Markdown files in a directory
//! `commands`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use vocabulary::CommandOrigin;

use crate::folders::GUARDED;
use crate::skill::SkillProblem;
use crate::skill::front::FrontMatter;
use crate::skill::limited_text;
use crate::{Failure, Scope, Trusted, path};

const CONFIG: &str = "config";
const CONFIG_FILE: &str = "config.json";
const COMMANDS: &str = "commands";
const NAME_CHARS_MAX: usize = 64;
/// A directory with more entries is not looked at to its end.
const ENTRIES_MAX: usize = 500;

/// A command as it was written down.
pub(super) struct WrittenCommand {
    pub name: String,
    pub description: Option<String>,
    pub origin: CommandOrigin,
    pub template: String,
}

/// What files say, the strongest first.
#[derive(Default)]
pub(super) struct WrittenCommands {
    /// Of the user, or of a workspace that is trusted.
    pub usable: Vec<WrittenCommand>,
    pub untrusted: Vec<WrittenCommand>,
    pub problems: Vec<SkillProblem>,
}

/// Reads all of them.
pub(super) fn read(scope: &Scope, trusted: &Trusted) -> WrittenCommands {
    let mut all = WrittenCommands::default();
    for folder in GUARDED {
        // Whose workspace is their home directory did not get these with it.
        if is_users_own(scope, &scope.directory.join(folder)) {
            continue;
        }
        let commands = Path::new(folder).join(COMMANDS);
        let config = Path::new(folder).join(CONFIG_FILE);
        for file in [config]
            .into_iter()
            .chain(markdown_in(&scope.directory, &commands))
        {
            all.add_of_workspace(scope, trusted, &file);
        }
    }
    for (index, skills) in scope.skills.iter().enumerate() {
        let Some(home) = skills.parent() else {
            continue;
        };
        // The server's data has its settings in a directory of their own; other agents' have not.
        let config = match index {
            0 => home.join(CONFIG).join(CONFIG_FILE),
            _ => home.join(CONFIG_FILE),
        };
        let files = markdown_in(home, Path::new(COMMANDS));
        let files = files.into_iter().map(|file| home.join(file));
        for file in [config].into_iter().chain(files) {
            all.add_of_user(&file);
        }
    }
    all
}

fn is_users_own(scope: &Scope, folder: &Path) -> bool {
    let homes = scope.skills.iter().filter_map(|skills| skills.parent());
    let mut homes = homes.filter_map(|home| std::fs::canonicalize(home).ok());
    let folder = std::fs::canonicalize(folder);
    folder.is_ok_and(|folder| homes.any(|home| home == folder))
}

/// The Markdown files of a directory by name, as paths from `root` on.
fn markdown_in(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join(folder));
    let entries = entries.into_iter().flatten().flatten().take(ENTRIES_MAX);
    let files = entries.map(|entry| folder.join(entry.file_name()));
    let is_markdown = |file: &PathBuf| file.extension().is_some_and(|end| end == "md");
    let mut files: Vec<PathBuf> = files.filter(is_markdown).collect();
    files.sort();
    files
}

impl WrittenCommands {
    /// `file`: from the workspace on.
    fn add_of_workspace(&mut self, scope: &Scope, trusted: &Trusted, file: &Path) {
        let shown = scope.directory.join(file);
        let found = match path::resolve("command", scope, &file.to_string_lossy()) {
            Ok(found) => found,
            Err(Failure::Error(problem)) => return self.problem(&shown, problem),
            Err(Failure::Cancelled(_)) => return,
        };
        // A file that is a directory, say, is there and cannot be read.
        if std::fs::symlink_metadata(&found).is_err() {
            return;
        }
        let text = match limited_text(&found) {
            Ok(text) => text,
            Err(problem) => return self.problem(&shown, problem),
        };
        let is_trusted = scope.trusted && trusted.has(file, text.as_bytes());
        let commands = self.parse(&shown, &text);
        match is_trusted {
            true => self.usable.extend(commands),
            false => self.untrusted.extend(commands),
        }
    }

    fn add_of_user(&mut self, file: &Path) {
        // The user's links lead where the user wants.
        let Ok(found) = std::fs::canonicalize(file) else {
            return;
        };
        match limited_text(&found) {
            Ok(text) => {
                let commands = self.parse(file, &text);
                self.usable.extend(commands);
            }
            Err(problem) => self.problem(file, problem),
        }
    }

    fn parse(&mut self, file: &Path, text: &str) -> Vec<WrittenCommand> {
        if file.extension().is_some_and(|end| end == "md") {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            return match markdown(&name, text) {
                Ok(command) => vec![command],
                Err(problem) => {
                    self.problem(file, problem);
                    Vec::new()
                }
            };
        }
        let mut commands = Vec::new();
        for command in configured(text) {
            match command {
                Ok(command) => commands.push(command),
                Err(problem) => self.problem(file, problem),
            }
        }
        commands
    }

    fn problem(&mut self, path: &Path, problem: String) {
        self.problems.push(SkillProblem {
            path: path.to_owned(),
            problem,
        });
    }
}

/// A front matter may stand before the template.
fn markdown(name: &str, text: &str) -> Result<WrittenCommand, String> {
    checked_name(name)?;
    let front = FrontMatter::of(text).ok();
    let description = front.as_ref().and_then(|front| front.field("description"));
    let template = front.map_or(text, |front| front.body()).trim();
    Ok(WrittenCommand {
        name: name.to_owned(),
        description: description.filter(|text| !text.is_empty()),
        origin: CommandOrigin::Command,
        template: template.to_owned(),
    })
}

/// An entry of `command`.
#[derive(Deserialize)]
struct ConfiguredCommand {
    template: String,
    description: Option<String>,
    source: Option<CommandOriginName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CommandOriginName {
    Command,
    Mcp,
    Skill,
}

fn configured(text: &str) -> Vec<Result<WrittenCommand, String>> {
    let config: Value = match serde_json::from_str(text) {
        Ok(config) => config,
        Err(error) => return vec![Err(format!("it is not JSON: {error}"))],
    };
    let commands = match config.get("command") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(commands)) => commands,
        Some(_) => return vec![Err("\"command\" must be an object".to_owned())],
    };
    let command = |(name, value): (&String, &Value)| {
        checked_name(name)?;
        let command = ConfiguredCommand::deserialize(value)
            .map_err(|error| format!("\"command.{name}\" cannot be used: {error}"))?;
        Ok(WrittenCommand {
            name: name.clone(),
            description: command.description,
            origin: match command.source {
                None | Some(CommandOriginName::Command) => CommandOrigin::Command,
                Some(CommandOriginName::Mcp) => CommandOrigin::Mcp,
                Some(CommandOriginName::Skill) => CommandOrigin::Skill,
            },
            template: command.template,
        })
    };
    commands.iter().map(command).collect()
}

fn checked_name(name: &str) -> Result<(), String> {
    let fits = |c: char| !c.is_whitespace() && !c.is_control() && c != '/';
    match (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(fits) {
        true => Ok(()),
        false => Err(format!(
            "{name:?} cannot be a command: its name must have 1 to {NAME_CHARS_MAX} characters, \
             without blanks and slashes"
        )),
    }
}
