//! The commands in a thread's background.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// thread/backgroundTerminals/list
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalListParams {
    pub thread_id: String,
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
}

/// thread/backgroundTerminals/terminate
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalParams {
    pub thread_id: String,
    pub process_id: String,
}

/// dragoman/terminals/write
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalWriteParams {
    pub thread_id: String,
    pub process_id: String,
    pub text: String,
}

/// thread/backgroundTerminals/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminal<'a> {
    pub process_id: String,
    pub item_id: &'a str,
    pub command: &'a str,
    pub cwd: Cow<'a, str>,
}

/// thread/backgroundTerminals/terminate
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ThreadBackgroundTerminalsTerminateResponse {
    pub terminated: bool,
}

/// item/commandExecution/terminalInteraction
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInteraction<'a> {
    pub thread_id: &'a str,
    pub turn_id: &'a str,
    pub item_id: &'a str,
    pub process_id: String,
    pub stdin: &'a str,
}
