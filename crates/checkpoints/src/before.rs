//! Files as they were before somebody changed them while a snapshot was still under way.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use parking_lot::Mutex;
use rustix::fs::FileType;

use crate::Kind;
use crate::blobs::LARGE_FROM;
use crate::database::bytes_of;
use crate::ground::{self, Ground};

/// What may be held in memory; beyond it the snapshot is only partial.
const BYTES_MAX: usize = 64 << 20;

/// The first snapshot takes these in place of what it finds.
#[derive(Default)]
pub struct Before(Mutex<Held>);

#[derive(Default)]
struct Held {
    states: BTreeMap<Vec<u8>, State>,
    bytes: usize,
    blurred: bool,
}

/// What lay at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Nothing,
    Thing {
        kind: Kind,
        mode: u32,
        content: Vec<u8>,
    },
}

impl Before {
    /// Keeps what lies at `path` now (relative to the workspace), unless it is kept already. Call it
    /// before the change.
    pub fn keep(&self, workspace: &Path, path: &Path) {
        let mut held = self.0.lock();
        if held.states.contains_key(bytes_of(path)) {
            return;
        }
        match look(workspace, path) {
            Some(state) => {
                if let State::Thing { content, .. } = &state {
                    held.bytes += content.len();
                    held.blurred |= held.bytes > BYTES_MAX;
                }
                if held.bytes <= BYTES_MAX {
                    held.states.insert(bytes_of(path).to_vec(), state);
                }
            }
            None => held.blurred = true,
        }
    }

    /// A change that nobody can know the paths of (a command) is about to happen.
    pub fn blur(&self) {
        self.0.lock().blurred = true;
    }

    /// What was kept, and whether more may have changed.
    pub(crate) fn states(&self) -> (BTreeMap<Vec<u8>, State>, bool) {
        let held = self.0.lock();
        (held.states.clone(), held.blurred)
    }
}

/// `None`: it cannot be told, or is too much to hold.
fn look(workspace: &Path, path: &Path) -> Option<State> {
    let ground = Ground::open(workspace).ok()?;
    let spot = match ground.spot(path) {
        Ok(spot) => spot,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(State::Nothing),
        Err(_) => return None,
    };
    let Some(met) = spot.met().ok()? else {
        return Some(State::Nothing);
    };
    let (kind, mode, content) = match met.what {
        FileType::RegularFile if met.size <= LARGE_FROM => {
            let mut content = Vec::new();
            let file = ground.file(path).ok()?;
            let met = ground::met(&file).ok()?;
            (&file)
                .take(LARGE_FROM + 1)
                .read_to_end(&mut content)
                .ok()?;
            if content.len() as u64 > LARGE_FROM {
                return None;
            }
            (Kind::File, met.mode & 0o777, content)
        }
        FileType::Symlink => (Kind::Link, 0, spot.link_target().ok()?),
        FileType::Directory => (Kind::Directory, met.mode, Vec::new()),
        _ => return None,
    };
    Some(State::Thing {
        kind,
        mode,
        content,
    })
}
