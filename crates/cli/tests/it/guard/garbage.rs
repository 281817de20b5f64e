//! Whatever bytes arrive, the server goes on.

use std::net::SocketAddr;

use anyhow::Context;
use testkit::Client;
use testkit::chance::Chance;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{LIMIT, raw};
use crate::{Site, scenarios_folder, tell};

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
/// The first of several pieces, and the last one.
const TEXT_BEGINS: u8 = 0x01;
const ENDS: u8 = 0x80;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;

/// A seed repeats everything a run sent.
const SEED: u64 = 7;

#[test]
fn garbage_neither_kills_nor_hangs_the_server() {
    tell(LIMIT * 2, async {
        let site = Site::open().await?;
        let address = SocketAddr::from(([127, 0, 0, 1], site.server.port()));
        let samples = samples()?;
        let mut chance = Chance::new(SEED);
        for tongue in server::table::TONGUES {
            for path in tongue.main {
                for (what, bytes) in garbage(&mut chance, &samples) {
                    let context = || format!("after {what} at {path}, seed {SEED}");
                    throw(address, path, &bytes).await.with_context(context)?;
                    let status = raw::upgrade_status(address, path, &[]).await;
                    assert_eq!(status.with_context(context)?, 101);
                    let mut fresh = Client::connect(site.server.url()).await?;
                    let greeting = fresh.until_type("server_hello").await;
                    greeting.with_context(context)?;
                }
            }
        }
        Ok(())
    });
}

/// Sends it, asks for an end, and reads until there is one.
async fn throw(address: SocketAddr, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let socket = raw::upgrade(address, path, &[]).await?;
    let mut socket = socket.ok().context("refused")?;
    let (mut read, mut write) = socket.split();
    let sending = async {
        // The server may have hung up already, which is its right.
        let _ = write.write_all(bytes).await;
        let _ = write
            .write_all(&raw::frame(CLOSE, &1000_u16.to_be_bytes()))
            .await;
        let _ = write.shutdown().await;
    };
    let mut heard = Vec::new();
    let (_, _) = tokio::join!(sending, read.read_to_end(&mut heard));
    Ok(())
}

/// Frames that clients of every dialect send, from the transcripts.
fn samples() -> anyhow::Result<Vec<String>> {
    let mut samples = Vec::new();
    for scenario in std::fs::read_dir(scenarios_folder())? {
        for file in std::fs::read_dir(scenario?.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|kind| kind == "transcript") {
                let text = std::fs::read_to_string(path)?;
                let frames = text.lines().filter_map(|line| line.strip_prefix("> "));
                samples.extend(frames.map(str::to_owned));
            }
        }
    }
    samples.sort();
    Ok(samples)
}

fn garbage(chance: &mut Chance, samples: &[String]) -> Vec<(&'static str, Vec<u8>)> {
    let noise = bytes(chance, 2_000);
    let mut bent = Vec::new();
    for _ in 0..40 {
        let mut sample = chance.pick(samples).clone().into_bytes();
        for _ in 0..=chance.below(4) {
            let at = chance.below(sample.len());
            match chance.below(3) {
                0 => sample[at] = *chance.pick(b"\"{}[]:,0\\ \xff"),
                1 => sample.truncate(at),
                _ => sample.insert(at, *chance.pick(b"\"{}[]:,9-\\")),
            }
            if sample.is_empty() {
                sample.push(b' ');
            }
        }
        bent.extend(raw::frame(BINARY, &sample));
    }
    let pieces = [
        raw::frame(TEXT_BEGINS, b"{\"type\":"),
        raw::frame(PING, b"in between"),
        raw::frame(0, &noise),
        raw::frame(ENDS, b"\"x\"}"),
    ];
    vec![
        ("noise instead of frames", noise.clone()),
        ("noise as text", raw::frame(TEXT, &noise)),
        ("noise as binary", raw::frame(BINARY, &noise)),
        (
            "invalid UTF-8",
            raw::frame(TEXT, b"{\"type\":\"\xc3\x28\"}"),
        ),
        ("an empty frame", raw::frame(TEXT, b"")),
        ("pieces", pieces.concat()),
        ("a piece without a beginning", raw::frame(ENDS, b"lost")),
        ("deep arrays", raw::frame(TEXT, &b"[".repeat(200_000))),
        (
            "deep objects",
            raw::frame(TEXT, &b"{\"a\":".repeat(100_000)),
        ),
        ("a huge number", raw::frame(TEXT, &b"9".repeat(1 << 20))),
        ("a long text", raw::frame(TEXT, &b"\"x".repeat(1 << 20))),
        ("a frame too big", raw::frame_head(BINARY, u64::MAX >> 1)),
        ("half a frame", raw::frame_head(TEXT, 1_000)),
        ("a long ping", raw::frame(PING, &[7; 300])),
        ("a close of no meaning", raw::frame(CLOSE, &[0])),
        ("many pings", raw::frame(PING, b"").repeat(1_000)),
        ("bent frames", bent),
    ]
}

fn bytes(chance: &mut Chance, count: usize) -> Vec<u8> {
    (0..count).map(|_| chance.below(256) as u8).collect()
}
