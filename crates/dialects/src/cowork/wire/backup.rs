//! Events about checkpoints and observability.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::CheckpointId;

use crate::frame::AsText;

/// Server -> Client Events: session_backup_state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBackupState<'a> {
    pub session_id: &'a str,
    pub reason: BackupReason,
    pub backup: SessionBackupPublicState<'a>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackupReason {
    Requested,
    AutoCheckpoint,
    ManualCheckpoint,
    Restore,
    Delete,
}

/// Shared Types: SessionBackupPublicState.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBackupPublicState<'a> {
    pub status: BackupStatus,
    pub session_id: &'a str,
    pub working_directory: Cow<'a, str>,
    pub backup_directory: Option<Cow<'a, str>>,
    pub created_at: String,
    pub original_snapshot: OriginalSnapshot,
    pub checkpoints: Vec<SessionBackupPublicCheckpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackupStatus {
    Initializing,
    Ready,
    Failed,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct OriginalSnapshot {
    pub kind: SnapshotKind,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotKind {
    Pending,
    Directory,
    TarGz,
}

/// Shared Types: SessionBackupPublicCheckpoint.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBackupPublicCheckpoint {
    pub id: AsText<CheckpointId>,
    pub index: u64,
    pub created_at: String,
    pub trigger: CheckpointTrigger,
    pub changed: bool,
    pub patch_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointTrigger {
    Auto,
    Manual,
}

/// Server -> Client Events: observability_status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityStatus<'a> {
    pub session_id: &'a str,
    pub enabled: bool,
    pub health: ObservabilityHealth<'a>,
    pub config: Option<ObservabilityConfig<'a>>,
}

/// Shared Types: ObservabilityHealth.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityHealth<'a> {
    pub status: HealthStatus,
    pub reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    pub updated_at: String,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    Disabled,
    Ready,
    Degraded,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityConfig<'a> {
    pub provider: &'a str,
    pub base_url: &'a str,
    pub otel_endpoint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracing_environment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<&'a str>,
    pub has_public_key: bool,
    pub has_secret_key: bool,
    pub configured: bool,
}
