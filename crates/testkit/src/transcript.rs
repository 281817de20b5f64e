//! A transcript: the frames of a scenario as they crossed the socket, with what differs from
//! run to run made the same.

pub mod diff;
pub mod same;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};

use same::Same;

/// `DRAGOMAN_TRANSCRIPTS=update` rewrites; anything else compares.
const MODE: &str = "DRAGOMAN_TRANSCRIPTS";

pub struct Transcript {
    title: String,
    several_clients: bool,
    steps: Vec<StepRecord>,
}

struct StepRecord {
    title: String,
    /// By client: frames of different sockets have no order among each other.
    lines: BTreeMap<String, Vec<String>>,
}

impl Transcript {
    pub fn new(title: impl Into<String>, several_clients: bool) -> Self {
        Self {
            title: title.into(),
            several_clients,
            steps: Vec::new(),
        }
    }

    pub fn step(&mut self, title: impl Into<String>) {
        self.steps.push(StepRecord {
            title: title.into(),
            lines: BTreeMap::new(),
        });
    }

    /// A remark on the step itself.
    pub fn note(&mut self, text: &str) {
        if let Some(step) = self.steps.last_mut() {
            step.title = format!("{} ({text})", step.title);
        }
    }

    pub fn said(&mut self, client: &str, frame: &str) {
        self.line(client, '>', frame);
    }

    pub fn heard(&mut self, client: &str, frame: &str) {
        self.line(client, '<', frame);
    }

    fn line(&mut self, client: &str, direction: char, frame: &str) {
        let name = if self.several_clients { client } else { "" };
        let line = format!("{name}{direction} {frame}");
        if let Some(step) = self.steps.last_mut() {
            step.lines.entry(client.to_owned()).or_default().push(line);
        }
    }

    /// The whole text. Ids are numbered in the order they stand in it, so grouping by client
    /// comes before.
    pub fn render(&self, mut same: Same) -> String {
        for line in self
            .steps
            .iter()
            .flat_map(|step| step.lines.values().flatten())
        {
            same.learn(line);
        }
        let mut text = String::new();
        for line in self.title.lines() {
            let _ = writeln!(text, "# {line}");
        }
        for step in &self.steps {
            let _ = writeln!(text, "\n# {}", step.title);
            for line in step.lines.values().flatten() {
                let _ = writeln!(text, "{}", same.line(line));
            }
        }
        text
    }
}

/// Compares with the golden file, or rewrites it.
pub fn settle(golden: &Path, text: &str) -> anyhow::Result<()> {
    let name = golden.display();
    if std::env::var(MODE).is_ok_and(|mode| mode == "update") {
        return std::fs::write(golden, text).with_context(|| format!("cannot write {name}"));
    }
    let Ok(kept) = std::fs::read_to_string(golden) else {
        bail!("{name} does not exist; `cargo xtask transcripts --update` writes it:\n{text}");
    };
    if kept != text {
        bail!(
            "the conversation differs from {name} (`-` kept, `+` now); \
             `cargo xtask transcripts --update` accepts it\n{}",
            diff::lines(&kept, text)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_grouped_by_client_within_a_step() {
        let mut transcript = Transcript::new("a story", true);
        transcript.step("a: say \"hi\"");
        transcript.said("a", "1");
        transcript.heard("b", "2");
        transcript.heard("a", "3");
        let text = transcript.render(Same::default());
        assert_eq!(text, "# a story\n\n# a: say \"hi\"\na> 1\na< 3\nb< 2\n");
    }

    #[test]
    fn a_lone_client_needs_no_name() {
        let mut transcript = Transcript::new("a story", false);
        transcript.step("connect");
        transcript.heard("a", "{}");
        assert!(transcript.render(Same::default()).contains("\n< {}\n"));
    }
}
