//! What other programs run by themselves is as it was after every command, and told; also after a kill.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tools::sandbox::{self, Mode, Sandbox};

use crate::fences;
use crate::world::{Person, Ran, World, launcher};

/// What a command tries, and a path that it is about.
const ATTEMPTS: &[(&str, &str)] = &[
    ("mkdir -p .vscode; echo x > .vscode/tasks.json", ".vscode"),
    ("echo x > .idea/kept", ".idea"),
    ("rm -rf .idea; mkdir .idea; echo x > .idea/y", ".idea"),
    (
        "mv .idea moved; cp -r moved .idea; echo x > .idea/kept",
        ".idea",
    ),
    ("mkdir e; ln -s e .cursor; echo x > e/mcp.json", ".cursor"),
    ("echo x > .envrc", ".envrc"),
    ("ln -s made .envrc; echo x > made", ".envrc"),
    (
        "mkdir -p .cargo; echo x > .cargo/config.toml",
        ".cargo/config.toml",
    ),
    ("mkdir e; echo x > e/config.toml; ln -s e .cargo", ".cargo"),
    ("echo x >> .github/workflows/ci.yml", ".github/workflows"),
    (
        "mv .github g; mkdir -p .github/workflows; echo x > .github/workflows/ci.yml",
        ".github/workflows",
    ),
    ("echo x > tools/hooks/pre-commit", "tools/hooks"),
    (
        "mv tools t; mkdir -p tools/hooks; echo x > tools/hooks/pre-commit",
        "tools/hooks",
    ),
    ("echo x > team.cfg", "team.cfg"),
    ("echo x > pkg/.vscode/settings.json", "pkg/.vscode"),
    ("echo ../e > .git/commondir", ".git/commondir"),
    (
        "echo '[core]' > .git/config.worktree",
        ".git/config.worktree",
    ),
    (
        "echo ../../../e > .git/worktrees/linked/commondir",
        ".git/worktrees",
    ),
    (
        "mkdir -p .git/worktrees/evil; echo ../e > .git/worktrees/evil/commondir",
        ".git/worktrees/evil/commondir",
    ),
    (
        "mkdir -p .git/modules/m; echo x > .git/modules/m/config",
        ".git/modules/m/config",
    ),
    (
        "mv .git/worktrees w; mkdir .git/worktrees; mkdir .git/worktrees/linked; echo /e > .git/worktrees/linked/commondir",
        ".git/worktrees/linked/commondir",
    ),
    ("rm -rf .github", ".github/workflows"),
    ("chmod 755 tools/hooks/kept", "tools/hooks"),
];

fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(words)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A workspace with much that others run.
fn furnished() -> World {
    let world = World::new();
    let ws = world.path("ws");
    for name in [
        ".idea/kept",
        ".github/workflows/ci.yml",
        "tools/hooks/kept",
        "team.cfg",
        "pkg/.vscode/settings.json",
    ] {
        std::fs::create_dir_all(ws.join(name).parent().unwrap()).unwrap();
        std::fs::write(ws.join(name), "").unwrap();
    }
    git(&ws, &["commit", "-q", "--allow-empty", "-m", "m"]);
    let linked = world.path("outside/linked");
    git(&ws, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    git(&ws, &["config", "core.hooksPath", "tools/hooks"]);
    git(&ws, &["config", "include.path", "../team.cfg"]);
    world
}

/// Everything of a path: files, links, modes.
fn state(path: &Path) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let mut seen = BTreeMap::new();
    let mut ahead = vec![path.to_owned()];
    while let Some(path) = ahead.pop() {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        let what = match (meta.is_symlink(), meta.is_file()) {
            (true, _) => format!("{:?}", std::fs::read_link(&path)),
            (false, true) => std::fs::read_to_string(&path).unwrap_or_default(),
            (false, false) => String::new(),
        };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap().flatten();
            ahead.extend(entries.map(|entry| entry.path()));
        }
        seen.insert(path, format!("{:o} {what}", meta.permissions().mode()));
    }
    seen
}

#[tokio::test]
async fn it_is_as_it_was_after_every_attempt_and_told_where_it_had_changed() {
    for fence in fences() {
        for (script, path) in ATTEMPTS {
            let world = furnished();
            let target = world.path("ws").join(path);
            let before = state(&target);
            let ran = world.run(&fence, script).await;
            let mode = fence.mode().name();
            assert_eq!(state(&target), before, "{mode}: {script}: {}", ran.words());
            let told = ran.stderr.contains("put back as it was");
            // Mounts let it not even happen.
            let stopped = ran.stderr.contains("Read-only") || ran.stderr.contains("busy");
            assert!(told || stopped, "{mode}: {script}: {}", ran.words());
            assert!(fence.mode() == Mode::Bubblewrap || told, "{mode}: {script}");
        }
    }
}

#[tokio::test]
async fn every_attempt_works_where_nothing_holds() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    for (script, path) in ATTEMPTS {
        let world = furnished();
        let target = world.path("ws").join(path);
        let before = state(&target);
        let ran = world.run(&open, script).await;
        assert_ne!(state(&target), before, "{script}: {}", ran.words());
    }
}

/// Git as people use it goes on behind the fence, and nothing of the fence stays in the repository.
#[tokio::test]
async fn git_works_inside() {
    for fence in fences() {
        let world = World::new();
        git(
            &world.path("ws"),
            &["commit", "-q", "--allow-empty", "-m", "m"],
        );
        let git_dir = world.path("ws/.git");
        let names = || -> Vec<_> {
            let entries = std::fs::read_dir(&git_dir).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.retain(|name| {
                ![
                    "index",
                    "COMMIT_EDITMSG",
                    "ORIG_HEAD",
                    "packed-refs",
                    "info",
                ]
                .iter()
                .any(|passing| name == passing)
            });
            names.sort();
            names
        };
        let before = names();
        let script = "set -e; git() { command git -c user.name=a -c user.email=a@b \"$@\"; }; \
            echo x > f; git add f; git commit -qm one; git branch b; git checkout -q b; \
            echo y >> f; git commit -qam two; git checkout -q -; git merge -q b; git stash list; \
            git worktree list > /dev/null; git tag t; git gc -q; git status --short f; \
            git log --format=%s | head -n 1";
        let ran = world.run(&fence, script).await;
        let mode = fence.mode().name();
        assert_eq!(
            (ran.exit_code, ran.stdout.as_str()),
            (0, "two\n"),
            "{mode}: {}",
            ran.words()
        );
        assert_eq!(ran.stderr, "", "{mode}: nothing was put back");
        assert_eq!(names(), before, "{mode}");
        assert_eq!(git(&world.path("ws"), &["status", "--short", "f"]), "");
    }
}

/// The user's own git would enter it, and run what it names.
#[tokio::test]
async fn a_repository_smuggled_into_the_index_is_taken_away() {
    for fence in fences() {
        let world = World::new();
        let ws = world.path("ws");
        let script = "mkdir sub && cd sub && git init -q . && \
            git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m && \
            printf '#!/bin/sh\\ntouch %s\\n' $WS/ran > evil && chmod +x evil && \
            git config core.fsmonitor ./evil && cd .. && git -c core.fsmonitor=false \
            update-index --add --cacheinfo 160000,$(cat sub/.git/refs/heads/*),sub";
        let ran = world.run(&fence, script).await;
        let mode = fence.mode().name();
        for word in [
            "sub is now a repository of its own in the index",
            "sub/.git was made",
        ] {
            assert!(ran.stderr.contains(word), "{mode}: {}", ran.words());
        }
        git(&ws, &["status", "--short"]);
        assert!(!ws.join("ran").exists(), "{mode}: {}", ran.words());
    }
}

/// `git status` is judged harmless and runs unasked, so nothing that the repository names runs with it.
#[tokio::test]
async fn what_runs_unasked_runs_no_program_of_the_repository() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    for fence in fences().into_iter().chain([open]) {
        let world = World::new();
        let ws = world.path("ws");
        let evil = "#!/bin/sh\necho ran >> \"$(git rev-parse --show-toplevel)/ran\"\n";
        for name in ["evil", ".git/hooks/post-index-change"] {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(ws.join(name), evil).unwrap();
            std::fs::set_permissions(ws.join(name), std::fs::Permissions::from_mode(0o755))
                .unwrap();
        }
        std::fs::write(ws.join("file"), "x").unwrap();
        git(&ws, &["add", "file"]);
        git(&ws, &["config", "core.fsmonitor", "./evil"]);
        let _ = std::fs::remove_file(ws.join("ran"));
        // The tool is given nothing but this line; the world's variables would be judged too.
        let run = |line: &'static str| {
            let cx = world.cx(&fence, world.scope(), Arc::default());
            async move {
                let bash = tools::Toolbox::builtin().get("bash").unwrap();
                let input = serde_json::json!({ "command": line });
                bash.run(&cx, input).await.unwrap()
            }
        };
        std::fs::write(ws.join("file"), "y").unwrap();
        run("git status").await;
        let mode = fence.mode().name();
        assert!(!ws.join("ran").exists(), "{mode}: git status ran a program");
        run("git status; true").await;
        assert!(
            ws.join("ran").exists(),
            "{mode}: where somebody was asked, it does"
        );
    }
}

/// Stands for a server in a process of its own, which the test below kills.
#[tokio::test]
#[ignore = "started by another test"]
async fn a_server_that_is_about_to_be_killed() {
    let [mode, ws, home] = ["MODE", "WS", "SERVER_HOME"].map(|name| std::env::var(name).unwrap());
    let mode = Mode::ALL
        .into_iter()
        .find(|each| each.name() == mode)
        .unwrap();
    let sandbox = Sandbox::with_mode(mode, launcher()).with_home(Path::new(&home));
    let cx = tools::ToolCx {
        scope: tools::Scope {
            directory: ws.into(),
            extra: Vec::new(),
            private: vec![home.into()],
            spill: None,
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
        },
        trusted: tools::Trusted::default(),
        cancel: Default::default(),
        host: Arc::new(Person::default()),
        sandbox: Arc::new(sandbox),
        seen: Arc::default(),
        jobs: Arc::default(),
        web: Arc::default(),
    };
    let script = "echo x > .envrc; echo x > .git/hooks/kept; mkdir -p .cargo; \
        echo x > .cargo/config.toml; echo x > .git/commondir; echo > ready; sleep 1000";
    let bash = tools::Toolbox::builtin().get("bash").unwrap();
    let output = bash
        .run(&cx, serde_json::json!({ "command": script }))
        .await;
    panic!("it was not killed: {output:?}");
}

#[tokio::test]
async fn after_a_kill_it_is_put_back_at_the_next_start() {
    for fence in fences() {
        let world = World::new();
        let ws = world.path("ws");
        let before = state(&ws);
        let home = world.path("private");
        let ready = ws.join("ready");
        let made = Command::new("mkfifo").arg(&ready).status().unwrap();
        assert!(made.success());
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "protected::a_server_that_is_about_to_be_killed",
            ])
            .env("MODE", fence.mode().name())
            .env("WS", &ws)
            .env("SERVER_HOME", &home)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let up = std::fs::File::open(&ready).unwrap();
        BufReader::new(up).read_line(&mut String::new()).unwrap();
        let mode = fence.mode().name();
        assert!(ws.join(".envrc").exists(), "{mode}: the attempt is made");
        server.kill().unwrap();
        server.wait().unwrap();
        std::fs::remove_file(&ready).unwrap();
        let notes = sandbox::recover(&home);
        assert!(notes[0].contains(".envrc was made"), "{mode}: {notes:?}");
        let mut after = state(&ws);
        // An empty directory on the way to something harms nobody.
        after.remove(&ws.join(".cargo"));
        assert_eq!(after, before, "{mode}");
        assert_eq!(
            sandbox::recover(&home),
            Vec::<String>::new(),
            "{mode}: once"
        );
        let left = std::fs::read_dir(home.join("sandbox/temp"))
            .unwrap()
            .count();
        assert_eq!(left, 0, "{mode}: temporary files of the dead are swept");
    }
}

/// Nobody is told of what did not happen.
#[tokio::test]
async fn an_ordinary_command_tells_nothing() {
    for fence in fences() {
        let world = furnished();
        let Ran { stderr, .. } = world
            .run(&fence, "ls -la > listing; mkdir -p src; echo x > src/a")
            .await;
        assert_eq!(stderr, "", "{}", fence.mode().name());
    }
}
