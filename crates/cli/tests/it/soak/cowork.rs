//! A cowork 7 client: it keeps the conversation from stream chunks, and reads all of it whenever it comes back.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};

use super::desk::{Desk, Fate};
use super::entry::{Entry, ToolCall, lines, list, text};
use super::voice::{Deed, Pair, Views, Voice};

/// More than any conversation here has; what asks for so many reads it whole.
const WHOLE: u64 = 10_000;

const INTERRUPTED: [&str; 2] = ["cancelled", "the server stopped"];
/// Small questions, and what answers them.
const LOOKS: [(&str, &str); 2] = [("ping", "pong"), ("list_tools", "tools")];

#[derive(Default)]
pub struct Cowork {
    entries: Vec<Entry>,
    /// The texts that are being written, by part, and where they stand.
    open: BTreeMap<String, usize>,
    /// Of the calls, where they stand.
    calls: BTreeMap<String, usize>,
    /// The last chunk's turn and number.
    last_chunk: Option<(String, u64)>,
    /// The last read, and what was known before it.
    read: Option<(Vec<Entry>, Vec<Entry>)>,
}

impl Cowork {
    fn frame(desk: &Desk, kind: &str, mut fields: Value) -> Option<String> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(desk.thread.as_ref()?);
        Some(fields.to_string())
    }

    fn read_whole(desk: &mut Desk) -> Option<String> {
        let frame = Self::frame(desk, "get_messages", json!({ "limit": WHOLE }))?;
        desk.expect("messages");
        Some(frame)
    }

    fn user_message(&mut self, desk: &mut Desk, frame: &Value) {
        let words = text(&frame["text"]);
        let id = text(&frame["clientMessageId"]);
        let mine = desk.said.iter().position(|said| said.id == id);
        // The echo of what was sent again tells nothing new; a reset may have hidden the message.
        let known = |at: usize| {
            desk.said[at].fate == Fate::Accepted
                || self.entries.contains(&Entry::User(words.clone()))
        };
        let again = mine.is_some_and(known);
        if !again {
            self.entries.push(Entry::User(words));
        }
        mine.into_iter().for_each(|at| desk.accept(at));
    }

    fn chunk(&mut self, desk: &mut Desk, frame: &Value) {
        let turn = text(&frame["turnId"]);
        let index = frame["index"].as_u64().unwrap_or_default();
        if let Some((before, last)) = &self.last_chunk
            && *before == turn
            && *last >= index
        {
            desk.alarm(format!("chunk {index} of {turn} comes behind {last}"));
        }
        self.last_chunk = Some((turn, index));
        let part = &frame["part"];
        match frame["partType"].as_str().unwrap_or_default() {
            "text_start" => {
                self.open.insert(text(&part["id"]), self.entries.len());
                self.entries.push(Entry::Agent(String::new()));
            }
            "text_delta" => {
                let at = self.open.get(&text(&part["id"]));
                match at.and_then(|at| self.entries.get_mut(*at)) {
                    Some(Entry::Agent(words)) => words.push_str(&text(&part["text"])),
                    _ => desk.alarm("a delta of a text that never began"),
                }
            }
            "text_end" => {
                self.open.remove(&text(&part["id"]));
            }
            "tool_call" => {
                self.calls
                    .insert(text(&part["toolCallId"]), self.entries.len());
                let call = Entry::call(&text(&part["toolName"]), &part["input"]);
                self.entries.push(call);
            }
            "tool_result" => self.result(desk, part, &part["output"], false),
            "tool_error" => self.result(desk, part, &part["error"], true),
            _ => {}
        }
    }

    fn result(&mut self, desk: &mut Desk, part: &Value, output: &Value, is_error: bool) {
        let at = self.calls.get(&text(&part["toolCallId"]));
        match at.and_then(|at| self.entries.get_mut(*at)) {
            Some(Entry::Call(call)) => end(call, output, is_error),
            // Before the first answer it is not known what went before.
            _ if !desk.ready => {}
            _ => desk.alarm(format!("a result of a call that was never told: {part}")),
        }
    }

    /// A whole history takes the place of what was known, but for what is still being written.
    fn messages(&mut self, desk: &mut Desk, frame: &Value) {
        desk.answered("messages");
        if frame["limit"] != WHOLE {
            return;
        }
        let (entries, calls) = parse(&frame["messages"]);
        let growing = std::mem::take(&mut self.open);
        let before = std::mem::replace(&mut self.entries, entries.clone());
        self.calls = calls;
        for (part, at) in &growing {
            self.open.insert(part.clone(), self.entries.len());
            self.entries.extend(before.get(*at).cloned());
        }
        if desk.ready {
            let growing: Vec<usize> = growing.values().copied().collect();
            let seen = before.iter().enumerate();
            let seen = seen.filter(|(at, _)| !growing.contains(at));
            let seen = lines(seen.map(|(_, entry)| entry));
            desk.compare("the history", seen, lines(&entries));
            self.read = Some((before, entries));
        }
        desk.ready = true;
    }
}

/// A command's result is an object, and stands as JSON text in a history.
fn end(call: &mut ToolCall, output: &Value, is_error: bool) {
    let parsed = output
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    let object = parsed.as_ref().unwrap_or(output);
    match object["exitCode"].as_i64() {
        Some(code) if call.tool == "bash" => {
            let output = text(&object["stdout"]) + &text(&object["stderr"]);
            call.end(code == 0, &output);
        }
        _ => {
            let whole = output.as_str().map(str::to_owned);
            let whole = whole.unwrap_or_else(|| output.to_string());
            // What was interrupted is no error in this protocol; only its words say so.
            let interrupted = INTERRUPTED.iter().any(|words| whole.contains(words));
            call.end(!is_error && !interrupted, &whole);
        }
    }
}

fn parse(messages: &Value) -> (Vec<Entry>, BTreeMap<String, usize>) {
    let (mut entries, mut calls) = (Vec::new(), BTreeMap::new());
    for message in list(messages) {
        if let Some(words) = message["content"].as_str() {
            entries.push(Entry::User(words.to_owned()));
        }
        for block in list(&message["content"]) {
            let id = text(&block["toolCallId"]);
            match block["type"].as_str().unwrap_or_default() {
                "text" => entries.push(Entry::Agent(text(&block["text"]))),
                "tool-call" => {
                    calls.insert(id, entries.len());
                    entries.push(Entry::call(&text(&block["toolName"]), &block["input"]));
                }
                "tool-result" => {
                    let at = calls.get(&id).and_then(|at: &usize| entries.get_mut(*at));
                    if let Some(Entry::Call(call)) = at {
                        end(call, &block["output"]["value"], block["isError"] == true);
                    }
                }
                _ => {}
            }
        }
    }
    (entries, calls)
}

/// `req-7`, and `req-7-2` for its second question.
pub fn ask_number(request: &str) -> u64 {
    let number = request.trim_start_matches("req-").split('-').next();
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

impl Voice for Cowork {
    fn url(&self, base: &str, thread: Option<&str>) -> String {
        match thread {
            Some(thread) => format!("{base}?resumeSessionId={thread}"),
            None => base.to_owned(),
        }
    }

    fn greet(&mut self, _desk: &mut Desk) -> Vec<String> {
        *self = Self::default();
        Vec::new()
    }

    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>> {
        let kind = frame["type"].as_str().context("a frame without a type")?;
        match kind {
            "server_hello" => {
                let thread = text(&frame["sessionId"]);
                if desk.thread.as_ref().is_some_and(|known| *known != thread) {
                    anyhow::bail!("came back to {thread}, not to {:?}", desk.thread);
                }
                desk.thread = Some(thread);
                desk.busy = frame["busy"] == true;
                return Ok(Self::read_whole(desk).into_iter().collect());
            }
            "session_info" => desk.title = Some(text(&frame["title"])),
            "user_message" => self.user_message(desk, frame),
            "session_busy" => {
                desk.busy = frame["busy"] == true;
                if !desk.busy {
                    self.open.clear();
                    desk.asks_over();
                }
            }
            "model_stream_chunk" => self.chunk(desk, frame),
            "ask" | "approval" => {
                let request = text(&frame["requestId"]);
                let questions = match kind {
                    "ask" => vec!["words".to_owned()],
                    _ => Vec::new(),
                };
                desk.asked(ask_number(&request), &request, questions);
            }
            "messages" => self.messages(desk, frame),
            "sessions" | "pong" | "tools" => desk.answered(kind),
            "reset_done" => {
                if desk.waits_for("reset") {
                    desk.answered("reset");
                }
                self.entries.clear();
                self.calls.clear();
            }
            "error" if frame["source"] == "session" => refused(desk, frame),
            "log" if text(&frame["line"]).contains("[warn]") => desk.too_late += 1,
            _ => {}
        }
        Ok(Vec::new())
    }

    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String> {
        match deed {
            Deed::Reset if !desk.is_waiting() => {
                desk.expect("reset");
                Self::frame(desk, "reset", json!({}))
            }
            Deed::Say(_) if desk.waits_for("reset") => None,
            Deed::Say(words) if !desk.is_waiting() => {
                let id = format!("message-{words}");
                desk.say(&id, words, false);
                let fields = json!({ "text": words, "clientMessageId": id });
                Self::frame(desk, "user_message", fields)
            }
            // Whether it is the same message depends on what the others said in between.
            Deed::SayAgain => None,
            Deed::Cancel => Self::frame(desk, "cancel", json!({})),
            Deed::Answer { ask, yes, words } => {
                let ask = desk.asks.get_mut(ask)?;
                ask.answered = true;
                let id = ask.reply_to.clone();
                match ask.questions.is_empty() {
                    true => {
                        let fields = json!({ "requestId": id, "approved": yes });
                        Self::frame(desk, "approval_response", fields)
                    }
                    false => {
                        let fields = json!({ "requestId": id, "answer": words });
                        Self::frame(desk, "ask_response", fields)
                    }
                }
            }
            Deed::Title(title) => Self::frame(desk, "set_session_title", json!({ "title": title })),
            Deed::Read => Self::read_whole(desk),
            Deed::Page(from) => {
                desk.expect("messages");
                Self::frame(desk, "get_messages", json!({ "offset": from, "limit": 5 }))
            }
            Deed::Look(which) => {
                let (kind, answer) = LOOKS[which % LOOKS.len()];
                desk.expect(answer);
                Self::frame(desk, kind, json!({}))
            }
            Deed::Close => Self::frame(desk, "session_close", json!({})),
            Deed::List => {
                desk.expect("sessions");
                Self::frame(desk, "list_sessions", json!({}))
            }
            _ => None,
        }
    }

    fn views(&self, _desk: &Desk) -> Views {
        let pair = self.read.as_ref().map(|(before, read)| Pair {
            what: "conversation",
            seen: lines(before),
            read: lines(read),
        });
        Views {
            history: self.read.as_ref().map(|(_, read)| read.clone()),
            pairs: pair.into_iter().collect(),
            ..Views::default()
        }
    }
}

/// One message or one reset waits at a time, so the refusal is its.
fn refused(desk: &mut Desk, frame: &Value) {
    let waiting = |said: &super::desk::Said| said.fate == super::desk::Fate::Waiting;
    if let Some(at) = desk.said.iter().position(waiting) {
        desk.refuse(at, &frame.to_string());
    } else if desk.waits_for("reset") {
        desk.answered("reset");
    }
}
