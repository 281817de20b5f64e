//! What a model may do, in words for it: made from the state as it is, so that they are always true.

use tools::Sandbox;
use tools::sandbox::Mode;
use vocabulary::{AgentMode, Approvals, SandboxMode, ThreadSettings};

/// How many grants are named.
const GRANTS_NAMED_MAX: usize = 8;

/// Who decides what a thread's commands may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhoDecides {
    /// Everything that stays in the sandbox runs.
    Nobody,
    /// What would be asked for fails.
    Refused,
    Person(Approvals),
}

/// What holds the commands of a thread.
#[derive(Clone, Copy)]
pub struct CommandHold<'a> {
    pub sandbox: &'a Sandbox,
    /// Whether there is none because the thread is to have none.
    pub is_full: bool,
}

/// The lines of the block; `grants`: what the user allowed for longer than once.
pub fn lines(settings: &ThreadSettings, hold: CommandHold<'_>, grants: &[String]) -> Vec<String> {
    let sandbox = hold.sandbox;
    let asking = match (settings.auto_approve, settings.approvals) {
        (true, _) => WhoDecides::Nobody,
        (false, Approvals::Never) => WhoDecides::Refused,
        (
            false,
            approvals @ (Approvals::Ask
            | Approvals::AskUnlessRead
            | Approvals::Auto
            | Approvals::OnFailure),
        ) => WhoDecides::Person(approvals),
    };
    let mut lines: Vec<&str> = Vec::new();
    match settings.mode {
        AgentMode::Chat => return Vec::new(),
        AgentMode::Plan => {
            lines.push(
                "You are planning: whatever would change something is refused, also what a \
                 sub-agent does.",
            );
            lines.push(match sandbox.mode() {
                Mode::Nothing => "No sandbox holds commands on this machine, so none runs.",
                Mode::Bubblewrap | Mode::Landlock => {
                    "Commands run in a sandbox that lets them write nothing but a temporary directory \
                     of their own, and have no network. They look; `escalate` is refused."
                }
            });
            lines.push(who_is_asked(asking, hold));
        }
        AgentMode::Code => {
            lines.push(match hold.is_full {
                true => FULL_ACCESS,
                false => reach(settings.sandbox, sandbox.mode()),
            });
            lines.push(network(sandbox));
            lines.push(who_is_asked(asking, hold));
            lines.extend(more(asking, sandbox.mode()));
        }
    }
    lines.push(
        "A no is final for what you were after, not only for those words: do without it, or say what \
         is missing and why.",
    );
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    if !grants.is_empty() {
        let named: Vec<String> = grants.iter().take(GRANTS_NAMED_MAX).cloned().collect();
        lines.push(format!(
            "The user allowed for longer than once: {}",
            named.join("; ")
        ));
    }
    lines
}

const FULL_ACCESS: &str = "There is no sandbox in this thread, as its user wants it: commands and file tools \
    reach all that the user can, but for keys, passwords and this server's own data.";

fn reach(writes: SandboxMode, mode: Mode) -> &'static str {
    match (mode, writes) {
        (Mode::Nothing, SandboxMode::ReadOnly) => {
            "No sandbox holds commands on this machine. Nothing in the workspace may be changed \
             without a person's word."
        }
        (Mode::Nothing, SandboxMode::WorkspaceWrite | SandboxMode::FullAccess) => {
            "No sandbox holds commands on this machine: one that runs can do all that the user can. \
             File tools write in the workspace."
        }
        (Mode::Bubblewrap | Mode::Landlock, SandboxMode::ReadOnly) => {
            "Commands run in a sandbox and can write nothing but a temporary directory of their own; \
             a person is asked before a file tool changes anything."
        }
        (
            Mode::Bubblewrap | Mode::Landlock,
            SandboxMode::WorkspaceWrite | SandboxMode::FullAccess,
        ) => {
            "Commands run in a sandbox: they read the system and its toolchains, and write in the \
             workspace and a temporary directory, nowhere else. File tools write in the workspace."
        }
    }
}

fn network(sandbox: &Sandbox) -> &'static str {
    match (sandbox.mode(), sandbox.network()) {
        (Mode::Nothing, _) | (_, true) => "Commands reach the network.",
        (Mode::Bubblewrap | Mode::Landlock, false) => {
            "Commands have no network; the web tools have theirs."
        }
    }
}

fn who_is_asked(asking: WhoDecides, hold: CommandHold<'_>) -> &'static str {
    match (asking, hold.sandbox.mode()) {
        (WhoDecides::Nobody, _) => "Nobody is asked: calls run at once.",
        (WhoDecides::Refused, _) => {
            "Nobody is asked: what would need a person's word (what destroys, what lies outside the \
             workspace, what leaves the sandbox) fails and says so."
        }
        (WhoDecides::Person(Approvals::Auto | Approvals::OnFailure), Mode::Nothing)
            if hold.is_full =>
        {
            "Calls run at once. A person is asked before what destroys or is hard to undo, and new web \
             hosts."
        }
        (WhoDecides::Person(Approvals::OnFailure), Mode::Bubblewrap | Mode::Landlock) => {
            "Commands run at once, in the sandbox. Where it stops one, a person is asked whether that may \
             run outside. They are also asked before files that other programs run by themselves, new \
             web hosts, and all that leaves the sandbox."
        }
        (WhoDecides::Person(_), Mode::Nothing) => {
            "A person is asked before every command, before paths outside the workspace and new web \
             hosts."
        }
        (WhoDecides::Person(Approvals::Ask), _) => {
            "A person is asked before every command that is not known to be harmless, before paths \
             outside the workspace and new web hosts."
        }
        (WhoDecides::Person(Approvals::AskUnlessRead), _) => {
            "A person is asked before every command that does more than look, before paths outside \
             the workspace and new web hosts."
        }
        (WhoDecides::Person(Approvals::Auto | Approvals::Never), _) => {
            "What the sandbox holds runs at once. A person is asked before what destroys or is hard \
             to undo, paths outside the workspace, files that other programs run by themselves, new \
             web hosts, and all that leaves the sandbox."
        }
    }
}

/// How to get more than the sandbox gives.
fn more(asking: WhoDecides, mode: Mode) -> Option<&'static str> {
    match (mode, asking) {
        (Mode::Nothing, _) => None,
        (Mode::Bubblewrap | Mode::Landlock, WhoDecides::Person(_)) => Some(
            "Where the sandbox stops what the task needs, make the call again with `escalate` \
             (network, write or outside) and a reason, which the person reads.",
        ),
        (Mode::Bubblewrap | Mode::Landlock, WhoDecides::Nobody | WhoDecides::Refused) => Some(
            "Nothing leaves the sandbox, so `escalate` is refused: do without, or tell the user what \
             you need.",
        ),
    }
}

#[cfg(test)]
mod tests;
