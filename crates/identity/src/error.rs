//! Why something of who is who could not be done.

use store::StoreError;
use thiserror::Error;
use vocabulary::Role;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// A field is not what it should be.
    #[error("{message}")]
    Invalid {
        field: &'static str,
        message: String,
    },
    #[error("there is no tenant `{0}`")]
    UnknownTenant(String),
    #[error("there is already a tenant `{0}`, or there was one: ids are not given twice")]
    TenantTaken(String),
    #[error("`{0}` is no member of this tenant")]
    UnknownMember(String),
    #[error("there is no token `{0}` in this tenant")]
    UnknownToken(String),
    #[error("`{0}` is the last owner; make somebody else an owner first")]
    LastOwner(String),
    /// Nobody gives more than they have, or takes it from who has more.
    #[error("your role, {}, allows this only for members who may no more than you", by.name())]
    Beyond { by: Role },
    #[error("`{0}` is who runs this server, and stays the owner of its own tenant")]
    Permanent(String),
    #[error("this is being changed by others all the time; try again")]
    Busy,
    #[error("a record of who is who cannot be read: {0}")]
    Broken(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IdentityError {
    pub(crate) fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Invalid { field, message }
    }
}
