//! Models as clients choose them.

use serde_json::json;
use vocabulary::{Call, Catalog, CatalogModel, CatalogProvider, ModelRef, Reply};

use super::stub::{Stub, THREAD, thread, view};
use crate::codex::Endpoint;

fn provider(id: &str, connected: bool, models: Vec<CatalogModel>) -> CatalogProvider {
    CatalogProvider {
        id: id.to_owned(),
        name: id.to_owned(),
        default_model: models[0].id.clone(),
        models,
        auth_methods: Vec::new(),
        connected,
    }
}

fn model(id: &str, name: &str) -> CatalogModel {
    CatalogModel {
        id: id.to_owned(),
        name: name.to_owned(),
        ..CatalogModel::default()
    }
}

/// Two providers have the same model; a third is not connected.
fn catalog() -> Catalog {
    let thinking = CatalogModel {
        efforts: vec!["low".to_owned(), "deep".to_owned()],
        default_effort: Some("deep".to_owned()),
        vision: Some(false),
        ..model("gpt", "GPT")
    };
    Catalog {
        providers: vec![
            provider("acme", false, vec![model("big", "")]),
            provider("codex-cli", true, vec![model("gpt", "GPT")]),
            provider("openai", true, vec![thinking]),
        ],
        default: ModelRef {
            provider: "openai".to_owned(),
            model: "gpt".to_owned(),
        },
        permissions: vocabulary::PermissionOffer::default(),
    }
}

fn listed() -> Stub {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "model/list", json!({}));
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    stub
}

#[test]
fn models_of_connected_providers_are_listed_the_others_hidden() {
    let first = json!({
        "id": "gpt", "model": "gpt", "displayName": "GPT", "description": "gpt by openai",
        "hidden": false, "isDefault": true,
        "supportedReasoningEfforts": [
            { "reasoningEffort": "low", "description": "Thinks a little; fast answers." },
            { "reasoningEffort": "deep", "description": "As its provider defines it." },
        ],
        "defaultReasoningEffort": "deep", "inputModalities": ["text"],
    });
    let medium =
        json!([{ "reasoningEffort": "medium", "description": "The provider's own default." }]);
    let second = json!({
        "id": "codex-cli/gpt", "model": "codex-cli/gpt", "displayName": "GPT (codex-cli)",
        "description": "gpt by codex-cli", "hidden": false, "isDefault": false,
        "supportedReasoningEfforts": medium, "defaultReasoningEffort": "medium",
        "inputModalities": ["text", "image"],
    });
    let sent = listed().take();
    let result = json!({ "data": [first, second], "nextCursor": null });
    assert_eq!(sent, [json!({ "id": 1, "result": result })]);

    let mut stub = Stub::ready(Endpoint::Codex);
    let params = json!({ "includeHidden": true, "cursor": "1", "limit": 1 });
    stub.ask(1, "model/list", params);
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    let result = &stub.take()[0]["result"];
    assert_eq!(result["data"][0]["id"], "codex-cli/gpt");
    assert_eq!(result["nextCursor"], "2");
    let params = json!({ "includeHidden": true, "cursor": "2", "limit": 1 });
    stub.ask(2, "model/list", params);
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    let result = &stub.take()[0]["result"];
    assert_eq!(result["data"][0]["hidden"], true);
    assert_eq!(result["data"][0]["displayName"], "big");
    assert_eq!(result["nextCursor"], json!(null));
}

#[test]
fn an_effort_that_was_made_up_is_nobodys_wish() {
    let mut stub = listed();
    let mut shared = view();
    shared.thread.settings.model = ModelRef {
        provider: "codex-cli".to_owned(),
        model: "gpt".to_owned(),
    };
    stub.ask(2, "thread/resume", json!({ "threadId": THREAD }));
    stub.reply(Ok(Reply::View(Box::new(shared))));
    for (effort, changed) in [("medium", None), ("high", Some("high"))] {
        let input = json!([{ "type": "text", "text": "Go" }]);
        let params = json!({ "threadId": THREAD, "input": input, "effort": effort });
        stub.ask(3, "turn/start", params);
        let (_, call) = stub.calls.remove(0);
        let Some(Call::StartTurn(start)) = call else {
            panic!("{changed:?}: {call:?}")
        };
        assert_eq!(start.changes.effort.as_deref(), changed);
    }
}

/// The model a turn changes to when its client names one.
fn chosen(stub: &mut Stub, name: &str) -> Result<Option<ModelRef>, String> {
    let input = json!([{ "type": "text", "text": "Go" }]);
    let params = json!({ "threadId": THREAD, "input": input, "model": name });
    stub.ask(5, "turn/start", params);
    let (_, call) = stub.calls.remove(0);
    let Some(Call::StartTurn(start)) = call else {
        panic!("{call:?}")
    };
    assert_eq!(start.changes.model, None);
    let Some(named) = start.changes.named_model else {
        return Ok(None);
    };
    let found = catalog().find(&named, None);
    found.map_err(|refusal| refusal.message)
}

#[test]
fn a_name_comes_back_as_the_model_it_was_listed_for() {
    let mut stub = listed();
    let mut shared = view();
    shared.thread.settings.model = ModelRef {
        provider: "codex-cli".to_owned(),
        model: "gpt".to_owned(),
    };
    stub.sent.clear();
    stub.ask(2, "thread/resume", json!({ "threadId": THREAD }));
    stub.reply(Ok(Reply::View(Box::new(shared))));
    let result = &stub.take()[0]["result"];
    assert_eq!(result["model"], "codex-cli/gpt");
    assert_eq!(result["modelProvider"], "codex-cli");
    assert_eq!(result["thread"]["model"], "codex-cli/gpt");

    let own = chosen(&mut stub, "codex-cli/gpt");
    assert_eq!(own, Ok(None), "it has that one");
    let openai = catalog().default;
    assert_eq!(chosen(&mut stub, "gpt"), Ok(Some(openai)));
    let unheard = ModelRef {
        provider: "acme".to_owned(),
        model: "lab/new".to_owned(),
    };
    assert_eq!(chosen(&mut stub, "acme/lab/new"), Ok(Some(unheard)));
    let unknown = "there is no model \"nobody/new\"".to_owned();
    assert_eq!(chosen(&mut stub, "nobody/new"), Err(unknown));
    assert_eq!(thread().settings.model.model, "rehearsal-1");
}

#[test]
fn the_servers_own_model_is_listed_as_the_default_even_where_no_provider_lists_it() {
    let mut catalog = catalog();
    catalog.default = ModelRef {
        provider: "openai".to_owned(),
        model: "gpt-next".to_owned(),
    };
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "model/list", json!({}));
    stub.reply(Ok(Reply::Catalog(Box::new(catalog))));
    let data = stub.sent[0]["result"]["data"].as_array().expect("a list");
    let default: Vec<_> = data
        .iter()
        .filter(|each| each["isDefault"] == true)
        .collect();
    assert_eq!(default.len(), 1, "{data:?}");
    assert_eq!(default[0]["model"], "openai/gpt-next");
    assert_eq!(default[0]["hidden"], false);
}
