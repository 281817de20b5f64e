//! Files that a client gives a thread, and the directories for what comes in and goes out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ThreadCard, ThreadId};

/// Where uploads lie in a workspace that says nothing else.
const UPLOADS: &str = "uploads";
/// Where results lie, for clients that always name such a directory.
const OUTPUT: &str = "output";

/// A file on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUpload {
    pub thread: ThreadId,
    /// As the client names it; only its last part counts.
    pub name: String,
    pub base64: Arc<str>,
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadedFile {
    /// What it is called there: another name than the client's where that one was taken.
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
}

/// Directories of a thread beside the one it works in, where somebody decided on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkFolders {
    /// For results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// For what clients upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads: Option<PathBuf>,
}

impl WorkFolders {
    /// The usual ones where nothing was decided.
    pub fn or_usual(self, directory: &Path) -> Self {
        Self {
            output: Some(self.output.unwrap_or_else(|| directory.join(OUTPUT))),
            uploads: Some(self.uploads.unwrap_or_else(|| directory.join(UPLOADS))),
        }
    }

    /// Those that are decided on.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(&self.uploads)
    }
}

impl ThreadCard {
    /// Where results belong, if somebody decided on it.
    pub fn output_folder(&self) -> Option<&Path> {
        self.folders.as_ref()?.output.as_deref()
    }

    pub fn usual_output_folder(&self) -> PathBuf {
        self.directory.join(OUTPUT)
    }

    /// Those of them that lie outside of the workspace.
    pub fn folders_outside(&self) -> Vec<PathBuf> {
        let all = self.folders.iter().flat_map(|folders| folders.all());
        let outside = all.filter(|folder| !folder.starts_with(&self.directory));
        outside.cloned().collect()
    }

    /// Where uploads are put.
    pub fn uploads_folder(&self) -> PathBuf {
        let decided = self.folders.as_ref().and_then(|all| all.uploads.clone());
        decided.unwrap_or_else(|| self.directory.join(UPLOADS))
    }
}
