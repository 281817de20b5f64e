//! The first frames, and the heartbeat.

use serde_json::json;
use vocabulary::{Caller, Notice, Secret, TenantId};

use super::facts;
use super::stub::Stub;
use crate::cowork::tests::samples::{NOW, SESSION, event, view};
use crate::{Heard, NotAuthenticated, Reason};
use vocabulary::{Growth, Reply};

#[test]
fn a_client_is_welcomed_at_once() {
    let stub = Stub::opened(&[]);
    let ts = NOW.millis();
    assert_eq!(
        stub.sent,
        [
            json!({"type": "welcome", "protocolVersion": 1, "requiresAuth": false}),
            json!({"type": "connected", "clientId": "c1", "heartbeatIntervalMs": 30000, "ts": ts}),
            json!({"type": "authenticated", "identity": {"userId": "dev-user-001",
                   "email": "developer@example.com", "tenantId": "local"}}),
        ]
    );
    assert!(stub.watches);
}

#[test]
fn the_heart_beats_every_thirty_seconds_joined_or_not() {
    let mut stub = Stub::connected();
    for beat in 1..=3 {
        stub.wake();
        let ts = NOW.millis() + beat * 30_000;
        assert_eq!(stub.take(), [json!({"type": "heartbeat", "ts": ts})]);
    }
}

#[test]
fn authenticating_again_is_answered_again_and_may_ask_for_dots() {
    let mut stub = Stub::connected();
    stub.say(
        json!({"type": "authenticate", "token": "t", "features": ["dotted"],
                    "requestId": "r1"}),
    );
    let sent = stub.take();
    assert_eq!(sent[0]["type"], "authenticated");
    assert_eq!(sent[0]["requestId"], "r1");
    stub.say(json!({"type": "join_session", "sessionId": SESSION}));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    stub.sent.clear();
    stub.hear(Heard::Live(&event(facts::grew(Growth::Text))));
    assert_eq!(stub.take_types(), ["text_delta", "message.delta"]);
}

#[test]
fn a_stranger_can_do_nothing_but_say_who_it_is() {
    let mut stub = Stub::opened_by(None, &[]);
    let sent = stub.take();
    assert_eq!(sent[0]["requiresAuth"], true);
    assert_eq!((sent.len(), stub.watches), (2, false));
    stub.say(json!({"type": "list_sessions"}));
    assert_eq!(stub.take_error(), "Unauthenticated");
    stub.say(json!({"type": "join_session", "sessionId": SESSION}));
    assert_eq!(stub.take_error(), "Unauthenticated");
    assert!(stub.asked.is_empty());
    stub.say(json!({"type": "ping", "ts": 1}));
    assert_eq!(stub.take_types(), ["pong"]);

    let shows = json!({"type": "authenticate", "token": "t", "requestId": "r1"});
    stub.say(shows.clone());
    assert!(stub.take().is_empty());
    stub.judge(Err(NotAuthenticated::Wrong));
    assert_eq!(stub.take_error(), "AUTH_FAILED");
    stub.say(shows.clone());
    let retry_after_ms = 900;
    stub.judge(Err(NotAuthenticated::TooMany { retry_after_ms }));
    assert_eq!(stub.sent[0]["retryAfterMs"], retry_after_ms);
    assert_eq!(stub.take_error(), "AUTH_RATE_LIMITED");
    assert!(!stub.watches);

    stub.say(shows);
    assert_eq!(stub.shown[0].1, Secret::new("t"));
    stub.judge(Ok(Caller {
        tenant: TenantId::new("north"),
        member: "ada".to_owned(),
        ..Caller::local()
    }));
    let identity = json!({"userId": "ada", "email": "", "tenantId": "north"});
    assert_eq!(
        stub.take(),
        [json!({"type": "authenticated", "identity": identity, "requestId": "r1"})]
    );
    assert!(stub.watches);
    stub.say(json!({"type": "list_sessions"}));
    assert_eq!(stub.asked.len(), 1);
}

/// Somebody who showed a token.
fn ada() -> Caller {
    Caller {
        tenant: TenantId::new("north"),
        member: "ada".to_owned(),
        email: Some("ada@north.example".into()),
        ..Caller::local()
    }
}

#[test]
fn a_known_client_may_show_a_fresh_token_and_stays_who_it_is() {
    let mut stub = Stub::opened_by(Some(ada()), &[]);
    let identity = json!({"userId": "ada", "email": "ada@north.example", "tenantId": "north"});
    let sent = stub.take();
    assert_eq!(sent[0]["requiresAuth"], false);
    assert_eq!(sent[2]["identity"], identity);
    assert!(std::mem::take(&mut stub.watches));

    let shows = json!({"type": "authenticate", "token": "fresh"});
    stub.say(shows.clone());
    stub.judge(Ok(ada()));
    let again = json!({"type": "authenticated", "identity": identity});
    assert_eq!((stub.take(), stub.watches), (vec![again], false));

    stub.say(shows.clone());
    stub.judge(Err(NotAuthenticated::OtherCaller));
    let words = stub.sent[0]["message"].as_str().expect("words").to_owned();
    assert!(words.contains("another user's"), "{words}");
    assert_eq!(stub.take_error(), "AUTH_FAILED");
    stub.say(shows);
    stub.judge(Err(NotAuthenticated::Wrong));
    assert_eq!(stub.take_error(), "AUTH_FAILED");
    stub.say(json!({"type": "list_sessions"}));
    assert_eq!(stub.asked.len(), 1);
}

#[test]
fn who_showed_the_servers_own_token_is_no_developer() {
    let mut stub = Stub::opened_by(Some(Caller::local()), &[]);
    let identity = json!({"userId": "owner", "email": "", "tenantId": "local"});
    assert_eq!(stub.take()[2]["identity"], identity);
}

#[test]
fn the_heart_beats_for_a_stranger_too() {
    let mut stub = Stub::opened_by(None, &[]);
    stub.sent.clear();
    stub.wake();
    assert_eq!(stub.take_types(), ["heartbeat"]);
}

#[test]
fn a_server_that_stops_says_so_last() {
    let mut stub = Stub::connected();
    stub.notice(&Notice::ShuttingDown {
        reason: "terminated".into(),
    });
    assert_eq!(
        stub.take(),
        [json!({"type": "server_shutdown", "reason": "terminated", "ts": NOW.millis()})]
    );
    let reason = stub.closed.expect("closed");
    assert_eq!(reason.code, Reason::GOING_AWAY);
}

#[test]
fn a_ping_is_echoed_unmodified() {
    let mut stub = Stub::connected();
    stub.say(json!({"type": "ping", "ts": 12.5}));
    assert_eq!(
        stub.take(),
        [json!({"type": "pong", "clientTs": 12.5, "serverTs": NOW.millis()})]
    );
}
