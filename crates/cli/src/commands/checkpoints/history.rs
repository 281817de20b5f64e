//! The versions of a file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use anyhow::bail;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use checkpoints::Vault;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::{Value, json};
use vocabulary::FileIteration;

use super::super::table;
use super::{VaultCx, words, work};

/// Letters of a hash that a person is shown.
const HASH_SHOWN: usize = 16;

/// A version as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedVersion {
    path: PathBuf,
    number: Option<u64>,
}

pub fn version() -> impl TypedValueParser<Value = NamedVersion> {
    OsStringValueParser::new().map(|text| split(&text))
}

/// What follows the last `@` is a version if it is a number; names of files may have one, too.
fn split(text: &OsString) -> NamedVersion {
    let bytes = text.as_bytes();
    let parts = bytes.iter().rposition(|byte| *byte == b'@').and_then(|at| {
        let number = std::str::from_utf8(&bytes[at + 1..]).ok()?.parse().ok()?;
        Some((&bytes[..at], number))
    });
    NamedVersion {
        path: OsStr::from_bytes(parts.map_or(bytes, |(path, _)| path)).into(),
        number: parts.map(|(_, number)| number),
    }
}

pub async fn list(cx: VaultCx, path: PathBuf) -> anyhow::Result<()> {
    let json = cx.json;
    let (path, versions) = work::quiet(move || {
        let path = cx.inside(&path)?;
        let versions = cx.vault.history(&path)?;
        Ok((path, versions))
    })
    .await?;
    if json {
        return words::say_json(&json!({
            "path": path.to_string_lossy(),
            "versions": versions.iter().map(to_json).collect::<Vec<_>>(),
        }));
    }
    let heading = ["VERSION", "SINCE", "SIZE", "HASH"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for each in &versions {
        rows.push(vec![
            format!("@{}", each.iteration),
            words::when(each.at.millis()),
            words::size(each.size),
            each.hash.chars().take(HASH_SHOWN).collect(),
        ]);
    }
    words::say(table::aligned(&rows))
}

pub async fn show(cx: VaultCx, version: NamedVersion) -> anyhow::Result<()> {
    let json = cx.json;
    let (path, version, content) = work::quiet(move || {
        let path = cx.inside(&version.path)?;
        let number = number(&cx.vault, &path, version.number)?;
        let (version, content) = cx.vault.content(&path, number)?;
        Ok((path, version, content))
    })
    .await?;
    if !json {
        return words::say(content);
    }
    let mut value = to_json(&version);
    value["path"] = json!(path.to_string_lossy());
    match String::from_utf8(content) {
        Ok(text) => value["text"] = json!(text),
        Err(error) => value["base64"] = json!(BASE64_STANDARD.encode(error.as_bytes())),
    }
    words::say_json(&value)
}

fn number(vault: &Vault, path: &std::path::Path, wanted: Option<u64>) -> anyhow::Result<u64> {
    let versions = vault.history(path)?;
    let last = versions.last().map_or(0, |last| last.iteration);
    let number = wanted.unwrap_or(last);
    if !versions.iter().any(|each| each.iteration == number) {
        let shown = words::path(path);
        bail!(
            "version {number} of {shown} is not kept; `dragoman checkpoints history {shown}` shows \
             which are, the last is {last}"
        );
    }
    Ok(number)
}

fn to_json(version: &FileIteration) -> Value {
    json!({
        "version": version.iteration,
        "at": words::iso(version.at.millis()),
        "size": version.size,
        "hash": version.hash,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_follows_the_last_at_sign() {
        let read = |text: &str| {
            let NamedVersion { path, number } = split(&text.into());
            (path.to_string_lossy().into_owned(), number)
        };
        let named = |path: &str, number| (path.to_owned(), number);
        assert_eq!(
            ["a@2", "a", "me@home", "me@home@7", "a@"].map(read),
            [
                named("a", Some(2)),
                named("a", None),
                named("me@home", None),
                named("me@home", Some(7)),
                named("a@", None),
            ]
        );
    }
}
