//! Events about tools, commands, skills, uploads and the harness.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Server -> Client Events: tools.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tools<'a> {
    pub session_id: &'a str,
    pub tools: Vec<ToolInfo<'a>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolInfo<'a> {
    pub name: &'a str,
    pub description: &'a str,
}

/// Server -> Client Events: commands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commands<'a> {
    pub session_id: &'a str,
    pub commands: Vec<CommandInfo<'a>>,
}

/// Shared Types: CommandInfo.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommandInfo<'a> {
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    pub source: CommandSource,
    pub hints: Vec<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    Command,
    Mcp,
    Skill,
}

/// Server -> Client Events: skills_list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsList<'a> {
    pub session_id: &'a str,
    pub skills: Vec<SkillEntry<'a>>,
}

/// Server -> Client Events: skill_content.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillContent<'a> {
    pub session_id: &'a str,
    pub skill: SkillEntry<'a>,
    pub content: &'a str,
}

/// Shared Types: SkillEntry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkillEntry<'a> {
    pub name: &'a str,
    pub path: Cow<'a, str>,
    pub source: SkillSource,
    pub enabled: bool,
    pub triggers: Vec<&'a str>,
    pub description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<SkillInterface<'a>>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillSource {
    Project,
    User,
    Global,
    BuiltIn,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInterface<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_small: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_large: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<&'a str>>,
}

/// Server -> Client Events: file_uploaded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileUploaded<'a> {
    pub session_id: &'a str,
    pub filename: &'a str,
    pub path: Cow<'a, str>,
}

/// Server -> Client Events: harness_context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessContext<'a> {
    pub session_id: &'a str,
    pub context: Option<HarnessContextState<'a>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessContextState<'a> {
    #[serde(flatten)]
    pub payload: &'a HarnessContextPayload,
    pub updated_at: String,
}

/// Shared Types: HarnessContextPayload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessContextPayload {
    pub run_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub objective: String,
    pub acceptance_criteria: Vec<String>,
    pub constraints: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}
