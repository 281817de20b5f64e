//! Finds the database of a data directory and opens it.
//!
//! One that was there and is damaged is never taken for a new one, or for another program's: its
//! threads would seem lost, and new ones would be kept elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use engine::VaultPlace;
use store::sqlite::{self, DatabasePresence, SqliteStore};
use store::{SharedStore, StoreError};

/// The name that clients of the cowork family know, so another program may have it already.
const USUAL: &str = "sessions.db";
/// What we use then.
const BESIDE: &str = "dragoman.db";

/// Opens our database; another program's file of that name stays as it is and ours goes beside it.
pub fn open(home: &Path, label: &str) -> anyhow::Result<SharedStore> {
    let path = place(home)?;
    match SqliteStore::open(&path, label) {
        Ok(store) => Ok(Arc::new(store)),
        Err(StoreError::Damaged(what)) => Err(damaged(&path, &what)),
        Err(error) => {
            Err(error).with_context(|| format!("cannot open the database {}", path.display()))
        }
    }
}

/// The database of a data directory, if there is one.
pub fn existing(home: &Path) -> Option<PathBuf> {
    let is_ours = |path: &PathBuf| matches!(sqlite::find(path), Ok(DatabasePresence::Ours));
    [USUAL, BESIDE]
        .map(|name| home.join(name))
        .into_iter()
        .find(is_ours)
}

/// The file that is, or was, the database of a data directory, whatever became of it.
pub fn damaged_place(home: &Path) -> Option<PathBuf> {
    let was_ours = |path: &PathBuf| {
        let found = sqlite::find(path);
        let is_ours = matches!(
            found,
            Ok(DatabasePresence::Ours | DatabasePresence::Lost(_))
        );
        is_ours && path.exists()
    };
    [USUAL, BESIDE]
        .map(|name| home.join(name))
        .into_iter()
        .find(was_ours)
}

/// Which of the two files is ours, or will be.
fn place(home: &Path) -> anyhow::Result<PathBuf> {
    let (usual, beside) = (home.join(USUAL), home.join(BESIDE));
    // What cannot even be looked at is told by whoever opens it.
    let (Ok(here), Ok(there)) = (sqlite::find(&usual), sqlite::find(&beside)) else {
        return Ok(usual);
    };
    match (here, there) {
        (DatabasePresence::Ours, _) => Ok(usual),
        (DatabasePresence::Lost(what), _) => Err(damaged(&usual, what)),
        // The other program's file went away, or is yet to come: ours stays where it is.
        (_, DatabasePresence::Ours) => Ok(beside),
        (_, DatabasePresence::Lost(what)) => Err(damaged(&beside, what)),
        (DatabasePresence::Other(what), DatabasePresence::Nothing | DatabasePresence::Empty) => {
            // Owners come with a database: if it is not the one beside, it was this one.
            if !beside.exists() && home.join(sqlite::OWNERS).exists() {
                return Err(damaged(&usual, sqlite::OVERWRITTEN));
            }
            let (usual, name) = (usual.display(), BESIDE);
            tracing::warn!(
                "{usual} belongs to another program (it is {what}) and stays as it is; using {name} instead. \
                 `dragoman sessions import --from {usual}` takes its sessions over"
            );
            Ok(beside)
        }
        (DatabasePresence::Other(what), DatabasePresence::Other(_)) => bail!(
            "{} and {} both belong to other programs (the first is {what}); choose another data \
             directory with --home or DRAGOMAN_HOME",
            usual.display(),
            beside.display()
        ),
        (found @ (DatabasePresence::Nothing | DatabasePresence::Empty), _) => {
            match has_traces(home, &found) {
                true => Err(damaged(&usual, sqlite::GONE)),
                false => Ok(usual),
            }
        }
    }
}

/// Whether a data directory without a database once had one: it left checkpoints of its threads, or
/// the locks of its owners.
fn has_traces(home: &Path, found: &DatabasePresence) -> bool {
    let vaults = std::fs::read_dir(VaultPlace::root(home));
    let vaults = vaults.is_ok_and(|mut vaults| vaults.next().is_some());
    vaults || (*found == DatabasePresence::Nothing && home.join(sqlite::OWNERS).exists())
}

/// What is wrong, and what to do.
fn damaged(path: &Path, what: &str) -> anyhow::Error {
    let home = path.parent().unwrap_or(path).display();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let recover = match path.exists() {
        true => "\n     Without one, `dragoman doctor --repair` saves what can be read of it."
            .to_owned(),
        false => String::new(),
    };
    anyhow!(
        "the database {} is damaged: {what}. Nothing was changed.\n  \
         1. Copy {home} before anything else.\n  \
         2. Put {name} back from a backup, with its {name}-wal if there is one.{recover}\n  \
         3. To go on without it, choose another data directory: dragoman --home DIR\n     \
         (or DRAGOMAN_HOME), or move this one away.",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    fn chosen(home: &Path) -> Option<String> {
        let path = place(home).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    #[test]
    fn another_programs_file_is_left_alone_and_ours_stays_where_it_is() {
        let home = home();
        let usual = home.path().join(USUAL);
        assert_eq!(chosen(home.path()).as_deref(), Some(USUAL));
        std::fs::write(&usual, "Dear diary").expect("writes");
        assert_eq!(chosen(home.path()).as_deref(), Some(BESIDE));
        drop(open(home.path(), "a test").expect("opens"));
        assert_eq!(chosen(home.path()).as_deref(), Some(BESIDE));
        assert_eq!(existing(home.path()), Some(home.path().join(BESIDE)));
        // The other program went away: ours must not be forgotten for a new one.
        std::fs::remove_file(&usual).expect("removed");
        assert_eq!(chosen(home.path()).as_deref(), Some(BESIDE));
        std::fs::write(home.path().join(BESIDE), "").expect("writes");
        assert_eq!(chosen(home.path()), None);
    }

    #[test]
    fn traces_of_threads_mean_that_there_was_a_database() {
        for trace in ["checkpoints/vault", "owners"] {
            let home = home();
            std::fs::create_dir_all(home.path().join(trace)).expect("made");
            let error = place(home.path()).expect_err("refused").to_string();
            assert!(error.contains("is damaged: the file is gone"), "{error}");
            assert!(error.contains("--home DIR"), "{error}");
            std::fs::write(home.path().join(USUAL), "noise").expect("writes");
            // Without owners it may be anybody's.
            assert_eq!(chosen(home.path()).is_some(), trace != "owners");
        }
    }
}
