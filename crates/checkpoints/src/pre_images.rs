//! Files as they were before somebody changed them while a snapshot was still under way.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use parking_lot::Mutex;
use rustix::fs::FileType;

use crate::FileKind;
use crate::blobs::LARGE_FROM;
use crate::database::bytes_of;
use crate::workspace_root::{self, WorkspaceRoot};

/// What may be held in memory; beyond it the snapshot is only partial.
const BYTES_MAX: usize = 64 << 20;

/// The first snapshot takes these in place of what it finds.
#[derive(Default)]
pub struct PreImages(Mutex<HeldImages>);

#[derive(Default)]
struct HeldImages {
    images: BTreeMap<Vec<u8>, PreImage>,
    bytes: usize,
    incomplete: bool,
}

/// What lay at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PreImage {
    Absent,
    Present {
        kind: FileKind,
        mode: u32,
        content: Vec<u8>,
    },
}

impl PreImages {
    /// Keeps what lies at `path` now (relative to the workspace), unless it is kept already. Call it
    /// before the change.
    pub fn keep(&self, workspace: &Path, path: &Path) {
        let mut held = self.0.lock();
        if held.images.contains_key(bytes_of(path)) {
            return;
        }
        match look(workspace, path) {
            Some(state) => {
                if let PreImage::Present { content, .. } = &state {
                    held.bytes += content.len();
                    held.incomplete |= held.bytes > BYTES_MAX;
                }
                if held.bytes <= BYTES_MAX {
                    held.images.insert(bytes_of(path).to_vec(), state);
                }
            }
            None => held.incomplete = true,
        }
    }

    /// A change that nobody can know the paths of (a command) is about to happen.
    pub fn mark_incomplete(&self) {
        self.0.lock().incomplete = true;
    }

    /// What was kept, and whether more may have changed.
    pub(crate) fn images(&self) -> (BTreeMap<Vec<u8>, PreImage>, bool) {
        let held = self.0.lock();
        (held.images.clone(), held.incomplete)
    }
}

/// `None`: it cannot be told, or is too much to hold.
fn look(workspace: &Path, path: &Path) -> Option<PreImage> {
    let root = WorkspaceRoot::open(workspace).ok()?;
    let entry_ref = match root.entry_ref(path) {
        Ok(entry_ref) => entry_ref,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(PreImage::Absent);
        }
        Err(_) => return None,
    };
    let Some(meta) = entry_ref.meta().ok()? else {
        return Some(PreImage::Absent);
    };
    let (kind, mode, content) = match meta.what {
        FileType::RegularFile if meta.size <= LARGE_FROM => {
            let mut content = Vec::new();
            let file = root.file(path).ok()?;
            let meta = workspace_root::meta(&file).ok()?;
            (&file)
                .take(LARGE_FROM + 1)
                .read_to_end(&mut content)
                .ok()?;
            if content.len() as u64 > LARGE_FROM {
                return None;
            }
            (FileKind::File, meta.mode & 0o777, content)
        }
        FileType::Symlink => (FileKind::Link, 0, entry_ref.link_target().ok()?),
        FileType::Directory => (FileKind::Directory, meta.mode, Vec::new()),
        _ => return None,
    };
    Some(PreImage::Present {
        kind,
        mode,
        content,
    })
}
