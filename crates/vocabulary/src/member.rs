//! Members of a tenant, and what can be wanted of them.

use serde::{Deserialize, Serialize};

use crate::{Reply, Role, Timestamp};

/// Somebody in a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Made outside: a name that an operator gave, or the id at who signs them in.
    pub id: String,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When they were taken out. That is kept, so that nobody comes back by signing in again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Timestamp>,
}

/// What a client can want of the members of its tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberCall {
    /// By id.
    List,
    /// Gives a member a role; who is none yet becomes one.
    SetRole {
        id: String,
        role: Role,
    },
    Remove {
        id: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberReply {
    List(Vec<Member>),
    /// As the member is now.
    Set(Member),
    /// The id of who was removed.
    Removed(String),
}

impl From<MemberReply> for Reply {
    fn from(reply: MemberReply) -> Self {
        Reply::Members(Box::new(reply))
    }
}
