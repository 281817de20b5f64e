//! Who is who: tenants, their members and roles, API tokens, and tokens that others sign.
//!
//! Everything is kept as records of the store, so that every process on one home hears of changes.
//! It knows no socket and no client protocol. A lone user needs none of it.

pub mod jwt;
