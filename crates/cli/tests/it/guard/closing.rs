//! How connections end: with a word from either side, and the right one.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Door, LIMIT, raw};
use crate::tell;

const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;

/// Where each dialect is spoken on the main port.
fn paths() -> Vec<&'static str> {
    let main = server::table::TONGUES.iter().flat_map(|tongue| tongue.main);
    main.copied().chain(["/ws?protocol=1"]).collect()
}

#[test]
fn a_close_is_answered_in_every_dialect() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        for path in paths() {
            let url = format!("ws://{}{path}", door.main());
            let (mut socket, _) = tokio_tungstenite::connect_async(url).await?;
            let goodbye = CloseFrame {
                code: 1000.into(),
                reason: "done here".into(),
            };
            socket.close(Some(goodbye.clone())).await?;
            let answer = loop {
                match socket.next().await.context("it ended without a word")?? {
                    Message::Close(answer) => break answer,
                    _ => continue,
                }
            };
            assert_eq!(answer, Some(goodbye), "{path}");
            // And the server hangs up, as it should be the one to.
            let rest = socket.next().await;
            assert!(rest.is_none(), "{path}: {rest:?}");
        }
        Ok(())
    });
}

#[test]
fn a_close_without_a_code_is_answered_with_none() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        for path in paths() {
            let closed = closed_with(door.main(), path, &raw::frame(CLOSE, b"")).await?;
            assert_eq!(closed, None, "{path}");
        }
        Ok(())
    });
}

#[test]
fn what_breaks_the_protocol_is_closed_with_the_code_for_it() {
    let too_much = vec![b'x'; server::limits::FRAME_BYTES_MAX + 1];
    let piece = vec![b'x'; server::limits::FRAME_BYTES_MAX / 2 + 1];
    let in_pieces = [raw::frame(0x02, &piece), raw::frame(0x80, &piece)].concat();
    let cases = [
        ("a long ping", raw::frame(PING, &[7; 126]), 1002),
        ("a long close", raw::frame(CLOSE, &[b'x'; 300]), 1002),
        ("a ping in pieces", raw::frame(0x09, b"half"), 1002),
        ("a reserved bit", raw::frame(0xc1, b"{}"), 1002),
        ("a reserved kind of data", raw::frame(0x83, b"{}"), 1002),
        ("a reserved kind of control", raw::frame(0x8b, b""), 1002),
        ("no mask", [&[TEXT, 2][..], b"{}"].concat(), 1002),
        ("a piece of nothing", raw::frame(0x80, b"lost"), 1002),
        ("half a close code", raw::frame(CLOSE, &[3]), 1002),
        (
            "a close code that is never sent",
            raw::frame(CLOSE, &1005_u16.to_be_bytes()),
            1002,
        ),
        ("text that is none", raw::frame(TEXT, b"\xc3\x28"), 1007),
        (
            "a message too long, all of it",
            raw::frame(BINARY, &too_much),
            1009,
        ),
        ("too long in pieces", in_pieces, 1009),
    ];
    tell(LIMIT * 2, async {
        let door = Door::open(|_| {}).await?;
        for (what, bytes, code) in &cases {
            let closed = closed_with(door.main(), "/ws", bytes).await;
            let closed = closed.with_context(|| (*what).to_owned())?;
            assert_eq!(closed, Some(*code), "{what}");
        }
        Ok(())
    });
}

/// Sends it all, and tells the code of the close that comes back before the end.
async fn closed_with(address: SocketAddr, path: &str, bytes: &[u8]) -> anyhow::Result<Option<u16>> {
    let socket = raw::upgrade(address, path, &[]).await?;
    let mut socket = socket.ok().context("refused")?;
    let (mut read, mut write) = socket.split();
    let mut heard = Vec::new();
    // A reset on either side is a failure: it may swallow the close.
    let (sent, ended) = tokio::join!(write.write_all(bytes), read.read_to_end(&mut heard));
    sent?;
    ended?;
    close_code(&heard)
}

/// The code of the close frame among a server's frames; it is the last one.
fn close_code(mut frames: &[u8]) -> anyhow::Result<Option<u16>> {
    while let [first, length, rest @ ..] = frames {
        let (length, rest) = match (length, rest) {
            (126, [a, b, rest @ ..]) => (usize::from(u16::from_be_bytes([*a, *b])), rest),
            (127, rest) => {
                let (length, rest) = rest.split_first_chunk().context("half a length")?;
                (usize::try_from(u64::from_be_bytes(*length))?, rest)
            }
            (length, rest) => (usize::from(*length), rest),
        };
        let (payload, rest) = rest.split_at_checked(length).context("half a frame")?;
        if *first == CLOSE {
            anyhow::ensure!(rest.is_empty(), "something comes behind the close");
            let code = payload.first_chunk().copied();
            return Ok(code.map(u16::from_be_bytes));
        }
        frames = rest;
    }
    bail!("no close")
}
