//! Zane's control frames: no JSON-RPC, told apart by their `type`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vocabulary::{Call, PushCall, PushSubscription, ThreadId, Timestamp};

use super::calls::CodexPurpose;
use super::hear::repeated;
use super::refuse::CodexError;
use super::{Codex, platform, send};
use crate::{Action, Frame};

/// Orbit Control Messages, client to server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ClientControl {
    #[serde(rename = "ping")]
    Ping,
    #[serde(rename = "orbit.subscribe")]
    Subscribe { thread_id: String },
    #[serde(rename = "orbit.unsubscribe")]
    Unsubscribe { thread_id: String },
    #[serde(rename = "orbit.list-anchors")]
    ListAnchors,
    #[serde(rename = "orbit.push-subscribe")]
    PushSubscribe {
        endpoint: String,
        p256dh: String,
        auth: String,
    },
    #[serde(rename = "orbit.push-unsubscribe")]
    PushUnsubscribe { endpoint: String },
    #[serde(rename = "orbit.push-test")]
    PushTest,
}

/// Orbit Control Messages, server to client.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ServerControl<'a> {
    #[serde(rename = "pong")]
    Pong,
    #[serde(rename = "orbit.hello")]
    Hello { role: &'static str, ts: String },
    #[serde(rename = "orbit.subscribed")]
    Subscribed { thread_id: &'a str },
    #[serde(rename = "orbit.anchors")]
    Anchors { anchors: [Anchor<'a>; 1] },
    #[serde(rename = "orbit.push-subscribed")]
    PushSubscribed,
    #[serde(rename = "orbit.push-unsubscribed")]
    PushUnsubscribed,
    #[serde(rename = "orbit.push-sent")]
    PushSent,
}

/// This server, which is its own and only anchor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Anchor<'a> {
    pub id: &'static str,
    pub hostname: &'a str,
    pub platform: &'static str,
    pub connected_at: String,
}

impl ServerControl<'_> {
    pub fn frame(&self) -> Frame {
        // Our own types always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub fn hello(now: Timestamp) -> Frame {
    let (role, ts) = ("client", now.iso());
    ServerControl::Hello { role, ts }.frame()
}

pub fn subscribed(thread: ThreadId) -> Frame {
    let thread_id = &thread.to_string();
    ServerControl::Subscribed { thread_id }.frame()
}

fn anchors(host: &str, since: Timestamp) -> Frame {
    let anchor = Anchor {
        id: "dragoman",
        hostname: host,
        platform: platform::OS,
        connected_at: since.iso(),
    };
    let anchors = [anchor];
    ServerControl::Anchors { anchors }.frame()
}

impl Codex {
    pub(super) fn control(&mut self, out: &mut Vec<Action>, frame: Map<String, Value>) {
        let kind = frame.get("type").and_then(Value::as_str).map(str::to_owned);
        match serde_json::from_value(Value::Object(frame)) {
            // Clients compare strings: it has one field, and no space.
            Ok(ClientControl::Ping) => send(out, ServerControl::Pong.frame()),
            Ok(ClientControl::ListAnchors) => send(out, anchors(&self.host, self.since)),
            Ok(ClientControl::Subscribe { thread_id }) => self.subscribe(out, &thread_id),
            Ok(ClientControl::Unsubscribe { thread_id }) => {
                if let Some(thread) = ThreadId::parse(&thread_id)
                    && self.listening.end(thread)
                {
                    out.push(Action::Unlisten(thread));
                }
            }
            Ok(ClientControl::PushSubscribe {
                endpoint,
                p256dh,
                auth,
            }) => {
                let browser = PushSubscription {
                    endpoint,
                    p256dh,
                    auth,
                };
                let call = PushCall::Subscribe(browser);
                self.push(out, ServerControl::PushSubscribed, call);
            }
            Ok(ClientControl::PushUnsubscribe { endpoint }) => {
                let call = PushCall::Unsubscribe { endpoint };
                self.push(out, ServerControl::PushUnsubscribed, call);
            }
            Ok(ClientControl::PushTest) => self.push(out, ServerControl::PushSent, PushCall::Test),
            Err(error) => {
                let message = match kind {
                    Some(kind) => format!("{}: {error}", repeated(&kind)),
                    None => "expected a request, a response or a control frame".to_owned(),
                };
                send(out, CodexError::request(message).frame(None));
            }
        }
    }

    /// What is said when it is done is known before.
    fn push(&mut self, out: &mut Vec<Action>, done: ServerControl<'static>, call: PushCall) {
        let purpose = CodexPurpose::Push(Box::new(done));
        self.calls.make(out, purpose, Call::Push(call));
    }

    fn subscribe(&mut self, out: &mut Vec<Action>, thread_id: &str) {
        match ThreadId::parse(thread_id) {
            Some(thread) if self.listening.hears(thread) => send(out, subscribed(thread)),
            Some(thread) => self.calls.listen(out, CodexPurpose::Subscribe, thread),
            None => {
                let message = "orbit.subscribe: threadId: expected a UUID";
                send(out, CodexError::request(message).frame(None));
            }
        }
    }
}
