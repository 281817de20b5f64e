//! What models call the tools of servers. The same tools have the same names in every process.

use std::collections::HashMap;

use crate::limits::TOOL_NAME_CHARS_MAX;

const HASH_CHARS: usize = 8;

/// The names of tools, each given as server and tool.
pub(crate) fn names(tools: &[(&str, &str)]) -> Vec<String> {
    let plain: Vec<String> = tools
        .iter()
        .map(|(server, tool)| name(server, tool))
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    let each = tools.iter().zip(&plain);
    each.map(|((server, tool), name)| match counts[name.as_str()] {
        1 => name.clone(),
        _ => hashed(name, server, tool),
    })
    .collect()
}

fn name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    match name.len() <= TOOL_NAME_CHARS_MAX {
        true => name,
        false => hashed(&name, server, tool),
    }
}

/// The same with what tells it apart from all others at its end.
fn hashed(name: &str, server: &str, tool: &str) -> String {
    // Neither can hold a zero.
    let hash = blake3::hash(format!("{server}\0{tool}").as_bytes()).to_hex();
    let room = TOOL_NAME_CHARS_MAX - HASH_CHARS - 1;
    let end = name.len().min(room);
    format!("{}_{}", &name[..end], &hash[..HASH_CHARS])
}

/// In characters that every service takes.
fn plain(text: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars()
        .map(|c| if is_fine(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_different() {
        let long = "x".repeat(100);
        let tools = [
            ("files", "read"),
            ("files", "read.all"),
            ("files", "read_all"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("ümläut", "日本"),
            ("s", long.as_str()),
        ];
        let names = names(&tools);
        assert_eq!(names[0], "mcp__files__read");
        assert_eq!(names[5], "mcp___ml_ut____");
        assert!(names[1].starts_with("mcp__files__read_all_"), "{names:?}");
        assert!(names[3].starts_with("mcp__a__b__c_"), "{names:?}");
        let mut different = names.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), tools.len(), "{names:?}");
        for name in &names {
            assert!(name.len() <= TOOL_NAME_CHARS_MAX, "{name}");
            assert_eq!(&plain(name), name);
        }
        // Their order does not matter.
        let mut turned = tools;
        turned.reverse();
        let mut turned = super::names(&turned);
        turned.reverse();
        assert_eq!(turned, names);
    }
}
