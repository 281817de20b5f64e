//! Sections of the list of threads.

use serde_json::{Value, json};
use vocabulary::{
    Call, FieldChange, InSection, LibraryCall, LibraryReply, PINNED_SECTION, Refusal, Reply,
    Section, SectionAppearance, SectionCall, SectionId, SectionPlace,
};

use super::stub::{NOW, Stub, THREAD, card, thread};
use crate::codex::Endpoint;

fn asked(method: &str, params: Value) -> (Stub, SectionCall) {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, method, params);
    let call = stub.call().clone();
    let Call::Library(LibraryCall::Sections(call)) = call else {
        panic!("{call:?}")
    };
    (stub, call)
}

fn refused(method: &str, params: Value) -> String {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, method, params);
    assert!(stub.calls.is_empty(), "{:?}", stub.calls);
    let error = stub.take().remove(0)["error"].take();
    assert_eq!(error["code"], -32602);
    error["message"].as_str().unwrap_or_default().to_owned()
}

fn section(id: &str) -> Section {
    Section {
        id: SectionId::new(id),
        name: "Garden".to_owned(),
        appearance: None,
        created_at: NOW,
    }
}

#[test]
fn a_section_is_made_and_shown() {
    let params = json!({ "name": "Garden", "appearance": { "color": "green" } });
    let (mut stub, call) = asked("threadSection/create", params);
    let appearance = SectionAppearance {
        color: Some("green".to_owned()),
        icon: None,
    };
    let name = "Garden".to_owned();
    let expected = SectionCall::Create {
        name,
        appearance: Some(appearance.clone()),
    };
    assert_eq!(call, expected);
    let made = Section {
        appearance: Some(appearance),
        ..section("s")
    };
    stub.reply(Ok(LibraryReply::Section(made).into()));
    let shown = json!({ "id": "s", "name": "Garden",
        "appearance": { "icon": null, "color": "green" } });
    assert_eq!(stub.take()[0]["result"], json!({ "section": shown }));
}

#[test]
fn what_an_update_leaves_out_stays() {
    let appearance = |given: Value| {
        let (_, call) = asked("threadSection/update", given);
        match call {
            SectionCall::Update { appearance, .. } => appearance,
            other => panic!("{other:?}"),
        }
    };
    let params = json!({ "sectionId": "s", "name": "n" });
    assert_eq!(appearance(params), FieldChange::Stays);
    let params = json!({ "sectionId": "s", "name": "n", "appearance": null });
    assert_eq!(appearance(params), FieldChange::Set(None));
}

#[test]
fn threads_are_moved_in_and_out() {
    let thread = card().id;
    let params = json!({ "threadId": THREAD, "sectionId": PINNED_SECTION, "beforeThreadId": null });
    let (mut stub, call) = asked("thread/section/move", params);
    let to = Some(SectionPlace {
        section: SectionId::new(PINNED_SECTION),
        before: None,
    });
    assert_eq!(call, SectionCall::Move { thread, to });
    stub.reply(Ok(LibraryReply::Moved.into()));
    assert_eq!(stub.take()[0], json!({ "id": 1, "result": {} }));
    let params = json!({ "threadId": THREAD, "sectionId": null });
    let (_, call) = asked("thread/section/move", params);
    assert_eq!(call, SectionCall::Move { thread, to: None });

    let message = refused("thread/section/move", json!({ "threadId": THREAD }));
    assert!(message.contains("sectionId"), "{message}");
    let params = json!({ "threadId": THREAD, "sectionId": null, "beforeThreadId": THREAD });
    let message = refused("thread/section/move", params);
    assert!(message.contains("beforeThreadId"), "{message}");
}

#[test]
fn sections_come_in_pages() {
    let page = |params: Value| {
        let (mut stub, _) = asked("threadSection/list", params);
        let all = ["a", "b", "c"].map(section).to_vec();
        stub.reply(Ok(LibraryReply::Sections(all).into()));
        let result = stub.take()[0]["result"].take();
        let data = result["data"].as_array().expect("a list").iter();
        let ids: Vec<_> = data.map(|each| each["id"].clone()).collect();
        (ids, result["nextCursor"].clone())
    };
    assert_eq!(
        page(json!({ "limit": 2 })),
        (vec!["a".into(), "b".into()], "b".into())
    );
    let params = json!({ "limit": 2, "cursor": "b" });
    assert_eq!(page(params), (vec!["c".into()], Value::Null));
    assert_eq!(page(json!({ "cursor": "gone" })), (vec![], Value::Null));
    assert_eq!(page(Value::Null).0.len(), 3);
}

#[test]
fn a_no_of_the_library_is_told_with_its_words() {
    let (mut stub, _) = asked("threadSection/delete", json!({ "sectionId": "s" }));
    stub.reply(Err(Refusal::invalid("section", "there is no section s")));
    let error = stub.take().remove(0)["error"].take();
    assert_eq!(
        error,
        json!({ "code": -32602, "message": "threadSection/delete: sectionId: there is no section s" })
    );
}

#[test]
fn a_thread_says_where_it_is_and_when_something_last_happened() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/read", json!({ "threadId": THREAD }));
    let mut known = thread();
    known.section = Some(Box::new(InSection {
        section: section("s"),
        entered_at: NOW,
    }));
    known.active_at = Some(NOW);
    stub.reply(Ok(Reply::Thread(Box::new(known))));
    let shown = stub.take().remove(0)["result"]["thread"].take();
    assert_eq!(shown["section"]["name"], "Garden");
    assert_eq!(shown["sectionEnteredAt"], NOW.seconds());
    assert_eq!(shown["recencyAt"], NOW.seconds());
}
