//! Where things go that were taken away from a protected path: kept, in case they were a person's.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::held::Place;

/// Directories of more calls than this: the oldest go.
const KEPT_MAX: usize = 32;

/// A directory of one call, made when it is first needed.
pub struct CallDirectory {
    parent: PathBuf,
    made: Option<PathBuf>,
    count: usize,
}

impl CallDirectory {
    pub fn below(parent: &Path) -> CallDirectory {
        CallDirectory {
            parent: parent.to_owned(),
            made: None,
            count: 0,
        }
    }

    /// Where they are, if there are any.
    pub fn directory(&self) -> Option<&Path> {
        self.made.as_deref()
    }

    /// Moves away what lies at a place.
    pub fn take(&mut self, path: &Path, place: &Place) -> Result<()> {
        let kept = self.next(path).and_then(|path| Place::find(&path));
        if kept.is_ok_and(|kept| place.rename_to(&kept).is_ok()) {
            return Ok(());
        }
        // Another file system, or a full one. Beside it, it has a name that nobody runs.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches('.');
        let beside = format!("{name}.taken-away-{}", millis());
        place.rename_to(&place.beside(beside)?)
    }

    /// Keeps a copy of a file's content.
    pub fn copy(&mut self, path: &Path, content: &[u8]) -> Result<()> {
        let target = Place::find(&self.next(path)?)?;
        target.replace(content, None)?;
        target.set_mode(0o600)
    }

    fn next(&mut self, path: &Path) -> Result<PathBuf> {
        let directory = match &self.made {
            Some(directory) => directory.clone(),
            None => {
                super::temp::make_private(&self.parent)?;
                remove_oldest(&self.parent);
                let parent = self.parent.canonicalize()?;
                let directory = parent.join(format!("{:015}-{}", millis(), std::process::id()));
                super::temp::make_private(&directory)?;
                self.made = Some(directory.clone());
                directory
            }
        };
        self.count += 1;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(directory.join(format!("{:03}-{name}", self.count)))
    }
}

fn remove_oldest(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut kept: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    kept.sort();
    let excess = (kept.len() + 1).saturating_sub(KEPT_MAX);
    for old in kept.iter().take(excess) {
        // What cannot be removed now can be the next time.
        let _ = std::fs::remove_dir_all(old);
    }
}

fn millis() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis()
}
