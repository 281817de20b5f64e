//! Who calls, and by what they came in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Person, Role, TenantId, Timestamp};

/// Who calls. The connection learns it from the server's authentication, never from a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub tenant: TenantId,
    pub member: String,
    pub role: Role,
    /// The dialect they speak, where it is known.
    pub via: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Box<str>>,
    /// By what they came in; nothing for our own user, and for who has the server's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Box<CallerCredential>>,
}

/// What somebody showed to be let in. The secret itself is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerCredential {
    pub source: CredentialOrigin,
    /// From then on it is worth nothing; never when absent.
    pub expires_at: Option<Timestamp>,
    /// The dialects that it is good for; all of them when there is none.
    pub dialects: Vec<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialOrigin {
    /// A token of ours, by its id.
    ApiToken(Box<str>),
    /// A token that somebody else signed: the issuer's name, and its word for who it is.
    SignIn { issuer: Box<str>, subject: Box<str> },
}

/// What a lone user is called among members.
pub const LONE_MEMBER: &str = "owner";

impl Caller {
    /// A lone user on their own machine.
    pub fn local() -> Self {
        Self {
            tenant: TenantId::new(TenantId::LOCAL),
            member: LONE_MEMBER.to_owned(),
            role: Role::Owner,
            via: None,
            email: None,
            credential: None,
        }
    }

    /// Whether they may speak this dialect.
    pub fn speaks(&self, dialect: &str) -> bool {
        self.credential.as_ref().is_none_or(|credential| {
            let dialects = &credential.dialects;
            dialects.is_empty() || dialects.iter().any(|each| **each == *dialect)
        })
    }

    /// When what they came in by is worth nothing any more.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.credential.as_ref()?.expires_at
    }
}

impl From<&Caller> for Person {
    fn from(caller: &Caller) -> Self {
        Self {
            member: caller.member.clone(),
            via: caller.via.clone().map(Cow::into_owned),
        }
    }
}
