//! External agents: a program that speaks the Agent Client Protocol, one message per line.
//!
//! An [`AgentProgram`] says how it is started, an [`AgentConnection`] is one that runs. What it tells is
//! given on as it comes; who may do what is decided elsewhere. The types of the protocol are those of
//! its own crate, [`schema`].

mod connection;
mod error;
mod incoming;
mod known;
pub mod limits;
mod program;
mod session;

pub use agent_client_protocol_schema::v1 as schema;

pub use connection::AgentConnection;
pub use error::{AcpError, AcpErrorKind};
pub use incoming::{AgentMessage, AgentReply, AgentRequest, AgentRpcError, RpcId};
pub use known::{AgentSettings, known_programs};
pub use program::{AgentProgram, AgentStreams};
pub use session::{AgentModelChoice, AgentSession, SessionMemory};
