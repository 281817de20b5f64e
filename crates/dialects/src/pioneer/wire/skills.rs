//! Skills: the list, their health and policies, and what installing one is answered with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// skills/list
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsListParams {
    pub workspace_id: String,
}

/// skills/policy/list
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsPolicyListParams {
    pub workspace_id: String,
}

/// skills/install
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsInstallParams {
    pub workspace_id: String,
    pub source: SkillLifecycleSource,
    /// Where it goes; `user` is all there is.
    pub target_source_kind: Option<SkillSourceKind>,
}

/// skills/update
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsUpdateParams {
    pub workspace_id: String,
    pub slug: String,
    pub source_kind: Option<SkillSourceKind>,
    pub source: SkillLifecycleSource,
    pub expected_previous_fingerprint: Option<String>,
}

/// skills/uninstall
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsUninstallParams {
    pub workspace_id: String,
    pub slug: String,
    pub source_kind: Option<SkillSourceKind>,
}

/// skills/health
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsHealthParams {
    pub workspace_id: String,
    /// All, where none is named.
    pub skills: Option<Vec<SkillHealthTarget>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillHealthTarget {
    pub slug: String,
    pub source_kind: Option<SkillSourceKind>,
}

/// skills/policy/set
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsPolicySetParams {
    pub workspace_id: String,
    pub skill_slug: String,
    pub source_kind: Option<SkillSourceKind>,
    pub enabled: Option<bool>,
    pub allow_implicit_invocation: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SkillLifecycleSource {
    UploadedArchive { upload_id: String },
}

/// Where a skill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillSourceKind {
    /// The user's own, which can be changed here.
    User,
    /// Came with the workspace.
    Workspace,
    /// The user's, shared with other agents; only read.
    Agents,
    BuiltIn,
}

/// skills/list
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillListResponse<'a> {
    pub snapshot_version: u64,
    pub generated_at: i64,
    pub skills: Vec<SkillListItem<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillListItem<'a> {
    pub slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub display_name: &'a str,
    pub description: &'a str,
    pub fingerprint: &'a str,
    pub trust_level: SkillTrustLevel,
    pub install: SkillInstallState<'a>,
    pub policy: SkillPolicyState,
    pub health: SkillHealthSummary<'a>,
    pub status: SkillStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillTrustLevel {
    BuiltIn,
    User,
    /// Came with the workspace, and a person trusts it.
    Workspace,
    Untrusted,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillStatus {
    Available,
    Disabled,
    /// Waits for a person's word.
    Blocked,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillInstallState<'a> {
    pub managed: bool,
    pub installed: bool,
    pub lifecycle_editable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_path: Option<std::borrow::Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SkillPolicyState {
    pub enabled: bool,
    /// The model is told of every skill that may be used.
    pub allow_implicit_invocation: bool,
    pub allow_implicit_invocation_editable: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillHealthSummary<'a> {
    pub status: SkillHealthStatus,
    pub dependency_failures: [(); 0],
    pub security_blocks: Vec<SkillSecurityFinding>,
    pub validation_issues: Vec<SkillValidationDiagnostic<'a>>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillHealthStatus {
    Ready,
    Blocked,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SkillSecurityFinding {
    pub rule_id: &'static str,
    pub severity: &'static str,
    pub message: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillValidationDiagnostic<'a> {
    pub code: &'static str,
    pub level: &'static str,
    pub message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<std::borrow::Cow<'a, str>>,
}

/// skills/health
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsHealthResponse<'a> {
    pub snapshot_version: u64,
    pub generated_at: i64,
    pub skills: Vec<SkillHealthItem<'a>>,
    /// Ours: what is wrong with files that look like a skill's and count as none.
    pub unusable: Vec<SkillValidationDiagnostic<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillHealthItem<'a> {
    pub slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub trust_level: SkillTrustLevel,
    pub dependency_diagnostics: [(); 0],
    pub security_findings: Vec<SkillSecurityFinding>,
    pub validation_issues: Vec<SkillValidationDiagnostic<'a>>,
    pub trust_gate: Vec<SkillTrustGateStatus>,
    pub recent_audit: [(); 0],
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SkillTrustGateStatus {
    pub tool_kind: &'static str,
    pub minimum_trust: SkillTrustLevel,
    pub allowed: bool,
}

/// skills/install, skills/update
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsInstallResponse<'a> {
    pub status: &'static str,
    pub skill: SkillLifecycleResultSkill<'a>,
    pub audit: LifecycleAuditSummary,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillLifecycleResultSkill<'a> {
    pub slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub fingerprint: &'a str,
    pub trust_level: SkillTrustLevel,
    pub install_path: std::borrow::Cow<'a, str>,
}

/// skills/uninstall
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsUninstallResponse<'a> {
    pub status: &'static str,
    pub slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub audit: LifecycleAuditSummary,
}

/// No audit is kept of these, and so none is counted.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct LifecycleAuditSummary {
    pub events_written: u32,
}

/// skills/policy/list
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsPolicyListResponse<'a> {
    pub policies: Vec<SkillWorkspacePolicy<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillWorkspacePolicy<'a> {
    pub workspace_id: &'a str,
    pub skill_slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub enabled: bool,
    pub allow_implicit_invocation: bool,
}

/// skills/policy/set
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsPolicySetResponse<'a> {
    pub policy: SkillWorkspacePolicy<'a>,
}

/// skills/changed
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsChangedNotification<'a> {
    pub workspace_id: &'a str,
    pub snapshot_version: u64,
    pub reason: SkillChangeReason,
    pub changes: [SkillChangedItem<'a>; 1],
    pub created_at: i64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillChangeReason {
    Install,
    Update,
    Uninstall,
    Policy,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillChangedItem<'a> {
    pub slug: &'a str,
    pub source_kind: SkillSourceKind,
    pub change_type: SkillChangeType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint_before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint_after: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillChangeType {
    Added,
    Updated,
    Removed,
    Policy,
}
