//! Which tools models are told of where all of them would be too many: each server has its share.

use crate::connection::RemoteTool;
use crate::limits::{DEFINITIONS_BYTES_MAX, TOOL_NAME_CHARS_MAX, TOOLS_MAX};

/// For each server the tools that are told, by their place in its list.
pub(crate) fn select(servers: &[&[RemoteTool]]) -> Vec<Vec<usize>> {
    let mut selected: Vec<Vec<usize>> = servers.iter().map(|_| Vec::new()).collect();
    // Of each server: its next tool, and what was given to it.
    let mut shares: Vec<(usize, usize)> = servers.iter().map(|_| (0, 0)).collect();
    let (mut count, mut bytes) = (0, 0);
    // The next is always of the server that has least, so that short lists are there whole.
    while let Some(server) = poorest(servers, &shares) {
        let (place, given) = &mut shares[server];
        let size = size(&servers[server][*place]);
        if count < TOOLS_MAX && bytes + size <= DEFINITIONS_BYTES_MAX {
            (count, bytes) = (count + 1, bytes + size);
            *given += size;
            selected[server].push(*place);
        }
        *place += 1;
    }
    selected
}

/// Of the servers that have more tools, the one that was given least.
fn poorest(servers: &[&[RemoteTool]], shares: &[(usize, usize)]) -> Option<usize> {
    let all = servers.iter().zip(shares).enumerate();
    let with_more = all.filter(|(_, (tools, (place, _)))| *place < tools.len());
    let least = with_more.min_by_key(|(_, (_, (_, given)))| *given);
    least.map(|(server, _)| server)
}

fn size(tool: &RemoteTool) -> usize {
    TOOL_NAME_CHARS_MAX + tool.description.len() + tool.parameters.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(count: usize, description: usize) -> Vec<RemoteTool> {
        let tool = RemoteTool {
            description: "x".repeat(description),
            parameters: json!({"type": "object"}),
            ..RemoteTool::default()
        };
        vec![tool; count]
    }

    #[test]
    fn a_server_with_many_tools_leaves_room_for_the_others() {
        let (many, few) = (tools(10_000, 10), tools(20, 10));
        let selected = select(&[&many, &few]);
        assert_eq!(selected[1].len(), 20);
        assert_eq!(selected[0].len(), TOOLS_MAX - 20);
    }

    #[test]
    fn long_definitions_are_left_out_and_short_ones_are_not() {
        let (long, short) = (tools(100, 2_000), tools(50, 0));
        let selected = select(&[&long, &short]);
        assert_eq!(selected[1].len(), 50);
        let bytes: usize = selected[0].iter().map(|place| size(&long[*place])).sum();
        assert!(selected[0].len() > 20 && bytes <= DEFINITIONS_BYTES_MAX);
    }
}
