//! Sockets that dawdle, flood, or say too much.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, ensure};
use testkit::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Door, LIMIT, SECRET, raw, token};
use crate::{Site, Visitor, tell};

/// Runs a story in which time flies whenever nobody has anything to do.
pub fn fly(story: impl Future<Output = anyhow::Result<()>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if let Err(error) = runtime.block_on(story) {
        panic!("{error:#}");
    }
}

/// Reads to the end of a socket.
async fn to_the_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut rest).await;
    rest
}

#[test]
fn a_request_that_never_ends_is_cut_off() {
    fly(async {
        let door = Door::open(|_| {}).await?;
        let mut silent = TcpStream::connect(door.main()).await?;
        let mut slow = TcpStream::connect(door.main()).await?;
        slow.write_all(b"GET /ws HTTP/1.1\r\nhost: 127").await?;
        tokio::time::pause();
        to_the_end(&mut slow).await;
        to_the_end(&mut silent).await;
        Ok(())
    });
}

#[test]
fn a_peer_that_vanished_is_let_go() {
    fly(async {
        let door = Door::open(|_| {}).await?;
        let socket = raw::upgrade(door.main(), "/ws", &[]).await?;
        let mut socket = socket.ok().context("refused")?;
        tokio::time::pause();
        // It takes what comes and answers no ping, as a machine does that lost its network.
        let heard = to_the_end(&mut socket).await;
        ensure!(
            heard.windows(2).any(|pair| pair == [0x89, 0]),
            "it was not pinged"
        );
        Ok(())
    });
}

#[test]
fn a_frame_beyond_the_limit_is_closed_with_1009() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        let socket = raw::upgrade(door.main(), "/ws", &[]).await?;
        let mut socket = socket.ok().context("refused")?;
        let length = server::limits::FRAME_BYTES_MAX as u64 + 1;
        socket.write_all(&raw::frame_head(0x81, length)).await?;
        let heard = to_the_end(&mut socket).await;
        let close = [&[0x88, 17][..], &1009_u16.to_be_bytes(), b"message too big"].concat();
        ensure!(heard.ends_with(&close), "not closed with 1009");
        Ok(())
    });
}

#[test]
fn a_query_or_head_beyond_the_limit_is_refused() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        let long = "x".repeat(server::limits::QUERY_BYTES_MAX);
        assert_eq!(door.upgrade(&format!("/ws?a={long}"), &[]).await?, 414);
        for (beyond, expected) in [(0, 200), (1, 431), (10_000, 431)] {
            let request = head_of(door.main(), server::limits::REQUEST_HEAD_BYTES_MAX + beyond);
            let mut stream = TcpStream::connect(door.main()).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            assert_eq!(raw::status(&answer)?, expected, "{beyond} beyond");
        }
        Ok(())
    });
}

/// A request whose head has so many bytes.
fn head_of(address: SocketAddr, bytes: usize) -> String {
    let with = |filler: &str| {
        let filler = format!("x-long: {filler}");
        raw::head(address, "GET /healthz", &["connection: close", &filler])
    };
    with(&"x".repeat(bytes - with("").len()))
}

#[test]
fn sockets_that_show_no_token_make_room_for_those_that_do() {
    const TOO_MANY: usize = 20;
    tell(LIMIT, async {
        let door = Door::open(|settings| {
            settings.token = token();
            // An address that is not of our own user: every socket has to show the token.
            settings.host = std::net::Ipv4Addr::UNSPECIFIED.into();
        })
        .await?;
        let Some(outside) = outside_address() else {
            eprintln!("not tried: this machine has no address but the loopback");
            return Ok(());
        };
        let address = SocketAddr::new(outside, door.main().port());
        let mut dawdlers = Vec::new();
        for _ in 0..server::limits::SOCKETS_UNIDENTIFIED_MAX + TOO_MANY {
            dawdlers.push(TcpStream::connect(address).await?);
        }
        let path = format!("/ws?token={SECRET}");
        let shown = raw::upgrade(address, &path, &[]).await?;
        let mut shown = shown.ok().context("refused")?;
        // The oldest are gone, and those that came last are not.
        for dawdler in &mut dawdlers[..=TOO_MANY] {
            assert_eq!(to_the_end(dawdler).await, b"");
        }
        let last = dawdlers.last_mut().context("there are some")?;
        let request = raw::head(address, "GET /healthz", &["connection: close"]);
        last.write_all(request.as_bytes()).await?;
        ensure!(to_the_end(last).await.starts_with(b"HTTP/1.1 200 "));
        // Who has shown it is nobody's room.
        for _ in 0..server::limits::SOCKETS_UNIDENTIFIED_MAX {
            dawdlers.push(TcpStream::connect(address).await?);
            dawdlers.remove(0);
        }
        shown.write_all(&raw::frame(0x89, b"still here?")).await?;
        let mut heard = Vec::new();
        while !heard.ends_with(b"still here?") {
            heard.push(shown.read_u8().await?);
        }
        Ok(())
    });
}

/// An address of this machine that is not the loopback's. Nothing is sent to find it.
fn outside_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback()).then_some(address)
}

#[test]
fn a_flood_is_answered_and_starves_nobody() {
    /// As many as the kernel keeps for a client that sends first and reads later.
    const FLOOD: usize = 4_000;
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        let mut flooder = Client::connect(site.server.url()).await?;
        flooder.until_type("session_backup_state").await?;
        let flood = async {
            for _ in 0..FLOOD {
                flooder.send(r#"{"type":"ping"}"#).await?;
            }
            for _ in 0..FLOOD {
                flooder.recv().await?;
            }
            anyhow::Ok(())
        };
        let talk = async {
            for _ in 0..20 {
                assert_eq!(visitor.converse("echo through").await?, "through");
            }
            anyhow::Ok(())
        };
        // Who sends much is not punished, either: every frame is answered.
        tokio::try_join!(flood, talk)?;
        Ok(())
    });
}
