//! The kinds of items, live and in history; thoughts by their parts; what was said meanwhile, where it
//! took effect.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    ContentBlock, Effects, Entry, Event, Fact, FileChange, FileChangeKind, Growing, Growth, Item,
    ItemFact, ItemId, LiveItem, Opening, ReasoningKind, Reply, RunningTurn, Seq, StreamTag,
    Subject, ThreadView, Timestamp, ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput,
    TurnFact, TurnId, TurnOutcome, UserInput,
};

use super::stub::{NOW, Stub, THREAD, bash, event, tag, view};
use crate::codex::{Endpoint, tell};

const BOTH: [Endpoint; 2] = [Endpoint::Codex, Endpoint::Zane];

fn called(name: &str, subject: Subject, effects: Effects) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        input: json!({}),
        subject,
        effects,
        ..bash()
    }
}

fn tool(call: &ToolCall, what: ToolFact) -> Fact {
    Fact::tool(tag(), Arc::new(call.clone()), what)
}

fn ended(output: ToolOutput) -> ToolFact {
    ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(output),
        duration_ms: Some(7),
    }
}

fn said(item: &str, text: &str) -> UserInput {
    UserInput {
        item: ItemId::new(item),
        text: text.to_owned(),
        display: None,
        client_id: None,
        images: Vec::new(),
        pieces: Vec::new(),
    }
}

/// What a read shows of these facts, which happened one after the other.
fn read(endpoint: Endpoint, facts: Vec<Fact>, turn: Option<RunningTurn>) -> Value {
    let entries = (1..).zip(facts).map(|(seq, fact)| Entry {
        ordinal: seq,
        message: seq,
        event: Event {
            seq: Seq(seq),
            at: Timestamp(NOW.0 + seq as i64 * 1000),
            by: None,
            fact,
        },
    });
    let recent = entries.collect();
    let mut stub = Stub::ready(endpoint);
    let params = json!({ "threadId": THREAD, "includeTurns": true });
    stub.ask(1, "thread/read", params);
    let view = ThreadView {
        recent,
        turn,
        ..view()
    };
    stub.reply(Ok(Reply::View(Box::new(view))));
    stub.take().remove(0)["result"]["thread"]["turns"][0].take()
}

fn started() -> Fact {
    Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: vocabulary::Cause::UserMessage,
        input: said("u1", "Go"),
        model: tag().model,
    })
}

fn finished(started_at: Option<Timestamp>) -> Fact {
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t1"),
        outcome: TurnOutcome::Completed,
        text: String::new(),
        reasoning: Vec::new(),
        usage: None,
        model: tag().model,
        started_at,
    })
}

/// Live and in history it is the same item.
fn item_of(endpoint: Endpoint, call: &ToolCall, end: ToolFact) -> Value {
    let mut stub = Stub::started(endpoint);
    let live = stub.tell(tool(call, end.clone()));
    let live = live.last().expect("an end")["params"]["item"].clone();
    let planned = ToolFact::Planned { content: 0 };
    let turn = read(
        endpoint,
        vec![started(), tool(call, planned), tool(call, end)],
        None,
    );
    assert_eq!(turn["items"][1], live);
    live
}

#[test]
fn searches_pages_and_pictures_are_items_of_their_own() {
    let query = "rust 2024".to_owned();
    let search = called("webSearch", Subject::Search { query }, Effects::NETWORK);
    let url = "https://example.com/".to_owned();
    let page = called("webFetch", Subject::Web { url }, Effects::NETWORK);
    let picture = called("read", Subject::file("shots/A.PNG"), Effects::READS);
    let text = called("read", Subject::file("a.rs"), Effects::READS);
    let change = called("write", Subject::file("a.png"), Effects::WRITES);
    let end = || ended(ToolOutput::Text("found".to_owned()));
    for endpoint in BOTH {
        let item = item_of(endpoint, &search, end());
        let action = json!({ "type": "search", "query": "rust 2024" });
        let wanted =
            json!({ "type": "webSearch", "id": "i1", "query": "rust 2024", "action": action });
        assert_eq!(item, wanted);
        let item = item_of(endpoint, &page, end());
        assert_eq!(item["action"]["type"], "openPage");
        assert_eq!(item["query"], "https://example.com/");
        let shown = vec![ContentBlock::Image {
            media_type: "image/png".to_owned(),
            base64: "AAAA".into(),
        }];
        let item = item_of(endpoint, &picture, ended(ToolOutput::Content(shown)));
        let path = "/home/user/project/shots/A.PNG";
        assert_eq!(
            item,
            json!({ "type": "imageView", "id": "i1", "path": path })
        );
        let no_picture = item_of(endpoint, &picture, end());
        assert_ne!(
            no_picture["type"], "imageView",
            "it only has the name of one"
        );
        assert_ne!(item_of(endpoint, &text, end())["type"], "imageView");
        assert_eq!(item_of(endpoint, &change, end())["type"], "fileChange");
    }
}

#[test]
fn a_search_that_was_not_made_is_not_told_as_one() {
    let query = "rust 2024".to_owned();
    let search = called("webSearch", Subject::Search { query }, Effects::NETWORK);
    for endpoint in BOTH {
        let mut stub = Stub::started(endpoint);
        assert!(stub.tell(tool(&search, ToolFact::Reached)).is_empty());
        let began = stub.tell(tool(&search, ToolFact::Started));
        assert_eq!(began[0]["method"], "item/started");
        assert_eq!(began[0]["params"]["item"]["type"], "webSearch");
        let denied = ToolFact::Finished {
            outcome: ToolOutcome::Denied(ToolOutput::Text("no".to_owned())),
            duration_ms: None,
        };
        let told = stub.tell(tool(&search, denied.clone()));
        assert_eq!(told[0]["method"], "item/started");
        assert_eq!(told[1]["method"], "item/completed");
        let item = item_of(endpoint, &search, denied);
        assert_ne!(item["type"], "webSearch");
        assert_eq!(item["status"], "failed");
        let failed = ToolFact::Finished {
            outcome: ToolOutcome::Failed {
                error: "no answer".to_owned(),
            },
            duration_ms: Some(9),
        };
        assert_eq!(item_of(endpoint, &search, failed)["type"], "webSearch");
    }
}

#[test]
fn a_sub_agent_is_told_by_its_call() {
    let prompt = "Count the files.".to_owned();
    let call = called("spawnAgent", Subject::Agent { prompt }, Effects::RUNS);
    for endpoint in BOTH {
        let mut stub = Stub::started(endpoint);
        let reached = stub.tell(tool(&call, ToolFact::Reached));
        let item = &reached[0]["params"]["item"];
        assert_eq!(item["status"], "inProgress");
        assert_eq!(item["agentsStates"]["i1"]["status"], "running");
        let item = item_of(endpoint, &call, ended(ToolOutput::Text("One.".to_owned())));
        assert_eq!(item["type"], "collabAgentToolCall");
        assert_eq!(item["tool"], "spawnAgent");
        assert_eq!(item["status"], "completed");
        assert_eq!(item["prompt"], "Count the files.");
        assert_eq!(item["senderThreadId"], THREAD);
        assert_eq!(item["receiverThreadIds"], json!(["i1"]));
        let state = json!({ "status": "completed", "message": "One." });
        assert_eq!(item["agentsStates"]["i1"], state);
        let refused = ToolFact::Finished {
            outcome: ToolOutcome::NotRun {
                why: "no".to_owned(),
            },
            duration_ms: None,
        };
        let item = item_of(endpoint, &call, refused);
        assert_eq!(item["status"], "failed");
        assert_eq!(item["agentsStates"]["i1"]["status"], "notFound");
    }
}

#[test]
fn changed_files_are_named_as_each_client_shows_them() {
    let change = FileChange {
        path: "src/a.rs".to_owned(),
        kind: FileChangeKind::Update,
        diff: "@@ -3 +3 @@\n-a\n+b\n".to_owned(),
    };
    let call = called("edit", Subject::file("src/a.rs"), Effects::WRITES);
    let end = || {
        ended(ToolOutput::Files {
            summary: "Edited".to_owned(),
            changes: vec![change.clone()],
        })
    };
    let path = |endpoint| item_of(endpoint, &call, end())["changes"][0]["path"].clone();
    assert_eq!(path(Endpoint::Codex), "/home/user/project/src/a.rs");
    assert_eq!(path(Endpoint::Zane), "src/a.rs");
    let told = |endpoint| Stub::started(endpoint).tell(tool(&call, end()));
    assert_eq!(told(Endpoint::Codex).len(), 1);
    let zane = told(Endpoint::Zane);
    assert_eq!(zane[0]["method"], "item/fileChange/outputDelta");
    assert_eq!(zane[0]["params"]["itemId"], "i1");
    assert_eq!(zane[0]["params"]["delta"], change.diff);
    assert_eq!(zane[1]["method"], "item/completed");
}

#[test]
fn what_ran_says_how_long() {
    let call = called("glob", Subject::Other, Effects::READS);
    for endpoint in BOTH {
        let item = item_of(endpoint, &call, ended(ToolOutput::Text(String::new())));
        assert_eq!(item["durationMs"], 7);
        let failed = ToolFact::Finished {
            outcome: ToolOutcome::Failed {
                error: "no such place".to_owned(),
            },
            duration_ms: Some(3),
        };
        let item = item_of(endpoint, &bash(), failed);
        assert_eq!(item["durationMs"], 3);
    }
}

#[test]
fn a_turn_says_when_it_began_and_how_long_it_took() {
    for endpoint in BOTH {
        let began = Timestamp(NOW.0 - 2500);
        let told = Stub::started(endpoint).tell(finished(Some(began)));
        let turn = &told.last().expect("an end")["params"]["turn"];
        assert_eq!(turn["durationMs"], 2500);
        assert_eq!(turn["startedAt"], began.seconds());
        let turn = read(endpoint, vec![started(), finished(None)], None);
        assert_eq!(turn["durationMs"], 1000, "what the log's own times say");
    }
}

#[test]
fn only_the_app_servers_clients_are_told_when_it_was() {
    let event = event(finished(None));
    for (endpoint, told) in [
        (Endpoint::Codex, json!(NOW.0)),
        (Endpoint::Zane, Value::Null),
    ] {
        for frame in tell::tell(&super::stub::card(), &event, endpoint) {
            let frame: Value = serde_json::from_str(&frame).expect("JSON");
            assert_eq!(frame["emittedAtMs"], told, "{frame}");
        }
    }
}

fn thought(kind: ReasoningKind) -> [Fact; 5] {
    let item = |what| Fact::Item {
        tag: tag(),
        item: ItemId::new("r1"),
        content: 0,
        what,
    };
    let grew = |growth, delta: &str| {
        let delta = delta.to_owned();
        item(ItemFact::Grew { growth, delta })
    };
    let opening = Opening::Reasoning(kind);
    [
        item(ItemFact::Started { opening }),
        grew(Growth::Reasoning { kind, part: 0 }, "One"),
        grew(Growth::ReasoningPart { kind, part: 1 }, "\n\n"),
        grew(Growth::Reasoning { kind, part: 1 }, "Two"),
        item(ItemFact::Finished {
            body: Item::Reasoning {
                kind,
                text: "One\n\nTwo".to_owned(),
                breaks: vec![5],
                partial: false,
                native: None,
            },
            began: None,
        }),
    ]
}

#[test]
fn the_parts_of_a_thought_stay_parts() {
    for (endpoint, kind, list) in [
        (Endpoint::Codex, ReasoningKind::Summary, "summary"),
        (Endpoint::Codex, ReasoningKind::Reasoning, "summary"),
        (Endpoint::Zane, ReasoningKind::Summary, "summary"),
        (Endpoint::Zane, ReasoningKind::Reasoning, "content"),
    ] {
        let mut stub = Stub::started(endpoint);
        let told: Vec<Value> = thought(kind)
            .into_iter()
            .flat_map(|fact| stub.tell(fact))
            .collect();
        let deltas = told
            .iter()
            .filter(|frame| frame["params"]["delta"].is_string());
        let index = format!("{list}Index");
        let deltas: Vec<_> = deltas
            .map(|frame| (&frame["params"]["delta"], &frame["params"][index.as_str()]))
            .collect();
        assert_eq!(
            deltas,
            [(&json!("One"), &json!(0)), (&json!("Two"), &json!(1))]
        );
        let is_part = |frame: &&Value| frame["method"] == "item/reasoning/summaryPartAdded";
        let parts = told.iter().filter(is_part).count();
        assert_eq!(parts, if list == "summary" { 2 } else { 0 });
        let ended = &told.last().expect("an end")["params"]["item"];
        assert_eq!(ended[list], json!(["One", "Two"]));
        let [.., whole] = thought(kind);
        let turn = read(endpoint, vec![started(), whole], None);
        assert_eq!(&turn["items"][1], ended, "history is as it was told");
    }
}

fn step(number: u32) -> StreamTag {
    StreamTag {
        step: number,
        ..tag()
    }
}

fn message(number: u32, item: &str, began: u64) -> Fact {
    Fact::Item {
        tag: step(number),
        item: ItemId::new(item),
        content: 0,
        what: ItemFact::Finished {
            body: Item::AgentMessage {
                text: item.to_owned(),
                partial: false,
                native: None,
            },
            began: Some(Seq(began)),
        },
    }
}

fn steered(after_step: u32) -> Fact {
    Fact::Turn(TurnFact::Steered {
        turn: TurnId::new("t1"),
        input: said("u2", "And tests"),
        after_step,
    })
}

fn ids(turn: &Value) -> Vec<&str> {
    let items = turn["items"].as_array().expect("items").iter();
    items.filter_map(|item| item["id"].as_str()).collect()
}

fn running(unplaced: &[&str], live: Vec<Growing>) -> RunningTurn {
    RunningTurn {
        turn: TurnId::new("t1"),
        started_at: NOW,
        input: said("u1", "Go"),
        text: Vec::new(),
        reasoning: Vec::new(),
        calls: Vec::new(),
        step: None,
        live,
        events: Vec::new(),
        unplaced: unplaced.iter().copied().map(ItemId::new).collect(),
    }
}

#[test]
fn what_is_said_meanwhile_stands_where_it_took_effect() {
    for endpoint in BOTH {
        let mut stub = Stub::started(endpoint);
        assert!(
            stub.tell(steered(1)).is_empty(),
            "not while step 1 is written"
        );
        let placed = Fact::Turn(TurnFact::SteerPlaced {
            turn: TurnId::new("t1"),
            input: said("u2", "And tests"),
        });
        let told = stub.tell(placed);
        assert_eq!(told[0]["method"], "item/started");
        assert_eq!(told[1]["params"]["item"]["id"], "u2");

        // Said while m1 was written and its call ran; read by the second step.
        let call = ToolCall {
            item: ItemId::new("c1"),
            ..bash()
        };
        let planned = tool(&call, ToolFact::Planned { content: 1 });
        let facts = || vec![started(), steered(1), message(1, "m1", 1), planned.clone()];
        let mut over = facts();
        over.extend([message(2, "m2", 5), finished(None)]);
        let turn = read(endpoint, over, None);
        assert_eq!(ids(&turn), ["u1", "m1", "c1", "u2", "m2"]);

        let turn = read(endpoint, facts(), Some(running(&["u2"], Vec::new())));
        assert_eq!(ids(&turn), ["u1", "m1", "c1"], "it has no place yet");
        let growing = Growing {
            tag: step(2),
            began: Some(Seq(9)),
            part: 0,
            item: LiveItem::Text {
                item: ItemId::new("m2"),
                content: 0,
                text: "so f".to_owned(),
            },
        };
        let turn = read(endpoint, facts(), Some(running(&[], vec![growing])));
        assert_eq!(ids(&turn), ["u1", "m1", "c1", "u2", "m2"]);

        let mut cut = facts();
        cut.push(finished(None));
        let turn = read(endpoint, cut, None);
        assert_eq!(ids(&turn), ["u1", "m1", "c1", "u2"], "nothing is lost");
    }
}

#[test]
fn a_log_that_does_not_say_which_step_heard_it_keeps_its_order() {
    let facts = vec![
        started(),
        message(1, "m1", 2),
        steered(0),
        message(2, "m2", 4),
        finished(None),
    ];
    let turn = read(Endpoint::Codex, facts, None);
    assert_eq!(ids(&turn), ["u1", "m1", "u2", "m2"]);
}

#[test]
fn a_call_of_a_sub_agent_is_an_item_like_any_other() {
    let mut call = bash();
    call.agent = Some(Box::new(vocabulary::SubAgent {
        parent: ItemId::new("p1"),
        kind: "general".to_owned(),
        depth: 1,
    }));
    let event = ToolEvent {
        tag: tag(),
        call: Arc::new(call),
        what: ToolFact::Reached,
    };
    let told = Stub::started(Endpoint::Codex).tell(Fact::Tool(event));
    assert_eq!(told[0]["params"]["item"]["type"], "commandExecution");
}
