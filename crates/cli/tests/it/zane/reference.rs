//! The event reference of Zane's first versions, row by row: each is in a transcript of this endpoint, with the words it has there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::scenarios_folder;

/// What the client asks for; each is answered with a result somewhere.
const REQUESTS: [&str; 7] = [
    "thread/start",
    "thread/list",
    "thread/resume",
    "thread/archive",
    "turn/start",
    "turn/interrupt",
    "collaborationMode/list",
];
const CLIENT_CONTROLS: [&str; 2] = ["orbit.subscribe", "orbit.unsubscribe"];
/// What the server tells and asks, with the fields that the reference gives it.
const TOLD: [(&str, &[&str]); 20] = [
    ("thread/started", &["thread"]),
    ("turn/started", &["turn"]),
    ("turn/completed", &["turn"]),
    ("turn/plan/updated", &["turnId", "plan"]),
    ("turn/diff/updated", &["threadId", "turnId", "diff"]),
    ("item/started", &["item"]),
    ("item/agentMessage/delta", &["threadId", "itemId", "delta"]),
    ("item/reasoning/summaryTextDelta", &["threadId", "delta"]),
    ("item/reasoning/textDelta", &["threadId", "delta"]),
    ("item/reasoning/summaryPartAdded", &["threadId"]),
    (
        "item/commandExecution/outputDelta",
        &["threadId", "itemId", "delta"],
    ),
    (
        "item/fileChange/outputDelta",
        &["threadId", "itemId", "delta"],
    ),
    (
        "item/commandExecution/terminalInteraction",
        &["threadId", "itemId", "stdin"],
    ),
    (
        "item/mcpToolCall/progress",
        &["threadId", "itemId", "message"],
    ),
    ("item/plan/delta", &["threadId", "itemId", "delta"]),
    ("item/completed", &["item"]),
    (
        "item/commandExecution/requestApproval",
        &["threadId", "itemId", "reason"],
    ),
    (
        "item/fileChange/requestApproval",
        &["threadId", "itemId", "reason"],
    ),
    (
        "item/mcpToolCall/requestApproval",
        &["threadId", "itemId", "reason"],
    ),
    (
        "item/tool/requestUserInput",
        &["threadId", "itemId", "questions"],
    ),
];
/// Items when they are completed, likewise.
const ITEMS: [(&str, &[&str]); 13] = [
    ("userMessage", &["content"]),
    ("agentMessage", &["text"]),
    ("reasoning", &["summary", "content"]),
    (
        "commandExecution",
        &["command", "aggregatedOutput", "exitCode"],
    ),
    ("fileChange", &["changes"]),
    ("mcpToolCall", &["tool", "result", "error"]),
    ("webSearch", &["query"]),
    ("imageView", &["path"]),
    ("enteredReviewMode", &["review"]),
    ("exitedReviewMode", &["review"]),
    ("plan", &["text"]),
    (
        "collabAgentToolCall",
        &["tool", "status", "receiverThreadIds", "prompt"],
    ),
    ("contextCompaction", &[]),
];
/// The words of values, by where they stand.
const WORDS: [(&str, &[&str]); 5] = [
    (
        "decision",
        &["accept", "acceptForSession", "decline", "cancel"],
    ),
    ("mode", &["plan", "code"]),
    ("turn status", &["Completed", "Interrupted", "Failed"]),
    ("plan status", &["Pending", "InProgress", "Completed"]),
    ("stdin", &["", "Ada\n"]),
];
/// What a thread and a turn can be begun with.
const SAID_AT_START: [(&str, &[&str]); 2] = [
    ("thread/start", &["cwd", "approvalPolicy", "sandbox"]),
    (
        "turn/start",
        &[
            "threadId",
            "input",
            "collaborationMode",
            "model",
            "effort",
            "sandboxPolicy",
        ],
    ),
];

/// All that the transcripts of this endpoint have.
#[derive(Default)]
struct Seen {
    said: BTreeSet<String>,
    answered: BTreeSet<String>,
    /// By message or kind of item: the fields that were seen in every one of them.
    told: BTreeMap<String, BTreeSet<String>>,
    items: BTreeMap<String, BTreeSet<String>>,
    /// By message: the params that were sent with any of them.
    params: BTreeMap<String, BTreeSet<String>>,
    words: BTreeSet<(&'static str, String)>,
}

impl Seen {
    fn read() -> Self {
        let mut seen = Self::default();
        for story in std::fs::read_dir(scenarios_folder()).expect("scenarios") {
            let path = story.expect("a story").path().join("zane.transcript");
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let mut asked = BTreeMap::new();
            for line in text.lines() {
                let (mark, frame) = line.split_once(' ').unwrap_or_default();
                let Ok(frame) = serde_json::from_str::<Value>(frame) else {
                    continue;
                };
                let client = mark.trim_end_matches(['<', '>']);
                let id = (client.to_owned(), frame["id"].to_string());
                match mark.chars().last() {
                    Some('>') => {
                        if let Some(kind) = seen.say(&frame) {
                            asked.insert(id, kind);
                        }
                    }
                    Some('<') if frame.get("result").is_some() => {
                        seen.answered.extend(asked.remove(&id));
                    }
                    Some('<') => seen.tell(&frame),
                    _ => {}
                }
            }
        }
        seen
    }

    fn word(&mut self, place: &'static str, value: &Value) {
        let word = value.as_str().map(str::to_owned);
        self.words.extend(word.map(|word| (place, word)));
    }

    fn say(&mut self, frame: &Value) -> Option<String> {
        self.word("decision", &frame["result"]["decision"]);
        self.word("mode", &frame["params"]["collaborationMode"]["mode"]);
        let kind = frame["method"].as_str().or(frame["type"].as_str())?;
        self.said.insert(kind.to_owned());
        let params = self.params.entry(kind.to_owned()).or_default();
        params.extend(names(&frame["params"]));
        Some(kind.to_owned())
    }

    fn tell(&mut self, frame: &Value) {
        let Some(method) = frame["method"].as_str() else {
            return;
        };
        let params = &frame["params"];
        common(&mut self.told, method, names(params));
        match method {
            "item/completed" => {
                let item = &params["item"];
                let kind = item["type"].as_str().unwrap_or_default();
                common(&mut self.items, kind, names(item));
            }
            "turn/completed" => self.word("turn status", &params["turn"]["status"]),
            "turn/plan/updated" => {
                for step in params["plan"].as_array().into_iter().flatten() {
                    self.word("plan status", &step["status"]);
                }
            }
            "item/commandExecution/terminalInteraction" => self.word("stdin", &params["stdin"]),
            _ => {}
        }
    }

    /// What of these rows is not there.
    fn lacking(&self) -> Vec<String> {
        let mut lacking = Vec::new();
        let unanswered = REQUESTS.iter().filter(|row| !self.answered.contains(**row));
        lacking.extend(unanswered.map(|row| format!("{row} is never answered")));
        let unsaid = CLIENT_CONTROLS.iter();
        let unsaid = unsaid.filter(|row| !self.said.contains(**row));
        lacking.extend(unsaid.map(|row| format!("{row} is never said")));
        for (rows, seen) in [
            (TOLD.as_slice(), &self.told),
            (ITEMS.as_slice(), &self.items),
            (SAID_AT_START.as_slice(), &self.params),
        ] {
            for (row, fields) in rows {
                match seen.get(*row) {
                    None => lacking.push(format!("{row} is never seen")),
                    Some(seen) => {
                        let missing = fields.iter().filter(|field| !seen.contains(**field));
                        lacking.extend(missing.map(|field| format!("{row} lacks {field}")));
                    }
                }
            }
        }
        for (place, words) in WORDS {
            let unseen = words.iter().map(|word| (place, (*word).to_owned()));
            let unseen = unseen.filter(|word| !self.words.contains(word));
            lacking.extend(unseen.map(|(place, word)| format!("{place}: never {word:?}")));
        }
        lacking
    }
}

fn names(object: &Value) -> BTreeSet<String> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, _)| name.clone()).collect()
}

/// Keeps the fields that all messages of a name have.
fn common(seen: &mut BTreeMap<String, BTreeSet<String>>, name: &str, fields: BTreeSet<String>) {
    match seen.get_mut(name) {
        Some(known) => known.retain(|field| fields.contains(field)),
        None => {
            seen.insert(name.to_owned(), fields);
        }
    }
}

#[test]
fn every_row_of_the_event_reference_is_in_a_transcript() {
    let mut seen = Seen::read();
    assert_eq!(seen.lacking(), [""; 0]);
    // As it would be told of a row that is gone, and of a field.
    seen.items.remove("webSearch");
    let plan = seen.told.get_mut("turn/plan/updated").expect("plans");
    plan.remove("plan");
    seen.words.remove(&("decision", "cancel".to_owned()));
    assert_eq!(
        seen.lacking(),
        [
            "turn/plan/updated lacks plan",
            "webSearch is never seen",
            "decision: never \"cancel\"",
        ]
    );
}
