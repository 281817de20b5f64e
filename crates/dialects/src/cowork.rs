//! The cowork dialect: agent-coworker's WebSocket protocol, version 7.0.

pub mod tell;
