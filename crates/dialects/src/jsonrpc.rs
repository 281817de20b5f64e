//! The JSON-RPC envelope that codex and pioneer share.
