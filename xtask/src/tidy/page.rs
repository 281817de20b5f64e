//! The built page is that of its sources: `cargo` embeds it as it lies there.

use std::fs;

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::Finding;
use crate::run::root;

/// Where the build says what it was made from (`web/scripts/source-hash.mjs`).
const KEPT: &str = "web/dist/source-hash";
const SOURCES: [&str; 8] = [
    "index.html",
    "package-lock.json",
    "package.json",
    "public/",
    "src/",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
];

/// `files` are all of the tree, in the order of their paths.
pub fn check(files: &[String]) -> anyhow::Result<Vec<Finding>> {
    let kept = fs::read_to_string(root().join(KEPT)).unwrap_or_default();
    let mut whole = Sha256::new();
    for (path, name) in files.iter().filter_map(source) {
        let data = fs::read(root().join(path)).with_context(|| format!("cannot read {path}"))?;
        whole.update(format!("{name}\0{}\n", hex(&Sha256::digest(data))));
    }
    let what = "the page was changed since it was built: run `npm install --no-save && npm run build` in web/";
    Ok(match kept.trim() == hex(&whole.finalize()) {
        true => Vec::new(),
        false => vec![Finding::error(KEPT, 1, what)],
    })
}

fn source(path: &String) -> Option<(&String, &str)> {
    let name = path.strip_prefix("web/")?;
    let is_source = |source: &str| match source.ends_with('/') {
        true => name.starts_with(source),
        false => name == source,
    };
    let is_one = SOURCES.into_iter().any(is_source);
    is_one.then_some((path, name))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
