//! `dragoman checkpoints`: the real binary on vaults as threads leave them.

mod damage;
mod errors;
mod restoring;
pub mod terminal;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, ensure};
use checkpoints::{Moment, SnapshotLimits, Vault, WorkControl};
use engine::VaultPlace;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};
use tokio::process::Command;
use vocabulary::{Timestamp, Trigger};

use crate::{DRAGOMAN, Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);
const ELDER: &str = "0198aaaa-0000-7000-8000-000000000001";
const YOUNGER: &str = "0198bbbb-0000-7000-8000-000000000002";
/// How people are shown their ids.
const ELDER_SHORT: &str = "0198aaaa";
const YOUNGER_SHORT: &str = "0198bbbb";

/// A workspace and what two threads have kept of it.
struct Story {
    scratch: Scratch,
    vault: Vault,
}

/// What a program said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Story {
    /// Nothing is kept of the workspace's `files` yet but how they are.
    fn new(files: &[(&str, &str)]) -> anyhow::Result<Self> {
        Self::with_limits(files, SnapshotLimits::default())
    }

    fn with_limits(files: &[(&str, &str)], limits: SnapshotLimits) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        for (name, text) in files {
            scratch.write(name, text)?;
        }
        let place = VaultPlace::new(
            scratch.home(),
            ".cowork".as_ref(),
            scratch.workspace(),
            limits,
        );
        let vault = place.open()?;
        Ok(Self { scratch, vault })
    }

    /// Two turns of the elder thread, then one of the younger: `app.txt` goes through one, two,
    /// three, four; `gone.txt` goes in the second turn, `new.txt` comes in it.
    fn told() -> anyhow::Result<Self> {
        let story = Self::new(&[("app.txt", "one\n"), ("gone.txt", "here\n")])?;
        story.begin(ELDER)?;
        story.scratch.write("app.txt", "two\n")?;
        story.note(ELDER, Trigger::Automatic)?;
        story.scratch.write("app.txt", "three\n")?;
        story.scratch.write("new.txt", "new\n")?;
        std::fs::remove_file(story.scratch.workspace().join("gone.txt"))?;
        story.note(ELDER, Trigger::Manual)?;
        story.begin(YOUNGER)?;
        story.scratch.write("app.txt", "four\n")?;
        story.note(YOUNGER, Trigger::Automatic)?;
        Ok(story)
    }

    fn look(&self) -> anyhow::Result<Moment> {
        Ok(self.vault.scan(&work(), None)?.moment)
    }

    fn begin(&self, thread: &str) -> anyhow::Result<()> {
        let at = vocabulary_now();
        Ok(self.vault.begin(thread, self.look()?, at, false)?)
    }

    fn note(&self, thread: &str, trigger: Trigger) -> anyhow::Result<()> {
        self.vault.note(thread, self.look()?, trigger)?;
        Ok(())
    }

    fn command(&self, words: &[&str]) -> Command {
        command(&self.scratch, self.scratch.workspace(), words)
    }

    /// `dragoman checkpoints WORDS`, run in the workspace.
    async fn run(&self, words: &[&str]) -> anyhow::Result<Said> {
        said(self.command(words)).await
    }

    /// What it said as JSON, once it ended well.
    async fn json(&self, words: &[&str]) -> anyhow::Result<Value> {
        let said = self.run(&[words, &["--json"]].concat()).await?;
        ensure!(said.code == Some(0), "{said:?}");
        Ok(serde_json::from_str(&said.out)?)
    }
}

fn command(scratch: &Scratch, here: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(DRAGOMAN);
    command
        .arg("checkpoints")
        .args(words)
        .current_dir(here)
        .env_clear()
        .env("HOME", scratch.user())
        .env("DRAGOMAN_HOME", scratch.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn said(mut command: Command) -> anyhow::Result<Said> {
    let output = command.output().await?;
    Ok(Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

fn work() -> WorkControl<'static> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    WorkControl {
        cancel: &NEVER,
        progress: &|_| {},
    }
}

fn vocabulary_now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default()
}

/// The files in a directory of the vault.
fn files_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory)?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    paths.collect()
}

#[test]
fn the_list_tells_threads_and_checkpoints() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let thread = |name: &str, triggers: &[&str]| -> anyhow::Result<Value> {
            let kept = story.vault.kept(name)?.context("the thread is kept")?;
            let list = kept.checkpoints.iter().zip(triggers).enumerate();
            let list: Vec<Value> = list
                .map(|(place, (each, trigger))| {
                    json!({
                        "id": format!("cp-000{}", place + 1),
                        "at": Timestamp(each.at).iso(),
                        "trigger": trigger,
                        "changed": true,
                        "changedFromOriginal": true,
                        "bytes": each.bytes,
                    })
                })
                .collect();
            Ok(json!({
                "thread": name,
                "title": null,
                "original": { "at": Timestamp(kept.at).iso(), "partial": false },
                "checkpoints": list,
            }))
        };
        let size = story.vault.size()?;
        let expected = json!({
            "workspace": story.scratch.workspace(),
            "directory": story.vault.directory(),
            "bytes": size.bytes,
            "files": 2,
            "threads": [thread(YOUNGER, &["auto"])?, thread(ELDER, &["auto", "manual"])?],
            "leftOut": [],
        });
        assert_eq!(story.json(&[]).await?, expected);
        assert_eq!(story.json(&["list"]).await?, expected);

        let text = story.run(&["--thread", "0198a"]).await?;
        let shown: Vec<Vec<&str>> = text
            .out
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let pick = |line: usize, words: &[usize]| -> Vec<&str> {
            words.iter().map(|word| shown[line][*word]).collect()
        };
        assert_eq!(pick(2, &[0, 1]), ["Thread", ELDER_SHORT]);
        assert_eq!(shown[3], ["ID", "WHEN", "MADE", "CHANGED", "SIZE"]);
        assert_eq!(shown[4][0], "original");
        assert_eq!(pick(5, &[0, 3, 4]), ["cp-0001", "auto", "yes"]);
        assert_eq!(pick(6, &[0, 3, 4]), ["cp-0002", "manual", "yes"]);
        assert!(!text.out.contains(YOUNGER_SHORT), "{}", text.out);
        Ok(())
    });
}

#[test]
fn what_is_left_out_is_listed_with_the_reason() {
    tell(LIMIT, async {
        let limits = SnapshotLimits {
            file_bytes: 8,
            ..SnapshotLimits::default()
        };
        let names: Vec<String> = (0..10).map(|n| format!("big-{n}.bin")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "0123456789")).collect();
        let story = Story::with_limits(&files, limits)?;
        story.begin(ELDER)?;
        story.note(ELDER, Trigger::Automatic)?;
        let left_out: Vec<Value> = names
            .iter()
            .map(|name| json!({ "path": name, "why": "too_large" }))
            .collect();
        assert_eq!(story.json(&[]).await?["leftOut"], json!(left_out));
        let text = story.run(&[]).await?.out;
        ensure!(text.contains("big-7.bin  too large a file\n"), "{text}");
        ensure!(
            text.contains("and 2 more (--json lists them all)"),
            "{text}"
        );
        ensure!(!text.contains("big-8.bin"), "{text}");
        Ok(())
    });
}

#[test]
fn a_diff_is_of_the_last_turn_unless_told_otherwise() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let one_line = |old: &str, new: &str| {
            format!(
                "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n\
                 @@ -1 +1 @@\n-{old}\n+{new}\n"
            )
        };
        let expected = Said {
            code: Some(0),
            out: one_line("three", "four"),
            err: format!("Thread {YOUNGER_SHORT}: from original to cp-0001\n"),
        };
        assert_eq!(story.run(&["diff"]).await?, expected);

        let elder = ["diff", "original", "1", "--thread", ELDER];
        assert_eq!(story.run(&elder).await?.out, one_line("one", "two"));

        let last = story.json(&["diff", "--thread", "0198a"]).await?;
        let (from, to) = (&last["from"], &last["to"]);
        assert_eq!([from, to], ["cp-0001", "cp-0002"]);
        let change = |path: &str, what: &str, size: u64, version: u64| {
            json!({
                "path": path, "what": what, "kind": "file", "size": size, "version": version,
            })
        };
        assert_eq!(
            last["changes"],
            json!([
                change("app.txt", "modified", 6, 3),
                change("gone.txt", "removed", 0, 2),
                change("new.txt", "added", 4, 1),
            ])
        );

        let same = story.run(&["diff", "now"]).await?;
        assert_eq!((same.code, same.out.as_str()), (Some(0), ""));
        ensure!(same.err.ends_with("No file differs.\n"), "{}", same.err);
        story.scratch.write("app.txt", "five\n")?;
        let now = story.run(&["diff", "now"]).await?;
        assert_eq!(now.out, one_line("four", "five"));
        assert_eq!(
            now.err,
            format!("Thread {YOUNGER_SHORT}: from cp-0001 to now\n")
        );
        Ok(())
    });
}

#[test]
fn every_version_of_a_file_can_be_shown() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let history = story.json(&["history", "app.txt"]).await?;
        let versions = history["versions"].as_array().context("versions")?;
        let shown: Vec<Value> = versions
            .iter()
            .map(|each| json!([each["version"], each["size"], each["hash"]]))
            .collect();
        let texts = ["one\n", "two\n", "three\n", "four\n"];
        let expected: Vec<Value> = texts
            .iter()
            .zip(1..)
            .map(|(text, number)| {
                let hash = blake3::hash(text.as_bytes()).to_hex();
                json!([number, text.len(), hash.as_str()])
            })
            .collect();
        assert_eq!(shown, expected);
        for (text, number) in texts.iter().zip(1..) {
            let said = story.run(&["show", &format!("./app.txt@{number}")]).await?;
            assert_eq!((said.code, said.out.as_str()), (Some(0), *text));
        }
        assert_eq!(story.run(&["show", "app.txt"]).await?.out, "four\n");
        // One that is gone is kept all the same.
        let gone = story.json(&["show", "gone.txt@1"]).await?;
        assert_eq!(
            (&gone["path"], &gone["text"]),
            (&json!("gone.txt"), &json!("here\n"))
        );

        let text = story.run(&["history", "app.txt"]).await?.out;
        let first: Vec<&str> = text.lines().map(|line| &line[..2]).collect();
        assert_eq!(first, ["VE", "@1", "@2", "@3", "@4"]);
        Ok(())
    });
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    tell(LIMIT, async {
        let story = Story::new(&[("long.txt", &"line\n".repeat(1 << 18))])?;
        story.begin(ELDER)?;
        let mut child = story.command(&["show", "long.txt"]).spawn()?;
        drop(child.stdout.take());
        let ended = child.wait_with_output().await?;
        let err = String::from_utf8(ended.stderr)?;
        assert_eq!((ended.status.code(), err.as_str()), (Some(0), ""));
        Ok(())
    });
}

#[test]
fn pruning_and_deleting_let_go_of_what_was_named() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let kept = |thread: &str| -> anyhow::Result<Vec<u64>> {
            let kept = story.vault.kept(thread)?.map(|kept| kept.checkpoints);
            let numbers = kept.unwrap_or_default();
            Ok(numbers.iter().map(|each| each.number).collect())
        };
        let usual = story.json(&["prune"]).await?;
        assert_eq!(
            (&usual["checkpoints"], &usual["versions"]),
            (&json!(0), &json!(0))
        );

        // Of the elder's two the automatic one goes first.
        let fewer = story.run(&["prune", "--count", "1"]).await?;
        ensure!(fewer.out.starts_with("1 checkpoint and "), "{}", fewer.out);
        ensure!(
            fewer.out.contains("Left are 2 checkpoints of 2 threads,"),
            "{}",
            fewer.out
        );
        assert_eq!((kept(ELDER)?, kept(YOUNGER)?), (vec![2], vec![1]));

        let deleted = story.json(&["delete", "cp-0001"]).await?;
        assert_eq!(deleted, json!({ "thread": YOUNGER, "deleted": "cp-0001" }));
        assert_eq!(kept(YOUNGER)?, Vec::<u64>::new());

        let all = story.json(&["prune", "--age", "0s", "--size", "0"]).await?;
        assert_eq!(all["left"]["checkpoints"], 0);
        assert_eq!(all["left"]["threads"], 0);
        assert_eq!(kept(ELDER)?, Vec::<u64>::new());
        // The files themselves are nobody's to prune.
        assert_eq!(story.scratch.read("app.txt"), "four\n");
        Ok(())
    });
}

#[test]
fn all_workspaces_are_listed_even_one_that_is_gone() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let other = story.scratch.user().join("other");
        std::fs::create_dir(&other)?;
        let place = VaultPlace::new(
            story.scratch.home(),
            ".cowork".as_ref(),
            &other,
            SnapshotLimits::default(),
        );
        let (directory, bytes) = {
            let vault = place.open()?;
            (vault.directory().to_owned(), vault.size()?.bytes)
        };
        std::fs::remove_dir(&other)?;
        let mut all = story.json(&["list", "--all"]).await?;
        let lines = all.as_array_mut().context("a list")?;
        lines.sort_by_key(|line| line["threads"].as_u64());
        ensure!(lines[0]["bytes"].as_u64() <= Some(bytes), "{}", lines[0]);
        lines[0]["bytes"] = json!("any");
        let expected = json!([
            {
                "workspace": other, "gone": true, "directory": directory,
                "threads": 0, "checkpoints": 0, "bytes": "any", "error": null,
            },
            {
                "workspace": story.scratch.workspace(), "gone": false,
                "directory": story.vault.directory(), "threads": 2, "checkpoints": 3,
                "bytes": story.vault.size()?.bytes, "error": null,
            },
        ]);
        assert_eq!(all, expected);
        let text = story.run(&["list", "--all"]).await?.out;
        ensure!(
            text.contains(&format!("{} (gone)", other.display())),
            "{text}"
        );
        Ok(())
    });
}

#[test]
fn what_a_server_keeps_is_found_where_it_keeps_it() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        site.scratch.write("mine.txt", "mine\n")?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.say("show me a file edit").await?;
        let taken = |frame: &Value| {
            let list = frame["backup"]["checkpoints"].as_array();
            frame["type"] == "session_backup_state" && list.is_some_and(|list| !list.is_empty())
        };
        visitor.client.until(taken).await?;
        let listed = command(&site.scratch, site.scratch.workspace(), &["--json"]);
        let listed: Value = serde_json::from_str(&said(listed).await?.out)?;
        let thread = &listed["threads"][0];
        assert_eq!(thread["thread"], visitor.session, "{listed}");
        assert_eq!(thread["checkpoints"][0]["id"], "cp-0001");
        assert_eq!(thread["checkpoints"][0]["changed"], true);

        let title = thread["title"].as_str().context("a title")?;
        let text = command(&site.scratch, site.scratch.workspace(), &[]);
        let text = said(text).await?.out;
        let short = &visitor.session[..8];
        ensure!(
            text.contains(&format!("Thread {short} ({title})")),
            "{text}"
        );

        // The server holds the workspace open, and is in nobody's way.
        let restore = ["restore", "original", "--yes"];
        let restore = command(&site.scratch, site.scratch.workspace(), &restore);
        let restored = said(restore).await?;
        assert_eq!(restored.code, Some(0), "{restored:?}");
        let left = files_in(site.scratch.workspace())?;
        assert_eq!(left, [site.scratch.workspace().join("mine.txt")]);
        Ok(())
    });
}

/// The first turn has changed files and left no checkpoint yet.
#[test]
fn the_original_outlives_a_kill_in_the_first_turn() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        scratch.write("mine.txt", "mine\n")?;
        let call = r#"call write {"filePath":"new.txt","content":"of the agent\n"}"#;
        let script = scratch.user().join("script");
        std::fs::write(&script, format!("turn\n{call}\nnext\nsay Done.\nhold\n"))?;
        let launch = Launch::new(DRAGOMAN, &scratch).rehearsal(&script);
        let mut server = Process::start(&launch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        visitor.say("write a file").await?;
        let wrote = |frame: &Value| frame["partType"] == "text_delta";
        visitor.client.until(wrote).await?;
        ensure!(scratch.workspace().join("new.txt").exists());
        server.kill9().await?;
        server.restart().await?;

        let url = format!("{}?resumeSessionId={}", server.url(), visitor.session);
        let mut client = Client::connect(&url).await?;
        client.until_type("server_hello").await?;
        let restore = json!({"type": "session_backup_restore", "sessionId": visitor.session});
        client.send_json(&restore).await?;
        let restored = |frame: &Value| frame["reason"] == "restore" || frame["type"] == "error";
        let restored = client.until(restored).await?;
        assert_eq!(restored["backup"]["status"], "ready", "{restored}");
        let left = files_in(scratch.workspace())?;
        assert_eq!(left, [scratch.workspace().join("mine.txt")]);
        Ok(())
    });
}

#[test]
fn a_server_that_keeps_nothing_says_so() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch).argument("--checkpoints=off");
        let server = Process::start(&launch).await?;
        let mut client = Client::connect(server.url()).await?;
        let state = client.until_type("session_backup_state").await?;
        let told = (
            &state["backup"]["status"],
            &state["backup"]["failureReason"],
        );
        assert_eq!(
            told,
            (&json!("failed"), &json!("checkpoints are turned off"))
        );
        ensure!(!scratch.home().join("checkpoints").exists());
        Ok(())
    });
}
