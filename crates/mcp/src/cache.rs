//! The last known lists of servers, kept on disk so that a turn need not wait for a server to start.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::ConfiguredServer;
use crate::connection::ServerLists;
use crate::limits::{CACHE_FILE_BYTES_MAX, CACHE_FILES_MAX};

fn directory(home: &Path) -> PathBuf {
    home.join("cache/mcp-tools")
}

fn path(home: &Path, server: &ConfiguredServer) -> PathBuf {
    let name = format!("{}.json", server.fingerprint().to_hex());
    directory(home).join(name)
}

/// What the server had when it was last connected. Blocks.
pub(crate) fn load(home: &Path, server: &ConfiguredServer) -> Option<ServerLists> {
    let file = fs::File::open(path(home, server)).ok()?;
    let mut bytes = Vec::new();
    file.take(CACHE_FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    // One that is cut does not parse.
    serde_json::from_slice(&bytes).ok()
}

/// Keeps what the server has. Blocks. It is only ever a help: where it cannot be kept, nothing is lost.
pub(crate) fn save(home: &Path, server: &ConfiguredServer, lists: &ServerLists) {
    if let Err(error) = write(home, server, lists) {
        tracing::debug!(%error, "the tools of an MCP server could not be kept");
    }
}

fn write(home: &Path, server: &ConfiguredServer, lists: &ServerLists) -> io::Result<()> {
    let bytes = serde_json::to_vec(lists)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > CACHE_FILE_BYTES_MAX {
        return Ok(());
    }
    let directory = directory(home);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&directory)?;
    let path = path(home, server);
    // Nobody reads half a list.
    let partial = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&partial)?;
    file.write_all(&bytes)?;
    fs::rename(&partial, &path)?;
    remove_oldest(&directory)
}

fn remove_oldest(directory: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(directory)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    for (_, old) in files.iter().rev().skip(CACHE_FILES_MAX) {
        fs::remove_file(old)?;
    }
    Ok(())
}
