//! Tries to get out of every sandbox that this machine offers. Each attempt is also made without a
//! fence, where it must succeed: an attack that never works would prove nothing.

#![allow(clippy::unwrap_used)]

mod ends;
mod jobs;
mod limits;
mod pdf_files;
mod protected;
mod reach;
mod tenants;
mod under_home;
mod world;

use std::sync::LazyLock;

use tools::Scope;
use tools::sandbox::probe;
use tools::sandbox::{Mode, Sandbox, attacks};
use world::{World, launcher};

/// The fences that work here; printed, so that a run tells what it has tried and what not.
fn fences() -> Vec<Sandbox> {
    static FOUND: LazyLock<Vec<Sandbox>> = LazyLock::new(find_fences);
    FOUND.clone()
}

fn find_fences() -> Vec<Sandbox> {
    let _alone = world::alone();
    let mut fences = Vec::new();
    for mode in [Mode::Bubblewrap, Mode::Landlock] {
        let fence = Sandbox::with_mode(mode, launcher());
        match probe::why_not(&fence) {
            None => fences.push(fence),
            Some(why) => {
                println!("sandbox {}: NOT TRIED: {why}", mode.name());
                let missing = mode == Mode::Bubblewrap && !probe::has_bubblewrap();
                let must = mode == Mode::Bubblewrap && !missing;
                assert!(!must, "bubblewrap is installed and does not work: {why}");
            }
        }
    }
    let names: Vec<&str> = fences.iter().map(|fence| fence.mode().name()).collect();
    println!("sandbox modes tried as user {}: {names:?}", user());
    assert!(!fences.is_empty(), "this machine offers no sandbox at all");
    fences
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The fences, and for root the one that does not map its number.
fn fences_of_root_too() -> Vec<(String, Sandbox)> {
    let mut all = Vec::new();
    for fence in fences() {
        let name = fence.mode().name();
        if fence.mode() == Mode::Bubblewrap && user() == 0 {
            let kept = format!("{name}, root's number kept");
            all.push((kept, fence.clone().with_root_kept()));
        }
        all.push((name.to_owned(), fence));
    }
    all
}

#[tokio::test]
async fn no_attempt_gets_out() {
    for (name, fence) in fences_of_root_too() {
        let (mut escapes, mut tried) = (Vec::new(), 0);
        let all = attacks::ALL.iter();
        for attack in all.filter(|attack| attack.needs_root() || !name.contains("kept")) {
            let world = World::new();
            let beyond = attack.beyond_landlock && fence.mode() == Mode::Landlock;
            if beyond || attack.inside && !fence.protects_inside(&world.scope()) {
                println!("{name} cannot hold: {}", attack.name);
                continue;
            }
            tried += 1;
            let ran = world.run(&fence, attack.script).await;
            if let Some(how) = world.damage(&ran) {
                escapes.push(format!(
                    "{}: {how}\n  it said: {}",
                    attack.name,
                    ran.words()
                ));
            }
        }
        println!("{name}: {tried} attempts as user {}", user());
        assert!(
            escapes.is_empty(),
            "got out of {name}:\n{}",
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
            "what was made belongs to who made it",
            "touch mine && test -O mine && test $(stat -c %U mine) = $(id -un) && echo x",
        ),
        (
            "threads and limits of its own",
            "ulimit -n 32 && nice -n 5 true && echo x",
        ),
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
        let scope = Scope {
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
        let scope = Scope {
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

/// Nobody is there to turn its pages: the command would never end.
#[tokio::test]
async fn no_pager_is_opened_at_a_terminal() {
    for fence in fences() {
        let world = World::new();
        let script = "git -c user.name=a -c user.email=a@b commit -qm m --allow-empty && \
                      git -c core.pager='sed s/^/paged/' log --format=format:it";
        let ran = world.run_at_terminal(&fence, script).await;
        let mode = fence.mode().name();
        assert!(ran.stdout.starts_with("it"), "{mode}: {}", ran.words());
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

/// What `dragoman sandbox check` says of a fence that works.
#[tokio::test]
async fn the_check_finds_that_every_promise_holds() {
    let best = fences().remove(0);
    let _alone = world::alone();
    let check = tokio::task::spawn_blocking(move || probe::check(&best));
    let findings = check.await.unwrap().unwrap();
    let broken: Vec<_> = findings
        .iter()
        .filter(|finding| finding.promised && !finding.holds)
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    // It makes all attempts that these tests make.
    let named = |attack: &attacks::Attack| findings.iter().any(|found| found.what == attack.name);
    assert!(attacks::ALL.iter().all(named));
}
