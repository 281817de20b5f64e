//! Jobs behind the fence: they serve each other and nobody else, and nothing of them outlives their thread.

use std::sync::Arc;

use serde_json::{Value, json};
use tools::sandbox::{Mode, Sandbox};
use tools::{ToolCx, Toolbox};
use vocabulary::ToolOutput;

use crate::ends::{mark, running};
use crate::world::{PATIENCE, Person, World, launcher, ran};
use crate::{fences, fences_of_root_too};

/// Listens on a port of its own and answers one connection after the other.
const SERVER: &str = r#"perl -MIO::Socket::INET -e '
    my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 4817) or die $!;
    while (my $client = $server->accept) { print $client "served\n"; close $client }'"#;
/// Waits for it to listen, and reads what it says.
const CLIENT: &str = "until (exec 3<>/dev/tcp/127.0.0.1/4817) 2>/dev/null; do :; done; \
    exec 3<>/dev/tcp/127.0.0.1/4817; cat <&3";
/// Looks once.
const CLIENT_ONCE: &str = "exec 3<>/dev/tcp/127.0.0.1/4817 && cat <&3";

async fn text(cx: &ToolCx, tool: &str, input: Value) -> String {
    let tool = Toolbox::builtin().get(tool).unwrap();
    let ran = tokio::time::timeout(PATIENCE, tool.run(cx, input)).await;
    match ran.expect("it ends") {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

async fn gone(mark: &str) {
    let gone = async {
        while running(mark) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("it is gone");
}

fn bubblewraps() -> Vec<(String, Sandbox)> {
    let mut all = fences_of_root_too();
    all.retain(|(_, fence)| fence.mode() == Mode::Bubblewrap);
    all
}

#[tokio::test]
async fn what_a_job_serves_is_reached_by_its_thread_and_by_nobody_else() {
    for (name, fence) in bubblewraps() {
        let world = World::new();
        let cx = world.cx(&fence, world.scope(), Arc::default());
        let start = json!({"command": SERVER, "background": true});
        let started = text(&cx, "bash", start).await;
        assert!(
            started.starts_with("running as job 1 · "),
            "{name}: {started}"
        );
        assert!(!started.contains("cannot reach"), "{name}: {started}");
        // Nothing is let go of that a job uses.
        cx.jobs.shrink();
        let answer = tokio::time::timeout(PATIENCE, world.call(&cx, CLIENT)).await;
        let answer = ran(answer.expect("it answers").unwrap());
        assert_eq!(answer.stdout, "served\n", "{name}: {}", answer.words());

        // Neither the machine nor another thread.
        assert!(
            std::net::TcpStream::connect("127.0.0.1:4817").is_err(),
            "{name}"
        );
        let other = world.cx(&fence, world.scope(), Arc::default());
        let refused = ran(world.call(&other, CLIENT_ONCE).await.unwrap());
        assert_eq!(refused.stdout, "", "{name}: {}", refused.words());
        // Nor does a command that has it reach the machine.
        let script = "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED";
        let out = ran(world.call(&cx, script).await.unwrap());
        assert_eq!(out.stdout, "", "{name}: {}", out.words());

        let stopped = text(&cx, "job", json!({"action": "stop", "id": 1})).await;
        assert!(
            stopped.starts_with("job 1 · exit 143 · "),
            "{name}: {stopped}"
        );
        let refused = ran(world.call(&cx, CLIENT_ONCE).await.unwrap());
        assert_eq!(refused.stdout, "", "{name}: {}", refused.words());
        // After a rest there is another network.
        cx.jobs.shrink();
        let started = text(&cx, "bash", json!({"command": SERVER, "background": true})).await;
        assert!(started.starts_with("running as job 2"), "{name}: {started}");
        let answer = tokio::time::timeout(PATIENCE, world.call(&cx, CLIENT)).await;
        let answer = ran(answer.expect("it answers").unwrap());
        assert_eq!(answer.stdout, "served\n", "{name}: {}", answer.words());
    }
}

/// What passed its timeout may be a server, too.
#[tokio::test]
async fn what_was_moved_is_reached_as_well() {
    for (name, fence) in bubblewraps() {
        let world = World::new();
        let cx = world.cx(&fence, world.scope(), Arc::default());
        let moved = text(&cx, "bash", json!({"command": SERVER, "timeout": 1})).await;
        assert!(
            moved.starts_with("still running as job 1 · "),
            "{name}: {moved}"
        );
        let answer = ran(world.call(&cx, CLIENT).await.unwrap());
        assert_eq!(answer.stdout, "served\n", "{name}: {}", answer.words());
    }
}

#[tokio::test]
async fn where_there_are_no_sockets_that_is_said() {
    for fence in fences()
        .iter()
        .filter(|fence| fence.mode() == Mode::Landlock)
    {
        let world = World::new();
        let cx = world.cx(fence, world.scope(), Arc::default());
        let start = json!({"command": "sleep 1000", "background": true});
        let started = text(&cx, "bash", start).await;
        assert!(
            started.contains("has no sockets while the network is closed"),
            "{started}"
        );
        cx.jobs.end("over").await;
    }
}

#[tokio::test]
async fn a_job_keeps_its_fence_and_can_be_written_to() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    for fence in fences().into_iter().chain([open]) {
        let mode = fence.mode().name();
        for terminal in [false, true] {
            let world = World::new();
            let cx = world.cx(&fence, world.scope(), Arc::default());
            let command =
                "while read line; do echo \"got $line\"; done; test -t 0 && echo tty; exit 3";
            let start = json!({"command": command, "background": true, "pty": terminal});
            text(&cx, "bash", start).await;
            let write = json!({"action": "write", "id": 1, "input": "a b\n"});
            let answered = text(&cx, "job", write).await;
            assert!(
                answered.contains("got a b"),
                "{mode} {terminal}: {answered}"
            );
            let close = json!({"action": "write", "id": 1, "close": true});
            let closed = text(&cx, "job", close).await;
            assert!(
                closed.starts_with("job 1 · exit 3 · "),
                "{mode} {terminal}: {closed}"
            );
            assert_eq!(closed.ends_with("tty"), terminal, "{mode}: {closed}");
        }
    }
}

/// Input that nobody reads does not keep the launcher from hearing that all is to end.
#[tokio::test]
async fn a_job_that_does_not_read_can_be_stopped() {
    for fence in fences() {
        let world = World::new();
        let cx = world.cx(&fence, world.scope(), Arc::default());
        text(
            &cx,
            "bash",
            json!({"command": "sleep 1000", "background": true}),
        )
        .await;
        let much = "x".repeat(60_000);
        let write = json!({"action": "write", "id": 1, "input": much});
        for _ in 0..3 {
            text(&cx, "job", write.clone()).await;
        }
        let stopped = text(&cx, "job", json!({"action": "stop", "id": 1})).await;
        assert!(stopped.starts_with("job 1 · exit 143 · "), "{stopped}");
    }
}

#[tokio::test]
async fn nothing_of_a_job_outlives_its_thread() {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    for fence in fences().into_iter().chain([open]) {
        for politely in [true, false] {
            let (world, mark) = (World::new(), mark());
            let cx = world.cx(&fence, world.scope(), Arc::new(Person::default()));
            let command = format!("trap '' TERM; (setsid sleep {mark} &); echo up; sleep {mark}");
            let started = text(&cx, "bash", json!({"command": command, "background": true})).await;
            assert!(started.contains("\nup\n"), "{started}");
            assert!(running(&mark) > 0);
            if politely {
                cx.jobs.end("over").await;
                assert_eq!(running(&mark), 0, "{}", fence.mode().name());
            }
            drop(cx);
            gone(&mark).await;
        }
    }
}
