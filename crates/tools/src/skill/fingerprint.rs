//! Which content a skill has: one hash over all its files.

use std::path::{Path, PathBuf};

/// Beyond these the rest is not looked at.
const FILES_MAX: usize = 2_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Another one where any file has another name or content. Blocks.
pub fn fingerprint(directory: &Path) -> String {
    let mut files = Vec::new();
    gather(directory, Path::new(""), &mut files);
    files.sort();
    let (mut hasher, mut left) = (blake3::Hasher::new(), BYTES_MAX);
    for path in files {
        let full = directory.join(&path);
        // Of a link only where it leads: what lies there is not the skill's.
        let content = match std::fs::symlink_metadata(&full) {
            Ok(about) if about.is_symlink() => std::fs::read_link(&full)
                .map(|target| target.as_os_str().as_encoded_bytes().to_owned())
                .ok(),
            Ok(about) if about.is_file() && about.len() <= left => {
                left -= about.len();
                std::fs::read(&full).ok()
            }
            Ok(_) | Err(_) => None,
        };
        for part in [
            path.as_os_str().as_encoded_bytes(),
            &content.unwrap_or_default(),
        ] {
            // With its length before it, so that no two trees read the same.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().to_hex().to_string()
}

fn gather(root: &Path, below: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(root.join(below)).into_iter().flatten();
    for entry in entries.flatten() {
        if files.len() >= FILES_MAX {
            return;
        }
        let path = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => gather(root, &path, files),
            Ok(_) | Err(_) => files.push(path),
        }
    }
}
