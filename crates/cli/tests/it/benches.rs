//! Every bench runs to its end, in a form so small that its numbers say nothing.

use std::collections::BTreeSet;

use testkit::bench::{Bench, NAMES, Size, Table, run};

async fn runs(name: &str) -> anyhow::Result<()> {
    let bench = Bench {
        binary: crate::DRAGOMAN.into(),
        size: Size::Tiny,
    };
    let mut table = Table::default();
    run(name, &bench, &mut table).await?;
    anyhow::ensure!(!table.is_empty(), "bench {name} measured nothing");
    Ok(())
}

/// A test for each, so that one that hangs has a name.
macro_rules! benches {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() -> anyhow::Result<()> {
                runs($name).await
            }
        )*

        #[test]
        fn every_bench_has_a_test() {
            let tested = BTreeSet::from([$($name),*]);
            assert_eq!(tested, BTreeSet::from(NAMES));
        }
    };
}

benches! {
    fsync: "fsync",
    start: "start",
    idle: "idle",
    connect: "connect",
    ping: "ping",
    echo: "echo",
    stream: "stream",
    fanout: "fanout",
    concurrent: "concurrent",
    relay: "relay",
    relay_cost: "relay-cost",
    written: "written",
    resume: "resume",
    list: "list",
    turns: "turns",
    memory: "memory",
    sockets: "sockets",
    joined: "joined",
    codex_history: "codex-history",
    codex_list: "codex-list",
    codex_stream: "codex-stream",
    pioneer_tree: "pioneer-tree",
}
