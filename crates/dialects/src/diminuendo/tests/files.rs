//! A file's versions: asked for, and told as they are made.

use serde_json::{Value, json};
use vocabulary::{
    Call, CheckpointCall, CheckpointReply, Fact, FileCall, FileChangeKind, FileIteration,
    FileListing, FileReply, FileVersion, FilesFact, ListedFile, ListedKind, ReadFile, Refusal,
    Reply, TurnId, Why,
};

use super::stub::Stub;
use crate::Heard;
use crate::cowork::tests::samples::{NOW, SESSION, event, thread_id, view};

fn said(kind: &str, fields: Value) -> Stub {
    let mut message = fields;
    message["type"] = json!(kind);
    message["sessionId"] = json!(SESSION);
    message["requestId"] = json!("r1");
    let mut stub = Stub::connected();
    stub.say(message);
    stub
}

fn version(iteration: u64, size: u64) -> FileIteration {
    FileIteration {
        iteration,
        at: NOW.plus_millis(iteration as i64),
        size,
        hash: format!("hash-{iteration}"),
    }
}

fn call(call: CheckpointCall) -> Call {
    let thread = thread_id(SESSION);
    Call::Checkpoints { thread, call }
}

fn shown_version(iteration: i64, size: u64) -> Value {
    json!({"iteration": iteration, "timestamp": NOW.millis() + iteration, "size": size,
        "hash": format!("hash-{iteration}")})
}

#[test]
fn a_history_lists_the_versions_oldest_first() {
    let mut stub = said("file_history", json!({"path": "src/a.rs"}));
    let path = "src/a.rs".to_owned();
    assert_eq!(stub.call(), &call(CheckpointCall::History { path }));
    let versions = vec![version(1, 5), version(2, 9)];
    let reply = CheckpointReply::History(versions);
    stub.reply(Ok(Reply::Checkpoints(Box::new(reply))));
    assert_eq!(
        stub.take(),
        [
            json!({"type": "file_history_result", "sessionId": SESSION, "path": "src/a.rs",
                "iterations": [shown_version(1, 5), shown_version(2, 9)], "requestId": "r1"})
        ]
    );
}

#[test]
fn a_long_history_is_shown_whole() {
    let mut stub = said("file_history", json!({"path": "log.txt"}));
    let reply = CheckpointReply::History((1..=1_200).map(|n| version(n, 1)).collect());
    stub.reply(Ok(Reply::Checkpoints(Box::new(reply))));
    let shown: Vec<_> = (1..=1_200).map(|n| shown_version(n, 1)).collect();
    assert_eq!(stub.take()[0]["iterations"], json!(shown));
}

fn content(bytes: &[u8]) -> Value {
    let mut stub = said("file_at_iteration", json!({"path": "a", "iteration": 3}));
    let (path, iteration) = ("a".to_owned(), 3);
    assert_eq!(
        stub.call(),
        &call(CheckpointCall::FileAt { path, iteration })
    );
    let reply = CheckpointReply::File {
        content: bytes.to_vec(),
        iteration: version(3, bytes.len() as u64),
    };
    stub.reply(Ok(Reply::Checkpoints(Box::new(reply))));
    let mut sent = stub.take();
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

#[test]
fn what_has_no_version_was_never_there() {
    let mut stub = said("file_history", json!({"path": "gone"}));
    let reply = CheckpointReply::History(Vec::new());
    stub.reply(Ok(Reply::Checkpoints(Box::new(reply))));
    assert_eq!(stub.take_error(), "FileNotFound");
}

#[test]
fn a_version_is_text_where_it_is_text_and_base64_where_it_is_not() {
    for (bytes, encoding, text) in [
        ("Grüße\n".as_bytes(), "utf-8", "Grüße\n"),
        (b"".as_slice(), "utf-8", ""),
        (b"\xff\xfe".as_slice(), "base64", "//4="),
        (b"a\0b".as_slice(), "base64", "YQBi"),
    ] {
        assert_eq!(
            content(bytes),
            json!({"type": "file_content", "sessionId": SESSION, "path": "a", "content": text,
                "encoding": encoding, "size": bytes.len(), "requestId": "r1"})
        );
    }
}

#[test]
fn a_version_that_fits_no_frame_is_refused() {
    assert_eq!(
        content(&vec![b'x'; (8 << 20) + 1]),
        json!({"type": "error", "code": "FileTooLarge",
            "message": "the file has 8388609 bytes; at most 8388608 are sent",
            "requestId": "r1"})
    );
}

#[test]
fn what_is_not_there_is_not_found() {
    for (kind, fields) in [
        ("file_history", json!({"path": "gone"})),
        ("file_at_iteration", json!({"path": "gone", "iteration": 0})),
        ("read_file", json!({"path": "gone"})),
        ("list_files", json!({"path": "gone"})),
    ] {
        for (why, message, code, told) in [
            (
                Why::UnknownFile,
                "/home/user/project/gone",
                "FileNotFound",
                "there is no such file, or no such version of it",
            ),
            (Why::Forbidden, "not yours", "Forbidden", "not yours"),
        ] {
            let mut stub = said(kind, fields.clone());
            stub.reply(Err(Refusal::new(why, message)));
            assert_eq!(
                stub.take(),
                [json!({"type": "error", "code": code, "message": told, "requestId": "r1"})]
            );
        }
    }
}

#[test]
fn a_directory_is_listed() {
    let mut stub = said("list_files", json!({"path": "src", "depth": 2}));
    let asked = FileCall::List {
        path: Some("src".to_owned()),
        depth: 2,
    };
    assert!(matches!(stub.call(), Call::Files { call, .. } if *call == asked));
    let file = |path: &str, kind, size| ListedFile {
        path: path.to_owned(),
        kind,
        size,
        modified_at: NOW,
    };
    let files = vec![
        file("src/a", ListedKind::Directory, 0),
        file("src/a/b.rs", ListedKind::File, 7),
        file("src/l", ListedKind::Link, 0),
        file("src/p", ListedKind::Special, 0),
    ];
    let listing = FileListing {
        files,
        truncated: true,
    };
    stub.reply(Ok(Reply::Files(FileReply::List(listing))));
    let at = NOW.millis();
    assert_eq!(
        stub.take(),
        [
            json!({"type": "file_list", "sessionId": SESSION, "truncated": true, "requestId": "r1",
            "files": [
                {"path": "src/a", "name": "a", "type": "directory", "modifiedAt": at},
                {"path": "src/a/b.rs", "name": "b.rs", "type": "file", "size": 7, "modifiedAt": at},
                {"path": "src/l", "name": "l", "type": "symlink", "modifiedAt": at},
                {"path": "src/p", "name": "p", "type": "other", "modifiedAt": at},
            ]})
        ]
    );
    let mut bare = said("list_files", json!({}));
    assert!(matches!(
        bare.call(),
        Call::Files {
            call: FileCall::List {
                path: None,
                depth: 1
            },
            ..
        }
    ));
    bare.reply(Ok(Reply::Files(FileReply::List(FileListing::default()))));
    assert_eq!(bare.take()[0]["files"], json!([]));
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    let read = |size, content| {
        let mut stub = said("read_file", json!({"path": "a"}));
        assert!(matches!(
            stub.call(),
            Call::Files { call: FileCall::Read { bytes_max, .. }, .. } if *bytes_max == 8 << 20
        ));
        let read = ReadFile { size, content };
        stub.reply(Ok(Reply::Files(FileReply::Content(read))));
        stub.take().remove(0)
    };
    assert_eq!(
        read(2, Some(b"hi".to_vec())),
        json!({"type": "file_content", "sessionId": SESSION, "path": "a", "content": "hi",
            "encoding": "utf-8", "size": 2, "requestId": "r1"})
    );
    assert_eq!(read(9 << 20, None)["code"], "FileTooLarge");
}

#[test]
fn each_file_that_changed_is_told_without_a_number() {
    let file = |path: &str, kind| FileVersion {
        path: path.to_owned(),
        iteration: 2,
        size: if kind == FileChangeKind::Delete { 0 } else { 5 },
        kind,
    };
    let changed = Fact::Files(FilesFact::Changed {
        turn: Some(TurnId::new("t1")),
        files: vec![
            file("a.txt", FileChangeKind::Update),
            file("gone.txt", FileChangeKind::Delete),
            file("new.txt", FileChangeKind::Add),
        ],
    });
    let shown = |path: &str| {
        json!({"type": "file_changed", "sessionId": SESSION, "path": path, "iteration": 2,
            "size": 5})
    };
    let mut stub = Stub::joined(view());
    stub.hear(Heard::Live(&event(changed)));
    let gone = json!({"type": "file_changed", "sessionId": SESSION, "path": "gone.txt",
        "iteration": 2, "size": 0, "deleted": true});
    assert_eq!(stub.take(), [shown("a.txt"), gone, shown("new.txt")]);
}
