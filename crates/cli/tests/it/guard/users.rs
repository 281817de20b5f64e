//! Other users of the same machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{Door, LIMIT, SECRET, raw, token};
use crate::tell;

/// A user without an account: a number is enough to be somebody else.
const OTHER_UID: &str = "54321";

/// Sends what it reads, and prints what comes back.
const TALK: &str = r#"exec 3<>"/dev/tcp/$1/$2"; cat >&3; exec cat <&3"#;

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("not tried: only root can be another user");
    }
    root
}

/// What a process of another user gets in answer, up to the end of the head.
async fn ask(address: SocketAddr, request: &str, headers: &[&str]) -> anyhow::Result<String> {
    let mut child = Command::new("setpriv")
        .args(["--reuid", OTHER_UID, "--regid", OTHER_UID])
        .args(["--clear-groups", "bash", "-c", TALK, "talk"])
        .args([address.ip().to_string(), address.port().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let request = raw::head(address, request, headers);
    stdin.write_all(request.as_bytes()).await?;
    drop(stdin);
    let mut stdout = child.stdout.take().context("no stdout")?;
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    // To the end of a refusal, which has a length; a WebSocket has no end.
    while !is_whole(&answer) {
        match stdout.read(&mut buffer).await? {
            0 => break,
            read => answer.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether an answer is there with its body.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

async fn doors(token: bool) -> anyhow::Result<Vec<Door>> {
    let mut doors = Vec::new();
    for host in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        let open = |settings: &mut server::Settings| {
            settings.host = host;
            settings.token = token.then(self::token).flatten();
        };
        doors.push(Door::open(open).await?);
    }
    Ok(doors)
}

#[test]
fn another_user_is_refused_without_a_token_and_told_how() {
    if !is_root() {
        return;
    }
    tell(LIMIT, async {
        for door in doors(false).await? {
            for tongue in server::table::TONGUES {
                for path in tongue.main {
                    let request = format!("GET {path}");
                    let answer = ask(door.main(), &request, &raw::UPGRADE).await?;
                    assert_eq!(raw::status(&answer)?, 403, "{path} {answer}");
                }
            }
            let close = ["connection: close"];
            let answer = ask(door.main(), "POST /ticket", &close).await?;
            assert_eq!(raw::status(&answer)?, 403);
            for word in ["user 54321", "--token-file", "Authorization: Bearer"] {
                ensure!(answer.contains(word), "no `{word}` in {answer}");
            }
            // Whether we live is no secret, and our own user is let in.
            let answer = ask(door.main(), "GET /healthz", &close).await?;
            assert_eq!(raw::status(&answer)?, 200);
            assert_eq!(door.upgrade("/ws", &[]).await?, 101);
        }
        Ok(())
    });
}

#[test]
fn another_user_is_let_in_with_the_token() {
    if !is_root() {
        return;
    }
    tell(LIMIT, async {
        let bearer = format!("authorization: Bearer {SECRET}");
        for door in doors(true).await? {
            let shown = [&raw::UPGRADE[..], &[&bearer]].concat();
            let answer = ask(door.main(), "GET /ws", &shown).await?;
            assert_eq!(raw::status(&answer)?, 101, "{answer}");
            let answer = ask(door.main(), "GET /", &["connection: close"]).await?;
            assert_eq!(raw::status(&answer)?, 401, "{answer}");
        }
        Ok(())
    });
}
