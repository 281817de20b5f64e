//! A command that no model called for: what checks files after an edit.

use std::time::Duration;

use vocabulary::ToolOutput;

use super::command::{EndedBy, Waited};
use super::git_settings::GitPrograms;
use super::hold::Hold;
use super::report::CommandEnd;
use super::{EXIT_TIMED_OUT, report_as_it_is, start};
use crate::{Failure, ToolCx};

/// Runs a command line behind the fence, without the network, and ends it after this time.
pub(crate) async fn run_within(
    cx: &ToolCx,
    command: &str,
    time_max: Duration,
) -> Result<ToolOutput, Failure> {
    let command = start(cx, GitPrograms::Off, command, &Hold::plain(cx)).await?;
    match command.wait(&cx.cancel, time_max).await {
        Waited::Ended(end) => report_as_it_is(cx, &command, end).await,
        Waited::Cancelled => {
            let end = command.end_by(EndedBy::Cancelled).await;
            let output = report_as_it_is(cx, &command, end).await?;
            Err(Failure::Cancelled(output))
        }
        Waited::TimedOut => {
            let end = command.end_by(EndedBy::Others("timed out")).await;
            let end = end.map(|end| CommandEnd {
                exit_code: EXIT_TIMED_OUT,
                ..end
            });
            report_as_it_is(cx, &command, end).await
        }
    }
}
