//! The first and the last moments of a process.

use std::time::{Duration, Instant};

use anyhow::ensure;
use testkit::{Client, Process, Scratch};
use tokio::process::Command;

use super::{LIMIT, raw, settings};
use crate::{DRAGOMAN, Site, Visitor, resume_url, tell};

/// What a desktop shell waits before it kills.
const PATIENCE: Duration = Duration::from_secs(3);

#[test]
fn before_the_store_is_open_requests_are_told_to_wait() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let listening = server::listen(settings(&scratch)).await?;
        let address = listening.address;
        assert_eq!(raw::ask(address, "GET /healthz", &[]).await?.0, 200);
        let (status, text) = raw::ask(address, "GET /readyz", &[]).await?;
        assert_eq!(status, 503);
        ensure!(text.contains("retry-after: 1"), "{text}");
        assert_eq!(raw::upgrade_status(address, "/ws", &[]).await?, 503);

        let running = listening.open().await?;
        assert_eq!(raw::ask(address, "GET /readyz", &[]).await?.0, 200);
        assert_eq!(raw::upgrade_status(address, "/ws", &[]).await?, 101);
        running.stop(server::StopReason::Terminated).await;
        Ok(())
    });
}

#[test]
fn a_store_that_cannot_be_opened_ends_the_process_with_a_reason() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        std::fs::create_dir(scratch.home().join("sessions.db"))?;
        let output = Command::new(DRAGOMAN)
            .args(["--port", "0", "--json", "--home"])
            .arg(scratch.home())
            .output()
            .await?;
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(said.contains("cannot open the database"), "{said}");
        ensure!(output.stdout.is_empty(), "it announced itself");
        Ok(())
    });
}

#[test]
fn sigterm_ends_it_in_time_whatever_clients_do() {
    tell(LIMIT * 2, async {
        let mut site = Site::open().await?;
        let mut asked = Visitor::arrive(&site.server).await?;
        asked.say("show me an approval").await?;
        asked.client.until_type("approval").await?;
        let mut busy = Visitor::arrive(&site.server).await?;
        busy.converse("echo first").await?;
        let url = resume_url(&site.server, &busy.session);
        let mut sleeper = Client::connect_narrow(&url).await?;
        sleeper.until_type("session_backup_state").await?;
        // More than the sleeper's socket holds, and then a turn that will not end by itself.
        busy.client.set_limit(LIMIT);
        busy.converse("stream 40000").await?;
        busy.say("slow 100000").await?;
        busy.client.until_type("model_stream_chunk").await?;

        let address = ([127, 0, 0, 1], site.server.port()).into();
        let started = Instant::now();
        let (status, refused) = tokio::join!(site.server.terminate(), until_refused(address));
        assert_eq!(status?.code(), Some(0));
        ensure!(started.elapsed() < PATIENCE, "took {:?}", started.elapsed());
        refused?;
        for mut visitor in [asked, busy] {
            assert_eq!(visitor.client.until_closed().await?.code, 1001);
        }
        Ok(())
    });
}

/// Comes again and again until it is told that this is the wrong moment.
async fn until_refused(address: std::net::SocketAddr) -> anyhow::Result<()> {
    loop {
        match raw::upgrade_status(address, "/ws", &[]).await? {
            101 => {}
            503 => return Ok(()),
            other => anyhow::bail!("answered {other}"),
        }
    }
}

#[test]
fn a_second_sigterm_is_not_waited_for() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.say("slow 100000").await?;
        visitor.client.until_type("model_stream_chunk").await?;
        let address = ([127, 0, 0, 1], site.server.port()).into();
        signal(&site.server).await?;
        until_refused(address).await?;
        let status = site.server.terminate().await?;
        assert_eq!(status.code(), Some(1), "it took its time");
        Ok(())
    });
}

async fn signal(server: &Process) -> anyhow::Result<()> {
    let id = server.id().unwrap_or_default().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().await?;
    ensure!(sent.success(), "kill ended with {sent}");
    Ok(())
}
