//! Kills the server at chosen and at random moments, and checks that nothing acknowledged is lost.
//!
//! `DRAGOMAN_KILLS` and `DRAGOMAN_SEED` make it long: `cargo xtask soak crashes --kills 500`.

mod history;
mod ledger;
mod session;
mod work;
mod world;

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::tell;
use work::Moment;
use world::World;

/// Enough for each moment once.
const KILLS: u64 = 7;
const SEED: u64 = 1;
const LIMIT_PER_KILL: Duration = Duration::from_secs(60);
const PROGRESS_EVERY: u64 = 10;

#[test]
fn nothing_acknowledged_is_lost() {
    let kills = number("DRAGOMAN_KILLS").unwrap_or(KILLS);
    let seed = number("DRAGOMAN_SEED").unwrap_or(SEED);
    let limit = LIMIT_PER_KILL * u32::try_from(kills).unwrap_or(u32::MAX);
    println!("crashes: {kills} kills, seed {seed}");
    tell(limit, survive(kills, seed));
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

async fn survive(kills: u64, seed: u64) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut world = World::open(seed).await?;
    let mut moments = Vec::new();
    for kill in 1..=kills {
        if moments.is_empty() {
            moments = Moment::ALL.to_vec();
            world.chance.shuffle(&mut moments);
        }
        let moment = moments.pop().unwrap_or(Moment::Random);
        if let Err(error) = world.round(moment).await {
            eprintln!("{}", world.evidence());
            return Err(error).with_context(|| {
                format!("kill {kill} of {kills}, seed {seed}, moment {moment:?}")
            });
        }
        if kill % PROGRESS_EVERY == 0 {
            println!("{kill} of {kills} kills, {}", world.tally());
        }
    }
    println!(
        "survived {kills} kills in {:.1} s, seed {seed}: {}",
        started.elapsed().as_secs_f64(),
        world.tally()
    );
    Ok(())
}
