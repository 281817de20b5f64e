//! Sockets and the process around them: greeting, slow readers, many clients, health, shutdown.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::{Client, http};

use crate::{Site, Visitor, resume_url, tell};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn hello_without_any_key_gives_a_streamed_answer() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        assert_eq!(
            site.server.cwd(),
            site.scratch.workspace().to_string_lossy()
        );
        let mut visitor = Visitor::arrive(&site.server).await?;
        assert_eq!(visitor.hello["protocolVersion"], "7.0");
        let answer = visitor.converse("hello").await?;
        let pieces: Vec<String> = streamed(visitor.client.heard());
        ensure!(pieces.len() > 3, "not streamed: {pieces:?}");
        assert_eq!(pieces.concat().trim(), answer);
        Ok(())
    });
}

fn streamed(frames: &[String]) -> Vec<String> {
    let frames = frames
        .iter()
        .filter_map(|frame| serde_json::from_str(frame).ok());
    frames
        .filter(|frame: &serde_json::Value| frame["partType"] == "text_delta")
        .filter_map(|frame| frame["part"]["text"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_client_that_never_reads_slows_nobody_and_is_closed_with_a_reason() {
    /// More than sockets and rings hold, so that not reading has to be felt.
    const DELTAS: usize = 40_000;
    tell(LIMIT * 2, async {
        let site = Site::open().await?;
        let mut reader = Visitor::arrive(&site.server).await?;
        reader.client.set_limit(LIMIT);
        reader.converse("echo first").await?;
        let url = resume_url(&site.server, &reader.session);
        let mut sleeper = Client::connect_narrow(&url).await?;
        sleeper.until_type("session_backup_state").await?;

        // The reader hears every word of a turn that the sleeper lets pass.
        let answer = reader.converse(&format!("stream {DELTAS}")).await?;
        assert_eq!(answer.split_whitespace().count(), DELTAS);
        let pieces = streamed(reader.client.heard());
        assert_eq!(pieces[1..].len(), DELTAS, "the reader missed something");

        // Others go on while the server loses its patience.
        let closed = sleep_until_closed(&mut reader, sleeper).await?;
        assert_eq!(closed.code, 1013, "{closed}");
        ensure!(!closed.reason.is_empty(), "closed without a reason");
        Ok(())
    });
}

/// Keeps one side talking and the other asleep for a while, then wakes it to hear how it was
/// closed: it cannot hear that while it does not read.
async fn sleep_until_closed(
    reader: &mut Visitor,
    mut sleeper: Client,
) -> anyhow::Result<testkit::Close> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        reader.converse("stream 5000").await?;
    }
    sleeper.set_limit(LIMIT);
    sleeper.until_closed().await
}

#[test]
fn many_clients_come_and_go() {
    const CLIENTS: usize = 100;
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut visitors = Vec::new();
        for _ in 0..CLIENTS {
            visitors.push(Visitor::arrive(&site.server).await?);
        }
        let mut sessions: Vec<&str> = visitors.iter().map(|visitor| &*visitor.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        assert_eq!(sessions.len(), CLIENTS);
        for visitor in visitors.drain(1..) {
            visitor.client.close().await?;
        }
        // Sockets in which nothing happened leave nothing behind.
        let mut last = visitors.pop().context("one is left")?;
        assert_eq!(last.converse("echo still here").await?, "still here");
        assert_eq!(last.list().await?, [last.session.clone()]);
        Ok(())
    });
}

#[test]
fn health_pages_answer() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        for (path, expected) in [
            ("/health", "OK"),
            ("/healthz", "ok\n"),
            ("/readyz", "ready\n"),
        ] {
            let (status, text) = http::get(site.server.port(), path).await?;
            assert_eq!((status, text.as_str()), (200, expected), "{path}");
        }
        Ok(())
    });
}

#[test]
fn metrics_count_clients_and_turns() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo one two").await?;
        visitor.say("show me an approval").await?;
        visitor.client.until_type("approval").await?;
        let (status, text) = http::get(site.server.port(), "/metrics").await?;
        assert_eq!(status, 200);
        for line in [
            r#"dragoman_connections{dialect="cowork"} 1"#,
            r#"dragoman_connections{dialect="codex"} 0"#,
            "dragoman_connections_total 1",
            r#"dragoman_turns_total{outcome="completed",reason=""} 1"#,
            r#"dragoman_provider_request_seconds_count{provider="rehearsal"} 2"#,
            "dragoman_asks_open 1",
            "dragoman_sessions_awake 1",
        ] {
            ensure!(
                text.lines().any(|each| each == line),
                "no {line} in\n{text}"
            );
        }
        // What is counted is more than nothing, where how much is the machine's matter.
        for name in [
            "dragoman_deltas_total",
            "dragoman_store_append_seconds_count",
            "process_resident_memory_bytes",
            "dragoman_outbox_events",
        ] {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let found = lines.find(|(each, _)| *each == name);
            let (_, value) = found.with_context(|| format!("no {name} in\n{text}"))?;
            ensure!(value.parse::<f64>()? > 0.0, "{name} {value}");
        }
        Ok(())
    });
}

#[test]
fn sigterm_ends_it_with_0_and_a_goodbye() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo before").await?;
        // One turn is under way: it must not hold the process for ever.
        visitor.say("slow 100000").await?;
        visitor.client.until_type("model_stream_chunk").await?;
        let status = site.server.terminate().await?;
        assert_eq!(status.code(), Some(0));
        let closed = visitor.client.until_closed().await?;
        assert_eq!(closed.code, 1001, "{closed}");

        // And nothing that was said is lost.
        site.server.restart().await?;
        let back = Visitor::resume(&site.server, &visitor.session).await?;
        assert_eq!(back.hello["isResume"], true);
        ensure!(back.hello["messageCount"].as_u64() >= Some(3));
        Ok(())
    });
}
