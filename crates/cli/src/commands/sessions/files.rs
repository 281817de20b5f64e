//! Files that are there whole or not at all, for their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::commands::checkpoints::words;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// A file that is being written, under another name until it is whole.
pub struct NewFile {
    place: PathBuf,
    unfinished: PathBuf,
    output: BufWriter<File>,
    replaces: bool,
}

impl NewFile {
    /// `replaces`: what is there goes when the new one is whole; else it is left, and that is an error.
    pub fn create(place: &Path, replaces: bool) -> anyhow::Result<Self> {
        if !replaces && place.symlink_metadata().is_ok() {
            return Err(taken(place));
        }
        let name = place.file_name().context("the output has no name")?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let unfinished = place.with_file_name(hidden);
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(FILE_MODE);
        let output = options.open(&unfinished);
        let output = output.with_context(|| format!("cannot write to {}", words::path(place)))?;
        Ok(Self {
            place: place.to_owned(),
            unfinished,
            output: BufWriter::new(output),
            replaces,
        })
    }

    pub fn output(&mut self) -> &mut BufWriter<File> {
        &mut self.output
    }

    /// Makes it be there, on the disk.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.output.flush()?;
        self.output.get_ref().sync_all()?;
        if self.replaces {
            fs::rename(&self.unfinished, &self.place)?;
            return Ok(());
        }
        // A link does not replace what came meanwhile; the other name goes when this is dropped.
        match fs::hard_link(&self.unfinished, &self.place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(&self.place)),
            linked => linked.with_context(|| format!("cannot write {}", words::path(&self.place))),
        }
    }
}

impl Drop for NewFile {
    /// Nothing is left of one that was not finished.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished);
    }
}

fn taken(place: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{} is there already; --force replaces it",
        words::path(place)
    )
}

/// A directory to write to, made where there is none.
pub fn directory(place: &Path) -> anyhow::Result<()> {
    if place.is_file() {
        bail!(
            "{} is a file; several sessions need a directory",
            words::path(place)
        );
    }
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(DIRECTORY_MODE).create(place);
    made.with_context(|| format!("cannot make the directory {}", words::path(place)))
}
