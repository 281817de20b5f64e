//! The lines at the start, on a terminal and elsewhere.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use testkit::process::Launch;
use testkit::{Process, Scratch};
use tokio::process::{Child, Command};

use super::{LIMIT, dragoman, err};
use crate::{DRAGOMAN, Site, Visitor, tell};

const LOUD: &str = "\x1b[1;31m";

/// What it shows on a terminal until a line with these words is whole.
pub(super) async fn on_terminal(
    mut command: Command,
    last: &'static str,
) -> anyhow::Result<(Child, String)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let name = name.to_str().context("its name is text")?;
    let program = File::options().read(true).write(true).open(name)?;
    let child = command.stdout(program).spawn()?;
    drop(command);
    let mut person = File::from(person);
    let shown = tokio::task::spawn_blocking(move || {
        let mut text = Vec::new();
        let mut piece = [0; 4096];
        // A terminal whose other end is closed ends with an error.
        while let Ok(count) = person.read(&mut piece) {
            text.extend_from_slice(&piece[..count]);
            let shown = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            let end = shown.find(last).map(|at| shown[at..].contains('\n'));
            if count == 0 || end == Some(true) {
                break;
            }
        }
        String::from_utf8_lossy(&text).replace("\r\n", "\n")
    });
    Ok((child, shown.await?))
}

#[test]
fn the_start_says_what_a_person_must_know() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let command = dragoman(&scratch, &["--port", "0", "--listen", "codex=0"]);
        let (mut child, shown) = on_terminal(command, "Sandbox").await?;
        let lines: Vec<&str> = shown.lines().collect();
        let headline = format!(
            "Dragoman {} is ready: http://127.0.0.1:",
            env!("CARGO_PKG_VERSION")
        );
        ensure!(lines[0].starts_with(&headline), "{shown}");
        ensure!(lines[0].ends_with("/  (Ctrl-C stops it)"), "{shown}");
        for (name, text) in [
            ("Clients", "ws://127.0.0.1:".to_owned()),
            ("codex", "ws://127.0.0.1:".to_owned()),
            ("Directory", scratch.workspace().display().to_string()),
            ("Data", scratch.home().display().to_string()),
            ("Model", String::new()),
        ] {
            let line = format!("  {name:<10} {text}");
            ensure!(shown.contains(&line), "no `{line}` in {shown}");
        }
        ensure!(shown.contains("Sandbox"), "{shown}");
        ensure!(!shown.contains("--yolo"), "{shown}");
        child.kill().await?;
        Ok(())
    });
}

#[test]
fn what_is_open_is_said_in_colour_and_only_where_colours_are_wanted() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let words = ["--port", "0", "--yolo", "--sandbox", "off"];
        let (mut child, shown) = on_terminal(dragoman(&scratch, &words), "Sandbox").await?;
        child.kill().await?;
        for line in [
            "  --yolo     EVERY COMMAND RUNS WITHOUT ASKING, and nothing fences it in",
            "  Sandbox    OFF (--sandbox off): a command that is allowed can",
        ] {
            ensure!(shown.contains(&format!("{LOUD}{line}")), "{shown:?}");
        }
        let network = ["--port", "0", "--network"];
        let mut plain = dragoman(&scratch, &network);
        plain.env("NO_COLOR", "1");
        let (mut child, shown) = on_terminal(plain, "Sandbox").await?;
        child.kill().await?;
        ensure!(
            shown.contains("  --network  commands in the sandbox can"),
            "{shown}"
        );
        ensure!(!shown.contains('\x1b'), "{shown:?}");
        Ok(())
    });
}

#[test]
fn a_model_that_cannot_be_used_is_said_at_the_start() {
    tell(LIMIT, async {
        for (model, words) in [
            (
                "foo/bar",
                "foo/bar CANNOT BE USED: there is no provider \"foo\"; there are ",
            ),
            (
                "openai/gpt-5.2",
                "openai/gpt-5.2 CANNOT BE USED: OpenAI is not connected: run `dragoman auth login \
                 openai`, or set OPENAI_API_KEY",
            ),
            (
                "rehearsal/rehearsal-2",
                "rehearsal/rehearsal-2 CANNOT BE USED: Rehearsal has no model \"rehearsal-2\"; did you \
                 mean rehearsal-1?",
            ),
        ] {
            let scratch = Scratch::new()?;
            let command = dragoman(&scratch, &["--port", "0", "--model", model]);
            let (mut child, shown) = on_terminal(command, "Model").await?;
            child.kill().await?;
            ensure!(
                shown.contains(&format!("{LOUD}  Model      {words}")),
                "{shown}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_model_without_a_key_is_set_and_said_to_be_without_one() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        let wish = json!({ "provider": "openai", "model": "gpt-5.2" });
        visitor.send("set_model", wish).await?;
        let line = visitor.client.until_type("log").await?;
        assert_eq!(
            line["line"],
            "[warn] OpenAI is not connected: run `dragoman auth login openai`, or set OPENAI_API_KEY"
        );
        Ok(())
    });
}

#[test]
fn a_log_that_is_no_terminal_has_no_colours() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--yolo")
            .variable("DRAGOMAN_LOG", "trace");
        let mut server = Process::start(&launch).await?;
        assert_eq!(server.terminate().await?.code(), Some(0));
        let log = server.whole_log();
        ensure!(log.contains("--yolo: EVERY COMMAND RUNS"), "{log}");
        ensure!(!log.contains('\x1b'), "{log:?}");
        Ok(())
    });
}

#[test]
fn a_data_directory_that_others_can_read_is_closed() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        std::fs::set_permissions(scratch.home(), Permissions::from_mode(0o755))?;
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        assert_eq!(server.terminate().await?.code(), Some(0));
        let mode = std::fs::metadata(scratch.home())?.permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let log = server.whole_log();
        ensure!(log.contains("was open to other users (mode 0755)"), "{log}");
        Ok(())
    });
}

#[test]
fn a_port_that_cannot_be_had_says_why_and_what_to_do() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = taken.local_addr()?.port().to_string();
        let listen = format!("zane={port}");
        let cases: [(&[&str], &str); 3] = [
            (
                &["--port", &port],
                "another program listens there, maybe a Dragoman that runs already. Choose another \
                 port with --port, or 0 for any free one",
            ),
            (
                &["--port", "0", "--listen", &listen],
                "with --listen zane, or 0",
            ),
            (
                &["--port", "0", "--host", "192.0.2.1"],
                "this machine does not have the address 192.0.2.1",
            ),
        ];
        for (words, expected) in cases {
            let output = dragoman(&scratch, words)
                .env("DRAGOMAN_TOKEN", "a-token-of-twenty-letters")
                .output()
                .await?;
            let said = err(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            ensure!(said.contains(expected), "{said}");
        }
        Ok(())
    });
}
