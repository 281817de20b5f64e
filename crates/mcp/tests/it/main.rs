//! Servers as they really run: processes and sockets, good ones and bad ones.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod hostile;
mod lifecycle;
mod over_http;
mod questions;
mod workshop;
