//! The workspaces of tenants: neither commands nor file tools reach what another tenant has, what the
//! server has, or what lies elsewhere on the machine.

use serde_json::json;
use tools::{OutsideAccess, Scope, Toolbox};

use crate::fences;
use crate::world::World;

/// What lies elsewhere: of another tenant with a directory of its own, of the server's user, of nobody.
const ELSEWHERE: [&str; 6] = [
    "private/tenants/south/workspaces/one/secret.txt",
    "private/tenants/south/auth/connections.json",
    "private/tenants/north/auth/connections.json",
    "private/spill/other/secret.txt",
    "private/checkpoints/vault/secret.txt",
    "southern/secret.txt",
];

/// The server's data with two tenants in it, and a directory of the second outside of it.
fn two_tenants() -> (World, Scope) {
    let world = World::new();
    for file in ELSEWHERE {
        let path = world.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "SOUTHERN").unwrap();
    }
    let mine = world.path("private/tenants/north/workspaces/one");
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(mine.join("note.txt"), "mine").unwrap();
    std::os::unix::fs::symlink(world.path(ELSEWHERE[0]), mine.join("link")).unwrap();
    let scope = Scope {
        directory: mine,
        extra: Vec::new(),
        outside: OutsideAccess {
            own_places: Some(vec![world.path("private/tenants/north/workspaces")]),
            held: true,
            ..OutsideAccess::default()
        },
        ..world.scope()
    };
    (world, scope)
}

#[tokio::test]
async fn a_command_sees_its_own_workspace_and_the_system() {
    for fence in fences() {
        let mode = fence.mode().name();
        let (world, scope) = two_tenants();
        let script = "cat note.txt && echo x > made && cat made && ls /usr >/dev/null && echo fine";
        let ran = world.run_in(&fence, scope.clone(), script).await;
        assert_eq!(ran.stdout, "minex\nfine\n", "{mode}: {}", ran.words());
        let mut scripts = vec!["cat link".to_owned()];
        for file in ELSEWHERE {
            let path = world.path(file);
            let path = path.display();
            scripts.push(format!("cat {path}"));
            scripts.push(format!("echo x > {path} && echo ESCAPED"));
            scripts.push(format!("rm {path} && echo ESCAPED"));
            scripts.push(format!("ls $(dirname {path})"));
        }
        for script in scripts {
            let ran = world.run_in(&fence, scope.clone(), &script).await;
            assert_eq!(ran.stdout, "", "{mode}: {script}: {}", ran.words());
        }
        for file in ELSEWHERE {
            let kept = std::fs::read_to_string(world.path(file)).unwrap();
            assert_eq!(kept, "SOUTHERN", "{mode}: {file}");
        }
    }
}

/// The same attempts, where the scope is that of the server's own user.
#[tokio::test]
async fn what_lies_outside_of_the_data_is_seen_where_nothing_is_closed() {
    let open = tools::Sandbox::nothing();
    let (world, mut scope) = two_tenants();
    scope.outside = OutsideAccess::default();
    let path = world.path("southern/secret.txt");
    let script = format!("cat {}", path.display());
    let ran = world.run_in(&open, scope, &script).await;
    assert_eq!(ran.stdout, "SOUTHERN", "an attempt that attempts nothing");
}

#[tokio::test]
async fn file_tools_reach_nothing_else_whatever_holds() {
    let (world, mut scope) = two_tenants();
    // A person who says yes is a person of this tenant.
    scope.outside.asked = Some(world.path("southern"));
    let cx = world.cx(&tools::Sandbox::nothing(), scope, Default::default());
    let run = async |tool: &str, input| {
        let tool = Toolbox::builtin().get(tool).unwrap();
        let outcome = tool.run(&cx, input).await;
        format!("{outcome:?}")
    };
    let read = run("read", json!({"filePath": "note.txt"})).await;
    assert!(read.contains("mine"), "{read}");
    let linked = run("read", json!({"filePath": "link"})).await;
    assert!(linked.contains("blocked"), "{linked}");
    for file in ELSEWHERE {
        let path = world.path(file);
        let directory = path.parent().unwrap();
        let attempts = [
            ("read", json!({"filePath": path})),
            ("write", json!({"filePath": path, "content": "x"})),
            ("grep", json!({"pattern": "SOUTHERN", "path": directory})),
            ("glob", json!({"pattern": "*", "cwd": directory})),
        ];
        for (tool, input) in attempts {
            let said = run(tool, input).await;
            assert!(said.starts_with("Err("), "{tool} {file}: {said}");
            assert!(!said.contains("SOUTHERN"), "{tool} {file}: {said}");
        }
    }
}

#[tokio::test]
async fn a_workspace_that_was_replaced_by_a_link_is_none() {
    // Before the world: to find them is to be alone as well.
    let fences = fences();
    let (world, scope) = two_tenants();
    let elsewhere = world.path("private/tenants/south/workspaces/one");
    std::fs::remove_dir_all(&scope.directory).unwrap();
    std::os::unix::fs::symlink(elsewhere, &scope.directory).unwrap();
    for fence in fences {
        let cx = world.cx(&fence, scope.clone(), Default::default());
        let outcome = world.call(&cx, "cat secret.txt").await;
        let said = format!("{outcome:?}");
        assert!(said.contains("where its tenant's files are"), "{said}");
        let read = Toolbox::builtin().get("read").unwrap();
        let read = read.run(&cx, json!({"filePath": "secret.txt"})).await;
        assert!(read.is_err(), "{read:?}");
    }
}

#[tokio::test]
async fn a_further_directory_opens_only_what_is_the_tenants_own() {
    for fence in fences() {
        let (world, mut scope) = two_tenants();
        let own = world.path("private/tenants/north/workspaces/two");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("second.txt"), "second").unwrap();
        scope.extra = vec![world.path("southern"), own.clone()];
        let script = format!(
            "cat {}/secret.txt {}/second.txt",
            world.path("southern").display(),
            own.display()
        );
        let ran = world.run_in(&fence, scope.clone(), &script).await;
        assert_eq!(
            ran.stdout,
            "second",
            "{}: {}",
            fence.mode().name(),
            ran.words()
        );
    }
}

#[tokio::test]
async fn nothing_runs_outside_of_a_sandbox_whatever_a_person_says() {
    let mut fences = fences();
    let (world, scope) = two_tenants();
    fences.push(tools::Sandbox::nothing());
    for fence in fences {
        let cx = world.cx(&fence, scope.clone(), Default::default());
        let escalated = json!({ "escalate": "outside", "reason": "it is needed" });
        let outcome = world.call_with(&cx, "cat note.txt", escalated).await;
        let said = format!("{outcome:?}");
        let mode = fence.mode().name();
        assert!(
            said.contains("in the sandbox or not at all"),
            "{mode}: {said}"
        );
    }
    let cx = world.cx(&tools::Sandbox::nothing(), scope, Default::default());
    let outcome = world.call(&cx, "cat note.txt").await;
    assert!(outcome.is_err(), "{outcome:?}");
}
