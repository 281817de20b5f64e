//! Clients of all dialects at the same threads do random things; at rest all have the same of them.
//!
//! `DRAGOMAN_SOAK_SECONDS`, `DRAGOMAN_SEED` and their like make it long: `cargo xtask soak dialects --minutes 10`.

mod codex;
mod compare;
mod cowork;
mod cowork1;
mod desk;
mod diminuendo;
mod entry;
mod pioneer;
mod plan;
mod player;
mod report;
mod round;
mod voice;

use std::time::{Duration, Instant};

use anyhow::ensure;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use crate::{DRAGOMAN, tell};
use report::{Counts, keep_frames};
use round::Round;

/// How long the round may take that is under way when the time is over.
const LAST_ROUND: Duration = Duration::from_secs(150);

/// What a run is to be.
pub struct Options {
    seed: u64,
    /// It begins no new round after this.
    time: Duration,
    /// How long they play in each round.
    play: Duration,
    /// Of each dialect at each thread.
    clients: usize,
    /// How long rest may take.
    patience: Duration,
    /// Frames are lost on the client's side: the test of the test.
    drop_one_in: Option<usize>,
}

impl Options {
    /// One round.
    fn short(seed: u64) -> Self {
        Self {
            seed,
            time: Duration::ZERO,
            play: Duration::from_secs(4),
            clients: 1,
            patience: Duration::from_secs(30),
            drop_one_in: None,
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

async fn soak(options: &Options) -> anyhow::Result<Counts> {
    let began = Instant::now();
    let scratch = Scratch::new()?;
    let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
    server.hush();
    let mut total = Counts::default();
    for number in 1.. {
        let mut round = Round::new(options, number, &mut server, &scratch);
        let ended = round.run().await;
        total.merge(&round.counts);
        let (findings, players) = (round.findings, round.players);
        let seed = options.seed;
        for finding in &findings {
            print!("FINDING seed {seed}, round {number}, {finding}");
        }
        if !findings.is_empty() || ended.is_err() {
            let place = format!("seed-{seed}-round-{number}");
            let folder = keep_frames(&place, &players, &server.whole_log())?;
            println!("the frames of it: {}", folder.display());
        }
        ended?;
        println!(
            "round {number}, {:.0} s: {} accepted, {} asks, {} kills, {} reconnects, {} comparisons, {} findings",
            began.elapsed().as_secs_f64(),
            total.get("accepted"),
            total.get("asks"),
            total.get("SIGKILL") + total.get("SIGTERM"),
            total.get("reconnects"),
            total.get("comparisons"),
            total.get("findings"),
        );
        if began.elapsed() >= options.time {
            break;
        }
    }
    println!("seed {}\n{total}", options.seed);
    Ok(total)
}

/// What `cargo xtask soak dialects` wants; nothing in the short form.
fn wanted(mut options: Options) -> Options {
    if let Some(seconds) = number("DRAGOMAN_SOAK_SECONDS") {
        options.time = Duration::from_secs(seconds);
        options.play = Duration::from_secs(6);
    }
    options.clients = count("DRAGOMAN_SOAK_CLIENTS").unwrap_or(options.clients);
    options.drop_one_in = count("DRAGOMAN_SOAK_DROP");
    options
}

fn count(name: &str) -> Option<usize> {
    number(name).and_then(|number| usize::try_from(number).ok())
}

/// The short form is a round with a seed that stays and one with a seed that is new each time.
#[test]
fn all_dialects_have_the_same() {
    let seeds = match number("DRAGOMAN_SEED") {
        Some(seed) => vec![seed],
        None => vec![1, u64::from(std::process::id())],
    };
    for seed in seeds {
        println!("soak dialects: seed {seed}");
        let options = wanted(Options::short(seed));
        tell(options.time + LAST_ROUND, async move {
            let findings = soak(&options).await?.get("findings");
            ensure!(
                findings == 0,
                "{findings} findings with seed {seed}, see above"
            );
            Ok(())
        });
    }
}

/// The test of the test.
#[test]
fn a_frame_that_is_lost_is_noticed() {
    let options = Options {
        drop_one_in: Some(200),
        patience: Duration::from_secs(6),
        ..Options::short(1)
    };
    tell(LAST_ROUND, async move {
        let counts = soak(&options).await?;
        let (lost, findings) = (
            counts.get("frames dropped on purpose"),
            counts.get("findings"),
        );
        ensure!(lost > 0, "no frame was lost");
        ensure!(findings > 0, "{lost} frames were lost, and nobody noticed");
        Ok(())
    });
}
