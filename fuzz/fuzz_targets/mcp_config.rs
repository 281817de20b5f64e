//! Files of MCP servers as anyone writes them: what is read is what is written again.
#![no_main]

use mcp::config::spelling::{SERVERS_MAX, parse, spell};
use serde_json::json;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let servers = match parse(input) {
        Ok(servers) => servers,
        Err(error) => return assert!(error.starts_with("mcp-servers.json: ")),
    };
    assert!(servers.len() <= SERVERS_MAX);
    let list: Vec<_> = servers.iter().map(spell).collect();
    let again = parse(json!({ "servers": list }).to_string().as_bytes());
    assert_eq!(again, Ok(servers));
});
