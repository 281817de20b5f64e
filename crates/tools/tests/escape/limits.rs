//! Storms of processes, of memory and of writing, against limits so small that a failure harms nothing.

use tools::sandbox::{Limits, Mode, Sandbox};

use crate::ends::running;
use crate::fences;
use crate::world::{World, launcher};

const MIB: u64 = 1 << 20;

fn small() -> Limits {
    Limits {
        process_memory_bytes: 256 * MIB,
        memory_bytes: 300 * MIB,
        processes: 40,
        file_bytes: 4 * MIB,
        written_bytes: 24 * MIB,
        open_files: 64,
    }
}

const FORKS: &str =
    r#"sub start { $p = fork; defined $p or die $!; $p or exec("sleep", @_) or die }"#;

/// Maps shared memory and has the kernel read zeros into it; it is nobody's own.
#[cfg(target_arch = "x86_64")]
const MAPPED: &str = "perl -e 'open(Z, \"<\", \"/dev/zero\"); $a = syscall(9, 0, 600 << 20, 3, 0x21, -1, 0); \
    for $i (0 .. 599) { syscall(0, fileno(Z), $a + ($i << 20), 1 << 20) } sleep 60; print \"through\"'; echo through";
#[cfg(not(target_arch = "x86_64"))]
const MAPPED: &str = "perl -e 'open(Z, \"<\", \"/dev/zero\"); $a = syscall(222, 0, 600 << 20, 3, 0x21, -1, 0); \
    for $i (0 .. 599) { syscall(63, fileno(Z), $a + ($i << 20), 1 << 20) } sleep 60; print \"through\"'; echo through";

/// Files in memory that are not even mapped, each below the limit of a file.
#[cfg(target_arch = "x86_64")]
const NAMELESS: &str = "for i in 1 2 3 4; do perl -e '$x = \"x\" x (3 << 20); for $i (1 .. 45) { $n = \"m$i\"; $f = syscall(319, $n, 0); \
    open($k[$i], \">&=\", $f) or die; syswrite($k[$i], $x) or die } sleep 60' & done; wait; echo through";
#[cfg(not(target_arch = "x86_64"))]
const NAMELESS: &str = "for i in 1 2 3 4; do perl -e '$x = \"x\" x (3 << 20); for $i (1 .. 45) { $n = \"m$i\"; $f = syscall(279, $n, 0); \
    open($k[$i], \">&=\", $f) or die; syswrite($k[$i], $x) or die } sleep 60' & done; wait; echo through";

/// With limits; without a fence they hold, too.
fn limited() -> Vec<Sandbox> {
    let open = Sandbox::with_mode(Mode::Nothing, launcher());
    let all = fences().into_iter().chain([open]);
    all.map(|fence| fence.with_limits(small())).collect()
}

#[tokio::test]
async fn a_storm_of_processes_is_ended() {
    for fence in limited() {
        let world = World::new();
        let mark = format!("{}.25", 70_000 + std::process::id() % 10_000);
        // Not by the shell, which waits a quarter of a minute for one more process.
        let script = format!(
            "perl -e '{FORKS} for (1 .. 2000) {{ start(\"{mark}\") }} wait' && echo through"
        );
        let ran = world.run(&fence, &script).await;
        let mode = fence.mode().name();
        assert!(!ran.stdout.contains("through"), "{mode}: {}", ran.words());
        assert!(ran.exit_code != 0, "{mode}: {}", ran.words());
        assert_eq!(running(&mark), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_storm_of_memory_is_ended() {
    let table = [
        (
            "one process",
            "perl -e '$x = \"x\" x (600 << 20); print \"through\"'",
        ),
        (
            "many processes",
            "for i in 1 2 3 4; do perl -e '$x = \"x\" x (60 << 20); $y = $x; sleep 60' & done; wait; echo through",
        ),
        ("shared by mapping", MAPPED),
        ("in files without a name", NAMELESS),
    ];
    for fence in limited() {
        for (name, script) in table {
            let ran = World::new().run(&fence, script).await;
            let mode = fence.mode().name();
            assert!(
                !ran.stdout.contains("through"),
                "{mode}: {name}: {}",
                ran.words()
            );
            assert_ne!(ran.exit_code, 0, "{mode}: {name}: {}", ran.words());
        }
    }
}

#[tokio::test]
async fn a_storm_of_writing_is_ended() {
    for fence in limited() {
        let (world, mode) = (World::new(), fence.mode().name());
        let ran = world
            .run(
                &fence,
                "head -c 64M /dev/zero > big; echo through > /dev/null",
            )
            .await;
        let size = world.path("ws/big").metadata().map_or(0, |meta| meta.len());
        assert!(size <= 4 * MIB, "{mode}: {size} {}", ran.words());

        let script = "for i in $(seq 200); do head -c 2M /dev/zero > many-$i; sleep 0.005; done; echo through";
        let ran = world.run(&fence, script).await;
        assert!(!ran.stdout.contains("through"), "{mode}: {}", ran.words());
        assert!(
            ran.stderr.contains("24 MiB written"),
            "{mode}: {}",
            ran.words()
        );
    }
}

/// What is reserved on a disk is as gone as what is written.
#[tokio::test]
async fn a_storm_of_reserving_is_ended() {
    for fence in limited() {
        let (world, mode) = (World::new(), fence.mode().name());
        let script = "for i in $(seq 20); do fallocate -l 3M reserved-$i || exit 3; done; sleep 50; echo through";
        let ran = world.run(&fence, script).await;
        assert!(!ran.stdout.contains("through"), "{mode}: {}", ran.words());
        assert!(
            ran.stderr.contains("24 MiB written"),
            "{mode}: {}",
            ran.words()
        );
    }
}

#[tokio::test]
async fn what_was_ended_says_why() {
    for fence in limited() {
        let script = format!("perl -e '{FORKS} for (1 .. 60) {{ start(60) }} wait'");
        let ran = World::new().run(&fence, &script).await;
        let told = ["more than 40 processes", "Resource temporarily unavailable"];
        let said = told.iter().any(|words| ran.stderr.contains(words));
        assert!(said, "{}: {}", fence.mode().name(), ran.words());
    }
}
