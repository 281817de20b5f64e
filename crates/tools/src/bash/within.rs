//! A command that no model called for: what checks files after an edit.

use std::time::Duration;

use vocabulary::ToolOutput;

use super::environment::WritesTo;
use super::git_settings::GitPrograms;
use super::{BashTool, Hold};
use crate::{Failure, Sandbox, ToolCx};

/// Runs a command line behind the fence, without the network, and ends it after this time.
pub(crate) async fn run_within(
    cx: &ToolCx,
    command: &str,
    time_max: Duration,
) -> Result<ToolOutput, Failure> {
    let hold = Hold {
        sandbox: Sandbox::clone(&cx.sandbox).with_network(false),
        scope: cx.scope.clone(),
        outside: false,
        writes_to: WritesTo::Pipes,
    };
    let tool = BashTool { time_max };
    tool.run_held(cx, GitPrograms::Off, command, &hold).await
}
