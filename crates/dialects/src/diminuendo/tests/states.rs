//! The seven states and the sandbox, as a joined client is told them.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{
    Changed, Event, Fact, Reply, SandboxInForce, SandboxMechanism, Seq, Status, StatusReason,
    ThreadFact, ThreadView, TurnOutcome,
};

use super::facts;
use super::stub::Stub;
use crate::cowork::tests::samples::{SESSION, event, view};
use crate::{Ending, Heard};

fn asleep() -> ThreadView {
    let mut view = view();
    view.thread.status = Status::Inactive;
    view
}

fn join(view: ThreadView) -> Stub {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "join_session", "sessionId": SESSION}));
    stub.reply(Ok(Reply::View(Box::new(view))));
    stub
}

fn changed(status: Status) -> Event {
    let reason = StatusReason::TurnStarted;
    event(Fact::Thread(ThreadFact::StatusChanged { status, reason }))
}

/// The states that frames tell, by their names.
fn states(sent: &[Value]) -> Vec<Status> {
    let state = |frame: &Value| serde_json::from_value(frame["state"].clone()).expect("a state");
    let told = sent.iter().filter(|frame| frame["type"] == "session_state");
    told.map(state).collect()
}

#[test]
fn who_joins_a_sleeping_session_hears_it_wake_and_what_fences_it_in() {
    let mut stub = join(asleep());
    let sent = stub.take();
    let kinds: Vec<_> = sent.iter().map(|frame| frame["type"].clone()).collect();
    assert_eq!(
        kinds,
        [
            "state_snapshot",
            "replay_complete",
            "session_state",
            "sandbox_init",
            "sandbox_provisioning",
            "sandbox_provisioning",
            "sandbox_ready",
            "session_state"
        ]
    );
    assert_eq!(sent[0]["session"]["status"], "inactive");
    assert_eq!(sent[0]["sandbox"], Value::Null, "nothing is set up yet");
    assert_eq!(states(&sent), [Status::Activating, Status::Ready]);
    assert_eq!(sent[2]["reason"], "activated");
    assert_eq!(sent[3]["provider"], "bubblewrap");
    assert_eq!(sent[4]["phase"], "creating");
    assert_eq!(
        sent[5]["message"],
        "commands may write in the workspace, and do not reach the network"
    );
    // Who comes later finds it awake.
    let sent = join(view()).take();
    let ready = json!({"status": "ready", "provider": "bubblewrap"});
    assert_eq!(sent[0]["sandbox"], ready);
    assert_eq!(states(&sent), []);
}

#[test]
fn a_sandbox_that_does_not_hold_is_not_claimed() {
    let mut open = asleep();
    open.sandbox = SandboxInForce::default();
    let mut stub = join(open);
    let kinds = stub.take_types();
    let expected = [
        "state_snapshot",
        "replay_complete",
        "session_state",
        "session_state",
    ];
    assert_eq!(kinds, expected);
    stub.hear(Heard::Ended(Ending::HandedOver));
    assert_eq!(stub.take_types(), ["session_state", "session_state"]);
}

#[test]
fn a_change_of_what_holds_is_told() {
    let mut stub = Stub::joined(view());
    let mut now = view();
    now.sandbox = SandboxInForce::default();
    let settings = Fact::Thread(ThreadFact::SettingsChanged {
        settings: now.thread.settings.clone(),
        changed: vec![Changed::Model],
        title: now.thread.title.clone(),
    });
    // It is looked at again whatever was chosen; nothing is told where it is as it was.
    stub.hear(Heard::Live(&event(settings.clone())));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    assert_eq!(stub.take(), Vec::<Value>::new());
    stub.hear(Heard::Live(&event(settings.clone())));
    stub.reply(Ok(Reply::View(Box::new(now))));
    let removed = json!({"type": "sandbox_removed", "sessionId": SESSION,
                         "reason": "settings_changed"});
    assert_eq!(stub.take(), [removed]);
    let mut back = view();
    back.sandbox.mechanism = SandboxMechanism::Landlock;
    stub.hear(Heard::Live(&event(settings)));
    stub.reply(Ok(Reply::View(Box::new(back))));
    assert_eq!(stub.take()[0]["provider"], "landlock");
}

#[test]
fn who_was_too_slow_for_a_state_is_told_it_with_what_led_there() {
    let mut stub = Stub::joined(view());
    stub.hear(Heard::Replay(&event(facts::turn_started())));
    let sent = stub.take();
    assert_eq!(sent[0]["state"], "running");
    assert_eq!(sent[1]["type"], "turn_started");
    stub.hear(Heard::Replay(&event(facts::turn_finished(
        TurnOutcome::Completed,
    ))));
    let sent = stub.take();
    assert_eq!(sent[0]["type"], "turn_complete");
    assert_eq!(sent[1]["state"], "ready");
}

/// Anything that can bring a state, in any order.
#[derive(Clone, Debug)]
enum News {
    Live(Status),
    Began,
    Ended,
    Missed,
}

fn news() -> impl Strategy<Value = News> {
    let status = proptest::sample::select(Status::ALL.to_vec());
    prop_oneof![
        4 => status.prop_map(News::Live),
        1 => Just(News::Began),
        1 => Just(News::Ended),
        1 => Just(News::Missed),
    ]
}

proptest! {
    #[test]
    fn whatever_comes_the_states_told_follow_each_other(
        first in proptest::sample::select(Status::ALL.to_vec()),
        news in proptest::collection::vec(news(), 0..30),
        ending in proptest::sample::select(vec![
            Ending::HandedOver, Ending::Failed, Ending::Asleep, Ending::Deleted,
        ]),
    ) {
        let mut joined = view();
        joined.thread.status = first;
        let mut stub = join(joined);
        for each in news {
            match each {
                News::Live(status) => stub.hear(Heard::Live(&changed(status))),
                News::Began => stub.hear(Heard::Replay(&event(facts::turn_started()))),
                News::Ended => {
                    let finished = facts::turn_finished(TurnOutcome::Cancelled);
                    stub.hear(Heard::Replay(&event(finished)))
                }
                News::Missed => stub.hear(Heard::Gap { after: Seq(9), to: Seq(12) }),
            };
        }
        stub.hear(Heard::Ended(ending));
        let mut at = first;
        for status in states(&stub.take()) {
            prop_assert!(at.to(status).is_ok(), "{at:?} to {status:?}");
            at = status;
        }
    }
}
