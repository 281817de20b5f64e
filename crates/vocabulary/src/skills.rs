//! Skills and slash commands: what users bring along for their agents, as clients see it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Idempotency, ThreadId, Timestamp};

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
    /// Answered with `Reply::Skills`, as are `SetEnabled` and `Delete`.
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
    /// With what is known of their files. Answered with `Reply::SkillReport`, as is `Install`.
    Inspect,
    /// Whether the caller may install one, before anything is sent for it.
    CheckInstall,
    Install(SkillArchive),
}

impl SkillCall {
    /// Whether it only looks.
    pub fn only_reads(&self) -> bool {
        match self {
            SkillCall::List
            | SkillCall::Read { .. }
            | SkillCall::Inspect
            | SkillCall::CheckInstall => true,
            SkillCall::SetEnabled { .. } | SkillCall::Delete { .. } | SkillCall::Install(_) => {
                false
            }
        }
    }
}

/// A skill's directory, packed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillArchive {
    /// A gzipped tar.
    pub packed: Vec<u8>,
    /// The skill that it takes the place of; without it there must be none of its name.
    pub replaces: Option<ReplacedSkill>,
}

impl std::fmt::Debug for SkillArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SkillArchive")
            .field("bytes", &self.packed.len())
            .field("replaces", &self.replaces)
            .finish()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedSkill {
    pub name: String,
    /// What it must still be, where that matters.
    pub fingerprint: Option<String>,
}

/// All skills that a workspace sees, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillReport {
    /// Grows with every change that is made through this server.
    pub version: u64,
    pub at: Timestamp,
    pub skills: Vec<InspectedSkill>,
    pub faults: Vec<SkillFault>,
    /// What the call changed.
    pub change: Option<SkillChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedSkill {
    pub skill: Skill,
    /// Of all its files: another one, another content.
    pub fingerprint: String,
    pub changed_at: Option<Timestamp>,
    /// Whether agents may use it: what came with a workspace waits for a person's word.
    pub trusted: bool,
}

/// Why a file that looks like a skill's does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillFault {
    pub path: PathBuf,
    pub problem: String,
}

/// What became of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillChange {
    pub name: String,
    pub tier: SkillTier,
    pub what: SkillChangeKind,
    /// Its fingerprints, where its files are others now.
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkillChangeKind {
    Installed,
    Updated,
    Uninstalled,
    /// On or off.
    Switched,
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
