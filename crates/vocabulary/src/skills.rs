//! Skills and slash commands: what users bring along for their agents, as clients see it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Idempotency, ThreadId};

/// One skill, whether it is in use or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    pub name: String,
    /// Its SKILL.md.
    pub path: PathBuf,
    pub tier: SkillTier,
    pub enabled: bool,
    pub triggers: Vec<String>,
    pub description: String,
    pub interface: Option<SkillLook>,
}

/// Where a skill lies. Of two with one name the first of these is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SkillTier {
    Project,
    Global,
    User,
    BuiltIn,
}

/// How a skill wants to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillLook {
    pub display_name: Option<String>,
    pub short_description: Option<String>,
    /// Data URIs.
    pub icon_small: Option<String>,
    pub icon_large: Option<String>,
    pub default_prompt: Option<String>,
    pub agents: Option<Vec<String>>,
}

/// What a client can want of the skills of a thread's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkillCall {
    /// Answered with `Reply::Skills`, as are the last two.
    List,
    /// Answered with `Reply::SkillContent`.
    Read {
        name: String,
    },
    SetEnabled {
        name: String,
        enabled: bool,
    },
    Delete {
        name: String,
    },
}

/// A skill and what it says, without its front matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillText {
    pub skill: Skill,
    pub content: String,
}

/// A command that a person can give with a slash before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    pub name: String,
    pub description: Option<String>,
    pub origin: CommandOrigin,
    /// The placeholders of its template, in their order: `$1`, `$ARGUMENTS`.
    pub hints: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandOrigin {
    /// Built in, or written in a file of commands.
    Command,
    /// A prompt of an MCP server.
    Mcp,
    Skill,
}

/// Starts a turn with what a command's template says. Answered as `StartTurn` is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCommand {
    pub thread: ThreadId,
    /// In any case of letters.
    pub name: String,
    pub arguments: String,
    pub client_message_id: Option<String>,
    pub idempotency: Idempotency,
}

impl RunCommand {
    /// As its user wrote it.
    pub fn display(&self) -> String {
        let line = format!("/{} {}", self.name, self.arguments.trim());
        line.trim_end().to_owned()
    }
}
