//! Skills, and the lists that are empty here; and what of a configuration is kept.

use std::path::PathBuf;

use serde_json::json;
use vocabulary::{Call, Changed, Refusal, Reply, Skill, SkillCall, SkillTier, ThreadPage, Why};

use super::stub::{Stub, THREAD, thread};
use crate::codex::Endpoint;

fn skill(name: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        path: PathBuf::from(format!("/skills/{name}/SKILL.md")),
        tier: SkillTier::Project,
        enabled: true,
        triggers: Vec::new(),
        description: "Does it.".to_owned(),
        interface: None,
    }
}

fn page(threads: Vec<vocabulary::Thread>) -> Reply {
    Reply::Threads(ThreadPage {
        threads,
        ..ThreadPage::default()
    })
}

#[test]
fn skills_are_those_of_each_directory_in_the_order_asked() {
    let mut stub = Stub::started(Endpoint::Codex);
    let own = thread().card.directory.to_string_lossy().into_owned();
    let cwds = json!([own, "/elsewhere", "/nowhere"]);
    stub.ask(
        2,
        "skills/list",
        json!({ "cwds": cwds, "forceReload": true }),
    );
    let call = stub.calls[0].1.as_ref();
    assert!(
        matches!(
            call,
            Some(Call::Skills {
                call: SkillCall::List,
                ..
            })
        ),
        "{call:?}"
    );
    stub.reply(Ok(Reply::Skills(vec![skill("a")])));
    // A directory that this client has no thread in is found through any thread there.
    stub.reply(Ok(page(vec![thread()])));
    stub.reply(Ok(Reply::Skills(vec![skill("b")])));
    stub.reply(Ok(page(Vec::new())));
    let result = &stub.sent[0]["result"]["data"];
    assert_eq!(result[0]["cwd"], own.as_str());
    assert_eq!(result[0]["skills"][0]["name"], "a");
    assert_eq!(result[0]["skills"][0]["scope"], "repo");
    assert_eq!(result[1]["skills"][0]["path"], "/skills/b/SKILL.md");
    assert_eq!(
        result[2],
        json!({ "cwd": "/nowhere", "skills": [], "errors": [] })
    );
    assert_eq!(stub.sent.len(), 1);
}

#[test]
fn directories_are_absolute_and_not_too_many() {
    let mut stub = Stub::started(Endpoint::Codex);
    for method in ["skills/list", "hooks/list"] {
        stub.ask(2, method, json!({ "cwds": ["relative"] }));
        stub.ask(3, method, json!({ "cwds": vec!["/a"; 33] }));
    }
    assert_eq!(stub.sent.len(), 4);
    for sent in &stub.sent {
        let message = sent["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("cwds: "), "{sent}");
        assert_eq!(sent["error"]["code"], -32602);
    }
}

#[test]
fn a_skill_is_switched_by_name_or_path_and_one_that_is_not_there_is_refused() {
    let mut stub = Stub::started(Endpoint::Codex);
    let path = "/skills/a/SKILL.md";
    stub.ask(
        2,
        "skills/config/write",
        json!({ "path": path, "enabled": false }),
    );
    stub.reply(Ok(Reply::Skills(vec![skill("a")])));
    let Some((_, Some(Call::Skills { call, .. }))) = stub.calls.first() else {
        panic!("no call");
    };
    let (name, enabled) = ("a".to_owned(), false);
    assert_eq!(*call, SkillCall::SetEnabled { name, enabled });
    let off = Skill {
        enabled: false,
        ..skill("a")
    };
    stub.reply(Ok(Reply::Skills(vec![off])));
    assert_eq!(stub.sent[0]["result"], json!({ "effectiveEnabled": false }));
    stub.ask(
        3,
        "skills/config/write",
        json!({ "name": "b", "enabled": true }),
    );
    stub.reply(Ok(Reply::Skills(vec![skill("a")])));
    assert_eq!(stub.sent[1]["error"]["code"], -32602, "{}", stub.sent[1]);
    stub.ask(4, "skills/config/write", json!({ "enabled": true }));
    assert_eq!(stub.sent[2]["error"]["code"], -32602, "{}", stub.sent[2]);
}

#[test]
fn what_there_is_none_of_is_an_empty_list_and_an_unknown_thread_is_refused() {
    let mut stub = Stub::started(Endpoint::Codex);
    for (method, answer) in [
        ("app/list", json!({ "data": [], "nextCursor": null })),
        (
            "experimentalFeature/list",
            json!({ "data": [], "nextCursor": null }),
        ),
        (
            "memory/status",
            json!({ "v2Ready": false, "v2ConsolidatedThreads": 0 }),
        ),
    ] {
        stub.sent.clear();
        stub.ask(2, method, json!({}));
        assert_eq!(stub.sent[0]["result"], answer, "{method}");
    }
    stub.sent.clear();
    stub.ask(3, "thread/goal/get", json!({ "threadId": THREAD }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(stub.sent[0]["result"], json!({ "goal": null }));
    stub.ask(4, "thread/queue/list", json!({ "threadId": THREAD }));
    stub.reply(Err(Refusal::new(Why::UnknownThread, "no such thread")));
    assert_eq!(stub.sent[1]["error"]["code"], -32600);
}

#[test]
fn hooks_of_a_thread_are_those_of_its_directory() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(2, "hooks/list", json!({ "threadId": THREAD }));
    let data = stub.sent[0]["result"]["data"].as_array().expect("a list");
    assert_eq!(data.len(), 1);
    assert_eq!(data[0]["hooks"], json!([]));
}

#[test]
fn a_model_that_is_written_is_in_force_and_then_kept() {
    let mut stub = Stub::started(Endpoint::Codex);
    let edits = json!([
        { "keyPath": "model", "value": "gpt-5.2", "mergeStrategy": "replace" },
        { "keyPath": "model_reasoning_effort", "value": "high", "mergeStrategy": "replace" },
    ]);
    let params = json!({ "edits": edits, "filePath": null, "expectedVersion": null });
    stub.ask(2, "config/batchWrite", params);
    let Some((_, Some(Call::ChangeThread { changes, .. }))) = stub.calls.first() else {
        panic!("no change");
    };
    assert_eq!(changes.effort.as_deref(), Some("high"));
    assert!(changes.named_model.is_some());
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    let Some((_, Some(Call::KeepDefaults { settings, .. }))) = stub.calls.first() else {
        panic!("nothing is kept");
    };
    assert_eq!(settings[..], [Changed::Model, Changed::Effort]);
    stub.reply(Ok(Reply::Done));
    let result = &stub.sent[0]["result"];
    assert_eq!(result["status"], "ok");
    let directory = thread().card.directory.to_string_lossy().into_owned();
    assert_eq!(result["filePath"], directory.as_str());
}

#[test]
fn what_of_a_configuration_is_not_kept_is_refused_by_name_and_nothing_is_written() {
    let mut stub = Stub::started(Endpoint::Codex);
    let model = json!({ "keyPath": "model", "value": "gpt-5.2", "mergeStrategy": "replace" });
    for (edit, named) in [
        (
            json!({ "keyPath": "tui.theme", "value": "dark" }),
            "tui.theme",
        ),
        (json!({ "keyPath": "model", "value": 7 }), "model"),
        (json!({ "keyPath": "model", "value": "  " }), "model"),
    ] {
        stub.sent.clear();
        stub.ask(2, "config/batchWrite", json!({ "edits": [model, edit] }));
        let error = &stub.sent[0]["error"];
        assert_eq!(error["code"], -32602, "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with(&format!("config/batchWrite: {named}: ")),
            "{message}"
        );
    }
    for field in ["filePath", "expectedVersion"] {
        stub.sent.clear();
        let mut params = model.clone();
        params[field] = json!("x");
        stub.ask(3, "config/value/write", params);
        let message = stub.sent[0]["error"]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(message.contains(field), "{message}");
    }
    assert!(stub.calls.is_empty());
}
