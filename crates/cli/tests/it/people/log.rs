//! The log: where it goes, how it is written, and what is never in it.

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{LIMIT, dragoman, err};
use crate::{DRAGOMAN, tell};

#[test]
fn a_log_file_has_one_object_a_line_and_is_rotated() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let file = scratch.user().join("dragoman.log");
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--yolo")
            .argument(format!("--log-file={}", file.display()))
            .argument("--log-format=json")
            .argument("--log-file-size=100")
            .argument("--log-files=1");
        for _ in 0..3 {
            let mut server = Process::start(&launch).await?;
            assert_eq!(server.terminate().await?.code(), Some(0));
            ensure!(server.whole_log().is_empty(), "{}", server.whole_log());
        }
        let old = scratch.user().join("dragoman.log.1");
        for file in [&file, &old] {
            let text = std::fs::read_to_string(file)?;
            let line = text.lines().next().context("a line")?;
            let line: Value = serde_json::from_str(line)?;
            assert_eq!(line["level"], "WARN");
            ensure!(line["message"].is_string() && line["timestamp"].is_string());
        }
        ensure!(!scratch.user().join("dragoman.log.2").exists());
        Ok(())
    });
}

#[test]
fn a_log_file_that_cannot_be_written_stops_the_start() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let words = ["--port", "0", "--log-file", "nowhere/dragoman.log"];
        let output = dragoman(&scratch, &words).output().await?;
        let said = err(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let words =
            "cannot write the log file nowhere/dragoman.log; choose another with --log-file";
        ensure!(said.contains(words), "{said}");
        Ok(())
    });
}
