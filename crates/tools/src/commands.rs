//! Slash commands: built in, written down by people, or made of skills; and what each stands for.

use std::collections::BTreeSet;

use vocabulary::{CommandOrigin, SlashCommand};

use crate::skill::{self, SkillProblem};
use crate::{Scope, Trusted};

pub mod template;
mod written;

use written::{WrittenCommand, WrittenCommands};

/// How many there can be.
const COMMANDS_MAX: usize = 500;

/// The commands of a workspace.
#[derive(Clone, Debug, Default)]
pub struct CommandCatalog {
    /// By name.
    pub commands: Vec<FoundCommand>,
    /// What is wrong in files of commands.
    pub problems: Vec<SkillProblem>,
}

/// A command and its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCommand {
    pub command: SlashCommand,
    template: String,
    /// Whether it came with a workspace that is not trusted: then it is shown, and says nothing.
    pub is_untrusted: bool,
}

impl FoundCommand {
    /// What it says with these arguments, or nothing where that would be longer than `bytes_max`.
    pub fn expand(&self, arguments: &str, bytes_max: usize) -> Option<String> {
        template::expand(&self.template, arguments, bytes_max)
    }
}

/// All commands. Of those with one name: of the workspace, of the user, built in, then of skills. What
/// came with a workspace that is not trusted hides nothing. Blocks.
pub fn commands(scope: &Scope, trusted: &Trusted) -> CommandCatalog {
    let WrittenCommands {
        usable,
        untrusted,
        problems,
    } = written::read(scope, trusted);
    let (skills, waiting_skills) = of_skills(scope, trusted);
    let own = usable.into_iter().chain(built_in()).chain(skills);
    let waiting = untrusted.into_iter().chain(waiting_skills);
    let own = own.map(|command| found(command, false));
    let all = own.chain(waiting.map(|command| found(command, true)));
    let mut names = BTreeSet::new();
    let mut commands: Vec<FoundCommand> = all
        .filter(|each| names.insert(each.command.name.to_lowercase()))
        .take(COMMANDS_MAX)
        .collect();
    commands.sort_by(|a, b| a.command.name.cmp(&b.command.name));
    CommandCatalog { commands, problems }
}

fn found(written: WrittenCommand, is_untrusted: bool) -> FoundCommand {
    FoundCommand {
        command: SlashCommand {
            hints: template::hints(&written.template),
            name: written.name,
            description: written.description,
            origin: written.origin,
        },
        template: written.template,
        is_untrusted,
    }
}

fn built_in() -> [WrittenCommand; 2] {
    let command = |name: &str, description: &str, template: &str| WrittenCommand {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        origin: CommandOrigin::Command,
        template: template.to_owned(),
    };
    [
        command(
            "init",
            "Write down in AGENTS.md how to work in this project",
            include_str!("commands/init.md"),
        ),
        command(
            "review",
            "Review changes: those that are not committed, or what you name",
            include_str!("commands/review.md"),
        ),
    ]
}

/// The skills that may be used, as commands; and those that wait for trust.
fn of_skills(scope: &Scope, trusted: &Trusted) -> (Vec<WrittenCommand>, Vec<WrittenCommand>) {
    let command = |name: String, description: String, template: String| WrittenCommand {
        name,
        description: Some(description),
        origin: CommandOrigin::Skill,
        template,
    };
    let (mut usable, mut waiting) = (Vec::new(), Vec::new());
    for name in skill::names(scope) {
        match skill::usable(scope, trusted, &name) {
            Ok(skill) => {
                let template = match skill.has_files() {
                    true => skill.with_place(scope),
                    false => skill.body.trim().to_owned(),
                };
                usable.push(command(name, skill.description, template));
            }
            Err(_) => waiting.extend(
                skill::read(scope, &name)
                    .filter(|read| read.skill.enabled)
                    .map(|read| command(name, read.skill.description, read.content)),
            ),
        }
    }
    (usable, waiting)
}

#[cfg(test)]
mod tests;
