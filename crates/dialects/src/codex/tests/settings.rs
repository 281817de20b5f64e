//! What a thread is set to: modes, profiles, and changes of them by whomever.

use serde_json::{Value, json};
use vocabulary::{
    AgentMode, Approvals, Call, Catalog, Changed, Changes, Fact, Growth, Item, ItemFact, ItemId,
    ModelRef, NamedModel, Opening, PermissionOffer, PlanMarks, Reply, SandboxMode, ThreadFact,
    ThreadSettings, Title,
};

use super::stub::{Stub, THREAD, tag, thread, view};
use crate::codex::Endpoint;

fn plan_mode(mode: &str) -> Value {
    json!({"mode": mode, "settings": {"model": "rehearsal-1", "reasoning_effort": null,
           "developer_instructions": null}})
}

/// The mode that a turn sets in a thread that is in this one.
fn turn_mode(endpoint: Endpoint, now: AgentMode, mode: &str) -> Option<AgentMode> {
    let mut stub = Stub::ready(endpoint);
    stub.ask(1, "thread/start", json!({}));
    let mut view = view();
    view.thread.settings.mode = now;
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view))));
    let turn = json!({"threadId": THREAD, "input": [{"type": "text", "text": "Go"}],
                      "collaborationMode": plan_mode(mode)});
    stub.ask(2, "turn/start", turn);
    match stub.call() {
        Call::StartTurn(start) => start.changes.mode,
        call => panic!("{call:?}"),
    }
}

#[test]
fn a_turn_sets_the_mode_and_repeats_it_for_nothing() {
    let (plan, code) = (AgentMode::Plan, AgentMode::Code);
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        assert_eq!(turn_mode(endpoint, code, "plan"), Some(plan));
        assert_eq!(turn_mode(endpoint, plan, "plan"), None);
        for word in ["default", "code", "pair_programming", "execute", "custom"] {
            assert_eq!(turn_mode(endpoint, plan, word), Some(code), "{word}");
            assert_eq!(turn_mode(endpoint, code, word), None, "{word}");
            // A thread that only talks is no other for a client that says what it was told.
            assert_eq!(turn_mode(endpoint, AgentMode::Chat, word), None, "{word}");
        }
    }
}

#[test]
fn each_endpoint_lists_both_modes_in_its_words() {
    let listed = |endpoint| {
        let mut stub = Stub::ready(endpoint);
        stub.ask(1, "collaborationMode/list", json!({}));
        let data = stub.take()[0]["result"]["data"].clone();
        let modes = data.as_array().cloned().unwrap_or_default();
        let words = |mode: &Value| mode["developer_instructions"].is_string();
        (
            json!([modes[0]["mode"], modes[1]["mode"]]),
            modes.iter().all(words),
        )
    };
    assert_eq!(listed(Endpoint::Codex), (json!(["plan", "default"]), false));
    assert_eq!(listed(Endpoint::Zane), (json!(["plan", "code"]), true));
}

/// The settings that an update changes, or why not.
fn updated(fields: &Value) -> Result<Changes, String> {
    let mut stub = Stub::started(Endpoint::Codex);
    let mut params = json!({"threadId": THREAD});
    let object = params.as_object_mut().expect("an object");
    object.extend(fields.as_object().cloned().unwrap_or_default());
    stub.ask(2, "thread/settings/update", params);
    match stub.take().first() {
        Some(refused) => Err(refused["error"]["message"].to_string()),
        None => match stub.call() {
            Call::ChangeThread { changes, .. } => Ok(changes.clone()),
            call => panic!("{call:?}"),
        },
    }
}

#[test]
fn an_update_changes_what_it_names() {
    let table = [
        (
            json!({"model": "gpt-9", "effort": "high"}),
            Changes {
                named_model: Some(NamedModel::Listed("gpt-9".to_owned())),
                effort: Some("high".to_owned()),
                ..Changes::default()
            },
        ),
        (
            json!({"approvalPolicy": "never", "permissions": ":read-only"}),
            Changes {
                approvals: Some(Approvals::Never),
                sandbox: Some(SandboxMode::ReadOnly),
                ..Changes::default()
            },
        ),
        (
            json!({"collaborationMode": {"mode": "plan", "settings": {"model": "gpt-9",
                   "developer_instructions": "Be brief."}}}),
            Changes {
                mode: Some(AgentMode::Plan),
                named_model: Some(NamedModel::Listed("gpt-9".to_owned())),
                instructions: Some("Be brief.".to_owned()),
                ..Changes::default()
            },
        ),
        (
            json!({"sandboxPolicy": {"type": "workspaceWrite", "networkAccess": true}, "cwd": null}),
            Changes {
                network: Some(true),
                ..Changes::default()
            },
        ),
    ];
    for (fields, expected) in table {
        assert_eq!(updated(&fields), Ok(expected), "{fields}");
    }
    for (fields, field) in [
        (json!({"cwd": "/elsewhere"}), "cwd"),
        (
            json!({"approvalsReviewer": "auto_review"}),
            "approvalsReviewer",
        ),
        (json!({"serviceTier": "fast"}), "serviceTier"),
        (json!({"permissions": ":mine"}), "permissions"),
        (json!({"summary": "long"}), "summary"),
    ] {
        let message = updated(&fields).expect_err("refused");
        assert!(message.contains(field), "{message}");
    }
}

#[test]
fn a_thread_that_is_not_heard_is_looked_at_before_it_is_changed() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let params = json!({"threadId": THREAD, "permissions": ":read-only"});
    stub.ask(1, "thread/settings/update", params);
    assert!(matches!(stub.call(), Call::ReadThread { recent: 0, .. }));
    stub.reply(Ok(Reply::View(Box::new(view()))));
    assert!(matches!(stub.call(), Call::ChangeThread { .. }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    assert_eq!(stub.take(), [json!({"id": 1, "result": {}})]);
}

fn changed(settings: ThreadSettings) -> Fact {
    Fact::Thread(ThreadFact::SettingsChanged {
        settings,
        changed: vec![Changed::Mode],
        title: Title::default(),
    })
}

#[test]
fn a_change_by_whomever_is_told_as_what_is_in_force() {
    let mut view = view();
    view.thread.settings.mode = AgentMode::Plan;
    view.thread.settings.approvals = Approvals::Never;
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        let told = stub.tell(changed(view.thread.settings.clone()));
        assert_eq!(told, Vec::<Value>::new());
        stub.reply(Ok(Reply::View(Box::new(view.clone()))));
        let told = stub.take();
        if endpoint == Endpoint::Zane {
            assert_eq!(told, Vec::<Value>::new());
            continue;
        }
        assert_eq!(told[0]["method"], "thread/settings/updated");
        let settings = &told[0]["params"]["threadSettings"];
        assert_eq!(settings["collaborationMode"]["mode"], "plan");
        assert_eq!(settings["approvalPolicy"], "never");
        assert_eq!(settings["sandboxPolicy"]["type"], "workspaceWrite");
        assert_eq!(settings["activePermissionProfile"]["id"], ":workspace");
    }
}

#[test]
fn profiles_are_listed_with_whether_they_are_kept() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(
        1,
        "permissionProfile/list",
        json!({"cursor": null, "limit": 2, "cwd": "/work"}),
    );
    let catalog = |full_access| Catalog {
        providers: Vec::new(),
        default: ModelRef {
            provider: "p".to_owned(),
            model: "m".to_owned(),
        },
        permissions: PermissionOffer {
            read_only: true,
            workspace_write: true,
            full_access,
            network: true,
        },
    };
    stub.reply(Ok(Reply::Catalog(Box::new(catalog(false)))));
    let page = stub.take()[0]["result"].clone();
    assert_eq!(page["data"][0]["id"], ":read-only");
    assert_eq!(page["data"][1]["id"], ":workspace");
    for (full, cursor) in [(false, page["nextCursor"].clone()), (true, json!("2"))] {
        stub.ask(2, "permissionProfile/list", json!({"cursor": cursor}));
        stub.reply(Ok(Reply::Catalog(Box::new(catalog(full)))));
        let rest = stub.take()[0]["result"].clone();
        assert_eq!(rest["data"][0]["id"], ":danger-full-access");
        assert_eq!(rest["data"][0]["allowed"], full);
        assert_eq!(rest["nextCursor"], Value::Null);
    }
}

#[test]
fn a_plan_is_an_item_of_its_own() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        let fact = |what| Fact::Item {
            tag: tag(),
            item: ItemId::new("plan"),
            content: 0,
            what,
        };
        let text = "# Do it\n".to_owned();
        let (opening, growth) = (Opening::Plan, Growth::Plan);
        let started = stub.tell(fact(ItemFact::Started { opening }));
        let delta = text.clone();
        let grew = stub.tell(fact(ItemFact::Grew { growth, delta }));
        let body = Item::Plan {
            text: text.clone(),
            partial: false,
            marks: PlanMarks::begun(),
            native: None,
        };
        let finished = stub.tell(fact(ItemFact::Finished { body, began: None }));
        assert_eq!(started[0]["params"]["item"]["type"], "plan");
        assert_eq!(grew[0]["method"], "item/plan/delta");
        assert_eq!(grew[0]["params"]["delta"], text);
        let item = json!({"type": "plan", "id": "plan", "text": text});
        assert_eq!(finished[0]["params"]["item"], item);
    }
}
