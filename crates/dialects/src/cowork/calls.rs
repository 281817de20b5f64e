//! CoworkCalls that wait for their answer, and what to do with it.

use vocabulary::Changed;

use super::backup::Backup;
use super::connect::GreetingSlot;
use super::mcp::McpPurpose;
use super::sign_in::SignIn;
use crate::pending::Pending;
use crate::request_id::RequestId;

/// What an answer is for.
#[derive(Debug)]
pub enum CoworkPurpose {
    /// One of the events a connection starts with.
    Connect(GreetingSlot),
    /// Something the client asked to see.
    Asked(GreetingSlot),
    Tools,
    Skills,
    /// The list after one of them was switched or deleted; the commands follow.
    ChangedSkills,
    SkillContent,
    Commands,
    Sessions,
    Messages,
    /// Events tell the outcome.
    Told,
    /// So do they here; then these settings become the defaults of the project.
    Defaults(Vec<Changed>),
    Cancel,
    Turn {
        text: String,
        client_message_id: Option<String>,
    },
    AskResponse(RequestId),
    ApprovalResponse(RequestId),
    /// What a person has to do to sign in.
    Challenge(SignIn),
    SignIn(SignIn),
    Backup(Backup),
    Mcp(McpPurpose),
    Deletion {
        target: String,
    },
    Close,
}

pub type CoworkCalls = Pending<CoworkPurpose>;
