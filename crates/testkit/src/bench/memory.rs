//! What the server holds in memory.

use std::time::{Duration, Instant};

use super::latency::one_echo;
use super::server::{Bench, Server};
use super::socket::Socket;
use super::table::{Bound, Row, Table};

const KIB_PER_MIB: f64 = 1024.0;
/// After this a session at rest has given back what its turn needed.
const AT_REST: Duration = Duration::from_secs(11);
const THREADS: usize = 40;
/// After this a server at rest has given back what its turns needed.
const QUIET: Duration = Duration::from_secs(30);

pub async fn idle(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    server.ready().await?;
    let before = server.resident_kib()?;
    let row = Row::new("idle memory", "MiB", before / KIB_PER_MIB);
    table.add(row.floor(Bound::Below(20.0)).goal(Bound::Below(15.0)));
    let count = bench.count(1_000, 200);
    let held = hold(&server, count).await?;
    let each = (server.resident_kib()? - before) / held.len() as f64;
    let row = Row::new(
        format!("each of {count} open sessions, socket included"),
        "KiB",
        each,
    );
    table.add(row.goal(Bound::Below(35.0)));
    Ok(())
}

pub async fn sockets(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    let wanted = bench.count(10_000, 2_000);
    let before = server.resident_kib()?;
    let mut held = hold(&server, wanted).await?;
    let total = server.resident_kib()?;
    let name = format!("memory with {} idle sockets", held.len());
    let row = Row::new(name, "MiB", total / KIB_PER_MIB).floor(Bound::Below(300.0));
    let short = held.len() < wanted;
    table.add(row.note(match short {
        true => format!("{wanted} wanted; raise `ulimit -n`"),
        false => "each with a session of its own".to_owned(),
    }));
    let each = (total - before) / held.len() as f64;
    let row = Row::new("each idle socket with its session", "KiB", each);
    table.add(row.goal(Bound::Below(35.0)));
    // Held means served: every hundredth must still answer.
    for socket in held.iter_mut().step_by(100) {
        socket.say("ping", "").await?;
        socket.count_until("\"pong\"").await?;
    }
    Ok(())
}

/// Opens as many sockets as the machine allows, up to `count`.
async fn hold(server: &Server, count: usize) -> anyhow::Result<Vec<Socket>> {
    let mut held = Vec::with_capacity(count);
    while held.len() < count {
        match Socket::connect(server.port()).await {
            Ok(mut socket) => {
                socket.settled().await?;
                held.push(socket);
            }
            Err(error) if held.len() >= 1_000 => {
                eprintln!("  no more than {} sockets: {error:#}", held.len());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

pub async fn turns(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    server.ready().await?;
    let before = server.resident_kib()?;
    let turns = bench.count(1_000, 200);
    let mut socket = Socket::connect(server.port()).await?;
    socket.settled().await?;
    let mut took = Vec::with_capacity(turns);
    for _ in 0..turns {
        let started = Instant::now();
        one_echo(&mut socket).await?;
        took.push(started.elapsed());
    }
    // A conversation must not make its own turns dearer.
    let some = (turns / 10).max(1);
    let (first, last) = (median(&took[..some]), median(&took[turns - some..]));
    let row = Row::new(
        format!("echo turn after {turns} turns, beside the first"),
        "times",
        last / first,
    );
    let note = format!("{:.2} ms, {:.2} at first", last * 1e3, first * 1e3);
    table.add(row.floor(Bound::Below(1.3)).note(note));
    bench.rest(AT_REST).await;
    let grown = (server.resident_kib()? - before) / KIB_PER_MIB;
    let row = Row::new(
        format!("memory gained by {turns} turns of a thread"),
        "MiB",
        grown,
    );
    table.add(row.goal(Bound::Below(10.0)));
    Ok(())
}

/// Many turns on many threads at once; whoever had them stays connected.
pub async fn many_turns(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let server = bench.server().await?;
    server.ready().await?;
    let before = server.resident_kib()?;
    let row = Row::new("memory before any turn", "MiB", before / KIB_PER_MIB);
    table.add(row.floor(Bound::Below(16.0)));
    let each = bench.count(250, 50);
    let started = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..THREADS {
        let port = server.port();
        clients.spawn(async move {
            let mut socket = Socket::connect(port).await?;
            socket.settled().await?;
            for _ in 0..each {
                one_echo(&mut socket).await?;
            }
            anyhow::Ok(socket)
        });
    }
    let mut held = Vec::with_capacity(THREADS);
    while let Some(client) = clients.join_next().await {
        held.push(client??);
    }
    let (took, used) = (started.elapsed(), server.processor_time()?);
    let turns = each * THREADS;
    let row = Row::new(format!("{turns} turns of {THREADS} threads"), "/s", {
        turns as f64 / took.as_secs_f64()
    });
    let micros = used.as_secs_f64() * 1e6 / turns as f64;
    table.add(row.note(format!("{micros:.0} µs of server CPU each")));
    let at_once = server.resident_kib()? / KIB_PER_MIB;
    bench.rest(QUIET).await;
    let gained = (server.resident_kib()? - before) / KIB_PER_MIB;
    let name = "memory gained by them, 30 s later";
    let row = Row::new(name, "MiB", gained).floor(Bound::Below(30.0));
    let peak = server.resident_kib_peak()? / KIB_PER_MIB;
    table.add(row.note(format!(
        "right after them {at_once:.0} in all, at most {peak:.0}"
    )));
    drop(held);
    Ok(())
}

fn median(times: &[Duration]) -> f64 {
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
