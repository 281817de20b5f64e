//! Layers, what a repository may not decide, and what stays of a file that is written.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::scratch::Scratch;

fn put(scratch: &Scratch, name: &str, text: &str) {
    let path = scratch.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn scope(scratch: &Scratch) -> Scope {
    let mut scope = scratch.scope();
    scope.directory = scratch.path("ws");
    scope.skills = vec![
        scratch.path("home/skills"),
        scratch.path("user/.agent/skills"),
    ];
    std::fs::create_dir_all(&scope.directory).unwrap();
    scope
}

#[test]
fn the_workspace_is_stronger_than_the_user_and_ours_than_others() {
    let scratch = Scratch::new();
    let scope = scope(&scratch);
    assert_eq!(ProjectDefaults::read(&scope), ProjectDefaults::default());
    put(
        &scratch,
        "user/.agent/config.json",
        r#"{"provider": "openai", "model": "a", "enableMcp": false, "outputDirectory": "/far/out",
            "uploadsDirectory": "in", "preferredChildModel": "small", "includeRawChunks": true}"#,
    );
    put(
        &scratch,
        "home/config/config.json",
        r#"{"observabilityEnabled": false}"#,
    );
    let user = ProjectDefaults {
        provider: Some("openai".to_owned()),
        model: Some("a".to_owned()),
        sub_agent_model: Some("small".to_owned()),
        mcp: Some(false),
        observability: Some(false),
        output: Some("/far/out".into()),
        uploads: Some(scratch.path("ws/in")),
        raw_chunks: Some(true),
        effort: None,
    };
    assert_eq!(ProjectDefaults::read(&scope), user);
    put(
        &scratch,
        "ws/.agent/config.json",
        r#"{"model": " b ", "enableMcp": "yes"}"#,
    );
    put(
        &scratch,
        "ws/.cowork/config.json",
        r#"{"observabilityEnabled": true, "userName": 3}"#,
    );
    let both = ProjectDefaults {
        model: Some("b".to_owned()),
        observability: Some(true),
        ..user
    };
    assert_eq!(ProjectDefaults::read(&scope), both);
    put(
        &scratch,
        "ws/.cowork/config.json",
        r#"{"provider": "google"}"#,
    );
    let other = ProjectDefaults::read(&scope);
    assert_eq!(
        (other.provider.as_deref(), other.model),
        (Some("google"), None)
    );
    put(&scratch, "ws/.cowork/config.json", "{ broken");
    assert_eq!(ProjectDefaults::read(&scope).model.as_deref(), Some("b"));
}

#[test]
fn a_repository_opens_no_directory_outside_of_itself() {
    let scratch = Scratch::new();
    let scope = scope(&scratch);
    for folder in ["/etc", "../other", "a/../../b"] {
        let text = json!({ "outputDirectory": folder, "uploadsDirectory": "./up" }).to_string();
        put(&scratch, "ws/.cowork/config.json", &text);
        let read = ProjectDefaults::read(&scope);
        assert_eq!(
            (read.output, read.uploads),
            (None, Some(scratch.path("ws/up")))
        );
    }
    std::fs::remove_file(scratch.path("ws/.cowork/config.json")).unwrap();
    put(&scratch, "elsewhere.json", r#"{"model": "x"}"#);
    let link = scratch.path("ws/.cowork/config.json");
    std::os::unix::fs::symlink(scratch.path("elsewhere.json"), link).unwrap();
    assert_eq!(
        ProjectDefaults::read(&scope).model,
        None,
        "no link leads out"
    );
    assert!(write(&scope.directory, &[(MODEL, json!("y"))]).is_err());
    let untouched = std::fs::read_to_string(scratch.path("elsewhere.json")).unwrap();
    assert_eq!(untouched, r#"{"model": "x"}"#);
}

#[test]
fn what_is_written_leaves_the_rest_as_it_was() {
    let scratch = Scratch::new();
    let workspace = scratch.path("");
    let file = scratch.path(".cowork/config.json");
    let changes = [(PROVIDER, json!("openai")), (MODEL, json!("gpt-5.1"))];
    let first = write(&workspace, &changes).unwrap().unwrap();
    assert_eq!(first.before, None);
    assert_eq!(write(&workspace, &changes), Ok(None), "it says so already");
    put(
        &scratch,
        ".cowork/config.json",
        r#"{"z": 1, "model": "old", "command": {"x": {"template": "t"}}, "a": null}"#,
    );
    write(&workspace, &changes).unwrap().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let root: Map<String, Value> = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = root.keys().collect();
    assert_eq!(
        keys,
        ["z", "model", "command", "a", "provider"],
        "in their order"
    );
    assert_eq!(root["model"], "gpt-5.1");
    for broken in ["{ broken", "[]", "7"] {
        put(&scratch, ".cowork/config.json", broken);
        let refused = write(&workspace, &changes).unwrap_err();
        assert!(refused.contains("left alone"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    }
}

#[test]
fn the_users_own_directory_may_be_named_by_the_user_only() {
    let scratch = Scratch::new();
    let scope = scope(&scratch);
    let named = r#"{"outputDirectory": "~/out"}"#;
    put(&scratch, "home/config/config.json", named);
    let home = std::env::home_dir().unwrap();
    assert_eq!(ProjectDefaults::read(&scope).output, Some(home.join("out")));
    std::fs::remove_file(scratch.path("home/config/config.json")).unwrap();
    put(&scratch, "ws/.cowork/config.json", named);
    assert_eq!(ProjectDefaults::read(&scope).output, None);
}
