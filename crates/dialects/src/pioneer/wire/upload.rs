//! Uploads of packed skills: requests, and binary frames between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// skills/upload/start
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsUploadStartParams {
    pub workspace_id: String,
    pub file_name: String,
    pub archive_format: SkillArchiveFormat,
    pub compressed_size_bytes: u64,
    pub uncompressed_size_hint_bytes: Option<u64>,
    /// Of the whole archive, in hex.
    pub sha256: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillArchiveFormat {
    TarGz,
}

/// skills/upload/start
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsUploadStartResponse<'a> {
    pub upload_id: &'a str,
    pub recommended_chunk_size_bytes: u64,
    pub max_chunk_size_bytes: u64,
    pub max_compressed_size_bytes: u64,
    pub max_uncompressed_size_bytes: u64,
    pub expires_at_unix: i64,
}

/// skills/upload/finish, skills/upload/abort
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsUploadParams {
    pub workspace_id: String,
    pub upload_id: String,
}

/// skills/upload/finish
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsUploadFinishResponse<'a> {
    pub upload_id: &'a str,
    pub status: &'static str,
    pub sha256: &'a str,
    pub compressed_size_bytes: u64,
}

/// skills/upload/abort
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsUploadAbortResponse<'a> {
    pub upload_id: &'a str,
    pub status: &'static str,
}

/// What stands before the bytes of a chunk, in its binary frame.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SkillsUploadChunkHeader {
    pub workspace_id: String,
    pub upload_id: String,
    pub offset: u64,
    pub len: u64,
    pub chunk_sha256: Option<String>,
}

/// skills/upload/chunk_ack
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillsUploadChunkAckNotification<'a> {
    pub upload_id: &'a str,
    pub offset: u64,
    pub len: u64,
    pub received_bytes: u64,
    pub next_offset: u64,
}
