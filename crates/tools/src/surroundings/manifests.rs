//! What a workspace is built with: its manifests, and the commands that these usually mean.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

/// Larger ones are not read.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
/// How many scripts or targets are named, and how long a name may be.
const NAMES_MAX: usize = 16;
const NAME_CHARS_MAX: usize = 40;

/// One line for each manifest that lies in the directory.
pub fn lines(directory: &Path) -> Vec<String> {
    let has = |name: &str| directory.join(name).is_file();
    let mut lines = Vec::new();
    if has("Cargo.toml") {
        lines.push("Cargo.toml: cargo build, cargo test".to_owned());
    }
    if let Some(text) = read(&directory.join("package.json")) {
        lines.push(package(&text, runner(&has)));
    }
    if has("pyproject.toml") {
        let runner = if has("uv.lock") { "uv run " } else { "" };
        lines.push(format!("pyproject.toml: {runner}pytest"));
    }
    if has("go.mod") {
        lines.push("go.mod: go build ./..., go test ./...".to_owned());
    }
    if let Some(text) = read(&directory.join("Makefile")) {
        lines.push(named("Makefile", "make", targets(&text)));
    }
    lines
}

fn read(path: &Path) -> Option<String> {
    // Looked at before it is opened: a pipe would never end, and a link may lead anywhere.
    path.symlink_metadata().ok()?.is_file().then_some(())?;
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MANIFEST_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

fn runner(has: &impl Fn(&str) -> bool) -> &'static str {
    let locks = [
        ("pnpm-lock.yaml", "pnpm run"),
        ("yarn.lock", "yarn run"),
        ("bun.lock", "bun run"),
        ("bun.lockb", "bun run"),
    ];
    let known = locks.iter().find(|(lock, _)| has(lock));
    known.map_or("npm run", |(_, runner)| runner)
}

fn package(text: &str, runner: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let scripts = parsed
        .as_ref()
        .and_then(|package| package["scripts"].as_object());
    let names = scripts.into_iter().flat_map(|scripts| scripts.keys());
    named("package.json", runner, names.map(String::as_str))
}

/// The targets that a person would call.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        (!name.starts_with('.') && !rest.starts_with('=')).then_some(name)
    })
}

fn named<'a>(manifest: &str, runner: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.filter(|name| is_name(name)).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    match (names.is_empty(), more) {
        (true, _) => manifest.to_owned(),
        (false, 0) => format!("{manifest}: {runner} {}", names.join(" | ")),
        (false, more) => format!(
            "{manifest}: {runner} {} | … ({more} more)",
            names.join(" | ")
        ),
    }
}

/// Whatever else stands there is no name: these lines go to a model.
fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_:./".contains(letter);
    !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn each_manifest_says_how_it_is_used() {
        let scratch = Scratch::new();
        assert!(lines(&scratch.path("")).is_empty());
        let write = |name: &str, text: &str| std::fs::write(scratch.path(name), text).unwrap();
        write("Cargo.toml", "[package]");
        write(
            "package.json",
            r#"{"scripts": {"build": "x", "test:unit": "y", "bad name; rm": "z"}}"#,
        );
        write("pnpm-lock.yaml", "");
        write("pyproject.toml", "");
        write("uv.lock", "");
        write("go.mod", "module a");
        write(
            "Makefile",
            "CC := gcc\n.PHONY: all\nall: b\n\techo a: b\nlint:\n",
        );
        assert_eq!(
            lines(&scratch.path("")),
            [
                "Cargo.toml: cargo build, cargo test",
                "package.json: pnpm run build | test:unit",
                "pyproject.toml: uv run pytest",
                "go.mod: go build ./..., go test ./...",
                "Makefile: make all | lint",
            ]
        );
    }
}
