//! What a call may ask of a sub-agent, and which kinds there are.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::Trusted;
use crate::scratch::Scratch;

fn failed(result: Result<ToolOutput, Failure>) -> String {
    match result {
        Err(Failure::Error(error)) => error,
        other => panic!("no error: {other:?}"),
    }
}

#[tokio::test]
async fn a_task_goes_to_the_kind_that_was_named() {
    let scratch = Scratch::new();
    let run = async |input| scratch.run(&SpawnAgentTool, input).await;
    let did = |text: &str| Ok(ToolOutput::Text(text.to_owned()));
    let explore = json!({"task": "look", "kind": "Explore"});
    assert_eq!(run(explore).await, did("explore did: look"));
    assert_eq!(
        run(json!({"task": "do", "kind": "general-purpose"})).await,
        did("general did: do")
    );
    assert_eq!(
        run(json!({"task": "do", "kind": null})).await,
        did("general did: do")
    );
    for bad in [
        json!({}),
        json!({"task": ""}),
        json!({"task": "x", "model": "huge"}),
        json!({"task": "x", "thoroughness": "very"}),
        json!({"task": "x", "files": "a"}),
        json!({"task": "x", "files": [1]}),
    ] {
        failed(run(bad).await);
    }
    let error = failed(run(json!({"task": "x", "kind": "exploer"})).await);
    assert_eq!(
        error,
        "spawnAgent: there is no kind \"exploer\"; did you mean explore? There are: explore, \
         research, general"
    );
}

#[test]
fn everything_that_a_call_says_is_read() {
    let input = json!({
        "task": "x", "kind": "research", "description": "Look at x", "resume": "id-1",
        "model": "same", "thoroughness": "thorough", "files": ["src/a.rs", " docs/** "],
    });
    let request = SpawnRequest::parse(&input).unwrap();
    assert_eq!(
        request,
        SpawnRequest {
            task: "x".to_owned(),
            kind: SpawnKind::Research,
            resume: Some("id-1".to_owned()),
            model: Some(SubAgentModel::Same),
            thoroughness: Some(Thoroughness::Thorough),
            files: vec!["src/a.rs".to_owned(), "docs/**".to_owned()],
        }
    );
}

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews a change\n\
    tools: Read, grep\nmodel: small\n---\nYou review.\n";

#[test]
fn own_kinds_come_from_the_user_and_from_a_trusted_workspace() {
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let write = |root: &Scratch, path: &str, text: &str| {
        let path = root.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let mine = "---\nname: mine\ndescription: Mine\ntools:\n  - read\n  - bash\n---\nYou are mine.";
    write(&home, "agents/mine.md", mine);
    write(&home, "agents/broken.md", "nothing");
    write(&home, "agents/other-name.md", mine);
    write(&scratch, ".cowork/agents/reviewer.md", REVIEWER);
    let mut scope = scratch.scope();
    scope.skills = vec![home.path("skills")];
    let nothing = Trusted::nothing("nobody said so");

    let names = |scope: &Scope, trusted: &Trusted| {
        let kinds = summaries(scope, trusted).into_iter();
        kinds.map(|kind| kind.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&scope, &nothing), ["mine"]);
    let mine = kinds::load(&scope, &nothing, "mine").unwrap();
    assert_eq!(mine.tools.unwrap(), ["read", "bash"]);
    assert_eq!((mine.model, mine.prompt.as_str()), (None, "You are mine."));
    let call = json!({"task": "x", "kind": "reviewer"});
    assert!(comes_with_workspace(&scope, &call));
    assert!(!comes_with_workspace(
        &scope,
        &json!({"task": "x", "kind": "mine"})
    ));
    assert!(!comes_with_workspace(&scope, &json!({"task": "x"})));
    let Err(Failure::Error(error)) = kinds::load(&scope, &nothing, "reviewer") else {
        panic!("it was loaded")
    };
    assert!(error.contains("not trusted (nobody said so)"), "{error}");

    scope.trusted = true;
    let path = ".cowork/agents/reviewer.md".into();
    let content = blake3::hash(REVIEWER.as_bytes());
    let trusted = Trusted::new([(path, content)].into());
    assert_eq!(names(&scope, &trusted), ["mine", "reviewer"]);
    let reviewer = kinds::load(&scope, &trusted, "reviewer").unwrap();
    assert_eq!(reviewer.tools.unwrap(), ["Read", "grep"]);
    assert_eq!(reviewer.model, Some(SubAgentModel::Small));
    write(&scratch, ".cowork/agents/reviewer.md", "changed");
    let Err(Failure::Error(error)) = kinds::load(&scope, &trusted, "reviewer") else {
        panic!("it was loaded")
    };
    assert!(error.contains("changed just now"), "{error}");
    for (name, problem) in [("broken", "---"), ("other-name", "its name is \"mine\"")] {
        let Err(Failure::Error(error)) = kinds::load(&scope, &trusted, name) else {
            panic!("it was loaded")
        };
        assert!(error.contains(problem), "{error}");
    }
}
