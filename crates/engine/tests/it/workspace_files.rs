//! The files of a workspace through a call: listed and read, and nothing beyond.

use engine::CheckpointSetting;
use vocabulary::{Call, FileCall, FileListing, FileReply, ReadFile, Refusal, ThreadId, Why};

use crate::house::{House, Stage};
use crate::puppet::Puppet;

async fn ask(house: &House, thread: ThreadId, call: FileCall) -> Result<FileReply, Refusal> {
    let reply = house.call(Call::Files { thread, call }).await?;
    reply.files()
}

fn list(path: Option<&str>, depth: u64) -> FileCall {
    FileCall::List {
        path: path.map(str::to_owned),
        depth,
    }
}

fn read(path: &str) -> FileCall {
    FileCall::Read {
        path: path.to_owned(),
        bytes_max: 5,
    }
}

#[tokio::test]
async fn files_are_listed_and_read() {
    let mut stage = Stage::of(&Puppet::new([]));
    // They are there whether versions of them are kept or not.
    stage.checkpoints = CheckpointSetting::Off;
    let house = House::in_real_time(stage);
    std::fs::create_dir(house.directory().join("src")).expect("a directory");
    std::fs::write(house.directory().join("src/a"), "five!").expect("a file");
    let (thread, _ear) = house.heard_thread().await;
    let listed = ask(&house, thread, list(None, 2)).await;
    let Ok(FileReply::List(FileListing { files, truncated })) = listed else {
        panic!("no list: {listed:?}");
    };
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert!(
        paths.contains(&"src") && paths.contains(&"src/a"),
        "{paths:?}"
    );
    assert!(!truncated && files.iter().all(|file| file.modified_at.millis() > 0));
    assert_eq!(
        ask(&house, thread, read("src/a")).await,
        Ok(FileReply::Content(ReadFile {
            size: 5,
            content: Some(b"five!".to_vec()),
        }))
    );
    let missing = ask(&house, thread, read("none"))
        .await
        .expect_err("nothing");
    assert_eq!(missing.why, Why::UnknownFile);
    for call in [
        read("src"),
        read("../x"),
        read("/etc/passwd"),
        read("/dev/zero"),
        read("a\0b"),
        list(Some(".."), 1),
        list(Some("src/a"), 1),
    ] {
        let outside = ask(&house, thread, call.clone()).await;
        assert_eq!(outside, Err(missing.clone()), "{call:?}");
    }
    let flat = ask(&house, thread, list(None, 0)).await;
    assert_eq!(flat.map_err(|no| no.why), Err(Why::invalid("depth")));
}

#[tokio::test]
async fn a_thread_that_is_not_there_has_no_files() {
    let house = House::in_real_time(Stage::of(&Puppet::new([])));
    let thread = ThreadId(uuid::Uuid::from_u128(7));
    let refused = ask(&house, thread, list(None, 1)).await;
    assert_eq!(refused.map_err(|no| no.why), Err(Why::UnknownThread));
}
