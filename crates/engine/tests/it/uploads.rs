//! Files that clients upload: where they lie, who is told, and what is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use providers::Message;
use store::Store;
use vocabulary::{Call, Fact, FileUpload, FilesFact, Refusal, Reply, ThreadId, UploadedFile, Why};

use crate::house::{House, Stage};
use crate::puppet::{Play, Puppet, says};

fn upload(thread: ThreadId, name: &str, content: &[u8]) -> Call {
    Call::UploadFile(FileUpload {
        thread,
        name: name.to_owned(),
        base64: STANDARD.encode(content).into(),
    })
}

async fn uploaded(house: &House, thread: ThreadId, name: &str, content: &[u8]) -> UploadedFile {
    let reply = house.call(upload(thread, name, content)).await;
    *reply.and_then(Reply::uploaded).expect("an upload")
}

fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(said) => said.text.clone(),
        other => format!("{other:?}"),
    };
    messages.iter().map(text).collect()
}

#[tokio::test]
async fn an_upload_lies_in_the_workspace_and_the_model_is_told_once() {
    let puppet = Puppet::new([says("seen"), says("yes")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let file = uploaded(&house, thread, "../a b.txt", b"hello").await;
    let folder = std::fs::canonicalize(house.directory())
        .expect("a path")
        .join("uploads");
    assert_eq!((file.path.clone(), file.bytes), (folder.join("a b.txt"), 5));
    assert_eq!(std::fs::read(&file.path).expect("a file"), b"hello");
    let told = Fact::Files(FilesFact::Uploaded { file: file.clone() });
    ear.fact(|fact| *fact == told).await;
    let second = uploaded(&house, thread, "a b.txt", b"other").await;
    assert_eq!(second.name, "a b-2.txt");
    house.kept(thread).await;
    house.say(thread, "look").await.expect("a turn");
    ear.completed().await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, engine::ListenFrom::Head).await;
    house.say(thread, "again").await.expect("a turn");
    ear.completed().await;
    house.kept(thread).await;
    let requests = puppet.requests();
    let (first, second) = (texts(&requests[0].whole()), texts(&requests[1].whole()));
    let named = |texts: &[String], name: &str| {
        let said = texts.iter().filter(|text| text.contains(name));
        said.count()
    };
    assert_eq!(named(&first, "a b.txt (5 bytes)"), 1, "{first:?}");
    assert_eq!(named(&second, "a b.txt (5 bytes)"), 1, "{second:?}");
    assert_eq!(first.last().map(String::as_str), Some("look"));
    assert_eq!(
        second[..first.len()],
        first,
        "each begins with the one before"
    );
}

#[tokio::test]
async fn what_cannot_be_uploaded_says_why_and_leaves_nothing() {
    let puppet = Puppet::new([]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    let refused = |call| async { house.call(call).await.expect_err("a refusal") };
    let invalid = |field, message: &str| Refusal::invalid(field, message);
    assert_eq!(
        refused(upload(thread, "..", b"x")).await,
        invalid("filename", "Invalid filename")
    );
    let not_base64 = FileUpload {
        thread,
        name: "a".to_owned(),
        base64: "%%%".into(),
    };
    assert_eq!(
        refused(Call::UploadFile(not_base64)).await,
        invalid("contentBase64", "contentBase64 is not valid base64")
    );
    let large = FileUpload {
        thread,
        name: "a".to_owned(),
        base64: "A".repeat((10 << 20) + 1).into(),
    };
    assert_eq!(
        refused(Call::UploadFile(large)).await,
        invalid("contentBase64", "File too large (max ~7.5MB)")
    );
    std::os::unix::fs::symlink("/tmp", house.directory().join("uploads")).expect("a link");
    let led_out = refused(upload(thread, "a", b"x")).await;
    assert_eq!(led_out.why, Why::Storage);
    assert!(led_out.message.contains("leads outside"), "{led_out}");
    let row = house.store.load(thread).await.expect("a read");
    assert!(row.is_none(), "nothing happened in it");
}

#[tokio::test]
async fn while_a_turn_runs_nothing_is_uploaded() {
    let puppet = Puppet::new([Play::new().hang()]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "wait").await.expect("a turn");
    ear.fact(|fact| matches!(fact, Fact::Turn(_))).await;
    let refused = house.call(upload(thread, "a", b"x")).await;
    assert_eq!(refused, Err(Refusal::busy()));
    assert!(!house.directory().join("uploads").exists());
}
