//! The log: where it goes, how it is written, and what is never in it.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use super::login::provider;
use super::{LIMIT, dragoman, err};
use crate::guard::raw;
use crate::{DRAGOMAN, Visitor, tell};

const TOKEN: &str = "marked-token-0123456789";
const KEY: &str = "sk-marked-key-0123456789";
const PROMPT: &str = "marked-prompt";
const OUTPUT: &str = "marked-output";

/// Says it, answers what it asks with yes, and hears it out.
async fn converse_with_yes(visitor: &mut Visitor, text: &str) -> anyhow::Result<()> {
    visitor.say(text).await?;
    let ask = visitor.client.until_type("approval").await?;
    let yes = json!({ "requestId": ask["requestId"], "approved": true });
    visitor.send("approval_response", yes).await?;
    visitor.rest().await?;
    Ok(())
}

/// Asks a model whose service fails, until it is about to be asked again.
async fn be_told_to_wait(visitor: &mut Visitor, text: &str) -> anyhow::Result<()> {
    let model = json!({ "provider": "openai", "model": "gpt-5.2" });
    visitor.send("set_model", model).await?;
    visitor.say(text).await?;
    let is_retry = |frame: &Value| {
        let line = frame["line"].as_str().unwrap_or_default();
        line.starts_with("[retry]")
    };
    visitor.client.until(is_retry).await?;
    visitor.send("cancel", json!({})).await?;
    visitor.rest().await?;
    Ok(())
}

/// What is refused, said, asked and retried, on a server that logs at this level as JSON; its log.
async fn story(level: &str) -> anyhow::Result<String> {
    let scratch = Scratch::new()?;
    let echo = format!("you sent {PROMPT} with {KEY}");
    let service = provider(500, json!({ "error": { "message": echo } }).to_string()).await?;
    let launch = Launch::new(DRAGOMAN, &scratch)
        .argument(format!("--log={level}"))
        .argument("--log-format=json")
        .variable("DRAGOMAN_TOKEN", TOKEN)
        .variable("OPENAI_API_KEY", KEY)
        .variable("OPENAI_BASE_URL", &service);
    let mut server = Process::start(&launch).await?;
    let address = ([127, 0, 0, 1], server.port()).into();
    assert_eq!(raw::upgrade_status(address, "/ws", &[]).await?, 401);
    let url = format!("{}?token={TOKEN}", server.url());
    let mut visitor = Visitor::greet(Client::connect(&url).await?).await?;
    let command = format!("chmod 600 x; echo {OUTPUT} {PROMPT}");
    let call = format!("tool bash {}", json!({ "command": command }));
    converse_with_yes(&mut visitor, &call).await?;
    be_told_to_wait(&mut visitor, PROMPT).await?;
    let heard = visitor.client.heard().join("\n");
    ensure!(heard.contains(OUTPUT), "the command did not run: {heard}");
    assert_eq!(server.terminate().await?.code(), Some(0));
    Ok(server.whole_log())
}

fn lines(log: &str) -> anyhow::Result<Vec<Value>> {
    let parsed = log.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().context("not all is JSON")
}

#[test]
fn what_happens_is_a_line_each_with_names_numbers_and_times() {
    tell(LIMIT, async {
        let log = story("info").await?;
        let lines = lines(&log)?;
        let find = |message: &str| {
            let found = lines.iter().filter(|line| line["message"] == message);
            found.cloned().collect::<Vec<_>>()
        };
        let started = &find("started")[0];
        ensure!(
            started["address"].is_string() && started["version"].is_string(),
            "{log}"
        );
        let refused = &find("refused")[0];
        assert_eq!(
            (&refused["status"], &refused["reason"]),
            (&json!(401), &json!("no token"))
        );
        let connected = &find("connected")[0];
        assert_eq!(connected["from"], "127.0.0.1");
        let span = &connected["spans"][0];
        assert_eq!(
            (&span["number"], &span["dialect"]),
            (&json!(1), &json!("cowork"))
        );
        let [opened] = &find("ask opened")[..] else {
            anyhow::bail!("{log}");
        };
        assert_eq!(
            (&opened["kind"], &opened["tool"]),
            (&json!("approval"), &json!("bash"))
        );
        assert_eq!(find("ask closed")[0]["answer"], "approved");
        let waits = &find("a request waits")[0];
        assert_eq!(
            (&waits["provider"], &waits["status"]),
            (&json!("openai"), &json!(500))
        );
        let spans: Vec<_> = waits["spans"].as_array().into_iter().flatten().collect();
        let names: Vec<_> = spans
            .iter()
            .filter_map(|span| span["name"].as_str())
            .collect();
        assert_eq!(names, ["turn", "step"]);
        assert_eq!(spans[0]["thread"], opened["thread"]);
        let ended = find("turn ended");
        assert_eq!(ended.len(), 2, "{log}");
        assert_eq!(ended[0]["outcome"], "completed");
        assert_eq!(ended[0]["model"], "rehearsal-1");
        ensure!(ended[0]["output_tokens"].as_u64() > Some(0), "{log}");
        ensure!(
            ended[0]["took_ms"].is_u64() || ended[0]["took_ms"].is_i64(),
            "{log}"
        );
        assert_eq!(ended[1]["outcome"], "cancelled");
        let worked = &find("turn worked")[0];
        ensure!(worked["calls"].as_u64() > Some(0), "{log}");
        assert_eq!(
            (&worked["failed_calls"], &worked["summaries"]),
            (&json!(0), &json!(0))
        );
        assert_eq!(find("disconnected").len(), 1, "{log}");
        ensure!(
            find("stopping").len() == 1 && find("stopped").len() == 1,
            "{log}"
        );
        Ok(())
    });
}

#[test]
fn neither_secrets_nor_what_was_said_is_ever_logged() {
    tell(LIMIT, async {
        let log = story("trace").await?;
        ensure!(
            log.contains("turn ended") && log.contains("\"tool\""),
            "{log}"
        );
        for mark in [TOKEN, KEY, PROMPT, OUTPUT] {
            let line = log.lines().find(|line| line.contains(mark));
            ensure!(
                line.is_none(),
                "logged {mark}: {}",
                line.unwrap_or_default()
            );
        }
        Ok(())
    });
}

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
