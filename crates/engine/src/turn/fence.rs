//! What holds a turn's calls at this moment: settings may change while it runs.

use std::sync::Arc;

use tools::sandbox::Mode;
use tools::{Sandbox, Tool};
use vocabulary::{AgentMode, SandboxMode, Subject, ThreadSettings, ToolCall};

use super::Turn;
use crate::library::permissions;

/// What of the settings decides how calls are held. A call that was judged by others is judged again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Held {
    mode: AgentMode,
    sandbox: SandboxMode,
    network: bool,
}

/// Whether a thread with these settings may change nothing.
pub fn only_reads(settings: &ThreadSettings) -> bool {
    settings.mode == AgentMode::Plan || settings.sandbox == SandboxMode::ReadOnly
}

impl Turn {
    /// What fences its commands in.
    pub async fn sandbox(&self) -> Arc<Sandbox> {
        let shared = self.shared.sandbox().await;
        let reach = permissions::reach(&self.shared, &self.own(), &self.settings_in_force());
        reach.of(&shared)
    }

    /// Whether its calls run without a sandbox, as the server's owner and the thread's want it.
    pub fn has_full_access(&self) -> bool {
        permissions::reach(&self.shared, &self.own(), &self.settings_in_force()).is_full()
    }

    /// A review may change nothing, whatever its thread may.
    fn settings_in_force(&self) -> ThreadSettings {
        let settings = self.permits.borrow().settings.clone();
        match self.reviews {
            true => ThreadSettings {
                sandbox: SandboxMode::ReadOnly,
                ..settings
            },
            false => settings,
        }
    }

    pub fn is_planning(&self) -> bool {
        self.reviews || self.permits.borrow().settings.mode == AgentMode::Plan
    }

    /// Whether there is any use in commands: none where the agent plans and nothing would hold them. What
    /// holds is known once a turn was told of it.
    pub fn may_run_commands(&self) -> bool {
        let sandbox = self.shared.sandbox.get();
        let is_open = sandbox.is_some_and(|found| found.mode() == Mode::Nothing);
        !(is_open && self.is_planning())
    }

    pub fn only_reads(&self) -> bool {
        self.reviews || only_reads(&self.permits.borrow().settings)
    }

    pub fn held(&self) -> Held {
        let settings = &self.permits.borrow().settings;
        Held {
            mode: settings.mode,
            sandbox: settings.sandbox,
            network: settings.network,
        }
    }

    /// Why a call does not run while the agent plans. `ruled`: whether a rule of the user's allows it by
    /// name.
    pub async fn why_not_planned(
        &self,
        call: &ToolCall,
        tool: &dyn Tool,
        ruled: bool,
    ) -> Option<String> {
        if !self.is_planning() {
            return None;
        }
        if let Subject::Mcp { server, .. } = &call.subject {
            // What a server says of its own tools holds nobody to it.
            return (!tool.looks() || !ruled).then(|| {
                format!(
                    "not run: you are planning, and nothing holds the MCP server {server} to only \
                     looking. Plan without it; the user can allow tools that only read by a rule."
                )
            });
        }
        if tool.changes(&self.jobs, &call.input) {
            let why = match self.reviews {
                true => REVIEWS,
                false => CHANGES,
            };
            return Some(why.to_owned());
        }
        let is_open = call.is_command() && self.shared.sandbox().await.mode() == Mode::Nothing;
        is_open.then(|| NO_FENCE.to_owned())
    }
}

const CHANGES: &str = "not run: you are planning, so nothing may be changed. Look, ask, and put into the \
                       plan what is to be done.";
const REVIEWS: &str =
    "not run: this is a review, so nothing may be changed. Look, and say what is to be mended.";
const NO_FENCE: &str = "not run: you are planning, and no sandbox on this machine would keep a command \
                        from changing something. Use the tools that read.";
