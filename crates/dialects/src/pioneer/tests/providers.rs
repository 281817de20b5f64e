//! Providers, their models and keys, and models that are named by half.

use serde_json::{Value, json};
use vocabulary::{
    Call, Catalog, CatalogModel, CatalogProvider, Changes, LibraryReply, ModelRef, Reply, Secret,
    SignInCall, SignedIn, Why,
};

use super::samples::{THREAD, WORKSPACE, model, thread, workspace};
use super::stub::Stub;

const KEY: &str = "sk-very-secret";

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

fn catalog() -> Catalog {
    let named = |id: &str| CatalogModel {
        id: id.to_owned(),
        ..CatalogModel::default()
    };
    let known = CatalogModel {
        name: "Opus".to_owned(),
        context: Some(200_000),
        output: Some(32_000),
        input_price: Some(1_250_000),
        output_price: None,
        efforts: vec!["low".to_owned()],
        vision: Some(true),
        ..named("opus")
    };
    Catalog {
        providers: vec![
            provider("far", false, vec![named("shared")]),
            provider("anthropic", true, vec![known, named("shared")]),
            provider("openai", true, vec![named("gpt-5.2")]),
        ],
        default: model(),
        permissions: vocabulary::PermissionOffer::default(),
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

fn with_catalog(method: &str, params: Value) -> Value {
    let mut stub = Stub::opened(false);
    stub.say(method, params);
    assert_eq!(stub.call(), &Call::GetCatalog);
    stub.reply(Ok(Reply::Catalog(Box::new(catalog()))));
    let mut sent = stub.take();
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

fn signed(ok: bool, message: &str) -> Reply {
    Reply::SignedIn(SignedIn {
        ok,
        mode: None,
        message: message.to_owned(),
    })
}

#[test]
fn every_provider_is_listed_by_the_name_it_is_chosen_by() {
    let answer = with_catalog("provider/list", json!({}));
    let names = json!([{ "name": "far" }, { "name": "anthropic" }, { "name": "openai" }]);
    assert_eq!(answer["result"], json!({ "providers": names }));
}

#[test]
fn what_is_not_known_of_a_model_is_null() {
    let answer = with_catalog("provider/models/list", json!({ "provider": "anthropic" }));
    let nothing = json!({
        "vision": null, "tool_calling": null, "json_output": null, "streaming": null,
        "thinking": null, "fine_tuning": null, "input_modalities": null,
        "output_modalities": null,
    });
    let unknown = json!({
        "id": "shared", "name": null, "description": null, "created": null,
        "provider": "anthropic", "owned_by": null,
        "limits": { "max_input_tokens": null, "max_output_tokens": null, "context_window": null },
        "capabilities": nothing, "pricing": null, "active": true, "family": null,
        "lifecycle_status": null,
    });
    let mut known = unknown.clone();
    known["id"] = json!("opus");
    known["name"] = json!("Opus");
    known["limits"]["max_output_tokens"] = json!(32_000);
    known["limits"]["context_window"] = json!(200_000);
    known["capabilities"]["vision"] = json!(true);
    known["capabilities"]["thinking"] = json!(true);
    known["capabilities"]["input_modalities"] = json!(["text", "image"]);
    let price = json!({
        "input_token": 0.00000125, "output_token": null, "image": null, "request": null,
    });
    known["pricing"] = price;
    let result = json!({ "provider": "anthropic", "models": [known, unknown] });
    assert_eq!(answer["result"], result);

    let answer = with_catalog("provider/models/list", json!({ "provider": "x" }));
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(answer["error"]["message"], "provider `x` was not found");
}

#[test]
fn a_key_is_saved_deleted_and_never_repeated() {
    let mut stub = Stub::opened(false);
    let params = json!({ "provider": "openai", "api_key": KEY });
    stub.say("provider/set_api_key", params.clone());
    let call = Call::SignIn(SignInCall::SetKey {
        provider: "openai".to_owned(),
        method: "api_key".to_owned(),
        key: Secret::new(KEY),
    });
    assert_eq!(stub.call(), &call);
    stub.reply(Ok(signed(true, "saved")));
    let result = json!({ "provider": "openai", "updated": true });
    assert_eq!(stub.take()[0]["result"], result);

    stub.say("provider/set_api_key", params);
    stub.reply(Ok(signed(false, "openai does not accept this key")));
    let error = stub.take().remove(0)["error"].take();
    let refused = json!({ "code": -32600, "message": "openai does not accept this key" });
    assert_eq!(error, refused);

    for params in [
        json!({ "provider": "openai", "api_key": [KEY] }),
        json!({ "provider": { KEY: 1 }, "api_key": KEY }),
        json!({ "api_key": KEY }),
        json!([KEY]),
    ] {
        stub.say("provider/set_api_key", params);
        let sent = stub.take();
        assert_eq!(sent[0]["error"]["code"], -32602);
        assert!(!sent[0].to_string().contains(KEY), "{sent:?}");
    }

    for deleted in [true, false] {
        stub.say("provider/delete_api_key", json!({ "provider": "openai" }));
        let provider = "openai".to_owned();
        let call = Call::SignIn(SignInCall::SignOut { provider });
        assert_eq!(stub.call(), &call);
        stub.reply(Ok(signed(deleted, "")));
        let result = json!({ "provider": "openai", "deleted": deleted });
        assert_eq!(stub.take()[0]["result"], result);
    }
}

/// What the engine takes changes for.
fn meant(changes: &Changes, in_use: Option<&ModelRef>) -> Result<Option<ModelRef>, String> {
    let Some(named) = &changes.named_model else {
        return Ok(changes.model.clone());
    };
    assert_eq!(changes.model, None);
    let found = catalog().find(named, in_use);
    found.map_err(|refusal| refusal.message)
}

/// The model that a turn changes its thread to.
fn overridden(names: Value) -> Result<Option<ModelRef>, String> {
    let mut stub = Stub::subscribed(false);
    let input = json!([{ "type": "text", "text": "Go" }]);
    let mut params = json!({ "thread_id": THREAD, "turn_id": "t1", "input": input });
    let fields = params.as_object_mut().expect("an object");
    fields.extend(names.as_object().cloned().unwrap_or_default());
    stub.say("turn/start", params);
    match stub.call() {
        Call::StartTurn(start) => meant(&start.changes, Some(&model())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_turn_may_name_a_model_wholly_or_by_half() {
    assert_eq!(overridden(json!({})), Ok(None));
    let both = json!({ "model": "any", "model_provider": "local" });
    assert_eq!(overridden(both), Ok(Some(reference("local", "any"))));
    let same = json!({ "model": "gpt-5.2", "model_provider": "openai" });
    assert_eq!(overridden(same), Ok(None));
    let other = json!({ "model_provider": "anthropic" });
    assert_eq!(overridden(other), Ok(Some(reference("anthropic", "opus"))));
    let own = json!({ "model_provider": "openai" });
    assert_eq!(overridden(own), Ok(None));
    let connected = json!({ "model": "shared" });
    let shared = Some(reference("anthropic", "shared"));
    assert_eq!(overridden(connected), Ok(shared));
    let unheard = json!({ "model": "gpt-new" });
    assert_eq!(
        overridden(unheard),
        Ok(Some(reference("openai", "gpt-new")))
    );
    let nobody = overridden(json!({ "model_provider": "x" })).expect_err("no provider");
    assert!(nobody.contains("provider `x` was not found"), "{nobody}");
}

#[test]
fn a_new_thread_may_name_only_its_model() {
    let mut stub = Stub::opened(false);
    let params = json!({ "thread_id": THREAD, "workspace_id": WORKSPACE, "model": "opus" });
    stub.say("thread/start", params);
    stub.refuse(Why::UnknownThread);
    stub.library(LibraryReply::Workspace(workspace()));
    let Call::CreateThread(new) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    let opus = Some(reference("anthropic", "opus"));
    assert_eq!(meant(&new.changes, None), Ok(opus));
    assert_eq!(thread().settings.model, model());
}
