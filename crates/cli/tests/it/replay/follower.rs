//! A diminuendo client that knows a session from frames alone, and checks the numbers of each.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Client;

/// Numbered, and not kept.
const EPHEMERAL: [&str; 7] = [
    "text_delta",
    "message.delta",
    "tool_call_start",
    "tool_call_delta",
    "thinking_progress",
    "terminal_stream",
    "usage_update",
];

/// What a client shows of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    pub status: String,
    pub turn: Option<String>,
    pub text: String,
    pub thinking: String,
    /// Calls that are not over, by their ids.
    pub calls: BTreeMap<String, String>,
    /// Requests that wait.
    pub open: BTreeSet<String>,
}

pub struct Follower {
    url: String,
    session: String,
    client: Option<Client>,
    /// The last number that was told, or said to be gone.
    pub last: u64,
    /// Every kept event that was told, by its number.
    pub told: BTreeMap<u64, Value>,
    pub folded: Folded,
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Follower {
    pub fn new(url: &str, session: &str) -> Self {
        Self {
            url: url.to_owned(),
            session: session.to_owned(),
            client: None,
            last: 0,
            told: BTreeMap::new(),
            folded: Folded::default(),
        }
    }

    pub fn leave(&mut self) {
        self.client = None;
    }

    pub fn is_there(&self) -> bool {
        self.client.is_some()
    }

    pub async fn say(&mut self, kind: &str, fields: Value) -> anyhow::Result<()> {
        let mut message = fields;
        message["type"] = json!(kind);
        message["sessionId"] = json!(self.session);
        let client = self.client.as_mut().context("not connected")?;
        client.send_json(&message).await
    }

    async fn hear(&mut self) -> anyhow::Result<Value> {
        self.client.as_mut().context("not connected")?.json().await
    }

    /// Comes back from the last number it knows; `Err` with the frame if that is refused.
    pub async fn join(&mut self, after: Option<i64>) -> anyhow::Result<Result<(), Value>> {
        let mut client = Client::connect(&self.url).await?;
        client.until_type("authenticated").await?;
        self.client = Some(client);
        let fields = match after {
            Some(after) => json!({ "afterSeq": after }),
            None => json!({}),
        };
        self.say("join_session", fields).await?;
        let mut covered = after.map(|after| after as u64);
        let (mut state, mut stream) = (Value::Null, Value::Null);
        loop {
            let frame = self.hear().await?;
            match frame["type"].as_str().context("a type")? {
                "error" => return Ok(Err(frame)),
                "state_snapshot" => {
                    ensure!(state.is_null(), "two states");
                    state = frame;
                }
                "stream_snapshot" => stream = frame,
                "gap" => {
                    let (from, to) = (frame["fromSeq"].as_u64(), frame["toSeq"].as_u64());
                    ensure!(from == covered && to > from, "{covered:?}: {frame}");
                    covered = to;
                    // What was streamed there is missed.
                    self.folded.text.clear();
                    self.folded.thinking.clear();
                }
                "replay_complete" => {
                    let head = frame["lastSeq"].as_u64();
                    ensure!(
                        covered.is_none_or(|covered| Some(covered) == head),
                        "{frame}"
                    );
                    self.last = head.context("a head")?;
                    break;
                }
                // It is told to everyone of the tenant.
                "session_updated" => {}
                _ => {
                    if let Some(seq) = frame["seq"].as_u64() {
                        ensure!(
                            covered.is_some_and(|last| seq == last + 1),
                            "{covered:?}: {frame}"
                        );
                        covered = Some(seq);
                    } else {
                        ensure!(frame["type"] == "question_requested", "{frame}");
                    }
                    self.fold(&frame)?;
                }
            }
        }
        // As of the end of the replay, so it counts over what was replayed.
        self.fold(&state)?;
        match stream.is_null() {
            true => self.folded.clear_turn(),
            false => self.fold(&stream)?,
        }
        Ok(Ok(()))
    }

    /// The next frame, taken in.
    pub async fn next(&mut self) -> anyhow::Result<Value> {
        let frame = self.hear().await?;
        if let Some(seq) = frame["seq"].as_u64()
            // An open permission is told again under its own number.
            && frame["type"] != "permission_requested"
        {
            ensure!(seq > self.last, "after {}: {frame}", self.last);
            self.last = seq;
        }
        ensure!(frame["type"] != "gap", "nobody was slow: {frame}");
        self.fold(&frame)?;
        Ok(frame)
    }

    /// Hears all that was told up to now.
    pub async fn settle(&mut self) -> anyhow::Result<()> {
        self.say("ping", json!({"ts": 1})).await?;
        while self.next().await?["type"] != "pong" {}
        Ok(())
    }

    pub async fn until_type(&mut self, kind: &str) -> anyhow::Result<Value> {
        loop {
            let frame = self.next().await?;
            if frame["type"] == kind {
                return Ok(frame);
            }
        }
    }

    /// Hears until the turn is over, or waits for a person.
    pub async fn until_rest(&mut self) -> anyhow::Result<()> {
        // A session that had failed is ready for a moment before its turn runs.
        let rests = [
            "turn_complete",
            "user_stopped",
            "turn_error",
            "waiting_for_user",
        ];
        loop {
            let frame = self.next().await?;
            let reason = frame["reason"].as_str().unwrap_or_default();
            if frame["type"] == "session_state" && rests.contains(&reason) {
                return Ok(());
            }
        }
    }

    fn fold(&mut self, frame: &Value) -> anyhow::Result<()> {
        let kind = frame["type"].as_str().context("a type")?;
        if let Some(seq) = frame["seq"].as_u64()
            && !EPHEMERAL.contains(&kind)
            && let Some(before) = self.told.insert(seq, frame.clone())
        {
            ensure!(before == *frame, "{seq} told as {before} and {frame}");
        }
        let folded = &mut self.folded;
        let call = text(&frame["toolCallId"]);
        match kind {
            "turn_started" => {
                folded.clear_turn();
                folded.turn = Some(text(&frame["turnId"]));
            }
            "text_delta" => folded.text += &text(&frame["text"]),
            "thinking_progress" => folded.thinking += &text(&frame["text"]),
            "tool_call_start" | "tool_call" => {
                folded.calls.insert(call, text(&frame["toolName"]));
            }
            "tool_result" | "tool_error" => {
                folded.calls.remove(&call);
            }
            "turn_complete" => {
                let said = |text: &str| text.split_whitespace().collect::<String>();
                let end = text(&frame["finalText"]);
                // Replayed, or heard from the start or a snapshot on.
                let same = folded.text.is_empty() || said(&folded.text) == said(&end);
                ensure!(same, "{:?} ended as {end:?}", folded.text);
                folded.clear_turn();
            }
            "turn_error" => folded.clear_turn(),
            "permission_requested" | "question_requested" => {
                folded.open.insert(text(&frame["requestId"]));
            }
            "approval_resolved" => {
                folded.open.remove(&text(&frame["requestId"]));
            }
            "session_state" => folded.enter(text(&frame["state"])),
            "state_snapshot" => {
                folded.turn = frame["currentTurn"]["turnId"].as_str().map(str::to_owned);
                folded.enter(text(&frame["session"]["status"]));
            }
            "stream_snapshot" => {
                folded.turn = Some(text(&frame["turnId"]));
                folded.text = text(&frame["text"]);
                folded.thinking = text(&frame["thinking"]);
                let calls = frame["toolCalls"].as_array().into_iter().flatten();
                let calls = calls.map(|call| (text(&call["toolCallId"]), text(&call["toolName"])));
                folded.calls = calls.collect();
            }
            _ => {}
        }
        Ok(())
    }
}

impl Folded {
    fn clear_turn(&mut self) {
        *self = Self {
            status: std::mem::take(&mut self.status),
            ..Self::default()
        };
    }

    fn enter(&mut self, status: String) {
        if status != "waiting" {
            self.open.clear();
        }
        self.status = status;
    }
}
