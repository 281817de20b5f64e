//! How much an agent may send, and how long it may take.

use std::time::Duration;

/// One message of an agent. A longer one ends the connection.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages to an agent that it has not read yet. With more of them the connection ends.
pub const UNREAD_MAX: usize = 64;
/// How long an agent may take to read a message.
pub const WRITE_MAX: Duration = Duration::from_secs(10);
/// How long it may take to start and to say what it can.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// How long a session may take to be made, loaded or set up.
pub const SESSION_MAX: Duration = Duration::from_secs(30);
/// Models that are offered of one agent.
pub const MODELS_MAX: usize = 200;
/// The words of an error, as people are told them.
pub const ERROR_CHARS_MAX: usize = 1_000;
