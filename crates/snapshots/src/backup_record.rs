//! What is kept of a thread, and where, in a file for people and other programs: a directory for each
//! thread, with a `metadata.json` in it. The files themselves are in the vault of the workspace.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use checkpoints::{KeptCheckpoint, ThreadHistory};
use serde_json::{Value, json};
use vocabulary::{CheckpointId, Timestamp, Trigger};

const FILE: &str = "metadata.json";
const VERSION: u32 = 1;
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Where the record of a thread is, or would be.
pub fn directory(home: &Path, thread: &str) -> PathBuf {
    home.join("session-backups").join(thread)
}

/// What a record says.
pub struct BackupRecord<'a> {
    pub thread: &'a str,
    pub workspace: &'a Path,
    pub vault: &'a Path,
    pub kept: &'a ThreadHistory,
}

impl BackupRecord<'_> {
    /// Writes it, making the directory where there is none. Who reads meanwhile sees the one before.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(directory)?;
        let beside = directory.join(format!("{FILE}.new"));
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(FILE_MODE);
        let mut file = options.open(&beside)?;
        file.write_all(self.in_words().to_string().as_bytes())?;
        fs::rename(&beside, directory.join(FILE))
    }

    fn in_words(&self) -> Value {
        let checkpoints: Vec<Value> = self.kept.checkpoints.iter().map(checkpoint).collect();
        json!({
            "version": VERSION,
            "sessionId": self.thread,
            "workingDirectory": self.workspace,
            "createdAt": Timestamp(self.kept.at).iso(),
            "keptIn": self.vault,
            "originalSnapshot": { "kind": "directory", "partial": self.kept.partial },
            "checkpoints": checkpoints,
        })
    }
}

fn checkpoint(kept: &KeptCheckpoint) -> Value {
    json!({
        "id": CheckpointId(kept.number).to_string(),
        "createdAt": Timestamp(kept.at).iso(),
        "trigger": match kept.trigger {
            Trigger::Automatic => "auto",
            Trigger::Manual => "manual",
        },
        "changed": kept.changed,
        "bytes": kept.bytes,
    })
}

/// Removes what a thread left; nothing there is fine.
pub fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
