//! Cowork1Calls that wait for their answer, and what to do with it.

use super::super::backup::Backup;
use crate::pending::Pending;

/// What an answer is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Cowork1Purpose {
    /// Events tell the outcome; a refusal is told.
    Nothing,
    /// A new model, which then becomes the default of the project.
    Model,
    Tools,
    /// To sign in, the catalog first.
    ConnectCatalog,
    /// What a person has to do to sign in.
    ConnectChallenge,
    ConnectEnd,
    /// An answer to an ask; one that came too late is not worth a word.
    Prompt,
    /// The state of the checkpoints.
    BackupState,
    /// A change of them: events tell the outcome.
    Backup(Backup),
    /// A message.
    Turn,
}

pub type Cowork1Calls = Pending<Cowork1Purpose>;
