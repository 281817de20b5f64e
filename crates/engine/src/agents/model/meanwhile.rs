//! What happened while a model was away: told before the user's next words, because nobody else would.

use std::sync::Arc;

use vocabulary::{PlanStepStatus, TurnErrorKind, TurnOutcome};

use super::context::LastEnding;
use crate::turn::Turn;

/// How many files are named.
const FILES_NAMED_MAX: usize = 20;
/// How the reminder of a plan begins; the same one is given once.
pub const REMINDER: &str = "Your plan still has open points: ";

/// A line for each thing that happened since the model last said something.
pub async fn news(turn: &Turn, before: &LastEnding) -> Vec<String> {
    let mut lines: Vec<String> = ending(before).into_iter().collect();
    lines.extend(changed_files(turn).await);
    lines.extend(open_points(turn));
    lines
}

/// How the last turn ended, where the model could not see it.
fn ending(before: &LastEnding) -> Option<String> {
    let running = match before.interrupted.is_empty() {
        true => "while you were answering".to_owned(),
        false => format!("while this ran: {}", before.interrupted.join("; ")),
    };
    match before.outcome.as_ref()? {
        TurnOutcome::Cancelled => Some(format!("The user stopped your last turn {running}.")),
        TurnOutcome::Failed(error) if error.kind == TurnErrorKind::ServerRestart => Some(format!(
            "The server was restarted in your last turn, {running}. What had begun may be half done."
        )),
        TurnOutcome::Failed(_) | TurnOutcome::Completed => None,
    }
}

async fn changed_files(turn: &Turn) -> Option<String> {
    let seen = Arc::clone(&turn.seen);
    let look = tokio::task::spawn_blocking(move || seen.take_changed());
    let files = look.await.unwrap_or_default();
    let workspace = std::fs::canonicalize(&turn.card.directory);
    let workspace = workspace.as_deref().unwrap_or(&turn.card.directory);
    let names: Vec<String> = files
        .iter()
        .take(FILES_NAMED_MAX)
        .map(|path| path.strip_prefix(workspace).unwrap_or(path))
        .map(|path| tools::shown::line(&path.to_string_lossy()).into_owned())
        .collect();
    let more = match files.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = names.join(", ");
    (!files.is_empty())
        .then(|| format!("Changed since you last saw them, not by your file tools: {names}{more}"))
}

fn open_points(turn: &Turn) -> Option<String> {
    let is_open = |status: PlanStepStatus| match status {
        PlanStepStatus::Pending | PlanStepStatus::InProgress => true,
        PlanStepStatus::Completed => false,
    };
    let open = turn.plan.iter().filter(|step| is_open(step.status));
    let open: Vec<String> = open
        .map(|step| tools::shown::line(&step.content).into_owned())
        .collect();
    (!open.is_empty()).then(|| format!("{REMINDER}{}", open.join("; ")))
}
