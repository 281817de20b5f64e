//! `dragoman doctor`: what is wrong is seen, and what can be read of a damaged database is saved.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::Scratch;

use crate::imports::dragoman;
use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(90);
const PAGE: u64 = 1024;

/// A check of `dragoman doctor --json`, by its name.
async fn check(scratch: &Scratch, name: &str) -> anyhow::Result<(String, String)> {
    let (_, said) = dragoman(scratch, &["doctor", "--json"]).await?;
    let told = printed(&said)?;
    let checks = told["checks"].as_array().context("no checks")?;
    let named = checks.iter().find(|check| check["name"] == name);
    let named = named.with_context(|| format!("no check {name} in {said}"))?;
    let text = |field: &str| named[field].as_str().unwrap_or_default().to_owned();
    Ok((text("status"), text("message")))
}

/// What was printed; an error, or a word about a session that is lost, follows it.
fn printed(said: &str) -> anyhow::Result<Value> {
    let mut values = serde_json::Deserializer::from_str(said).into_iter();
    Ok(values.next().context("nothing said")??)
}

fn database(scratch: &Scratch) -> PathBuf {
    scratch.home().join("sessions.db")
}

/// A home whose first session is old and whose other ones are long; gives all their ids.
async fn filled(site: &mut Site) -> anyhow::Result<Vec<String>> {
    let mut sessions = Vec::new();
    for number in 0..4 {
        let mut visitor = Visitor::arrive(&site.server).await?;
        for _ in 0..6 {
            visitor
                .converse(&format!("echo {number} {}", "word ".repeat(800)))
                .await?;
        }
        sessions.push(visitor.session);
    }
    site.server.terminate().await?;
    Ok(sessions)
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        Visitor::arrive(&site.server)
            .await?
            .converse("echo hello")
            .await?;
        let scratch = &site.scratch;
        let (well, said) = dragoman(scratch, &["doctor"]).await?;
        ensure!(well && said.contains("1 session, nothing wrong"), "{said}");
        let (_, in_use) = check(scratch, "servers").await?;
        ensure!(in_use.contains("has the database open"), "{in_use}");
        let (well, said) = dragoman(scratch, &["doctor", "--repair"]).await?;
        ensure!(!well && said.contains("stop it first"), "{said}");

        let key = scratch.home().join("session-ids.key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644))?;
        let (status, message) = check(scratch, "secret").await?;
        ensure!(
            status == "fail" && message.contains("chmod 600"),
            "{message}"
        );
        let (well, _) = dragoman(scratch, &["doctor"]).await?;
        ensure!(!well, "a failure must be seen in the exit code");
        site.server.terminate().await?;
        Ok(())
    });
}

/// Damages a filled database, repairs it, and gives the sessions before and after.
async fn repaired(
    damage: fn(&Scratch) -> anyhow::Result<()>,
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let mut site = Site::open().await?;
    let sessions = filled(&mut site).await?;
    damage(&site.scratch)?;
    let damaged = std::fs::read(database(&site.scratch))?;
    let (status, message) = check(&site.scratch, "database").await?;
    ensure!(
        status == "fail" && message.contains("--repair"),
        "{message}"
    );
    let (well, said) = dragoman(&site.scratch, &["doctor", "--repair", "--json"]).await?;
    ensure!(well, "{said}");
    let told = printed(&said)?;
    let aside = told["keptAside"].as_str().context("nothing kept aside")?;
    ensure!(
        std::fs::read(aside)? == damaged,
        "the damaged file was changed"
    );
    let (status, message) = check(&site.scratch, "database").await?;
    ensure!(status == "ok", "{message}");

    site.server.restart().await?;
    let mut control = Visitor::arrive(&site.server).await?;
    let listed = control.list().await?;
    assert_eq!(told["sessions"], listed.len());
    for session in &listed {
        let mut visitor = Visitor::resume(&site.server, session).await?;
        assert_eq!(visitor.converse("echo alive").await?, "alive");
    }
    Ok((sessions, listed))
}

fn overwrite(scratch: &Scratch, at: u64, bytes: usize) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).open(database(scratch))?;
    Ok(file.write_all_at(&vec![0xa5; bytes], at)?)
}

#[test]
fn of_a_file_that_was_cut_off_the_older_sessions_come_back() {
    tell(LIMIT, async {
        let cut = |scratch: &Scratch| {
            let file = OpenOptions::new().write(true).open(database(scratch))?;
            let pages = file.metadata()?.len() / PAGE;
            Ok(file.set_len(pages * 2 / 3 * PAGE)?)
        };
        let (before, after) = repaired(cut).await?;
        ensure!(after.contains(&before[0]), "the first is lost: {after:?}");
        Ok(())
    });
}

#[test]
fn pages_overwritten_in_the_middle_cost_only_what_was_on_them() {
    tell(LIMIT, async {
        let scribble = |scratch: &Scratch| {
            let pages = std::fs::metadata(database(scratch))?.len() / PAGE;
            overwrite(scratch, pages / 2 * PAGE, 4 * PAGE as usize)
        };
        let (before, after) = repaired(scribble).await?;
        ensure!(
            after.len() >= before.len() - 1,
            "{} of {}",
            after.len(),
            before.len()
        );
        Ok(())
    });
}

#[test]
fn a_broken_header_costs_nothing() {
    tell(LIMIT, async {
        let (mut before, mut after) = repaired(|scratch| overwrite(scratch, 0, 100)).await?;
        before.sort();
        after.sort();
        assert_eq!(after, before);
        Ok(())
    });
}
