//! Servers over HTTP, by script.
