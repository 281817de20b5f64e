//! What is kept: of one workspace, thread by thread, or of all.

use std::path::{Path, PathBuf};

use checkpoints::{KeptCheckpoint, LeftOut, VaultSize};
use serde_json::{Value, json};
use vocabulary::Trigger;

use super::super::table;
use super::choice::{self, Chosen};
use super::{VaultCx, vaults, words, work};

/// As many of those left out are shown to a person.
const LEFT_OUT_SHOWN: usize = 8;

struct Shelf {
    workspace: PathBuf,
    directory: PathBuf,
    size: VaultSize,
    threads: Vec<Chosen>,
    left_out: Vec<LeftOut>,
}

pub async fn one(cx: VaultCx) -> anyhow::Result<()> {
    let json = cx.json;
    let shelf = work::quiet(move || read(&cx)).await?;
    match json {
        true => words::say_json(&shelf.to_json()),
        false => words::say(shelf.to_text()),
    }
}

fn read(cx: &VaultCx) -> anyhow::Result<Shelf> {
    let vault = &cx.vault;
    let threads = match &cx.thread {
        Some(_) => vec![choice::thread(cx)?],
        None => choice::threads(cx)?,
    };
    let moments = threads.iter().flat_map(|each| {
        let checkpoints = each.kept.checkpoints.iter();
        checkpoints
            .map(|checkpoint| checkpoint.moment)
            .chain([each.kept.original])
    });
    let left_out = match moments.max() {
        Some(newest) => vault.left_out(newest)?,
        None => Vec::new(),
    };
    Ok(Shelf {
        workspace: vault.workspace().to_owned(),
        directory: vault.directory().to_owned(),
        size: vault.size()?,
        threads,
        left_out,
    })
}

fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Automatic => "auto",
        Trigger::Manual => "manual",
    }
}

impl Shelf {
    fn to_json(&self) -> Value {
        let checkpoint = |each: &KeptCheckpoint| {
            json!({
                "id": words::id(each.number),
                "at": words::iso(each.at),
                "trigger": trigger(each.trigger),
                "changed": each.changed,
                "changedFromOriginal": each.changed_from_original,
                "bytes": each.bytes,
            })
        };
        let thread = |each: &Chosen| {
            let list = each.kept.checkpoints.iter().map(checkpoint);
            json!({
                "thread": each.thread,
                "title": each.title,
                "original": {
                    "at": words::iso(each.kept.at),
                    "partial": each.kept.partial,
                },
                "checkpoints": list.collect::<Vec<_>>(),
            })
        };
        let left_out = |each: &LeftOut| {
            json!({
                "path": each.path.to_string_lossy(),
                "why": words::why_word(each.why),
            })
        };
        json!({
            "workspace": self.workspace.to_string_lossy(),
            "directory": self.directory.to_string_lossy(),
            "bytes": self.size.bytes,
            "files": self.size.files,
            "threads": self.threads.iter().map(thread).collect::<Vec<_>>(),
            "leftOut": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
        })
    }

    fn to_text(&self) -> String {
        let mut text = format!("Checkpoints of {}\n", words::path(&self.workspace));
        for each in &self.threads {
            text.push_str(&format!("\nThread {}\n", each.name()));
            for line in table::aligned(&rows(each)).lines() {
                text.push_str(&format!("  {line}\n"));
            }
            if each.kept.partial {
                text.push_str(
                    "  The original is partial: files may have changed before it was complete.\n",
                );
            }
        }
        if self.threads.len() > 1 {
            let first = self.threads.iter().take(1).map(|each| each.short.as_str());
            let first: String = first.collect();
            text.push_str(&format!("\nWithout --thread, {first} is meant.\n"));
        }
        if self.threads.is_empty() {
            text.push_str("\nNone yet: no thread has changed anything here.\n");
        }
        if !self.left_out.is_empty() {
            text.push_str(&self.left_out_text());
        }
        let VaultSize { bytes, files, .. } = self.size;
        text.push_str(&format!(
            "\n{} of {} kept in {}\n",
            words::size(bytes),
            words::count(files, "file", "files"),
            words::path(&self.directory)
        ));
        text
    }

    fn left_out_text(&self) -> String {
        let shown = self.left_out.iter().take(LEFT_OUT_SHOWN);
        let rows: Vec<Vec<String>> = shown
            .map(|each| vec![words::path(&each.path), words::why(each.why).to_owned()])
            .collect();
        let mut text = "\nLeft out of them:\n".to_owned();
        for line in table::aligned(&rows).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        let more = self.left_out.len().saturating_sub(LEFT_OUT_SHOWN);
        if more > 0 {
            text.push_str(&format!("  and {more} more (--json lists them all)\n"));
        }
        text
    }
}

fn rows(chosen: &Chosen) -> Vec<Vec<String>> {
    let heading = ["ID", "WHEN", "MADE", "CHANGED", "SIZE"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.push(vec!["original".to_owned(), words::when(chosen.kept.at)]);
    for each in &chosen.kept.checkpoints {
        rows.push(vec![
            words::id(each.number),
            words::when(each.at),
            trigger(each.trigger).to_owned(),
            if each.changed { "yes" } else { "no" }.to_owned(),
            words::size(each.bytes),
        ]);
    }
    rows
}

/// A vault among others.
struct VaultLine {
    directory: PathBuf,
    workspace: Result<PathBuf, String>,
    size: Result<VaultSize, String>,
}

pub async fn all(home: &Path, json: bool) -> anyhow::Result<()> {
    let home = home.to_owned();
    let lines = work::quiet(move || {
        let found = vaults::all(&home)?.into_iter();
        let line = |found: vaults::FoundVault| VaultLine {
            size: vaults::open(&found.directory)
                .and_then(|vault| vault.size())
                .map_err(|error| error.to_string()),
            workspace: found.workspace.map_err(|error| error.to_string()),
            directory: found.directory,
        };
        Ok(found.map(line).collect::<Vec<_>>())
    })
    .await?;
    match json {
        true => words::say_json(&lines.iter().map(VaultLine::to_json).collect()),
        false => words::say(all_text(&lines)),
    }
}

fn all_text(lines: &[VaultLine]) -> String {
    if lines.is_empty() {
        return "No checkpoints yet; they are made when a thread works in a directory.\n"
            .to_owned();
    }
    let heading = ["WORKSPACE", "THREADS", "CHECKPOINTS", "DISK", "KEPT IN"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(VaultLine::row));
    let mut text = table::aligned(&rows);
    let bytes = lines
        .iter()
        .filter_map(|line| Some(line.size.as_ref().ok()?.bytes));
    text.push_str(&format!("\n{} in all\n", words::size(bytes.sum())));
    if lines.iter().any(VaultLine::is_gone) {
        text.push_str(
            "What is kept of a workspace that is gone stays until you remove its directory.\n",
        );
    }
    text
}

impl VaultLine {
    fn is_gone(&self) -> bool {
        self.workspace.as_ref().is_ok_and(|path| !path.exists())
    }

    fn row(&self) -> Vec<String> {
        let workspace = match &self.workspace {
            Ok(path) if self.is_gone() => format!("{} (gone)", words::path(path)),
            Ok(path) => words::path(path),
            Err(_) => "?".to_owned(),
        };
        let [threads, checkpoints, bytes] = match &self.size {
            Ok(size) => [
                size.threads.to_string(),
                size.checkpoints.to_string(),
                words::size(size.bytes),
            ],
            Err(_) => ["?", "?", "damaged"].map(str::to_owned),
        };
        let directory = words::path(&self.directory);
        vec![workspace, threads, checkpoints, bytes, directory]
    }

    fn to_json(&self) -> Value {
        let size = self.size.as_ref().ok();
        let trouble = self.size.as_ref().err().or(self.workspace.as_ref().err());
        json!({
            "workspace": self.workspace.as_ref().ok().map(|path| path.to_string_lossy()),
            "gone": self.is_gone(),
            "directory": self.directory.to_string_lossy(),
            "threads": size.map(|size| size.threads),
            "checkpoints": size.map(|size| size.checkpoints),
            "bytes": size.map(|size| size.bytes),
            "error": trouble,
        })
    }
}
