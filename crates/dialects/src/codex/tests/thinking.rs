//! How hard the model thinks, what it shows of that, and how much it says.

use serde_json::{Value, json};
use vocabulary::{
    Call, Changed, Changes, Fact, Reply, SummaryDetail, ThreadFact, Title, Verbosity,
};

use super::stub::{Stub, THREAD, thread, view};
use crate::codex::Endpoint;

#[test]
fn effort_is_set_where_it_is_another() {
    let check = |params: Value, effort: Option<&str>| {
        let mut stub = Stub::started(Endpoint::Zane);
        let mut turn = json!({ "threadId": THREAD, "input": [{ "type": "text", "text": "Go" }] });
        let fields = turn.as_object_mut().expect("an object");
        fields.extend(params.as_object().cloned().unwrap_or_default());
        stub.ask(2, "turn/start", turn);
        let Call::StartTurn(start) = stub.call() else {
            panic!("{:?}", stub.call())
        };
        let expected = Changes {
            effort: effort.map(str::to_owned),
            ..Changes::default()
        };
        assert_eq!(*start.changes, expected);
    };
    check(json!({ "effort": "high" }), Some("high"));
    check(json!({ "effort": null }), None);
    check(json!({ "effort": "" }), None);
    let mode = json!({ "mode": "default", "settings": { "reasoning_effort": "low" } });
    check(json!({ "collaborationMode": mode }), Some("low"));
}

#[test]
fn a_thread_starts_with_an_effort_and_says_it() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let config = json!({ "model_reasoning_effort": "high", "web_search": "live" });
    stub.ask(1, "thread/start", json!({ "config": config }));
    let Call::CreateThread(new) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    assert_eq!(new.changes.effort.as_deref(), Some("high"));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    let mut view = view();
    view.thread.settings.effort = Some("max".to_owned());
    view.effort = Some("high".to_owned());
    stub.reply(Ok(Reply::View(Box::new(view))));
    let told = &stub.take()[0]["result"]["reasoningEffort"];
    assert_eq!(told, "high", "what is in force, not what was wished");
    assert_eq!(effort_of_turn(&mut stub, "high"), None, "as it is already");
    assert_eq!(effort_of_turn(&mut stub, "low").as_deref(), Some("low"));
}

/// The effort a turn changes to when its client names one.
fn effort_of_turn(stub: &mut Stub, effort: &str) -> Option<String> {
    let input = json!([{ "type": "text", "text": "Go" }]);
    let params = json!({ "threadId": THREAD, "input": input, "effort": effort });
    stub.ask(3, "turn/start", params);
    let (_, call) = stub.calls.remove(0);
    let Some(Call::StartTurn(start)) = call else {
        panic!("{call:?}")
    };
    start.changes.effort
}

#[test]
fn what_an_effort_came_to_is_forgotten_when_the_model_changes() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/resume", json!({ "threadId": THREAD }));
    let mut view = view();
    view.effort = Some("high".to_owned());
    let mut settings = view.thread.settings.clone();
    stub.reply(Ok(Reply::View(Box::new(view))));
    settings.model.model = "another".to_owned();
    stub.tell(Fact::Thread(ThreadFact::SettingsChanged {
        settings,
        changed: vec![Changed::Model],
        title: Title::default(),
    }));
    // What it is now is being looked up.
    stub.calls.clear();
    let wished = effort_of_turn(&mut stub, "high");
    assert_eq!(wished.as_deref(), Some("high"));
}

#[test]
fn summaries_and_verbosity_are_set_in_the_words_of_the_app_server() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let config = json!({ "model_reasoning_summary": "none", "model_verbosity": "low" });
    stub.ask(1, "thread/start", json!({ "config": config }));
    let Call::CreateThread(new) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    assert_eq!(new.changes.summary, Some(SummaryDetail::None));
    assert_eq!(new.changes.verbosity, Some(Verbosity::Low));
    for config in [
        json!({ "model_verbosity": "loud" }),
        json!({ "model_reasoning_summary": "long" }),
    ] {
        let mut stub = Stub::ready(Endpoint::Codex);
        stub.ask(1, "thread/start", json!({ "config": config }));
        let message = stub.take()[0]["error"]["message"].to_string();
        assert!(message.contains("expected one of"), "{message}");
    }
}

#[test]
fn a_turn_sets_the_summaries_where_they_are_others() {
    let mut stub = Stub::started(Endpoint::Codex);
    let input = json!([{ "type": "text", "text": "Go" }]);
    let params = json!({ "threadId": THREAD, "input": input, "summary": "detailed" });
    stub.ask(2, "turn/start", params);
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.call())
    };
    assert_eq!(start.changes.summary, Some(SummaryDetail::Detailed));
    let params = json!({ "threadId": THREAD, "input": input, "summary": "loud" });
    stub.ask(3, "turn/start", params);
    let message = stub.take()[0]["error"]["message"].to_string();
    assert!(
        message.contains("none, auto, concise, detailed"),
        "{message}"
    );
}
