//! Stories of protocol 1, told by a connection with a stub for an engine.

mod anything;
mod backup;
mod connecting;
mod stories;
mod stub;
mod validation;
