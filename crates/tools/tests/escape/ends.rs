//! Nothing outlives a call, however it ends; and what failed in the sandbox can be allowed outside.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use vocabulary::ToolOutput;

use serde_json::json;
use tools::Failure;
use tools::sandbox::{Mode, Sandbox};

use crate::fences;
use crate::world::{PATIENCE, Person, World, launcher, ran};

/// How many processes of this machine have the word in their command line.
pub fn running(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| {
        line.split(|&byte| byte == 0)
            .any(|part| part == word.as_bytes())
    };
    lines.filter(has).count()
}

/// The number of the user whose process has the word in its command line.
pub fn user_of(word: &str) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    let sleeps = |line: &[u8]| {
        line.split(|&byte| byte == 0)
            .eq([b"sleep", word.as_bytes(), b""])
    };
    let process = processes
        .find(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| sleeps(&line)));
    process?.metadata().ok().map(|meta| meta.uid())
}

/// A time to sleep that no other process has: so it can be found.
pub fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{next:03}5", 80_000 + std::process::id() % 10_000)
}

fn all() -> Vec<Sandbox> {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    fences().into_iter().chain([open]).collect()
}

/// Ways of getting away from whoever started one.
const DAEMONS: &[(&str, &str)] = &[
    ("in the background", "sleep MARK & echo up"),
    (
        "without a hangup",
        "nohup sleep MARK > /dev/null 2>&1 & echo up",
    ),
    (
        "in a session of its own",
        "setsid sleep MARK > /dev/null 2>&1 & echo up",
    ),
    (
        "forked twice",
        "(setsid bash -c 'sleep MARK & sleep MARK & exec sleep MARK' > /dev/null 2>&1 < /dev/null &) ; echo up",
    ),
    (
        "deaf",
        "setsid bash -c 'trap \"\" TERM HUP INT; sleep MARK; sleep MARK' > /dev/null 2>&1 & echo up",
    ),
    (
        "after an attack on the launcher's limits",
        "prlimit --pid $PPID --cpu=0:0 --nofile=0:0 2>/dev/null; (setsid sleep MARK > /dev/null 2>&1 &); echo up",
    ),
    (
        "after an attack on the launcher",
        "kill -9 $PPID 2>/dev/null; kill -9 -- -$PPID 2>/dev/null; (setsid sleep MARK > /dev/null 2>&1 &); echo up",
    ),
];

#[tokio::test]
async fn a_daemon_does_not_outlive_its_call() {
    for fence in all() {
        for (name, script) in DAEMONS {
            let open = fence.mode() == Mode::Nothing;
            if open && name.contains("attack") {
                continue;
            }
            let mark = mark();
            let ran = World::new()
                .run(&fence, &script.replace("MARK", &mark))
                .await;
            let mode = fence.mode().name();
            assert!(ran.stdout.contains("up"), "{mode}: {name}: {}", ran.words());
            assert_eq!(running(&mark), 0, "{mode}: {name}");
        }
    }
}

#[tokio::test]
async fn cancelling_leaves_no_process_behind() {
    for fence in all() {
        for (name, script) in DAEMONS.iter().filter(|(name, _)| !name.contains("attack")) {
            let (world, person, mark) = (World::new(), Arc::new(Person::default()), mark());
            let cx = world.cx(&fence, world.scope(), person.clone());
            let script = format!(
                "trap '' TERM; {}; sleep {mark}",
                script.replace("MARK", &mark)
            );
            let cancel = async {
                person.wait_for(|heard| heard.contains("up")).await;
                cx.cancel.cancel();
            };
            let both = async { tokio::join!(world.call(&cx, &script), cancel) };
            let mode = fence.mode().name();
            let ended = tokio::time::timeout(PATIENCE, both).await;
            let (outcome, ()) = ended.unwrap_or_else(|_| panic!("{mode}: {name}: does not end"));
            assert!(
                matches!(outcome, Err(Failure::Cancelled(_))),
                "{mode}: {name}"
            );
            assert_eq!(running(&mark), 0, "{mode}: {name}");
        }
    }
}

#[tokio::test]
async fn dropping_the_call_leaves_no_process_behind() {
    for fence in all() {
        let (world, person, mark) = (World::new(), Arc::new(Person::default()), mark());
        let cx = world.cx(&fence, world.scope(), person.clone());
        let script = format!("(setsid sleep {mark} &); echo up; sleep {mark}");
        tokio::select! {
            outcome = world.call(&cx, &script) => panic!("{outcome:?}"),
            _ = person.wait_for(|heard| heard.contains("up")) => {}
        }
        let gone = async {
            while running(&mark) > 0 {
                tokio::task::yield_now().await;
            }
        };
        let mode = fence.mode().name();
        tokio::time::timeout(PATIENCE, gone).await.expect(mode);
    }
}

/// Not even a command that says the fence stopped it runs a second time: that needs a call of its own,
/// which a person has allowed.
#[tokio::test]
async fn what_the_sandbox_stopped_is_told_and_runs_outside_only_when_called_so() {
    for fence in fences() {
        let (world, person) = (World::new(), Arc::new(Person::default()));
        let cx = world.cx(&fence, world.scope(), person.clone());
        let mode = fence.mode().name();
        let script = "echo again >> runs; echo x > $OUT/made || echo 'Read-only file system' >&2; \
                      exit 1";
        let stopped = ran(world.call(&cx, script).await.unwrap());
        assert!(!world.path("outside/made").exists(), "{mode}");
        let runs = std::fs::read_to_string(world.path("ws/runs")).unwrap();
        assert_eq!(runs, "again\n", "{mode}");
        let note = "call again with \"escalate\": \"outside\"";
        assert!(stopped.stderr.contains(note), "{mode}: {}", stopped.words());

        let escalated = json!({"escalate": "outside", "reason": "it is needed"});
        let outcome = world.call_with(&cx, "echo x > $OUT/made", escalated).await;
        outcome.unwrap();
        assert!(world.path("outside/made").exists(), "{mode}");
    }
}

#[tokio::test]
async fn ordinary_failures_ask_nobody() {
    for fence in fences() {
        for script in [
            "false",
            "cat missing",
            "touch f; ./f",
            "echo 'Permission denied' >&2; exit 1",
        ] {
            let (world, person) = (World::new(), Arc::new(Person::default()));
            let cx = world.cx(&fence, world.scope(), person.clone());
            let outcome = world.call(&cx, script).await;
            assert!(
                matches!(outcome, Ok(ToolOutput::Command { exit_code: 1.., .. })),
                "{script}"
            );
        }
    }
}

/// A fence that cannot be set up runs nothing, and asks nobody to do without it.
#[tokio::test]
async fn without_its_fence_nothing_runs() {
    for mode in [Mode::Bubblewrap, Mode::Landlock] {
        let (world, person) = (World::new(), Arc::new(Person::default()));
        let fence = Sandbox::with_mode(mode, std::path::Path::new("/bin/true"));
        let cx = world.cx(&fence, world.scope(), person.clone());
        let outcome = world.call(&cx, "echo x > made").await;
        let Err(Failure::Error(message)) = outcome else {
            panic!("{}: {outcome:?}", mode.name());
        };
        // Where bwrap itself is missing, not even that can be started.
        let told = ["nothing has run", "cannot start"];
        let tells = told.iter().any(|words| message.contains(words));
        assert!(tells, "{message}");
        assert!(!world.path("ws/made").exists());
    }
}

/// Why a fence does not stand is told once, at the end; it is no output of the command.
#[tokio::test]
async fn what_a_fence_says_that_does_not_stand_is_not_shown() {
    let (world, person) = (World::new(), Arc::new(Person::default()));
    let launcher = world.path("extra/launcher");
    std::fs::write(&launcher, "#!/bin/sh\necho it is gone >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&launcher, Permissions::from_mode(0o755)).unwrap();
    let fence = Sandbox::with_mode(Mode::Landlock, &launcher);
    let cx = world.cx(&fence, world.scope(), person.clone());
    let outcome = world.call(&cx, "echo x > made").await;
    let Err(Failure::Error(message)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(message.contains("nothing has run: it is gone"), "{message}");
    assert_eq!(*person.heard.lock().unwrap(), "");
}
