//! Pictures, what is said while a turn runs, and what happens between its steps.

use serde_json::{Value, json};
use vocabulary::{
    Call, Event, EventPage, Fact, Image, Item, ItemFact, ItemId, Native, OutputStream,
    ReasoningKind, Reply, Seq, StepFact, SubAgent, Subject, ToolCall, ToolEvent, ToolFact,
    ToolOutcome, TurnFact, TurnId, UserInput,
};

use super::samples::{self, THREAD, WORKSPACE, bash, tag, thread};
use super::stub::Stub;
use crate::pioneer::history::HistoryQuery;
use crate::pioneer::wire::history::ThreadHistoryEvent;

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";

fn steered() -> Fact {
    Fact::Turn(TurnFact::Steered {
        after_step: 0,
        turn: TurnId::new("t1"),
        input: UserInput {
            item: ItemId::new("u2"),
            text: "Look".to_owned(),
            display: None,
            client_id: None,
            images: vec![Image::Data {
                media_type: "image/png".to_owned(),
                base64: "iVBORw0KGgo=".into(),
            }],
            pieces: Vec::new(),
        },
    })
}

fn compacted() -> Fact {
    Fact::Step {
        tag: tag(),
        what: StepFact::Compacted {
            item: ItemId::new("k1"),
            summary: "Before.".to_owned(),
            tokens_before: 900,
            kept: None,
        },
    }
}

fn silent_thought() -> Fact {
    Fact::Item {
        tag: tag(),
        item: ItemId::new("r1"),
        content: 0,
        what: ItemFact::Finished {
            began: None,
            body: Item::Reasoning {
                kind: ReasoningKind::Summary,
                text: String::new(),
                partial: false,
                native: Some(Box::new(Native {
                    origin: "openai".to_owned(),
                    value: json!({ "encrypted_content": "opaque" }),
                })),
                breaks: Vec::new(),
            },
        },
    }
}

fn told(fact: Fact) -> Vec<Value> {
    let mut stub = Stub::subscribed(false);
    stub.tell(fact);
    stub.take()
}

fn whole(item: &Value) -> [Value; 2] {
    ["item/started", "item/completed"].map(|method| {
        let params = json!({
            "workspace_id": WORKSPACE, "thread_id": THREAD, "turn_id": "t1", "item": item,
        });
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    })
}

fn history(facts: Vec<Fact>) -> Vec<Value> {
    let mut stub = Stub::opened(false);
    stub.say("thread/history", json!({ "thread_id": THREAD }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    let events = (1..).zip(facts);
    stub.reply(Ok(Reply::Events(EventPage {
        card: Box::new(thread().card),
        events: events
            .map(|(seq, fact)| samples::event(seq, fact))
            .collect(),
        more: false,
    })));
    let result = stub.take().remove(0)["result"].take();
    result["events"].as_array().cloned().unwrap_or_default()
}

fn turn(input: Value) -> Value {
    json!({ "thread_id": THREAD, "turn_id": "t1", "input": input })
}

#[test]
fn pictures_go_with_the_words_or_alone() {
    let mut stub = Stub::subscribed(false);
    let input = json!([
        { "type": "image", "url": PICTURE },
        { "type": "localImage", "path": "/tmp/a.png" },
    ]);
    stub.say("turn/start", turn(input));
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    assert_eq!(start.text, "");
    let path = Image::Path("/tmp/a.png".into());
    assert!(
        matches!(&start.images[0], Image::Data { media_type, .. } if media_type == "image/png")
    );
    assert_eq!(start.images[1], path);
}

#[test]
fn files_marks_and_what_is_pointed_at_go_with_the_words() {
    let mut stub = Stub::subscribed(false);
    let input = json!([
        {
            "type": "text", "text": "Read @note",
            "textElements": [{ "byte_range": { "start": 5, "end": 10 }, "placeholder": "note" }],
        },
        { "type": "localFile", "path": "/tmp/a.txt" },
        { "type": "file", "url": "data:text/plain;base64,aGVsbG8=" },
        { "type": "mention", "name": "note", "path": "note.txt" },
        { "type": "skill", "name": "tidy", "path": "/skills/tidy" },
    ]);
    stub.say("turn/start", turn(input));
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    assert_eq!(start.display.as_deref(), Some("Read @note"));
    assert_eq!(
        start.text,
        "Read @note\n\n[a file of the user's]\nhello\n[the user points at note.txt]\n\
         [the user wants this skill to be used: tidy]"
    );
    assert_eq!(start.files, [std::path::PathBuf::from("/tmp/a.txt")]);
    let marks = vec![vocabulary::TextMark {
        start: 5,
        end: 10,
        placeholder: Some("note".to_owned()),
    }];
    let pieces = vec![vocabulary::InputPiece::Text { bytes: 10, marks }];
    assert_eq!(start.pieces, pieces);
    let input = UserInput {
        item: ItemId::new("u3"),
        text: start.text.clone(),
        display: start.display.clone(),
        client_id: None,
        images: Vec::new(),
        pieces,
    };
    let started = Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: vocabulary::Cause::UserMessage,
        input,
        model: None,
    });
    let said = history(vec![started])[0]["payload"]["input"].take();
    let element = json!({ "byte_range": { "start": 5, "end": 10 }, "placeholder": "note" });
    let text = json!({ "type": "text", "text": "Read @note", "textElements": [element] });
    assert_eq!(said, json!([text]));
}

#[test]
fn what_cannot_be_said_names_its_field() {
    for (input, words) in [
        (
            json!([{ "type": "text", "text": "x" }, { "type": "audio", "url": "x" }]),
            "audio and video are not taken), not `audio`",
        ),
        (
            json!([{ "type": "image", "url": "ftp://x" }]),
            "input[0].url: expected a data:",
        ),
        (
            json!([{ "type": "localImage", "path": "a.png" }]),
            "input[0].path: expected an absolute path",
        ),
        (json!([{ "type": "text", "text": " " }]), "some text"),
        (
            json!([{ "type": "localFile", "path": "a.txt" }]),
            "input[0].path: expected an absolute path",
        ),
        (
            json!([{ "type": "file", "url": "https://example.com/a.pdf" }]),
            "input[0].url: expected a data: URL",
        ),
        (
            json!([{ "type": "file", "url": "data:application/pdf;base64,/w==" }]),
            "input[0].url: models of this server read text and pictures",
        ),
        (
            json!([{ "type": "text", "text": "x", "textElements": [{ "byte_range": { "start": 0, "end": 9 } }] }]),
            "input[0].textElements: byteRange",
        ),
        (json!([{ "type": "skill" }]), "input[0].name: expected"),
        (json!([{ "type": "mention" }]), "input[0].path: expected"),
    ] {
        let mut stub = Stub::subscribed(false);
        stub.say("turn/start", turn(input));
        assert!(stub.calls.is_empty());
        let error = stub.take().remove(0)["error"].take();
        assert_eq!(error["code"], -32602);
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn what_is_said_to_a_running_turn_is_an_item_of_it() {
    let item = json!({
        "type": "userMessage", "id": "u2", "text": "Look",
        "attachments": [{ "type": "image", "url": PICTURE }],
    });
    assert_eq!(told(steered()), whole(&item));
    let kept = history(vec![steered()]);
    let kinds: Vec<_> = kept.iter().map(|event| &event["payload"]["type"]).collect();
    assert_eq!(kinds, ["itemStarted", "itemCompleted"]);
    assert_eq!(kept[1]["payload"]["item"], item);
}

/// An answer that began at `began` and ended at `seq`.
fn written(seq: u64, began: u64) -> Event {
    let what = ItemFact::Finished {
        began: Some(Seq(began)),
        body: Item::AgentMessage {
            text: "Hm.".to_owned(),
            partial: false,
            native: None,
        },
    };
    let fact = Fact::Item {
        tag: tag(),
        item: ItemId::new(format!("m{seq}")),
        content: 0,
        what,
    };
    samples::event(seq, fact)
}

/// Each history event in short, with its number.
fn in_short(page: &[ThreadHistoryEvent<'_>]) -> Vec<String> {
    let json = serde_json::to_value(page).expect("JSON");
    let events = json.as_array().expect("events").iter();
    let short = |event: &Value| {
        let payload = &event["payload"];
        let id = payload["item"]["id"].as_str();
        let id = id.or(payload["itemId"].as_str()).unwrap_or_default();
        let kind = payload["type"].as_str().unwrap_or_default();
        format!("{} {id} {kind}", event["sequence"])
    };
    events.map(short).collect()
}

#[test]
fn what_is_said_while_an_answer_grows_stands_behind_its_beginning() {
    let log = [written(8, 4), samples::event(6, steered()), written(12, 10)];
    let mut log = log.to_vec();
    log.sort_by_key(|event| event.seq);
    let card = thread().card;
    let all = HistoryQuery {
        after: None,
        limit: None,
    };
    let whole = [
        "16 m8 itemStarted",
        "24 u2 itemStarted",
        "25 u2 itemCompleted",
        "33 m8 itemDelta",
        "34 m8 itemCompleted",
        "40 m12 itemStarted",
        "49 m12 itemDelta",
        "50 m12 itemCompleted",
    ];
    assert_eq!(in_short(&all.page(&card, "", &log, false).0), whole);

    // Whoever reads on is told everything once, wherever a page ends.
    for limit in 2..whole.len() {
        let (mut seen, mut after) = (Vec::new(), Some(0));
        while after.is_some() {
            let query = HistoryQuery {
                after,
                limit: Some(limit),
            };
            let (page, next) = query.page(&card, "", &log, false);
            assert!(page.len() <= limit);
            seen.extend(in_short(&page));
            after = next;
        }
        let what = seen.iter().filter_map(|each| each.split_once(' '));
        let mut items: Vec<_> = what.map(|(_, what)| what).collect();
        let told = items.len();
        items.sort_unstable();
        items.dedup();
        assert_eq!(
            (told, items.len()),
            (whole.len(), whole.len()),
            "{limit}: {seen:?}"
        );
    }

    // Who had read up to what was said, before the answer was there, is told of its beginning, too.
    let later = HistoryQuery {
        after: Some(25),
        limit: Some(2),
    };
    let (page, next) = later.page(&card, "", &log, false);
    assert_eq!(in_short(&page), ["32 m8 itemStarted", "33 m8 itemDelta"]);
    assert_eq!(next, Some(33));

    // From the end, what began before the log that was read is left out.
    let newest = HistoryQuery {
        after: None,
        limit: Some(20),
    };
    let (page, next) = newest.page(&card, "", &log[1..], true);
    assert_eq!(
        (in_short(&page), next),
        (
            whole[3..].iter().map(|each| (*each).to_owned()).collect(),
            None
        )
    );
}

#[test]
fn a_compaction_is_told_and_kept() {
    let item = json!({
        "type": "systemEvent", "id": "k1", "level": "info", "code": "context_compressed",
        "message": "What was said before is now a summary for the model.",
        "details": { "summary": "Before.", "tokensBefore": 900 },
    });
    let sent = told(compacted());
    assert_eq!(sent[..2], whole(&item));
    let params = json!({ "thread_id": THREAD, "turn_id": "t1", "compressed_tokens": 900 });
    let compressed = json!({ "jsonrpc": "2.0", "method": "context/compressed", "params": params });
    assert_eq!(sent[2..], [compressed]);
    let kept = history(vec![compacted()]);
    assert_eq!(kept[1]["payload"]["item"], item);
}

#[test]
fn a_thought_kept_by_its_provider_is_not_in_the_history() {
    let sent = told(silent_thought());
    let item = json!({ "type": "reasoning", "id": "r1", "summary": [], "content": [] });
    assert_eq!(sent[0]["params"]["item"], item, "it ends what had begun");
    assert!(history(vec![silent_thought()]).is_empty());
}

#[test]
fn a_sub_agents_call_is_an_item_of_the_turn() {
    let call = ToolCall {
        item: ItemId::new("i9"),
        agent: Some(Box::new(SubAgent {
            parent: ItemId::new("i1"),
            kind: "explore".to_owned(),
            depth: 1,
        })),
        ..bash("ls")
    };
    let mut stub = Stub::subscribed(false);
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Planned { content: 0 },
    }));
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Failed {
                error: "the arguments cannot be read".to_owned(),
            },
            duration_ms: None,
        },
    }));
    let sent = stub.take();
    assert_eq!(sent[0]["params"]["item"]["id"], "i9");
    let ended = &sent[1]["params"]["item"];
    assert_eq!(ended["id"], "i9");
    assert_eq!(ended["status"], "failed");
    let lines = json!(["the arguments cannot be read"]);
    assert_eq!(ended["display"]["lines"], lines);
}

#[test]
fn a_call_is_shown_with_the_words_that_came_with_it() {
    for (input, title) in [
        (
            json!({"task": "x", "description": "Look at x"}),
            "Look at x",
        ),
        (json!({"task": "x"}), "spawnAgent"),
        (json!({"task": "x", "description": "a\nb"}), "spawnAgent"),
    ] {
        let call = ToolCall {
            name: "spawnAgent".to_owned(),
            input,
            subject: Subject::Other,
            ..bash("ls")
        };
        let mut stub = Stub::subscribed(false);
        let what = ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(vocabulary::ToolOutput::Text("found".to_owned())),
            duration_ms: None,
        };
        stub.tell(Fact::tool(tag(), call.into(), what));
        assert_eq!(stub.take()[0]["params"]["item"]["display"]["title"], title);
    }
}

#[test]
fn what_a_tool_writes_is_told_by_its_kind() {
    for (subject, method, stream) in [
        (
            bash("ls").subject,
            "item/command_execution/output_delta",
            "stdout",
        ),
        (Subject::Other, "item/tool/progress", "tool_progress"),
    ] {
        let mut stub = Stub::subscribed(false);
        let call = ToolCall {
            subject,
            ..bash("ls")
        };
        let what = ToolFact::Wrote {
            stream: OutputStream::Stdout,
            delta: "I looked".to_owned(),
        };
        stub.tell(Fact::tool(tag(), call.into(), what));
        let params = json!({
            "workspace_id": WORKSPACE, "thread_id": THREAD, "turn_id": "t1", "item_id": "i1",
            "delta": "I looked", "stream": stream,
        });
        let expected = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        assert_eq!(stub.take(), [expected]);
    }
}

#[test]
fn how_far_a_tool_is_is_told_line_by_line() {
    let mut stub = Stub::subscribed(false);
    let call = ToolCall {
        subject: Subject::Mcp {
            server: "docs".to_owned(),
            tool: "search".to_owned(),
        },
        ..bash("ls")
    };
    let message = "half".to_owned();
    stub.tell(Fact::tool(
        tag(),
        call.into(),
        ToolFact::Progressed { message },
    ));
    let sent = stub.take();
    assert_eq!(sent[0]["method"], "item/tool/progress");
    assert_eq!(sent[0]["params"]["delta"], "half\n");
}
