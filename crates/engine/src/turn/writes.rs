//! A turn's calls and the files they change: what a call may change, and what is told of it.

use std::path::PathBuf;

use snapshots::WriteScope;
use vocabulary::{Fact, FilesFact, NoteFact, Subject, ToolCall, ToolOutcome, ToolOutput};

use super::{FromTurn, SessionGone, Turn};

/// Sees to it that what a call is about to change is kept as it was.
pub async fn before(turn: &Turn, call: &ToolCall) -> Result<(), SessionGone> {
    let Some(write) = write_of(turn, call, None) else {
        return Ok(());
    };
    for line in turn.writes.before(write, &turn.cancel).await {
        turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
    }
    Ok(())
}

/// The same for an agent that may change anything at any time.
pub async fn before_anything(turn: &Turn) -> Result<(), SessionGone> {
    let lines = turn.writes.before(WriteScope::Anything, &turn.cancel);
    for line in lines.await {
        turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
    }
    Ok(())
}

/// Keeps whatever such an agent has changed by now.
pub async fn after_anything(turn: &Turn) -> Result<(), SessionGone> {
    if !turn.writes.has_begun() {
        return Ok(());
    }
    turn.heard().await?;
    follow(turn, WriteScope::Anything).await;
    Ok(())
}

/// Keeps what a call changed and has it told; what takes long goes on without the turn.
pub async fn after(turn: &Turn, call: &ToolCall, outcome: &ToolOutcome) -> Result<(), SessionGone> {
    let ran = match outcome {
        ToolOutcome::Succeeded(_) | ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_) => {
            true
        }
        ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. } => false,
    };
    if !ran || !turn.writes.has_begun() {
        return Ok(());
    }
    let Some(write) = write_of(turn, call, Some(outcome)) else {
        return Ok(());
    };
    // What the call did is told after its end.
    turn.heard().await?;
    if write != WriteScope::Paths(Vec::new()) {
        follow(turn, write).await;
    }
    Ok(())
}

async fn follow(turn: &Turn, write: WriteScope) {
    let (id, to_session) = (turn.id.clone(), turn.to_session.downgrade());
    let diffed = async move |diff| {
        if let Some(to_session) = to_session.upgrade() {
            let fact = Fact::Files(FilesFact::TurnDiffed { turn: id, diff });
            // A turn that is over has nobody left to tell.
            let _ = to_session.send(FromTurn::Tell(fact)).await;
        }
    };
    turn.writes.after(write, &turn.cancel, diffed).await;
}

/// What a call may change; none where it changes nothing.
fn write_of(turn: &Turn, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Option<WriteScope> {
    let is_server = matches!(call.subject, Subject::Mcp { .. });
    // What a server does in the workspace is known to nobody but it.
    let may_change_all = call.is_command() || (is_server && call.effects.writes);
    match (call.changes_files(), may_change_all) {
        (true, _) => Some(WriteScope::Paths(paths_in(turn, call, outcome))),
        (false, true) => Some(WriteScope::Anything),
        (false, false) => None,
    }
}

/// The files of the workspace that a call names, and those that its outcome does.
pub fn paths_in(turn: &Turn, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Vec<PathBuf> {
    let named = call.subject.files().iter().map(|file| file.path.as_str());
    let changed = match outcome {
        Some(ToolOutcome::Succeeded(ToolOutput::Files { changes, .. }))
        | Some(ToolOutcome::Interrupted(ToolOutput::Files { changes, .. })) => changes.as_slice(),
        Some(
            ToolOutcome::Succeeded(_)
            | ToolOutcome::Interrupted(_)
            | ToolOutcome::Failed { .. }
            | ToolOutcome::Denied(_)
            | ToolOutcome::NotRun { .. },
        )
        | None => &[],
    };
    let changed = changed.iter().map(|change| change.path.as_str());
    let inside = |path: &str| snapshots::inside(&turn.card.directory, path);
    let mut paths: Vec<_> = named.chain(changed).filter_map(inside).collect();
    paths.sort();
    paths.dedup();
    paths
}
