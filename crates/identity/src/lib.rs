//! Who is who: tenants, their members and roles, API tokens, and tokens that others sign.
//!
//! Everything is kept as records of the store, so that every process on one home hears of changes.
//! [`Directory`] changes it; [`People`] is what it comes to at one moment, in memory, and knows a
//! caller by what they show. It knows no socket and no client protocol. A lone user needs none of it.

mod change;
mod directory;
mod error;
pub mod jwt;
mod limits;
mod members;
mod people;
mod tenants;
#[cfg(test)]
mod tests;
mod tokens;

pub use directory::Directory;
pub use error::IdentityError;
pub use members::MemberChange;
pub use people::People;
pub use tenants::Tenant;
pub use tokens::{ApiToken, NewToken, TOKEN_PREFIX};
