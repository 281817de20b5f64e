//! A session in Markdown: a file for people, and, with colours, what a terminal shows of it.

use std::fmt::Write as _;

use engine::transfer::KeptThread;
use vocabulary::{
    FileChange, PlanStep, PlanStepStatus, Subject, ToolCall, ToolOutcome, TurnOutcome, Usage,
    UserInput,
};

use super::pieces::{self, SessionPiece};
use crate::commands::checkpoints::words;
use crate::commands::tenants::credit::dollars;
use crate::screen::{BOLD, CYAN, GREEN, RED, YELLOW, harmless, harmless_but, painted};

/// Letters of an output that are shown of a call; a file has all of them.
const SHOWN_CHARS_MAX: usize = 4_000;
const UNTITLED: &str = "Untitled session";

/// How a session is written.
#[derive(Clone, Copy, Debug)]
pub struct MarkdownStyle {
    pub colours: bool,
    /// Long outputs in full.
    pub whole: bool,
}

impl MarkdownStyle {
    /// For a file.
    pub const FILE: Self = Self {
        colours: false,
        whole: true,
    };

    /// Title, directory, times, model, cost and plan.
    pub fn head(self, kept: &KeptThread) -> String {
        let thread = &kept.state.thread;
        let title = match thread.title.text.is_empty() {
            true => UNTITLED,
            false => &thread.title.text,
        };
        let mut text = self.heading("#", title);
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "- {name}: {}", harmless(&value));
        };
        line("session", thread.card.id.to_string());
        if let Some(client_id) = &thread.card.client_id {
            line("client's id", client_id.clone());
        }
        line("directory", thread.card.directory.display().to_string());
        line("created", words::when(thread.card.created_at.millis()));
        line("changed", words::when(thread.updated_at.millis()));
        let model = &thread.settings.model;
        line("model", format!("{}/{}", model.provider, model.model));
        line("messages", thread.message_count.to_string());
        line("cost", spent(&kept.state.usage));
        if thread.archived {
            line("archived", "yes".to_owned());
        }
        text.push('\n');
        text
    }

    pub fn piece(self, piece: &SessionPiece<'_>) -> String {
        match piece {
            SessionPiece::Said {
                input,
                at,
                is_steer,
            } => self.said(input, words::when(at.millis()), *is_steer),
            SessionPiece::Answered { text, is_partial } => {
                let cut = if *is_partial { "\n\n*(cut off)*" } else { "" };
                format!("{}{cut}\n\n", self.prose(text))
            }
            SessionPiece::Thought(text) => {
                let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
                let quoted = self.prose(&quoted.join("\n"));
                format!("{}\n\n", painted(&quoted, CYAN, self.colours))
            }
            SessionPiece::Proposed(text) => format!(
                "{}{}\n\n",
                self.heading("###", "Proposed plan"),
                self.prose(text)
            ),
            SessionPiece::Made { media_type } => format!("*[file: {}]*\n\n", harmless(media_type)),
            SessionPiece::Done { call, outcome } => self.done(call, outcome),
            SessionPiece::Plan(steps) => self.plan(steps),
            SessionPiece::Asked { ask, closing } => {
                let asked = pieces::asked(ask).join("\n");
                let answer = pieces::answer(ask, closing);
                let asked = self.fenced("", &asked);
                let answer = harmless(&answer);
                format!("**Asked**\n\n{asked}\n**Answer**: {answer}\n\n")
            }
            SessionPiece::Uploaded(name) => format!("*[uploaded: {}]*\n\n", harmless(name)),
            SessionPiece::Summarised(text) => {
                let heading = self.heading("###", "The conversation so far, summarised");
                format!("{heading}{}\n\n", self.fenced("", text))
            }
            SessionPiece::Ended { outcome, usage } => self.ended(outcome, usage.as_ref()),
        }
    }

    fn said(self, input: &UserInput, at: String, is_steer: bool) -> String {
        let who = if is_steer { "User, meanwhile" } else { "User" };
        let mut text = self.heading("##", &format!("{who} ({at})"));
        text.push_str(&self.prose(input.shown()));
        for _ in &input.images {
            text.push_str("\n\n*[picture]*");
        }
        text.push_str("\n\n");
        if !is_steer {
            text.push_str(&self.heading("##", "Agent"));
        }
        text
    }

    fn done(self, call: &ToolCall, outcome: &ToolOutcome) -> String {
        let (ended, output) = pieces::ending(outcome);
        let agent = call.agent.as_ref();
        let agent = agent.map_or_else(String::new, |agent| format!(" (sub-agent: {})", agent.kind));
        let title = harmless(&format!("{}{agent}: {ended}", call.title()));
        let paint = if ended == "done" { GREEN } else { RED };
        let mut text = format!("**{}**\n\n", painted(&title, paint, self.colours));
        match &call.subject {
            Subject::Command { line, .. } => text.push_str(&self.fenced("sh", line)),
            Subject::Files(files) => {
                let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                let _ = writeln!(text, "Files: {}", harmless(&names.join(", ")));
            }
            Subject::Web { url } => {
                let _ = writeln!(text, "{}", harmless(url));
            }
            Subject::Search { query } => {
                let _ = writeln!(text, "{}", harmless(query));
            }
            Subject::Agent { prompt } => text.push_str(&self.fenced("", prompt)),
            Subject::Mcp { server, tool } => {
                let _ = writeln!(text, "{}", harmless(&format!("{server}: {tool}")));
                text.push_str(&self.fenced("json", &call.input.to_string()));
            }
            Subject::Question | Subject::Plan | Subject::Other => {
                text.push_str(&self.fenced("json", &call.input.to_string()));
            }
        }
        text.push('\n');
        let changes = pieces::changes(outcome);
        for FileChange { diff, .. } in changes {
            text.push_str(&self.fenced("diff", diff));
            text.push('\n');
        }
        if changes.is_empty() && !output.trim().is_empty() {
            text.push_str(&self.fenced("", &output));
            text.push('\n');
        }
        text
    }

    fn plan(self, steps: &[PlanStep]) -> String {
        let mut text = self.heading("###", "Plan");
        for step in steps {
            let mark = match step.status {
                PlanStepStatus::Completed => "[x]",
                PlanStepStatus::Pending | PlanStepStatus::InProgress => "[ ]",
            };
            let _ = writeln!(text, "- {mark} {}", harmless(&step.content));
        }
        text.push('\n');
        text
    }

    fn ended(self, outcome: &TurnOutcome, usage: Option<&Usage>) -> String {
        let how = match outcome {
            TurnOutcome::Completed => None,
            TurnOutcome::Cancelled => Some("The turn was cancelled.".to_owned()),
            TurnOutcome::Failed(error) => Some(format!("The turn failed: {}", error.message)),
        };
        let how = how.map(|how| painted(&harmless(&how), RED, self.colours));
        let how = how.map_or_else(String::new, |how| format!("**{how}**\n\n"));
        let used = usage.map(|usage| painted(&spent(usage), YELLOW, self.colours));
        let used = used.map_or_else(String::new, |used| format!("*{used}*\n\n"));
        format!("{how}{used}")
    }

    fn heading(self, level: &str, text: &str) -> String {
        let line = format!("{level} {}", harmless(text));
        format!("{}\n\n", painted(&line, BOLD, self.colours))
    }

    /// What somebody said, as they said it; a fence that they left open is closed.
    fn prose(self, text: &str) -> String {
        let mut shown = harmless_but(text.trim_end(), "\n\t");
        if let Some(open) = open_fence(&shown) {
            let _ = write!(shown, "\n{open}");
        }
        shown
    }

    /// Text that is shown as it is, in a fence that nothing in it can end.
    fn fenced(self, language: &str, text: &str) -> String {
        let text = harmless_but(text.trim_end_matches('\n'), "\n\t");
        let count = text.chars().count();
        let shown = match self.whole || count <= SHOWN_CHARS_MAX {
            true => text,
            false => {
                let head: String = text.chars().take(SHOWN_CHARS_MAX).collect();
                format!("{head}\n… {} more letters", count - SHOWN_CHARS_MAX)
            }
        };
        let fence = "`".repeat((longest_run(&shown) + 1).max(3));
        format!("{fence}{language}\n{shown}\n{fence}\n")
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or(0)
}

/// What would end the fence that a text leaves open.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let indented = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim_start_matches(' ');
        let Some(mark) = line.chars().next().filter(|mark| "`~".contains(*mark)) else {
            continue;
        };
        let run = line.chars().take_while(|letter| *letter == mark).count();
        let rest = line.trim_start_matches(mark);
        open = match open {
            _ if run < 3 || indented > 3 => open,
            // A fence of backticks has none behind it; else it is a text in a line.
            None if mark == '`' && rest.contains('`') => None,
            None => Some((mark, run)),
            Some((by, least)) if by == mark && run >= least && rest.trim().is_empty() => None,
            Some(_) => open,
        };
    }
    open.map(|(mark, run)| std::iter::repeat_n(mark, run).collect())
}

/// `$0.0123, 1200 tokens`.
pub fn spent(usage: &Usage) -> String {
    let tokens = words::count(usage.total_tokens(), "token", "tokens");
    match usage.cost_micro_dollars {
        Some(cost) => format!("{}, {tokens}", dollars(cost.cast_signed())),
        None => tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_fence_but_its_end() {
        let style = MarkdownStyle::FILE;
        assert_eq!(style.fenced("sh", "ls\n"), "```sh\nls\n```\n");
        assert_eq!(
            style.fenced("", "a\n````\n# no heading"),
            "`````\na\n````\n# no heading\n`````\n"
        );
        assert_eq!(style.fenced("", "\x1b[2J"), "```\n\\u{1b}[2J\n```\n");
    }

    #[test]
    fn a_fence_that_was_left_open_is_closed() {
        let closed = |text: &str| MarkdownStyle::FILE.prose(text);
        assert_eq!(closed("```rust\nlet a;"), "```rust\nlet a;\n```");
        assert_eq!(closed("~~~~\n```\n~~~"), "~~~~\n```\n~~~\n~~~~");
        assert_eq!(closed("```\na\n```\nb"), "```\na\n```\nb");
        assert_eq!(closed("a ``` b"), "a ``` b");
        assert_eq!(closed("```inline``` text"), "```inline``` text");
    }

    #[test]
    fn a_terminal_is_not_flooded() {
        let style = MarkdownStyle {
            colours: false,
            whole: false,
        };
        let shown = style.fenced("", &"x".repeat(SHOWN_CHARS_MAX + 7));
        assert!(shown.ends_with("x\n… 7 more letters\n```\n"), "{shown}");
    }
}
