//! The harness context: set for a session, read by whoever asks, told to everyone on it.

use serde_json::{Value, json};
use vocabulary::{Assignment, Call, Changed, Changes, Fact, Reply, ThreadFact, Title};

use super::commands::said;
use super::samples::{NOW, SESSION, card, settings, thread, told, view};
use super::stub::Stub;
use crate::cowork::tell::RawParts;

fn payload() -> Value {
    json!({
        "runId": "run-1",
        "taskId": "task-1",
        "objective": "Fix the login",
        "acceptanceCriteria": ["It works"],
        "constraints": [],
        "metadata": { "priority": "high" },
    })
}

fn assignment() -> Assignment {
    Assignment {
        run: "run-1".to_owned(),
        task: Some("task-1".to_owned()),
        objective: "Fix the login".to_owned(),
        criteria: vec!["It works".to_owned()],
        constraints: Vec::new(),
        metadata: [("priority".to_owned(), "high".to_owned())].into(),
        updated_at: NOW,
    }
}

fn event(context: &Value) -> Value {
    json!({ "type": "harness_context", "sessionId": SESSION, "context": context })
}

#[test]
fn nothing_is_set_at_first() {
    let mut stub = said(json!({ "type": "harness_context_get" }));
    assert_eq!(stub.calls.len(), 0);
    assert_eq!(stub.take(), [event(&Value::Null)]);
}

#[test]
fn what_is_set_is_a_change_of_the_session_and_told_by_its_event() {
    let mut sent = payload();
    sent["unknown"] = json!("dropped");
    let mut stub = said(json!({ "type": "harness_context_set", "context": sent }));
    let changes = Changes {
        assignment: Some(Box::new(Assignment {
            updated_at: vocabulary::Timestamp(0),
            ..assignment()
        })),
        ..Changes::default()
    };
    let thread_id = card().id;
    let call = Call::ChangeThread {
        thread: thread_id,
        changes,
    };
    assert_eq!(stub.call(), &call);
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(stub.take().len(), 0, "the event tells it");
    let mut settings = settings();
    settings.assignment = Some(Box::new(assignment()));
    let fact = Fact::Thread(ThreadFact::SettingsChanged {
        settings: settings.clone(),
        changed: vec![Changed::Assignment],
        title: Title::default(),
    });
    let mut expected = payload();
    expected["updatedAt"] = json!("2026-02-19T18:00:00.000Z");
    assert_eq!(told(fact.clone(), RawParts::Leave), [event(&expected)]);
    stub.tell(fact);
    stub.take();
    stub.say(json!({ "type": "harness_context_get", "sessionId": SESSION }));
    assert_eq!(stub.take(), [event(&expected)]);
    // Whoever resumes finds it.
    let mut resumed = view();
    resumed.thread.settings = settings;
    let mut stub = Stub::connected_to(resumed);
    stub.say(json!({ "type": "harness_context_get", "sessionId": SESSION }));
    assert_eq!(stub.take(), [event(&expected)]);
}
