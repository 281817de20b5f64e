//! With a person before it: it asks, and it has colours.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Output, Stdio};

use anyhow::{Context, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::{ELDER, LIMIT, Story};
use crate::tell;

/// The two ends of a terminal: a person's, and a program's.
pub fn terminal() -> anyhow::Result<(File, OwnedFd)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let program = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().context("its name is text")?)?;
    Ok((File::from(person), program.into()))
}

/// Runs a program whose input is a terminal, answers its question, and hears it out.
pub async fn answered(
    mut command: Command,
    (mut person, program): (File, OwnedFd),
    question: &str,
    answer: &str,
) -> anyhow::Result<Output> {
    let command_line = command
        .stdin(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command_line.spawn()?;
    // It holds an end of the terminal, too.
    drop(command);
    let mut stderr = child.stderr.take().context("stderr")?;
    let mut asked = vec![0; question.len()];
    stderr.read_exact(&mut asked).await?;
    assert_eq!(String::from_utf8_lossy(&asked), question);
    person.write_all(answer.as_bytes())?;
    Ok(child.wait_with_output().await?)
}

/// What a program that ends well prints on a terminal.
pub async fn printed(mut command: Command) -> anyhow::Result<String> {
    let (mut person, program) = terminal()?;
    let mut child = command.stdout(program).spawn()?;
    // The program's end is closed with the program, and reading ends.
    drop(command);
    let mut bytes = Vec::new();
    let reading = tokio::task::spawn_blocking(move || {
        // A terminal whose other end is closed ends with an error.
        let _ = person.read_to_end(&mut bytes);
        bytes
    });
    assert_eq!(child.wait().await?.code(), Some(0));
    Ok(String::from_utf8(reading.await?)?.replace("\r\n", "\n"))
}

#[test]
fn a_person_is_asked_and_only_a_yes_restores() {
    tell(LIMIT, async {
        let story = Story::told()?;
        for (answer, end, text) in [
            ("\n", "Nothing was restored.\n", "four\n"),
            ("no\n", "Nothing was restored.\n", "four\n"),
            ("y\n", "--thread", "one\n"),
        ] {
            let command = story.command(&["restore", "original", "--thread", ELDER]);
            let output = answered(command, terminal()?, "Restore? [y/N] ", answer).await?;
            assert_eq!(output.status.code(), Some(0));
            let out = String::from_utf8(output.stdout)?;
            ensure!(
                out.contains("touches 3 paths:\n  replace app.txt\n"),
                "{out}"
            );
            ensure!(out.contains(end), "{out}");
            assert_eq!(story.scratch.read("app.txt"), text);
        }
        Ok(())
    });
}

#[test]
fn a_diff_has_colours_on_a_terminal_unless_they_are_not_wanted() {
    tell(LIMIT, async {
        let story = Story::told()?;
        let shown = async |wanted: bool| {
            let mut command = story.command(&["diff"]);
            if !wanted {
                command.env("NO_COLOR", "1");
            }
            printed(command).await
        };
        let (coloured, plain) = (shown(true).await?, shown(false).await?);
        ensure!(
            coloured.ends_with("\x1b[31m-three\x1b[0m\n\x1b[32m+four\x1b[0m\n"),
            "{coloured:?}"
        );
        ensure!(plain.ends_with("\n-three\n+four\n"), "{plain:?}");
        ensure!(!plain.contains('\x1b'), "{plain:?}");
        Ok(())
    });
}
