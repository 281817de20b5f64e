//! A database that was damaged is said to be damaged; it is neither replaced nor touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::{LIMIT, dragoman, err};
use crate::{Site, Visitor, tell};

/// What became of the file.
enum Damage {
    Gone,
    Content(Vec<u8>),
}

fn damages(whole: &[u8]) -> Vec<(&'static str, Damage)> {
    let noise: Vec<u8> = (0..whole.len()).map(|at| (at * 37 % 251) as u8).collect();
    let mut anothers = whole.to_vec();
    anothers[68..72].copy_from_slice(&[0, 0, 0, 7]);
    let mut middle = whole.to_vec();
    middle[100..2048].fill(0x55);
    vec![
        ("the file is gone", Damage::Gone),
        ("the file is empty", Damage::Content(Vec::new())),
        ("the file was overwritten", Damage::Content(noise)),
        (
            "the file was overwritten",
            Damage::Content(b"Dear diary".to_vec()),
        ),
        ("the file was overwritten", Damage::Content(anothers)),
        (
            "malformed",
            Damage::Content(whole[..whole.len() / 2].to_vec()),
        ),
        ("malformed", Damage::Content(middle)),
    ]
}

#[test]
fn a_damaged_database_stops_the_start_and_is_not_touched() {
    tell(LIMIT * 2, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo keep this").await?;
        assert_eq!(site.server.terminate().await?.code(), Some(0));
        let home = site.scratch.home().to_owned();
        let path = home.join("sessions.db");
        let whole = std::fs::read(&path)?;
        for (expected, damage) in damages(&whole) {
            match &damage {
                Damage::Gone => std::fs::remove_file(&path)?,
                Damage::Content(content) => std::fs::write(&path, content)?,
            }
            let before = databases(&home)?;
            let output = dragoman(&site.scratch, &["--port", "0", "--json"])
                .output()
                .await?;
            let said = err(&output);
            assert_eq!(output.status.code(), Some(1), "{expected}: {said}");
            ensure!(output.stdout.is_empty(), "{expected}: it announced itself");
            for words in [
                format!("the database {} is damaged", path.display()),
                expected.to_owned(),
                "Nothing was changed".to_owned(),
                format!("Copy {} before anything else", home.display()),
                "dragoman --home DIR".to_owned(),
            ] {
                ensure!(said.contains(&words), "no `{words}` in {said}");
            }
            ensure!(
                databases(&home)? == before,
                "{expected}: files were touched"
            );
            std::fs::write(&path, &whole)?;
        }

        site.server.restart().await?;
        let mut again = Visitor::arrive(&site.server).await?;
        let sessions = again.list().await?;
        ensure!(sessions.contains(&visitor.session), "{sessions:?}");
        Ok(())
    });
}

/// The files of databases in a directory, with what is in them. Side files that SQLite makes for a
/// look, and takes away again, hold nothing.
fn databases(home: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(home)? {
        let path = file?.path();
        let name = path.file_name().context("a name")?.to_string_lossy();
        if name.contains(".db") && !name.ends_with("-shm") {
            let content = std::fs::read(&path)?;
            if !(content.is_empty() && name.ends_with("-wal")) {
                found.insert(path, content);
            }
        }
    }
    Ok(found)
}

#[test]
fn another_programs_database_is_left_alone() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let home = site.scratch.home().to_owned();
        assert_eq!(site.server.terminate().await?.code(), Some(0));
        // As if Dragoman had never been here, and another program had.
        std::fs::remove_dir_all(&home)?;
        std::fs::create_dir(&home)?;
        std::fs::write(home.join("sessions.db"), "Dear diary")?;
        site.server.restart().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo keep this").await?;
        let log = site.server.whole_log();
        ensure!(log.contains("belongs to another program"), "{log}");
        assert_eq!(std::fs::read(home.join("sessions.db"))?, b"Dear diary");

        // It goes away: what was kept beside it is still found.
        std::fs::remove_file(home.join("sessions.db"))?;
        site.server.restart().await?;
        let mut again = Visitor::arrive(&site.server).await?;
        let sessions = again.list().await?;
        ensure!(sessions.contains(&visitor.session), "{sessions:?}");
        ensure!(!home.join("sessions.db").exists());
        Ok(())
    });
}
