//! What a command reaches of the machine: whose files it makes, which ports, sockets and memory there are.

use std::sync::Arc;

use tools::Scope;
use tools::sandbox::{Mode, Sandbox};

use crate::world::{self, PATIENCE, Person, World, launcher};
use crate::{ends, fences, fences_of_root_too, user};

/// As root, what a command makes in the workspace belongs to root, whatever root is inside.
#[tokio::test]
async fn what_a_command_makes_belongs_to_the_user() {
    use std::os::unix::fs::MetadataExt;
    for (name, fence) in fences_of_root_too() {
        let world = World::new();
        let ran = world
            .run(&fence, "mkdir d && echo x > d/made && cat d/made")
            .await;
        assert_eq!(ran.stdout, "x\n", "{name}: {}", ran.words());
        let made = world.path("ws/d/made").metadata().unwrap();
        let here = world.path("ws").metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (here.uid(), here.gid()), "{name}");
    }
}

/// Who is root only by name has another number outside.
#[tokio::test]
async fn root_is_somebody_else_in_bubblewrap() {
    for fence in fences() {
        if fence.mode() != Mode::Bubblewrap || user() != 0 {
            println!(
                "{}: root is not mapped as user {}",
                fence.mode().name(),
                user()
            );
            continue;
        }
        let (world, person) = (World::new(), Arc::new(Person::default()));
        let cx = world.cx(&fence, world.scope(), person.clone());
        let mark = format!("{}.75", 60_000 + std::process::id() % 10_000);
        let script = format!("echo up; id -u; sleep {mark}");
        // It says that it is root; the kernel says who it is.
        let look = async {
            person.wait_for(|heard| heard.contains("up\n0\n")).await;
            let number = loop {
                if let Some(number) = ends::user_of(&mark) {
                    break number;
                }
                tokio::task::yield_now().await;
            };
            cx.cancel.cancel();
            number
        };
        let both = async { tokio::join!(world.call(&cx, &script), look) };
        let (_cancelled, number) = tokio::time::timeout(PATIENCE, both).await.unwrap();
        assert!(number > 0, "{number}");
    }
}

#[tokio::test]
async fn a_read_only_scope_can_only_write_temporary_files() {
    for fence in fences() {
        let (world, mode) = (World::new(), fence.mode().name());
        let read_only = || Scope {
            read_only: true,
            ..world.scope()
        };
        assert!(fence.protects_inside(&read_only()), "{mode}");
        let script = "cat .agent/kept && echo x > $TMPDIR/t && cat $TMPDIR/t";
        let ran = world.run_in(&fence, read_only(), script).await;
        assert_eq!(ran.stdout, "as it wasx\n", "{mode}: {}", ran.words());
        for script in [
            "echo x > made",
            "mkdir made",
            "echo x > $EXTRA/made",
            "rm .agent/kept",
            "ln -s a made",
            "mv .agent made",
            "cd $TMPDIR && ln -s $WS link && echo x > link/made",
        ] {
            let ran = world.run_in(&fence, read_only(), script).await;
            let made = [world.path("ws/made"), world.path("extra/made")];
            assert!(
                !made.iter().any(|path| path.symlink_metadata().is_ok()),
                "{mode}: {script}"
            );
            assert!(world.path("ws/.agent/kept").exists(), "{mode}: {script}");
            assert_ne!(ran.exit_code, 0, "{mode}: {script}: {}", ran.words());
        }
    }
}

/// With the network open, the server's own port is not: by no kind of connection.
#[tokio::test]
async fn the_servers_port_stays_closed_when_the_network_opens() {
    let table = [
        ("plain", "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED"),
        (
            "over IPv6",
            "perl -MSocket=:all -e 'socket(S,PF_INET6,SOCK_STREAM,0) or die; connect(S,pack_sockaddr_in6($ENV{PORT},inet_pton(AF_INET6,\"::ffff:127.0.0.1\"))) or die $!; print \"ESCAPED\"'",
        ),
        (
            "as MPTCP",
            "perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,262) or die $!; connect(S,pack_sockaddr_in($ENV{PORT},inet_aton(\"127.0.0.1\"))) or die $!; print \"ESCAPED\"'",
        ),
        (
            "with the first data",
            "perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0) or die; defined send(S,\"x\",0x20000000,pack_sockaddr_in($ENV{PORT},inet_aton(\"127.0.0.1\"))) or die $!; print \"ESCAPED\"'",
        ),
    ];
    let nothing = Sandbox::with_mode(Mode::Nothing, launcher());
    for (name, script) in table {
        let world = World::new();
        let ran = world.run(&nothing, script).await;
        // A kernel may have been built without it.
        let absent = ran.stderr.contains("Protocol not ");
        assert!(
            world.damage(&ran).is_some() || absent,
            "{name}: {}",
            ran.words()
        );
    }
    for fence in fences() {
        let open = fence.with_network(true);
        let mode = open.mode().name();
        for (name, script) in table {
            let world = World::new();
            let closed = open.clone().with_ports(vec![world.port()]);
            let ran = world.run(&closed, script).await;
            assert_eq!(world.damage(&ran), None, "{mode}: {name}: {}", ran.words());
        }
        // All others are open, and so is this one where nobody says that it is the server's.
        let world = World::new();
        let (_other, port) = World::port_of_another();
        let closed = open.clone().with_ports(vec![world.port()]);
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo x");
        let ran = world.run(&closed, &script).await;
        assert_eq!(ran.stdout, "x\n", "{mode}: {}", ran.words());
        let ran = world.run(&open, table[0].1).await;
        assert!(world.damage(&ran).is_some(), "{mode}: {}", ran.words());
    }
}

/// A socket that was not there when the fence was set up cannot be covered; but the home directory is.
#[tokio::test]
async fn a_socket_that_appears_at_home_is_not_reached() {
    for fence in fences() {
        let (world, person) = (World::new(), Arc::new(Person::default()));
        let cx = world.cx(&fence, world.scope(), person.clone());
        let home = tempfile::tempdir_in(std::env::home_dir().unwrap()).unwrap();
        let path = home.path().join("late");
        let script = format!(
            "echo up; until test -e go; do sleep 0.02; done; \
             perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0) or die; connect(S,pack_sockaddr_un(\"{}\")) or die $!; print \"ESCAPED\"'",
            path.display()
        );
        let later = async {
            person.wait_for(|heard| heard.contains("up")).await;
            let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
            std::fs::write(world.path("ws/go"), "").unwrap();
            socket
        };
        let both = async { tokio::join!(world.call(&cx, &script), later) };
        let (outcome, _socket) = tokio::time::timeout(PATIENCE, both).await.unwrap();
        let ran = world::ran(outcome.unwrap());
        assert_eq!(
            world.damage(&ran),
            None,
            "{}: {}",
            fence.mode().name(),
            ran.words()
        );
        assert_ne!(ran.exit_code, 0, "{}", ran.words());
    }
}

/// Memory that other programs share by number is not the command's, either.
#[tokio::test]
async fn shared_memory_of_others_is_not_reached() {
    let made = std::process::Command::new("ipcmk")
        .args(["-M", "4096"])
        .output()
        .unwrap();
    let said = String::from_utf8(made.stdout).unwrap();
    let id = said.rsplit(' ').next().unwrap().trim().to_owned();
    let script = format!("perl -e 'shmread({id}, $x, 0, 1) or die $!; print \"ESCAPED\"'");
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    let world = World::new();
    let reached = world.damage(&world.run(&open, &script).await);
    drop(world);
    let mut escapes = Vec::new();
    for fence in fences() {
        let world = World::new();
        let ran = world.run(&fence, &script).await;
        escapes.push((fence.mode().name(), world.damage(&ran)));
    }
    let removed = std::process::Command::new("ipcrm")
        .args(["-m", &id])
        .status();
    assert!(removed.unwrap().success());
    assert!(reached.is_some());
    assert!(escapes.iter().all(|(_, how)| how.is_none()), "{escapes:?}");
}
