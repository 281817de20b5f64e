//! Checkpoints under a thread: taken, told, restored, deleted, and out of the way.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkpoints::{RetentionPolicy, SnapshotLimits, Vault, VaultOptions};
use engine::{CheckpointSetting as Setting, ListenFrom};
use serde_json::json;
use vocabulary::{
    Call, Checkpoint, CheckpointCall, CheckpointId, CheckpointNews, CheckpointReply, Checkpoints,
    Fact, FileChangeKind, FileVersion, FilesFact, NewThread, NoteFact, Refusal, Reply,
    RestoreAction, Standing, StartedTurn, ThreadId, Timestamp, ToolEvent, ToolFact, Touched,
    Trigger, TurnFact, Why,
};

mod lasting;
mod restoring;
mod telling;
mod troubles;
mod waiting;
mod watching;

use crate::house::{Ear, House, Stage};
use crate::puppet::{Gate, Play, Puppet, calls, says};
use crate::toys::Toys;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.checkpoints = Setting::default();
    stage.auto_approve = true;
    stage
}

fn house(plays: impl IntoIterator<Item = Play>) -> House {
    House::in_real_time(stage(&Puppet::new(plays)))
}

/// An answer that writes a file.
fn writes(path: &str, content: &str) -> Play {
    let input = json!({"filePath": path, "content": content});
    calls(path, "write", input)
}

fn runs(command: &str) -> Play {
    calls(command, "bash", json!({ "command": command }))
}

async fn ask(house: &House, thread: ThreadId, call: CheckpointCall) -> Result<Reply, Refusal> {
    house.call(Call::Checkpoints { thread, call }).await
}

async fn state(house: &House, thread: ThreadId) -> Checkpoints {
    match ask(house, thread, CheckpointCall::Get).await {
        Ok(Reply::Checkpoints(reply)) => match *reply {
            CheckpointReply::State(state) => state,
            other => panic!("no state: {other:?}"),
        },
        other => panic!("no state: {other:?}"),
    }
}

async fn restore(
    house: &House,
    thread: ThreadId,
    to: Option<CheckpointId>,
) -> Result<Reply, Refusal> {
    let path = None;
    ask(house, thread, CheckpointCall::Restore { to, path }).await
}

/// The next news of the checkpoints.
async fn news(ear: &mut Ear) -> (CheckpointNews, Checkpoints) {
    let told = |fact: &Fact| matches!(fact, Fact::Files(FilesFact::CheckpointsChanged { .. }));
    match ear.fact(told).await {
        Fact::Files(FilesFact::CheckpointsChanged { news, now }) => (news, (*now).clone()),
        other => panic!("no news: {other:?}"),
    }
}

async fn files(ear: &mut Ear) -> Fact {
    ear.fact(|fact| matches!(fact, Fact::Files(FilesFact::Changed { .. })))
        .await
}

async fn logged(ear: &mut Ear, words: &str) {
    ear.fact(|fact| matches!(fact, Fact::Note(NoteFact::Logged { line }) if line.contains(words)))
        .await;
}

/// Lets a turn run to its checkpoint.
async fn turn(house: &House, thread: ThreadId, ear: &mut Ear) -> Checkpoints {
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let (news, now) = news(ear).await;
    assert_eq!(news, CheckpointNews::Taken(Trigger::Automatic));
    assert_eq!(now.standing, Standing::Ready);
    now
}

/// What of a list does not depend on when it was made: number, trigger, changed, changed from the
/// original.
fn gist(list: &[Checkpoint]) -> Vec<(u64, Trigger, bool, bool)> {
    let gist = |each: &Checkpoint| {
        let Checkpoint {
            id,
            trigger,
            changed,
            changed_from_original,
            ..
        } = *each;
        (id.0, trigger, changed, changed_from_original)
    };
    list.iter().map(gist).collect()
}

fn read(house: &House, path: &str) -> Option<String> {
    std::fs::read_to_string(house.directory().join(path)).ok()
}

fn version(path: &str, iteration: u64, size: u64, kind: FileChangeKind) -> FileVersion {
    FileVersion {
        path: path.to_owned(),
        iteration,
        size,
        kind,
    }
}

/// Where it is written down what is kept of a thread.
fn record(house: &House, thread: ThreadId) -> PathBuf {
    let home = house.directory().join("home");
    home.join("session-backups").join(thread.to_string())
}

fn place(house: &House) -> PathBuf {
    let root = house.directory().join("home/checkpoints");
    Vault::place(&root, house.directory())
}

fn vault(house: &House) -> Vault {
    let options = VaultOptions {
        workspace: house.directory().to_owned(),
        apart: vec![house.directory().join("home")],
        limits: SnapshotLimits::default(),
    };
    Vault::open(&place(house), options).expect("a vault")
}

/// Nobody looks at the workspace as long as this is held.
fn held(house: &House) -> File {
    let directory = place(house);
    std::fs::create_dir_all(&directory).expect("a directory");
    let lock = File::create(directory.join("scan.lock")).expect("a lock");
    lock.lock().expect("a lock of our own");
    lock
}

/// Waits for what nobody tells.
async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const AUTOMATIC: Trigger = Trigger::Automatic;
const MANUAL: Trigger = Trigger::Manual;

async fn thread_in(house: &House, directory: &Path) -> ThreadId {
    let new = NewThread {
        directory: Some(directory.to_owned()),
        ..NewThread::default()
    };
    match house.call(Call::CreateThread(Box::new(new))).await {
        Ok(Reply::Thread(thread)) => thread.card.id,
        other => panic!("no thread: {other:?}"),
    }
}

#[tokio::test]
async fn every_turn_leaves_a_checkpoint_and_says_what_it_changed() {
    let house = house([writes("a.txt", "one\ntwo\n"), says("done"), says("nothing")]);
    std::fs::write(house.directory().join("b.txt"), "b\n").expect("a file");
    let (thread, mut ear) = house.heard_thread().await;
    let before = state(&house, thread).await;
    let vault = place(&house).canonicalize().expect("a vault");
    let place = record(&house, thread);
    assert!(!place.exists(), "nothing is kept yet");
    assert_eq!(
        before,
        Checkpoints {
            standing: Standing::Ready,
            directory: Some(place.clone()),
            created_at: before.created_at,
            list: Vec::new(),
        }
    );
    let now = turn(&house, thread, &mut ear).await;
    let bytes = now.list[0].bytes;
    assert!(bytes > 0, "a new file costs something");
    assert_eq!(
        now,
        Checkpoints {
            standing: Standing::Ready,
            directory: Some(place.clone()),
            created_at: before.created_at,
            list: vec![Checkpoint {
                id: CheckpointId(1),
                at: now.list[0].at,
                trigger: AUTOMATIC,
                changed: true,
                changed_from_original: true,
                bytes,
            }],
        }
    );
    let written = std::fs::read(place.join("metadata.json")).expect("a record");
    let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(written["sessionId"], thread.to_string());
    assert_eq!(written["keptIn"], vault.to_string_lossy().as_ref());
    assert_eq!(written["checkpoints"][0]["id"], "cp-0001");
    let turn_id = ear.facts().iter().find_map(|fact| match fact {
        Fact::Turn(TurnFact::Started { turn, .. }) => Some(turn.clone()),
        _ => None,
    });
    let told: Vec<Fact> = ear
        .facts()
        .into_iter()
        .filter(|fact| {
            matches!(
                fact,
                Fact::Tool(ToolEvent {
                    what: ToolFact::Finished { .. },
                    ..
                }) | Fact::Files(FilesFact::Changed { .. })
                    | Fact::Files(FilesFact::TurnDiffed { .. })
                    | Fact::Turn(TurnFact::Finished { .. })
                    | Fact::Files(FilesFact::CheckpointsChanged { .. })
            )
        })
        .cloned()
        .collect();
    let [
        Fact::Tool(ToolEvent {
            what: ToolFact::Finished { .. },
            ..
        }),
        changed,
        Fact::Files(FilesFact::TurnDiffed { diff, .. }),
        Fact::Turn(TurnFact::Finished { .. }),
        Fact::Files(FilesFact::CheckpointsChanged { .. }),
    ] = told.as_slice()
    else {
        panic!("not in this order: {told:#?}")
    };
    let added = version("a.txt", 1, 8, FileChangeKind::Add);
    let expected = Fact::Files(FilesFact::Changed {
        turn: turn_id,
        files: vec![added],
    });
    assert_eq!(*changed, expected);
    assert!(diff.contains("+one\n+two\n"), "{diff}");
    let now = turn(&house, thread, &mut ear).await;
    let two = [(1, AUTOMATIC, true, true), (2, AUTOMATIC, false, true)];
    assert_eq!(gist(&now.list), two);
    assert_eq!(now.list[1].bytes, 0);
    assert_eq!(state(&house, thread).await, now);
}

#[tokio::test]
async fn a_turn_that_did_not_complete_leaves_a_checkpoint_as_well() {
    let puppet = Puppet::new([
        writes("a.txt", "one\n"),
        Play::new().hang(),
        says("fine"),
        writes("b.txt", "two\n"),
        Play::new().hang(),
    ]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(2).await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    let (told, now) = news(&mut ear).await;
    assert_eq!(told, CheckpointNews::Taken(AUTOMATIC));
    assert_eq!(gist(&now.list), [(1, AUTOMATIC, true, true)]);
    turn(&house, thread, &mut ear).await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(5).await;
    // The process dies, and the next one ends the turn.
    let house = house.crash();
    house.engine.recover().await.expect("a recovery");
    let until = Instant::now() + PATIENCE;
    let now = loop {
        let now = state(&house, thread).await;
        if now.list.len() > 2 {
            break now;
        }
        assert!(Instant::now() < until, "no checkpoint: {now:?}");
        tokio::task::yield_now().await;
    };
    let three = [
        (1, AUTOMATIC, true, true),
        (2, AUTOMATIC, false, true),
        (3, AUTOMATIC, true, true),
    ];
    assert_eq!(gist(&now.list), three);
}

#[tokio::test]
async fn what_a_command_or_a_person_changed_is_told_to_everyone_there() {
    let house = house([
        runs("mkdir d && echo hi > d/c.txt && ln -s c.txt d/link"),
        says("done"),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    let (other_thread, mut other) = house.heard_thread().await;
    state(&house, thread).await;
    state(&house, other_thread).await;
    let Ok(Reply::Turn(StartedTurn { turn, .. })) = house.say(thread, "go").await else {
        panic!("no turn")
    };
    let changed = vec![version("d/c.txt", 1, 3, FileChangeKind::Add)];
    let told = |turn| {
        Fact::Files(FilesFact::Changed {
            turn,
            files: changed.clone(),
        })
    };
    assert_eq!(files(&mut ear).await, told(Some(turn)));
    assert_eq!(files(&mut other).await, told(None));
    ear.fact(|fact| matches!(fact, Fact::Files(FilesFact::TurnDiffed { diff, .. }) if diff.contains("+hi")))
        .await;
    ear.completed().await;
    news(&mut ear).await;
    std::fs::write(house.directory().join("d/c.txt"), "by hand\n").expect("a file");
    ask(&house, thread, CheckpointCall::Take)
        .await
        .expect("a checkpoint");
    let changed = Fact::Files(FilesFact::Changed {
        turn: None,
        files: vec![version("d/c.txt", 2, 8, FileChangeKind::Update)],
    });
    assert_eq!(files(&mut ear).await, changed);
    assert_eq!(files(&mut other).await, changed);
}

#[tokio::test]
async fn versions_of_files_can_be_read() {
    let house = house([
        writes("a.txt", "one\n"),
        runs("echo more >> a.txt"),
        says("done"),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    state(&house, thread).await;
    turn(&house, thread, &mut ear).await;
    let history = |path: &str| CheckpointCall::History {
        path: path.to_owned(),
    };
    let reply = ask(&house, thread, history("./a.txt")).await;
    let Ok(Reply::Checkpoints(reply)) = reply else {
        panic!("no history: {reply:?}")
    };
    let CheckpointReply::History(versions) = *reply else {
        panic!("no history: {reply:?}")
    };
    let numbers: Vec<_> = versions.iter().map(|v| (v.iteration, v.size)).collect();
    assert_eq!(numbers, [(1, 4), (2, 9)]);
    assert!(versions.iter().all(|version| version.at > Timestamp(0)));
    let absolute = house.directory().join("a.txt").display().to_string();
    let at = |path: &str, iteration| CheckpointCall::FileAt {
        path: path.to_owned(),
        iteration,
    };
    let expected = Reply::Checkpoints(Box::new(CheckpointReply::File {
        content: b"one\n".to_vec(),
        iteration: versions[0].clone(),
    }));
    assert_eq!(ask(&house, thread, at(&absolute, 1)).await, Ok(expected));
    let why = async |call| match ask(&house, thread, call).await {
        Err(refusal) => refusal.why,
        Ok(reply) => panic!("an answer: {reply:?}"),
    };
    let invalid = Why::invalid("path");
    assert_eq!(why(at("a.txt", 3)).await, Why::UnknownFile);
    assert_eq!(why(history("no.txt")).await, Why::UnknownFile);
    assert_eq!(why(history("../a.txt")).await, Why::UnknownFile);
    assert_eq!(why(at("/etc/passwd", 1)).await, Why::UnknownFile);
    let path = Some("..".to_owned());
    let to = None;
    let outside = CheckpointCall::Restore { to, path };
    assert_eq!(why(outside).await, invalid);
}
