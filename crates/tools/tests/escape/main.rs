//! Tries to get out of every sandbox that this machine offers. Each attempt is also made without a
//! fence, where it must succeed: an attack that never works would prove nothing.

#![allow(clippy::unwrap_used)]

mod attacks;
mod ends;
mod limits;
mod protected;
mod under_home;
mod world;

use tools::sandbox::{Mode, Sandbox};
use world::{World, launcher};

/// The fences that work here; printed, so that a run tells what it has tried.
fn fences() -> Vec<Sandbox> {
    let _alone = world::alone();
    let wanted = [Mode::Bubblewrap, Mode::Landlock];
    let all = wanted.map(|mode| Sandbox::with_mode(mode, launcher()));
    let works = all.into_iter().filter(Sandbox::works);
    let fences: Vec<Sandbox> = works.collect();
    let names: Vec<&str> = fences.iter().map(|fence| fence.mode().name()).collect();
    println!("sandbox modes tried on this machine: {names:?}");
    assert!(!fences.is_empty(), "this machine offers no sandbox at all");
    fences
}

#[tokio::test]
async fn no_attempt_gets_out() {
    for fence in fences() {
        let mut escapes = Vec::new();
        for attack in attacks::ALL {
            let world = World::new();
            let beyond = attack.beyond_landlock && fence.mode() == Mode::Landlock;
            if beyond || attack.inside && !fence.protects_inside(&world.scope()) {
                println!("{} cannot hold: {}", fence.mode().name(), attack.name);
                continue;
            }
            let ran = world.run(&fence, attack.script).await;
            if let Some(how) = world.damage(&ran) {
                escapes.push(format!(
                    "{}: {how}\n  it said: {}",
                    attack.name,
                    ran.words()
                ));
            }
        }
        let mode = fence.mode().name();
        assert!(
            escapes.is_empty(),
            "got out of {mode}:\n{}",
            escapes.join("\n")
        );
    }
}

#[tokio::test]
async fn every_attempt_works_where_nothing_holds() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    let mut tame = Vec::new();
    for attack in attacks::ALL.iter().filter(|attack| attack.works_unfenced()) {
        let world = World::new();
        let ran = world.run(&open, attack.script).await;
        if world.damage(&ran).is_none() {
            tame.push(format!("{}: {}", attack.name, ran.words()));
        }
    }
    assert!(
        tame.is_empty(),
        "attacks that attack nothing:\n{}",
        tame.join("\n")
    );
}

/// Ordinary work goes on behind the fence.
#[tokio::test]
async fn what_a_command_needs_works() {
    let table = [
        (
            "write in the workspace",
            "echo x > file && mkdir -p a/b && mv file a/b/ && cat a/b/file",
        ),
        ("temporary files", "f=$(mktemp) && echo x > $f && cat $f"),
        (
            "pipes and substitution",
            "cat <(echo x) | tee copy && rm copy",
        ),
        ("a here-document", "cat <<END\nx\nEND"),
        (
            "git on a repository",
            "git add -A && git -c user.name=a -c user.email=a@b commit -qm m --allow-empty && git log --format=format:x",
        ),
        (
            "another directory that is open",
            "echo x > $EXTRA/made && cat $EXTRA/made",
        ),
        ("devices", "head -c 4 /dev/urandom > /dev/null && echo x"),
        ("processes of its own", "sleep 100 & kill $! && echo x"),
        (
            "a fifo of its own",
            "mkfifo pipe && (echo x > pipe &) && cat pipe",
        ),
    ];
    for fence in fences() {
        for (name, script) in table {
            let ran = World::new().run(&fence, script).await;
            let mode = fence.mode().name();
            assert_eq!(
                (ran.exit_code, ran.stdout.trim()),
                (0, "x"),
                "{mode}: {name}: {}",
                ran.words()
            );
        }
    }
}

/// A workspace is left as the command made it: nothing that held a place stays.
#[tokio::test]
async fn nothing_of_the_fence_stays_in_the_workspace() {
    for fence in fences() {
        let world = World::new();
        let plain = world.path("ws/plain");
        std::fs::create_dir(&plain).unwrap();
        let scope = tools::Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            directory: plain.clone(),
            ..world.scope()
        };
        let ran = world
            .run_in(&fence, scope, "touch made; git init -q . && echo ESCAPED")
            .await;
        let names: Vec<_> = std::fs::read_dir(&plain)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        if fence.mode() == Mode::Bubblewrap {
            assert_eq!(names, ["made"], "{}", ran.words());
        }
    }
}

/// The `.git` of a linked worktree is a file; to change where it points is to change the settings.
#[tokio::test]
async fn the_link_of_a_worktree_stays() {
    for fence in fences()
        .iter()
        .filter(|fence| fence.mode() == Mode::Bubblewrap)
    {
        let world = World::new();
        let (tree, link) = (world.path("extra"), world.path("extra/.git"));
        std::fs::write(&link, "gitdir: /somewhere\n").unwrap();
        let scope = tools::Scope {
            directory: tree,
            ..world.scope()
        };
        let script =
            "echo gitdir: evil > .git; rm -f .git; mv .git old; echo x > f; mv -f f .git; true";
        let ran = world.run_in(fence, scope, script).await;
        assert_eq!(
            std::fs::read_to_string(&link).unwrap(),
            "gitdir: /somewhere\n",
            "{}",
            ran.words()
        );
    }
}

/// What is a link cannot be held in place, so commands that write are asked for.
#[tokio::test]
async fn a_protected_path_that_is_a_link_is_told() {
    for fence in fences() {
        let world = World::new();
        assert!(fence.protects_inside(&world.scope()));
        std::os::unix::fs::symlink("elsewhere", world.path("ws/.cowork")).unwrap();
        assert!(!fence.protects_inside(&world.scope()));
        assert!(fence.why_it_asks(&world.scope()).is_some());
    }
}

#[tokio::test]
async fn a_command_gets_a_terminal_when_it_asks() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    for fence in fences().into_iter().chain([open]) {
        let world = World::new();
        let script = "test -t 0 && test -t 1 && tty < /dev/tty && stty size && echo 'no x' >&2";
        let mode = fence.mode().name();
        let ran = world.run(&fence.clone().with_terminal(false), script).await;
        assert_eq!(ran.exit_code, 1, "{mode}: {}", ran.words());
        let ran = world.run_at_terminal(&fence, script).await;
        assert_eq!(ran.exit_code, 0, "{mode}: {}", ran.words());
        assert!(
            ran.stdout.ends_with("40 120\r\nno x\r\n"),
            "{mode}: {}",
            ran.words()
        );
    }
}

#[tokio::test]
async fn the_network_opens_when_it_is_granted() {
    for fence in fences() {
        let world = World::new();
        let script = "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo x";
        let ran = world.run(&fence.clone().with_network(true), script).await;
        assert_eq!(
            ran.stdout,
            "x\n",
            "{}: {}",
            fence.mode().name(),
            ran.words()
        );
        let ran = world.run(&fence, script).await;
        assert_eq!(ran.stdout, "", "{}: {}", fence.mode().name(), ran.words());
    }
}
