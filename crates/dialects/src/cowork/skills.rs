//! Skills and slash commands: client messages as calls, answers as frames.

use std::borrow::Cow;

use vocabulary::{
    Call, CommandOrigin, RunCommand, Skill, SkillCall, SkillLook, SkillText, SkillTier,
    SlashCommand,
};

use super::calls::{CoworkCalls, CoworkPurpose};
use super::session::CoworkSession;
use super::wire::ServerEvent;
use super::wire::client::ExecuteCommand;
use super::wire::extras::{
    CommandInfo, CommandSource, Commands, SkillContent, SkillEntry, SkillInterface, SkillSource,
    SkillsList,
};
use crate::{Action, Frame};

impl CoworkSession {
    pub fn skills(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, call: SkillCall) {
        let purpose = match &call {
            SkillCall::List => CoworkPurpose::Skills,
            SkillCall::Read { .. } => CoworkPurpose::SkillContent,
            SkillCall::SetEnabled { .. }
            | SkillCall::Delete { .. }
            | SkillCall::Inspect
            | SkillCall::CheckInstall
            | SkillCall::Install(_) => CoworkPurpose::ChangedSkills,
        };
        let thread = self.thread();
        calls.make(out, purpose, Call::Skills { thread, call });
    }

    pub fn list_commands(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls) {
        let thread = self.thread();
        let call = Call::ListCommands { thread };
        calls.make(out, CoworkPurpose::Commands, call);
    }

    pub fn execute_command(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: ExecuteCommand,
    ) {
        // An empty id names no message, and would make the next one look like this one again.
        let client_message_id = said.client_message_id.filter(|id| !id.is_empty());
        let run = RunCommand {
            thread: self.thread(),
            name: said.name.trim().to_owned(),
            arguments: said.arguments.unwrap_or_default(),
            client_message_id: client_message_id.clone(),
            idempotency: self.idempotency(),
        };
        let purpose = CoworkPurpose::Turn {
            text: run.display(),
            client_message_id,
        };
        calls.make(out, purpose, Call::RunCommand(run));
    }
}

pub fn skills_list(session: &str, skills: &[Skill]) -> Frame {
    ServerEvent::SkillsList(SkillsList {
        session_id: session,
        skills: skills.iter().map(entry).collect(),
    })
    .frame()
}

pub fn skill_content(session: &str, text: &SkillText) -> Frame {
    ServerEvent::SkillContent(SkillContent {
        session_id: session,
        skill: entry(&text.skill),
        content: &text.content,
    })
    .frame()
}

pub fn commands(session: &str, commands: &[SlashCommand]) -> Frame {
    ServerEvent::Commands(Commands {
        session_id: session,
        commands: commands.iter().map(command).collect(),
    })
    .frame()
}

fn entry(skill: &Skill) -> SkillEntry<'_> {
    SkillEntry {
        name: &skill.name,
        path: skill.path.to_string_lossy(),
        source: match skill.tier {
            SkillTier::Project => SkillSource::Project,
            SkillTier::Global => SkillSource::Global,
            SkillTier::User => SkillSource::User,
            SkillTier::BuiltIn => SkillSource::BuiltIn,
        },
        enabled: skill.enabled,
        triggers: skill.triggers.iter().map(String::as_str).collect(),
        description: &skill.description,
        interface: skill.interface.as_ref().map(interface),
    }
}

fn interface(look: &SkillLook) -> SkillInterface<'_> {
    let agents = look.agents.as_ref();
    SkillInterface {
        display_name: look.display_name.as_deref(),
        short_description: look.short_description.as_deref(),
        icon_small: look.icon_small.as_deref(),
        icon_large: look.icon_large.as_deref(),
        default_prompt: look.default_prompt.as_deref(),
        agents: agents.map(|agents| agents.iter().map(String::as_str).collect()),
    }
}

fn command(command: &SlashCommand) -> CommandInfo<'_> {
    let hints = command.hints.iter();
    let mut hints: Vec<Cow<'_, str>> = hints.map(|hint| Cow::Borrowed(hint.as_str())).collect();
    if hints.is_empty() {
        hints.push(Cow::Owned(format!("/{}", command.name)));
    }
    CommandInfo {
        name: &command.name,
        description: command.description.as_deref(),
        source: match command.origin {
            CommandOrigin::Command => CommandSource::Command,
            CommandOrigin::Mcp => CommandSource::Mcp,
            CommandOrigin::Skill => CommandSource::Skill,
        },
        hints,
    }
}
