//! What is read outside of a workspace, and what is not.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use serde_json::json;

use super::super::resolve_to_change;
use super::*;
use crate::Toolbox;
use crate::scratch::Scratch;
use vocabulary::ToolOutput;

/// A home directory with keys, libraries and documents, and a workspace elsewhere.
struct Machine {
    home: Scratch,
    work: Scratch,
}

impl Machine {
    fn new() -> Machine {
        let (home, work) = (Scratch::new(), Scratch::new());
        for file in [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".cargo/credentials.toml",
            ".cargo/registry/src/one/lib.rs",
            ".cargo/config.toml",
            ".rustup/toolchains/stable/lib/core.rs",
            "go/pkg/mod/x/y.go",
            "venv/lib/python3.12/site-packages/six.py",
            "store/node_modules/left/index.js",
            "notes/deep/plan.md",
        ] {
            let path = home.path(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "needle").unwrap();
        }
        Machine { home, work }
    }

    fn scope(&self) -> Scope {
        let mut scope = self.work.scope();
        scope.outside.home = Some(self.home.path(""));
        scope
    }

    fn real(&self, name: &str) -> PathBuf {
        self.home.path(name).canonicalize().unwrap()
    }

    /// How the tool judges a path, and what comes of it if a person says yes.
    async fn call(&self, tool: &str, path: &str) -> (Judgement, Result<String, String>) {
        let input = match tool {
            "read" => json!({"filePath": path}),
            "grep" => json!({"pattern": "needle", "path": path}),
            _ => json!({"pattern": "**/*", "cwd": path}),
        };
        let tool = Toolbox::builtin().get(tool).unwrap();
        let mut cx = self.work.cx(&Default::default());
        cx.scope = self.scope();
        cx.scope.outside.asked = tool.reads_outside(&cx.scope, &input);
        let judgement = tool.judge(&cx.scope, &input);
        let outcome = match tool.run(&cx, input).await {
            Ok(ToolOutput::Text(text)) => Ok(text),
            Err(Failure::Error(message)) => Err(message),
            other => panic!("{other:?}"),
        };
        (judgement, outcome)
    }
}

fn message(outcome: Result<PathBuf, Failure>) -> String {
    match outcome {
        Err(Failure::Error(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_path_outside_is_asked_for_and_read_after_a_yes() {
    let machine = Machine::new();
    let notes = machine.real("notes/deep");
    for (tool, path, place) in [
        ("read", "~/notes/deep/plan.md", notes.join("plan.md")),
        ("grep", "~/notes/deep", notes.clone()),
        ("glob", "~/notes/deep/", notes.clone()),
    ] {
        let (judgement, outcome) = machine.call(tool, path).await;
        let expected = Judgement::Ask {
            command: format!("{tool} {}", place.display()),
            dangerous: false,
            risk: Risk::OutsideRead,
            why: format!(
                "reads outside the workspace; allowed for longer, it is for all of {}",
                notes.display()
            ),
        };
        assert_eq!(judgement, expected);
        let told = outcome.unwrap();
        assert!(
            told.contains("needle") || told.contains("plan.md"),
            "{told}"
        );
    }
    // One yes covers the directory and what is below it.
    let keys = grant_keys(&notes.join("plan.md"));
    assert_eq!(keys, grant_keys(&notes));
    assert!(keys.contains(&grant_keys(&machine.real("notes"))[0]));
    assert!(!keys.contains(&grant_keys(&machine.real("go"))[0]));
}

#[tokio::test]
async fn links_are_judged_by_where_they_lead() {
    let machine = Machine::new();
    let link = |name: &str, to: &str| symlink(machine.home.path(to), machine.work.path(name));
    link("plan", "notes/deep/plan.md").unwrap();
    link("left", "store/node_modules/left").unwrap();
    link("key", ".ssh/id_ed25519").unwrap();
    let (judgement, outcome) = machine.call("read", "plan").await;
    let asks = |judgement: &Judgement| {
        let expected = Risk::OutsideRead;
        matches!(judgement, Judgement::Ask { risk, .. } if *risk == expected)
    };
    assert!(asks(&judgement), "{judgement:?}");
    assert_eq!(outcome, Ok("1\tneedle".to_owned()));
    let (judgement, outcome) = machine.call("read", "left/index.js").await;
    assert_eq!(judgement, Judgement::Allow);
    assert_eq!(outcome, Ok("1\tneedle".to_owned()));
    let (judgement, outcome) = machine.call("read", "key").await;
    assert_eq!(judgement, Judgement::Allow, "there is nothing to ask");
    let message = outcome.unwrap_err();
    assert!(
        message.starts_with("read blocked: key is kept for keys"),
        "{message}"
    );
}

#[tokio::test]
async fn libraries_are_read_without_a_question() {
    let machine = Machine::new();
    for path in [
        "~/.cargo/registry/src/one/lib.rs",
        "~/.rustup/toolchains/stable/lib/core.rs",
        "~/go/pkg/mod/x/y.go",
        "~/venv/lib/python3.12/site-packages/six.py",
    ] {
        let (judgement, outcome) = machine.call("read", path).await;
        assert_eq!(judgement, Judgement::Allow, "{path}");
        assert_eq!(outcome, Ok("1\tneedle".to_owned()), "{path}");
    }
    for path in ["/usr/include", "/usr/lib"] {
        let input = json!({"filePath": path});
        let read = Toolbox::builtin().get("read").unwrap();
        assert_eq!(read.judge(&machine.scope(), &input), Judgement::Allow);
    }
    // What lies beside them is not meant.
    for path in [
        "~/.cargo/config.toml",
        "~/venv",
        "~/store/node_modules/left",
    ] {
        let (judgement, _) = machine.call("read", path).await;
        assert_ne!(judgement, Judgement::Allow, "{path}");
    }
}

#[tokio::test]
async fn secrets_stay_closed_whatever_a_person_says() {
    let machine = Machine::new();
    for path in [
        "~/.ssh/id_ed25519",
        "~/.ssh",
        "~/notes/../.ssh/id_ed25519",
        "~/.aws/none",
        "~/.cargo/credentials.toml",
        "/etc/shadow",
        "/proc/self/environ",
        "/dev/stdin",
        "/run/secrets/x",
    ] {
        for tool in ["read", "grep"] {
            let (judgement, outcome) = machine.call(tool, path).await;
            assert_eq!(judgement, Judgement::Allow, "{path}");
            let message = outcome.unwrap_err();
            let blocked = format!("{tool} blocked: {path} is kept for keys");
            assert!(message.starts_with(&blocked), "{message}");
        }
    }
    // Nor are they met on the way through what was allowed.
    let (_, found) = machine.call("grep", "~").await;
    let found = found.unwrap();
    assert!(found.contains("plan.md"), "{found}");
    let input = json!({"pattern": "**/.*/**", "cwd": "~"});
    let mut cx = machine.work.cx(&Default::default());
    cx.scope = machine.scope();
    cx.scope.outside.asked = Some(machine.real(""));
    let glob = Toolbox::builtin().get("glob").unwrap();
    let listed = glob.run(&cx, input).await.unwrap();
    let listed = listed.words().into_owned();
    assert!(listed.contains("config.toml"), "{listed}");
    assert!(
        !listed.contains("credentials") && !listed.contains("id_"),
        "{listed}"
    );
}

#[test]
fn a_workspace_around_secrets_does_not_open_them() {
    let machine = Machine::new();
    let mut scope = machine.scope();
    scope.directory = machine.home.path("");
    assert!(resolve_to_read("read", &scope, "notes/deep/plan.md").is_ok());
    assert!(resolve_to_read("read", &scope, ".ssh/id_ed25519").is_err());
    assert!(resolve_to_change("write", &scope, ".npmrc").is_err());
    // Unless it is one of them.
    scope.directory = machine.home.path(".aws");
    assert!(resolve_to_read("read", &scope, "credentials").is_ok());
}

/// What was allowed is one place: no other, and to be read only.
#[test]
fn a_yes_is_for_the_place_that_was_asked_for() {
    let machine = Machine::new();
    let mut scope = machine.scope();
    let unasked = message(resolve_to_read("read", &scope, "~/notes/deep/plan.md"));
    let workspace = scope.directory.display().to_string();
    assert_eq!(
        unasked,
        format!(
            "read blocked: ~/notes/deep/plan.md is outside the workspace {workspace}, and nobody was \
             asked for it"
        )
    );
    scope.outside.asked = Some(machine.real("go"));
    assert!(resolve_to_read("read", &scope, "~/notes/deep/plan.md").is_err());
    scope.outside.asked = Some(machine.real("notes"));
    let changed = message(resolve_to_change("write", &scope, "~/notes/x"));
    assert_eq!(
        changed,
        format!("write blocked: ~/notes/x is outside the workspace {workspace}")
    );
}
