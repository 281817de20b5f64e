//! How a connection ends.

use serde_json::json;
use vocabulary::{Call, Fact, Notice, Reply, Seq, ThreadFact};

use super::samples::{SESSION, card, event};
use super::stub::Stub;
use crate::{Heard, Reason};

#[test]
fn too_much_before_the_greeting_closes_the_socket() {
    let mut stub = Stub::opened(&[]);
    for _ in 0..=64 {
        stub.say_text("{}");
    }
    assert_eq!(stub.closed.map(|reason| reason.code), Some(Reason::POLICY));
}

#[test]
fn a_hole_in_the_events_closes_the_socket() {
    let mut stub = Stub::connected();
    let replayed = event(Fact::Thread(ThreadFact::Reset));
    stub.replay(&replayed)
        .hear(Heard::CaughtUp { head: Seq(3) });
    assert_eq!((stub.shared, &stub.closed), (0, &None));
    stub.hear(Heard::Gap {
        after: Seq(3),
        to: Seq(9),
    });
    assert_eq!(stub.closed, Some(Reason::too_slow()));
}

#[test]
fn a_server_that_stops_says_goodbye() {
    let mut stub = Stub::connected();
    stub.notice(&Notice::Reload);
    assert_eq!(stub.closed, None);
    stub.notice(&Notice::ShuttingDown {
        reason: "restart".into(),
    });
    assert_eq!(stub.closed, Some(Reason::new(1001, "restart")));
}

#[test]
fn session_close_closes_the_socket_once_the_session_is() {
    let mut stub = Stub::connected();
    stub.say(json!({ "type": "session_close", "sessionId": SESSION }));
    let thread = card().id;
    assert_eq!(
        stub.call(),
        &Call::CloseThread {
            thread,
            audience: crate::Variant::Cowork.audience(),
        }
    );
    assert_eq!(stub.closed, None);
    stub.say(json!({ "type": "ping", "sessionId": SESSION }));
    assert!(stub.sent.is_empty(), "nothing said after it counts");
    stub.reply(Ok(Reply::Done));
    assert_eq!(stub.closed.map(|reason| reason.code), Some(1000));
}
