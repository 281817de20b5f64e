//! dragoman
fn main() {}
