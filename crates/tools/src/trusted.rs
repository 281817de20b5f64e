//! What came with a workspace and may be used: files as a person trusted them, by their content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that are trusted, or why none is.
#[derive(Clone, Debug)]
pub struct Trusted(Result<BTreeMap<PathBuf, blake3::Hash>, String>);

impl Default for Trusted {
    /// There is nothing to trust.
    fn default() -> Self {
        Self(Ok(BTreeMap::new()))
    }
}

impl Trusted {
    /// By their paths from the workspace on.
    pub fn new(files: BTreeMap<PathBuf, blake3::Hash>) -> Self {
        Self(Ok(files))
    }

    pub fn nothing(why: &str) -> Self {
        Self(Err(why.to_owned()))
    }

    /// Whether anything at all may be used.
    pub fn is_some(&self) -> bool {
        self.0.is_ok()
    }

    pub fn why_not(&self) -> &str {
        self.0.as_ref().err().map_or("", String::as_str)
    }

    /// Whether the file at this path is trusted with this content.
    pub fn has(&self, path: &Path, content: &[u8]) -> bool {
        let files = self.0.as_ref().ok();
        let known = files.and_then(|files| files.get(path));
        known.is_some_and(|known| *known == blake3::hash(content))
    }
}
