//! What only a file can do: belong to someone else, be full, outlive a killed process.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;
use vocabulary::{SearchKind, Seq};

use crate::sqlite::{SqliteStore, titles};
use crate::testing::story::{a_batch, a_thread, an_event};
use crate::{Batch, IndexPart, IndexPiece, Lease, SearchText, Store, StoreError, StoredEvent};

const LARGE_BYTES: usize = 1 << 20;
/// Tells the second process where the database is.
const CHILD_PATH: &str = "DRAGOMAN_TEST_STORE";

fn scratch() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().expect("a scratch directory");
    let path = home.path().join("sessions.db");
    (home, path)
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, "a test").expect("opens")
}

async fn created(store: &SqliteStore, number: u64) -> Lease {
    let thread = a_thread(number);
    let lease = store.acquire(thread.card.id).await.expect("it is free");
    let batch = Batch {
        thread: Some(thread),
        ..a_batch(&[1])
    };
    store.append(lease, Seq(0), batch).await.expect("created");
    lease
}

#[test]
fn another_programs_file_is_refused_and_left_alone() {
    let (_home, path) = scratch();
    let other = rusqlite::Connection::open(&path).expect("opens");
    other
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE theirs (x); PRAGMA application_id = 7",
        )
        .expect("theirs");
    drop(other);
    let before = std::fs::read(&path).expect("reads");
    let refused = SqliteStore::open(&path, "a test").err();
    assert!(
        matches!(refused, Some(StoreError::Foreign(_))),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(&path).expect("reads"), before);

    std::fs::write(&path, "Dear diary").expect("writes");
    let refused = SqliteStore::open(&path, "a test").err();
    assert!(
        matches!(refused, Some(StoreError::Foreign(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_database_that_was_there_is_never_taken_for_a_new_one() {
    let (home, path) = scratch();
    created(&open(&path), 1).await;
    let whole = std::fs::read(&path).expect("reads");
    let half = whole[..whole.len() / 2].to_vec();
    let noise: Vec<u8> = (0..whole.len()).map(|at| (at * 37 % 251) as u8).collect();
    let damages: [(&str, Option<&[u8]>); 5] = [
        ("gone", None),
        ("empty", Some(b"")),
        ("overwritten", Some(&noise)),
        ("overwritten", Some(&whole[..50])),
        ("malformed", Some(&half)),
    ];
    for (expected, content) in damages {
        match content {
            Some(content) => std::fs::write(&path, content).expect("writes"),
            None => std::fs::remove_file(&path).expect("removes"),
        }
        match SqliteStore::open(&path, "a test") {
            Err(StoreError::Damaged(what)) => assert!(what.contains(expected), "{what}"),
            Err(other) => panic!("{expected}: {other:?}"),
            Ok(_) => panic!("{expected}: it was opened"),
        }
        assert_eq!(std::fs::read(&path).ok().as_deref(), content, "{expected}");
        std::fs::write(&path, &whole).expect("writes");
    }
    let store = open(&path);
    let thread = store.thread(a_thread(1).card.id).await.expect("reads");
    assert!(thread.is_some(), "what was put back is there again");
    drop(home);
}

#[test]
fn a_log_without_its_database_is_not_thrown_away() {
    let (home, path) = scratch();
    let log = home.path().join("sessions.db-wal");
    std::fs::write(&log, "what was written last").expect("writes");
    let refused = SqliteStore::open(&path, "a test").err();
    let gone = StoreError::Damaged("the file is gone".to_owned());
    assert_eq!(refused, Some(gone));
    assert!(log.exists() && !path.exists());
}

#[test]
fn one_whose_making_was_cut_short_is_made_again() {
    let (_home, path) = scratch();
    std::fs::write(&path, "").expect("writes");
    open(&path);
}

#[tokio::test]
async fn titles_are_read_beside_a_process_that_writes() {
    let (_home, path) = scratch();
    let store = open(&path);
    created(&store, 1).await;
    let (known, unknown) = (a_thread(1), a_thread(2));
    let titles = titles(&path, &[known.card.id, unknown.card.id]).expect("reads");
    assert_eq!(titles, [(known.card.id, known.title.text)].into());
}

#[tokio::test]
async fn its_files_are_for_the_owner_only() {
    let (home, path) = scratch();
    let store = open(&path);
    created(&store, 1).await;
    let mut seen = Vec::new();
    for file in home.path().read_dir().expect("reads") {
        let file = file.expect("reads");
        let mode = file.metadata().expect("is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?} is open to others", file.file_name());
        seen.push(file.file_name());
    }
    assert_eq!(seen.len(), 4, "database, log, index, owners: {seen:?}");
}

#[tokio::test]
async fn a_full_disk_refuses_and_loses_nothing() {
    let (_home, path) = scratch();
    let store = open(&path);
    let lease = created(&store, 1).await;
    let large = Batch {
        events: vec![StoredEvent {
            payload: Bytes::from(vec![0; LARGE_BYTES]),
            ..an_event(2)
        }],
        ..a_batch(&[])
    };
    store.limit_pages(1).await.expect("limited");
    let refused = store.append(lease, Seq(1), large.clone()).await;
    assert_eq!(refused, Err(StoreError::Full));
    let loaded = store.load(lease.thread).await.expect("loads");
    assert_eq!(loaded.expect("is there").last_seq, Seq(1));
    store.limit_pages(u32::MAX).await.expect("room again");
    store
        .append(lease, Seq(1), large)
        .await
        .expect("room again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_fails_does_not_hurt_the_others_in_its_group() {
    let (_home, path) = scratch();
    let store = Arc::new(open(&path));
    let mut writers = Vec::new();
    for number in 1..=20 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let lease = created(&store, number).await;
            for seq in 2..10 {
                let astray = store.append(lease, Seq(seq), a_batch(&[seq])).await;
                assert!(matches!(astray, Err(StoreError::OutOfStep { .. })));
                let right = store.append(lease, Seq(seq - 1), a_batch(&[seq])).await;
                right.expect("in step");
            }
            let log = store.events(lease.thread, Seq(0), 100).await;
            assert_eq!(log.expect("reads").len(), 9);
        }));
    }
    for writer in writers {
        writer.await.expect("every writer got its answers");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_write_side_by_side() {
    let (_home, path) = scratch();
    let write = async |store: SqliteStore, number: u64| {
        let lease = created(&store, number).await;
        for seq in 2..=50 {
            let append = store.append(lease, Seq(seq - 1), a_batch(&[seq])).await;
            append.expect("the other's transactions are waited for");
        }
        store.events(lease.thread, Seq(0), 100).await
    };
    let (left, right) = tokio::join!(write(open(&path), 1), write(open(&path), 2));
    assert_eq!(left.expect("reads").len(), 50);
    assert_eq!(right.expect("reads").len(), 50);
}

#[tokio::test]
async fn a_panic_in_the_writer_is_an_error_for_its_callers() {
    let (_home, path) = scratch();
    let store = open(&path);
    let lease = created(&store, 1).await;
    let panicked = store.panic_in_the_writer().await;
    assert!(matches!(panicked, Err(StoreError::Failed(_))));
    let after = store.append(lease, Seq(1), a_batch(&[2])).await;
    assert!(matches!(after, Err(StoreError::Failed(_))));
    assert!(store.ready().await.is_err());
}

#[tokio::test]
async fn a_killed_process_frees_its_threads_at_once() {
    let (_home, path) = scratch();
    let store = open(&path);
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "tests::sqlite::in_a_second_process",
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD_PATH, &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = output.lines().map_while(|line| line.ok());
    assert!(
        lines.any(|line| line.contains("holding")),
        "it never got the thread"
    );

    let id = a_thread(1).card.id;
    let held = store.acquire(id).await;
    let owner = "the other".to_owned();
    assert_eq!(held, Err(StoreError::Held { owner }));
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_eq!(store.unfinished().await, Ok(vec![id]));
    let lease = store.acquire(id).await.expect("free at once");
    let appended = store.append(lease, Seq(2), a_batch(&[3])).await;
    appended.expect("all that was acknowledged is there");
}

#[tokio::test]
async fn whoever_comes_by_a_link_meets_the_same_owner() {
    let (home, path) = scratch();
    let store = open(&path);
    let lease = created(&store, 1).await;
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("made");
    let link = elsewhere.join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let held = open(&link).acquire(lease.thread).await;
    assert!(matches!(held, Err(StoreError::Held { .. })), "{held:?}");
}

/// Not a test: what the test above starts and kills.
#[tokio::test]
#[ignore = "run by a_killed_process_frees_its_threads_at_once"]
async fn in_a_second_process() {
    let Ok(path) = std::env::var(CHILD_PATH) else {
        return;
    };
    let store = SqliteStore::open(Path::new(&path), "the other").expect("opens");
    let lease = created(&store, 1).await;
    let running = Batch {
        unfinished: true,
        ..a_batch(&[2])
    };
    store.append(lease, Seq(1), running).await.expect("in step");
    println!("\nholding");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_dead_are_cleared_away_at_the_next_opening() {
    let (home, path) = scratch();
    let files = || {
        home.path()
            .join("owners")
            .read_dir()
            .expect("reads")
            .count()
    };
    for number in 1..=3 {
        created(&open(&path), number).await;
    }
    let _alive = open(&path);
    assert_eq!(files(), 3, "the gate, the mark and the one who lives");
}

#[tokio::test]
async fn nothing_of_a_deleted_thread_is_found_in_any_file() {
    const MARK: &str = "a-word-that-stands-nowhere-else";
    const INDEXED: &str = "zyzzyvaquux";
    let (home, path) = scratch();
    let is_found = |mark: &str| {
        let files = std::fs::read_dir(home.path()).expect("a directory");
        files
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file())
            .any(|path| {
                let bytes = std::fs::read(path).expect("reads");
                bytes
                    .windows(mark.len())
                    .any(|each| each == mark.as_bytes())
            })
    };
    let store = open(&path);
    let (lease, _other) = (created(&store, 1).await, created(&store, 2).await);
    for seq in 2..40 {
        // Rows of many sizes, each state in the place of the one before.
        let text = format!("{MARK} {}", "x".repeat(seq as usize * 300));
        let events = vec![StoredEvent {
            payload: Bytes::from(text.clone()),
            ..an_event(seq)
        }];
        let batch = Batch {
            events,
            state: Bytes::from(text),
            ..a_batch(&[])
        };
        store
            .append(lease, Seq(seq - 1), batch)
            .await
            .expect("kept");
    }
    // A word of its own in the index, too.
    let next = store.unindexed(IndexPart::New, 99).await.expect("reads");
    let piece = IndexPiece {
        span: next.span,
        hidden: Vec::new(),
        texts: vec![SearchText {
            thread: a_thread(1).card.id,
            seq: Seq(2),
            kind: SearchKind::User,
            text: INDEXED.to_owned(),
        }],
    };
    assert_eq!(store.index(piece).await, Ok(true));
    assert!(is_found(MARK) && is_found(INDEXED));
    assert!(store.delete(lease).await.expect("deleted"));
    assert!(!is_found(MARK));
    while store.purge_index().await.expect("it can be done") {}
    assert!(!is_found(INDEXED), "words go, too");
}
