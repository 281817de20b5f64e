//! A workspace that the server itself made lies under its own data: it works as any other, and nothing
//! else of the data is seen.

use serde_json::json;
use tools::{Failure, Scope, Toolbox};
use vocabulary::ToolOutput;

use crate::fences;
use crate::world::World;

/// The server's data, with two workspaces in it.
fn home() -> (World, Scope) {
    let world = World::new();
    for name in ["mine", "other"] {
        let directory = world.path("private/workspaces").join(name);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("note.txt"), name).unwrap();
    }
    let scope = Scope {
        directory: world.path("private/workspaces/mine"),
        extra: Vec::new(),
        ..world.scope()
    };
    (world, scope)
}

#[tokio::test]
async fn commands_work_there_and_see_nothing_around() {
    for fence in fences() {
        let mode = fence.mode().name();
        let (world, scope) = home();
        let script = "cat note.txt && echo x > made && mkdir d && mv made d/ && cat d/made";
        let ran = world.run_in(&fence, scope.clone(), script).await;
        assert_eq!(
            (ran.exit_code, ran.stdout.as_str()),
            (0, "minex\n"),
            "{mode}: {}",
            ran.words()
        );
        for script in [
            "cat ../../token",
            "cat $PRIVATE/token",
            "cat ../other/note.txt && echo ESCAPED",
            "echo x > ../../made && echo ESCAPED",
            "echo x > ../made && echo ESCAPED",
            "rm -rf ../other",
        ] {
            let ran = world.run_in(&fence, scope.clone(), script).await;
            assert_eq!(ran.stdout, "", "{mode}: {script}: {}", ran.words());
        }
        let kept = std::fs::read_to_string(world.path("private/workspaces/other/note.txt"));
        assert_eq!(kept.unwrap(), "other", "{mode}");
        for made in ["private/made", "private/workspaces/made"] {
            assert!(!world.path(made).exists(), "{mode}: {made}");
        }
    }
}

#[tokio::test]
async fn a_thread_in_the_servers_own_files_runs_nothing() {
    for fence in fences() {
        for directory in ["private", "private/workspaces"] {
            let (world, scope) = home();
            let scope = Scope {
                directory: world.path(directory),
                ..scope
            };
            let cx = world.cx(&fence, scope, Default::default());
            let outcome = world.call(&cx, "cat token").await;
            let Err(Failure::Error(message)) = outcome else {
                panic!("{}: {directory}: {outcome:?}", fence.mode().name());
            };
            assert!(message.contains("the server's own data"), "{message}");
        }
    }
}

#[tokio::test]
async fn file_tools_work_there() {
    let (world, scope) = home();
    let cx = world.cx(&tools::Sandbox::nothing(), scope, Default::default());
    let run = async |tool: &str, input| Toolbox::builtin().get(tool).unwrap().run(&cx, input).await;
    let written = run(
        "write",
        json!({"filePath": "new.txt", "content": "made here\n"}),
    )
    .await;
    assert!(
        matches!(written, Ok(ToolOutput::Files { .. })),
        "{written:?}"
    );
    let edit = json!({"filePath": "new.txt", "oldString": "made", "newString": "changed"});
    assert!(run("edit", edit).await.is_ok());
    let read = run("read", json!({"filePath": "new.txt"})).await.unwrap();
    assert_eq!(read, ToolOutput::Text("1\tchanged here".to_owned()));
    let found = run("grep", json!({"pattern": "changed"})).await.unwrap();
    assert!(
        matches!(&found, ToolOutput::Text(text) if text.contains("new.txt")),
        "{found:?}"
    );
    let found = run("glob", json!({"pattern": "**/*.txt"})).await.unwrap();
    assert!(
        matches!(&found, ToolOutput::Text(text) if text.contains("note.txt")),
        "{found:?}"
    );
    for path in ["../other/note.txt", "../../token"] {
        assert!(
            run("read", json!({ "filePath": path })).await.is_err(),
            "{path}"
        );
    }
}
