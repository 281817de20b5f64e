//! Checkpoints in this protocol's words: a session's backup, and what goes wrong with it.

use vocabulary::{
    Call, Checkpoint, CheckpointCall, CheckpointId, CheckpointNews, Checkpoints, Refusal, Standing,
    ThreadCard, Trigger, Why,
};

use super::calls::{CoworkCalls, CoworkPurpose};
use super::hear::repeated;
use super::refuse::{self, error_frame};
use super::session::{CoworkSession, send};
use super::wire::ServerEvent;
use super::wire::backup::{
    BackupReason, BackupStatus, CheckpointTrigger, OriginalSnapshot, SessionBackupPublicCheckpoint,
    SessionBackupPublicState, SessionBackupState, SnapshotKind,
};
use super::wire::session::{ServerErrorCode, ServerErrorSource};
use crate::frame::AsText;
use crate::{Action, Frame};

/// Something a client wants done to its backup, with the id it named. Events tell the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    Checkpoint,
    /// Without an id: to the original.
    Restore(Option<String>),
    Delete(String),
}

impl Backup {
    /// `None` where the id it names cannot be one.
    pub fn call(&self) -> Option<CheckpointCall> {
        Some(match self {
            Backup::Checkpoint => CheckpointCall::Take,
            Backup::Restore(named) => {
                let parse = |id: &String| id.parse::<CheckpointId>();
                let to = named.as_ref().map(parse).transpose().ok()?;
                CheckpointCall::Restore { to, path: None }
            }
            Backup::Delete(id) => {
                let id = id.parse().ok()?;
                CheckpointCall::Delete { id }
            }
        })
    }

    /// The id it names, as far as an answer repeats it.
    pub fn named(&self) -> &str {
        match self {
            Backup::Checkpoint | Backup::Restore(None) => "",
            Backup::Restore(Some(id)) | Backup::Delete(id) => repeated(id),
        }
    }
}

impl CoworkSession {
    pub fn backup(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, backup: Backup) {
        let Some(call) = backup.call() else {
            return send(out, unknown_frame(&self.id, &backup));
        };
        let thread = self.thread();
        let call = Call::Checkpoints { thread, call };
        calls.make(out, CoworkPurpose::Backup(backup), call);
    }
}

/// With what a checkpoint is compared to say whether it `changed` anything
/// (docs/protocols/cowork.md, decision 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedWith {
    Previous,
    Original,
}

/// The state as it is told when something happened to it.
pub fn changed(
    session: &str,
    card: &ThreadCard,
    (news, now): (CheckpointNews, &Checkpoints),
    compared: ComparedWith,
) -> Frame {
    let reason = match news {
        // Who was told that it is on its way had asked for it.
        CheckpointNews::Standing => BackupReason::Requested,
        CheckpointNews::Taken(Trigger::Automatic) => BackupReason::AutoCheckpoint,
        CheckpointNews::Taken(Trigger::Manual) => BackupReason::ManualCheckpoint,
        CheckpointNews::Restored => BackupReason::Restore,
        CheckpointNews::Deleted => BackupReason::Delete,
    };
    frame(session, reason, state(session, card, now, compared))
}

/// The state as the answer to who asked for it.
pub fn requested(
    session: &str,
    card: &ThreadCard,
    now: &Checkpoints,
    compared: ComparedWith,
) -> Frame {
    let state = state(session, card, now, compared);
    frame(session, BackupReason::Requested, state)
}

/// The state of checkpoints that cannot be had, and why.
pub fn failed(session: &str, card: &ThreadCard, refusal: &Refusal) -> Frame {
    let now = Checkpoints {
        standing: Standing::Failed {
            why: refusal.message.clone(),
        },
        directory: None,
        created_at: card.created_at,
        list: Vec::new(),
    };
    requested(session, card, &now, ComparedWith::Previous)
}

fn frame(session: &str, reason: BackupReason, backup: SessionBackupPublicState<'_>) -> Frame {
    ServerEvent::SessionBackupState(SessionBackupState {
        session_id: session,
        reason,
        backup,
    })
    .frame()
}

fn state<'a>(
    session_id: &'a str,
    card: &'a ThreadCard,
    now: &'a Checkpoints,
    compared: ComparedWith,
) -> SessionBackupPublicState<'a> {
    let (status, kind, failure_reason) = match &now.standing {
        Standing::Initializing => (BackupStatus::Initializing, SnapshotKind::Pending, None),
        Standing::Ready => (BackupStatus::Ready, SnapshotKind::Directory, None),
        Standing::Failed { why } => (BackupStatus::Failed, SnapshotKind::Pending, Some(why)),
    };
    SessionBackupPublicState {
        status,
        session_id,
        working_directory: card.directory.to_string_lossy(),
        backup_directory: now.directory.as_ref().map(|path| path.to_string_lossy()),
        created_at: now.created_at.iso(),
        original_snapshot: OriginalSnapshot { kind },
        checkpoints: now
            .list
            .iter()
            .map(|each| checkpoint(each, compared))
            .collect(),
        failure_reason: failure_reason.map(String::as_str),
    }
}

fn checkpoint(checkpoint: &Checkpoint, compared: ComparedWith) -> SessionBackupPublicCheckpoint {
    SessionBackupPublicCheckpoint {
        id: AsText(checkpoint.id),
        // Counts from 1, and keeps its place when others are deleted.
        index: checkpoint.id.0,
        created_at: checkpoint.at.iso(),
        trigger: match checkpoint.trigger {
            Trigger::Automatic => CheckpointTrigger::Auto,
            Trigger::Manual => CheckpointTrigger::Manual,
        },
        changed: match compared {
            ComparedWith::Previous => checkpoint.changed,
            ComparedWith::Original => checkpoint.changed_from_original,
        },
        patch_bytes: checkpoint.bytes,
    }
}

/// No, in the words that clients of this protocol know it by.
pub fn refusal_frame(session: &str, backup: &Backup, refusal: &Refusal) -> Frame {
    match refusal.why {
        Why::UnknownCheckpoint => unknown_frame(session, backup),
        // The caller may not, or not now: that is not the backup's fault.
        Why::Busy
        | Why::OwnedElsewhere
        | Why::UnknownThread
        | Why::Forbidden
        | Why::Unauthenticated => refuse::refusal_frame(session, refusal),
        Why::UnknownAsk
        | Why::UnknownFile
        | Why::AlreadyAnswered
        | Why::Invalid { .. }
        | Why::BlankAnswer
        | Why::NoRunningTurn
        | Why::Conflict
        | Why::NotAvailable
        | Why::Provider
        | Why::ShuttingDown
        | Why::InsufficientCredits
        | Why::Storage
        | Why::Internal => error_frame(session, &refusal.message, BACKUP_ERROR),
    }
}

const BACKUP_ERROR: (ServerErrorCode, ServerErrorSource) =
    (ServerErrorCode::BackupError, ServerErrorSource::Backup);

/// The observed servers answer the two differently, in words and in code.
fn unknown_frame(session: &str, backup: &Backup) -> Frame {
    let id = backup.named();
    match backup {
        Backup::Restore(_) => {
            let message = format!("restore failed: Error: Unknown checkpoint: {id}");
            error_frame(session, &message, BACKUP_ERROR)
        }
        Backup::Delete(_) | Backup::Checkpoint => {
            let message = format!("Unknown checkpoint id: {id}");
            let told_as = refuse::code(&Why::UnknownCheckpoint);
            error_frame(session, &message, told_as)
        }
    }
}
