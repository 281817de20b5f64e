//! Defaults of projects: kept by one thread, found by the next, and trusted by that act.

use std::path::Path;

use serde_json::{Value, json};
use tools::ProjectDefaults;
use vocabulary::{
    Call, Changed, Changes, ModelRef, NewThread, Reply, Thread, ThreadId, ThreadSettings, Why,
};

use crate::house::{House, Stage};
use crate::puppet::{BIG, PUPPET, Puppet, says};

const ALL: [Changed; 5] = [
    Changed::Model,
    Changed::Mcp,
    Changed::SubAgentModel,
    Changed::Observability,
    Changed::Effort,
];

fn file(house: &House) -> std::path::PathBuf {
    house.directory().join(".cowork/config.json")
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, text).expect("written");
}

async fn made(house: &House, new: NewThread) -> Thread {
    let made = house.call(Call::CreateThread(Box::new(new))).await;
    *made.and_then(Reply::thread).expect("a thread")
}

async fn settings(house: &House) -> ThreadSettings {
    made(house, NewThread::default()).await.settings
}

async fn keep(house: &House, thread: ThreadId) -> Result<(), vocabulary::Refusal> {
    let settings = ALL.to_vec();
    let kept = house.call(Call::KeepDefaults { thread, settings }).await;
    kept.and_then(Reply::done)
}

fn small() -> ModelRef {
    ModelRef {
        provider: PUPPET.to_owned(),
        model: "small".to_owned(),
    }
}

fn changes() -> Changes {
    Changes {
        model: Some(small()),
        mcp: Some(false),
        observability: Some(false),
        sub_agent_model: Some(format!(" {PUPPET}/{BIG} ")),
        auto_approve: Some(true),
        effort: Some("high".to_owned()),
        ..Changes::default()
    }
}

#[tokio::test]
async fn what_one_thread_keeps_the_next_one_begins_with() {
    let puppet = Puppet::new([says("ok")]);
    let house = House::in_real_time(Stage::of(&puppet));
    put(
        &file(&house),
        r#"{"theme": "dark", "model": "x", "z": [1]}"#,
    );
    let (thread, _ear) = house.heard_thread().await;
    house.change(thread, changes()).await;
    keep(&house, thread).await.expect("kept");
    let text = std::fs::read_to_string(file(&house)).expect("a file");
    let expected = json!({
        "theme": "dark",
        "model": "small",
        "z": [1],
        "provider": PUPPET,
        "enableMcp": false,
        "subAgentModel": format!("{PUPPET}/{BIG}"),
        "observabilityEnabled": false,
        "reasoningEffort": "high",
    });
    let expected = serde_json::to_string_pretty(&expected).expect("JSON");
    assert_eq!(text, format!("{expected}\n"), "and in its order");
    let next = settings(&house).await;
    assert_eq!(next.model, small());
    assert_eq!(next.effort.as_deref(), Some("high"));
    let flags = (next.mcp, next.observability, next.auto_approve);
    assert_eq!(flags, (false, false, false), "yolo is a session's own");
    assert_eq!(next.sub_agent_model, format!("{PUPPET}/{BIG}"));
    let named = NewThread {
        changes: Changes {
            mcp: Some(true),
            ..Changes::default()
        },
        ..NewThread::default()
    };
    let named = made(&house, named).await;
    assert!(named.settings.mcp, "what a client names counts");
    let house = house.crash();
    assert_eq!(settings(&house).await, next);
}

#[tokio::test]
async fn a_broken_file_is_left_alone_and_the_session_goes_on() {
    let puppet = Puppet::new([]);
    let house = House::in_real_time(Stage::of(&puppet));
    put(&file(&house), "{ broken");
    let (thread, _ear) = house.heard_thread().await;
    house.change(thread, changes()).await;
    let refused = keep(&house, thread).await.expect_err("a refusal");
    assert_eq!(refused.why, Why::Storage);
    assert!(refused.message.contains("left alone"), "{refused}");
    let text = std::fs::read_to_string(file(&house)).expect("a file");
    assert_eq!(text, "{ broken");
    let found = house.call(Call::GetThread { thread }).await;
    let found = found.and_then(Reply::thread).expect("a thread");
    assert_eq!(found.settings.model, small(), "changed all the same");
}

#[tokio::test]
async fn files_of_others_are_read_and_the_environment_is_stronger() {
    let puppet = Puppet::new([]);
    let far = tempfile::tempdir().expect("a directory");
    let mut stage = Stage::of(&puppet);
    stage.defaults = ProjectDefaults {
        mcp: Some(true),
        uploads: Some(far.path().join("uploads")),
        ..ProjectDefaults::default()
    };
    let house = House::in_real_time(stage);
    let text = json!({
        "provider": PUPPET,
        "model": "small",
        "enableMcp": false,
        "outputDirectory": "out",
        "uploadsDirectory": "in",
    });
    put(
        &house.directory().join(".agent/config.json"),
        &text.to_string(),
    );
    let thread = made(&house, NewThread::default()).await;
    assert_eq!(
        (thread.settings.model, thread.settings.mcp),
        (small(), true)
    );
    assert_eq!(
        thread.card.output_folder(),
        Some(house.directory().join("out").as_path())
    );
    assert_eq!(thread.card.uploads_folder(), far.path().join("uploads"));
    assert!(house.directory().join("out").is_dir());
    // A provider that nobody knows is nobody's default.
    let unknown = json!({ "provider": "nobody", "model": "m" }).to_string();
    put(&file(&house), &unknown);
    assert_eq!(settings(&house).await.model.model, BIG);
}

#[tokio::test]
async fn what_is_written_through_us_asks_nobody_for_trust() {
    let puppet = Puppet::new([says("one"), says("two")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    let name = format!("trust {}", house.directory().display());
    let kept = || async {
        let tenant = vocabulary::TenantId::new("local");
        store::Store::setting(&*house.store, &tenant, &name)
            .await
            .expect("read")
    };
    keep(&house, thread).await.expect("kept");
    let first = kept().await.expect("trusted");
    house.change(thread, changes()).await;
    keep(&house, thread).await.expect("kept");
    let second = kept().await.expect("trusted");
    assert_ne!(first, second, "trust went along with the change");
    // What somebody else put there is not ours to trust.
    let mut root: Value =
        serde_json::from_str(&std::fs::read_to_string(file(&house)).expect("a file"))
            .expect("JSON");
    root["command"] = json!({ "x": { "template": "run this" } });
    put(&file(&house), &root.to_string());
    house
        .change(
            thread,
            Changes {
                mcp: Some(true),
                ..Changes::default()
            },
        )
        .await;
    keep(&house, thread).await.expect("kept");
    assert_eq!(
        kept().await,
        Some(second),
        "as it was trusted, and no further"
    );
}

#[tokio::test]
async fn usual_folders_are_there_from_the_start() {
    let puppet = Puppet::new([]);
    let house = House::in_real_time(Stage::of(&puppet));
    let plain = made(&house, NewThread::default()).await;
    assert_eq!(plain.card.folders, None);
    assert_eq!(
        house.directory().read_dir().expect("a directory").count(),
        0
    );
    let new = NewThread {
        usual_folders: true,
        ..NewThread::default()
    };
    let thread = made(&house, new).await;
    let output = house.directory().join("output");
    assert_eq!(thread.card.output_folder(), Some(output.as_path()));
    for folder in ["output", "uploads", ".agent"] {
        assert!(house.directory().join(folder).is_dir(), "{folder}");
    }
}

#[tokio::test]
async fn a_sub_agents_model_is_read_as_it_is_told() {
    let puppet = Puppet::new([]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    let set = |text: &str| Changes {
        sub_agent_model: Some(text.to_owned()),
        ..Changes::default()
    };
    let changes = set(&format!(" {PUPPET}/{BIG} "));
    house.change(thread, changes).await;
    let found = house.call(Call::GetThread { thread }).await;
    let found = found.and_then(Reply::thread).expect("a thread");
    assert_eq!(found.settings.sub_agent_model, format!("{PUPPET}/{BIG}"));
    house.change(thread, set("vendor/any")).await;
}

#[tokio::test(start_paused = true)]
async fn raw_chunks_are_included_where_the_directory_says_so() {
    let house = House::with(&Puppet::new([]));
    assert!(!house.engine.includes_raw_chunks().await);
    put(&file(&house), r#"{"includeRawChunks": true}"#);
    assert!(house.engine.includes_raw_chunks().await);
    put(&file(&house), r#"{"includeRawChunks": "yes"}"#);
    assert!(!house.engine.includes_raw_chunks().await);
}
