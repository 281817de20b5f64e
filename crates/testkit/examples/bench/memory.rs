//! What the server holds in memory.

use std::time::Duration;

use crate::latency::one_echo;
use crate::server::{Bench, Server};
use crate::socket::Socket;
use crate::table::{Bound, Row, Table};

const KIB_PER_MIB: f64 = 1024.0;
/// After this a session at rest has given back what its turn needed.
const AT_REST: Duration = Duration::from_secs(11);

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
    for _ in 0..turns {
        one_echo(&mut socket).await?;
    }
    tokio::time::sleep(AT_REST).await;
    let grown = (server.resident_kib()? - before) / KIB_PER_MIB;
    let row = Row::new(
        format!("memory gained by {turns} turns of a thread"),
        "MiB",
        grown,
    );
    table.add(row.goal(Bound::Below(10.0)));
    Ok(())
}
