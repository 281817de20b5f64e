//! Sixty commands of a developer's day, in a thread that asks as clients do by default.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::Desk;
use crate::tell;

const LIMIT: Duration = Duration::from_secs(110);
/// A line each: `run` or `ask`, and the command.
const COMMANDS: &str = include_str!("everyday.txt");
const ASKS_MAX: usize = 6;

#[test]
fn hardly_any_everyday_command_asks_in_bubblewrap() {
    run_all("bubblewrap");
}

#[test]
fn hardly_any_everyday_command_asks_under_landlock() {
    run_all("landlock");
}

fn run_all(fence: &str) {
    let lines: Vec<(&str, &str)> = COMMANDS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    assert_eq!(lines.len(), 60);
    let asks = lines.iter().filter(|(verdict, _)| *verdict == "ask");
    assert!(asks.count() <= ASKS_MAX);
    tell(LIMIT, async {
        let mut desk = Desk::open(&["--sandbox", fence], json!({})).await?;
        let held = desk.opened["sandbox"]["type"] == "workspaceWrite";
        ensure!(held, "{fence} does not work here: {}", desk.opened);
        let mut table = String::new();
        for (verdict, command) in &lines {
            // A line break is written as one may write it in a line.
            let command = command.replace("\\n", "\n");
            let call = desk.bash(&command, "decline").await?;
            let seen = if call.asked() { "ask" } else { "run" };
            if seen != *verdict {
                writeln!(table, "{command}: {seen}, not {verdict}: {call:?}")?;
            }
        }
        ensure!(table.is_empty(), "{fence}:\n{table}");
        Ok(())
    });
}
