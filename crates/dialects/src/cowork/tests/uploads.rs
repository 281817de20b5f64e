//! Uploads: what the message asks of the engine, and what everyone on the session is told.

use serde_json::json;
use vocabulary::{Call, Fact, FileUpload, FilesFact, Refusal, Reply, UploadedFile};

use super::commands::said;
use super::samples::{SESSION, card, told};
use crate::cowork::tell::RawParts;

fn file() -> UploadedFile {
    UploadedFile {
        name: "image-2.png".to_owned(),
        path: "/home/user/project/uploads/image-2.png".into(),
        bytes: 2,
    }
}

#[test]
fn an_upload_is_a_call_and_told_by_its_fact() {
    let mut stub = said(json!({
        "type": "upload_file",
        "filename": "image.png",
        "contentBase64": "aGk=",
    }));
    let upload = FileUpload {
        thread: card().id,
        name: "image.png".to_owned(),
        base64: "aGk=".into(),
    };
    assert_eq!(stub.call(), &Call::UploadFile(upload));
    stub.reply(Ok(Reply::Uploaded(Box::new(file()))));
    assert_eq!(stub.take().len(), 0, "the event tells it");
    let frames = told(
        Fact::Files(FilesFact::Uploaded { file: file() }),
        RawParts::Leave,
    );
    let expected = json!({
        "type": "file_uploaded",
        "sessionId": SESSION,
        "filename": "image-2.png",
        "path": "/home/user/project/uploads/image-2.png",
    });
    assert_eq!(frames, [expected]);
}

#[test]
fn what_is_refused_is_told_with_its_code() {
    let invalid = Refusal::invalid("filename", "Invalid filename");
    for (refusal, code) in [(Refusal::busy(), "busy"), (invalid, "validation_failed")] {
        let mut stub = said(json!({
            "type": "upload_file",
            "filename": "..",
            "contentBase64": "",
        }));
        let message = refusal.message.clone();
        stub.reply(Err(refusal));
        let expected = json!({
            "type": "error",
            "sessionId": SESSION,
            "message": message,
            "code": code,
            "source": "session",
        });
        assert_eq!(stub.take(), [expected]);
    }
}
