//! How one call of `bash` is held.

use std::path::PathBuf;

use super::environment::WritesTo;
use super::escalation::Escalation;
use super::group::{self, GroupStart};
use super::order::BashOrder;
use crate::bash::git_settings::GitPrograms;
use crate::jobs::{JobFence, JobReach, ThreadNetwork};
use crate::sandbox::HELD;
use crate::sandbox::{Fenced, Mode};
use crate::{Failure, Sandbox, Scope, ToolCx};

#[derive(Clone)]
pub(super) struct Hold {
    pub sandbox: Sandbox,
    pub scope: Scope,
    pub outside: bool,
    pub directory: PathBuf,
    writes_to: WritesTo,
    input: bool,
    reach: JobReach,
}

impl Hold {
    /// Whoever lets a call run has asked a person for what it wants beyond the sandbox.
    pub fn of(
        cx: &ToolCx,
        order: &BashOrder<'_>,
        network: &ThreadNetwork,
    ) -> Result<Hold, Failure> {
        let wants = |escalation| order.escalation == Some(escalation);
        let directory = order.directory_in(&cx.scope)?;
        let open = cx.sandbox.network() || wants(Escalation::Network);
        let sandbox = Sandbox::clone(&cx.sandbox)
            .with_terminal(order.terminal)
            .with_input(order.background)
            .with_directory(directory.clone())
            .with_network_holder(network.holder())
            .with_network(open);
        Ok(Hold {
            reach: match (sandbox.mode(), order.escalation) {
                (Mode::Nothing, _) => JobReach::NoSandbox,
                (Mode::Bubblewrap | Mode::Landlock, Some(_)) => JobReach::Escalated,
                (Mode::Bubblewrap | Mode::Landlock, None) => JobReach::Fenced,
            },
            sandbox,
            scope: Scope {
                read_only: cx.scope.read_only && !wants(Escalation::Write),
                ..cx.scope.clone()
            },
            outside: wants(Escalation::Outside),
            directory: directory.unwrap_or_else(|| cx.scope.directory.clone()),
            writes_to: match order.terminal {
                true => WritesTo::Terminal,
                false => WritesTo::Pipes,
            },
            input: order.background,
        })
    }

    /// The same without the fence.
    pub fn let_out(&self) -> Hold {
        Hold {
            outside: true,
            reach: JobReach::Escalated,
            ..self.clone()
        }
    }

    /// For a command that has nothing of its own: no network and no input.
    pub fn plain(cx: &ToolCx) -> Hold {
        Hold {
            sandbox: Sandbox::clone(&cx.sandbox).with_network(false),
            scope: cx.scope.clone(),
            outside: false,
            directory: cx.scope.directory.clone(),
            writes_to: WritesTo::Pipes,
            input: false,
            reach: JobReach::Fenced,
        }
    }

    /// Sets the fence up, away from whoever serves others: it looks through the workspace.
    pub async fn set_up(&self, command: &str) -> Result<Fenced, String> {
        let (hold, command) = (self.clone(), command.to_owned());
        let set_up = move || {
            let words = group::words(&command);
            match hold.outside {
                true if hold.scope.outside.held => Err(HELD.to_owned()),
                true => hold.sandbox.open(&words),
                false => hold.sandbox.fence(&hold.scope, &words),
            }
        };
        let fenced = tokio::task::spawn_blocking(set_up).await;
        fenced.unwrap_or_else(|_| Err("the sandbox could not be set up".to_owned()))
    }

    pub fn start(&self, programs: GitPrograms) -> GroupStart<'_> {
        GroupStart {
            directory: &self.directory,
            programs,
            writes_to: self.writes_to,
            input: self.input,
        }
    }

    /// What a job keeps of it.
    pub fn of_job(&self) -> JobFence {
        JobFence {
            reach: self.reach,
            scope: self.scope.clone(),
            mode: match self.outside {
                true => Mode::Nothing,
                false => self.sandbox.mode(),
            },
            takes_input: self.input || self.writes_to == WritesTo::Terminal,
        }
    }
}
