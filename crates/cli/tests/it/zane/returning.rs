//! A client that comes back, or comes twice.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::Scratch;

use super::{LIMIT, Page, start};
use crate::tell;

/// W3: only `turn/completed` ends that client's "Working".
#[test]
fn w3_a_turn_that_ended_meanwhile_is_told_as_ended_to_who_comes_back() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let mut server = start(&scratch).await?;
        let cwd = scratch.workspace().display().to_string();
        let mut page = Page::open(&server).await?;
        let thread = page.start_thread(&cwd).await?;
        assert_eq!(page.converse(&thread, "echo one").await?, "Completed");
        let turn = page.say(&thread, "slow 2000").await?;
        page.until("item/agentMessage/delta").await?;
        server.kill9().await?;
        server.restart().await?;
        // As it was recorded: subscribe to every thread, then resume it.
        let mut page = Page::open(&server).await?;
        page.subscribe(&thread).await?;
        ensure_ended(&mut page, &thread, &turn).await?;
        page.ask("thread/resume", json!({ "threadId": thread }))
            .await?;
        let mut other = Page::open(&server).await?;
        let resumed = other
            .ask("thread/resume", json!({ "threadId": thread }))
            .await?;
        let turns = resumed["thread"]["turns"].as_array().map(Vec::len);
        assert_eq!(turns, Some(2));
        ensure_ended(&mut other, &thread, &turn).await?;
        // The next message is a turn of its own, and nothing was told twice.
        assert_eq!(page.converse(&thread, "echo two").await?, "Completed");
        let ends = |frame: &&String| frame.contains("turn/completed") && frame.contains(&turn);
        assert_eq!(page.socket.heard().iter().filter(ends).count(), 1);
        Ok(())
    });
}

async fn ensure_ended(page: &mut Page, thread: &str, turn: &str) -> anyhow::Result<()> {
    let over = page.until("turn/completed").await?;
    let told = &over["params"];
    ensure!(
        told["threadId"] == thread && told["turn"]["id"] == turn,
        "{over}"
    );
    ensure!(told["turn"]["status"] == "Failed", "{over}");
    Ok(())
}

#[test]
fn w3_while_a_turn_runs_nothing_is_told_as_ended() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let cwd = scratch.workspace().display().to_string();
        let mut page = Page::open(&server).await?;
        let thread = page.start_thread(&cwd).await?;
        page.converse(&thread, "echo one").await?;
        let turn = page.say(&thread, "slow 2000").await?;
        page.until("item/agentMessage/delta").await?;
        let mut other = Page::open(&server).await?;
        other.subscribe(&thread).await?;
        let resumed = other
            .ask("thread/resume", json!({ "threadId": thread }))
            .await?;
        let last = resumed["thread"]["turns"]
            .as_array()
            .and_then(|turns| turns.last().cloned());
        assert_eq!(last.unwrap_or_default()["status"], "InProgress");
        let params = json!({ "threadId": thread, "turnId": turn });
        other.ask("turn/interrupt", params).await?;
        let over = other.until("turn/completed").await?;
        assert_eq!(over["params"]["turn"]["id"], turn);
        let told = |frame: &&String| frame.contains("turn/completed");
        assert_eq!(other.socket.heard().iter().filter(told).count(), 1);
        Ok(())
    });
}

/// W3: that client shows nothing of a refused steer, and the message is gone.
#[test]
fn w3_a_steer_for_a_turn_that_is_over_begins_the_next_turn() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let cwd = scratch.workspace().display().to_string();
        let mut page = Page::open(&server).await?;
        let thread = page.start_thread(&cwd).await?;
        let over = page.say(&thread, "echo one").await?;
        page.rest().await?;
        let input = json!([{ "type": "text", "text": "echo not lost", "text_elements": [] }]);
        let steer = json!({ "threadId": thread, "input": input, "expectedTurnId": over });
        // From a page that does not hear the thread, too.
        let mut other = Page::open(&server).await?;
        let steered = other.ask("turn/steer", steer.clone()).await?;
        let turn = steered["turnId"].clone();
        ensure!(turn.is_string() && turn != over.as_str(), "{steered}");
        assert_eq!(other.rest().await?, "Completed");
        assert_eq!(other.completed("agentMessage")[0]["text"], "not lost");
        assert_eq!(
            other.completed("userMessage")[0]["content"][0]["text"],
            "echo not lost"
        );
        // While one runs it is said to that one, whatever turn the page believes in.
        let running = page.say(&thread, "slow 2000").await?;
        page.until("item/agentMessage/delta").await?;
        let steered = page.ask("turn/steer", steer).await?;
        assert_eq!(steered["turnId"], running.as_str());
        page.ask(
            "turn/interrupt",
            json!({ "threadId": thread, "turnId": running }),
        )
        .await?;
        page.rest().await?;
        Ok(())
    });
}

/// W12: the same page connects again before its first socket is known to be dead.
#[test]
fn w12_a_newer_socket_of_the_same_client_closes_the_older() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let mut first = Page::named(&server, "tab-1").await?;
        let mut other = Page::named(&server, "tab-2").await?;
        let mut nameless = Page::open(&server).await?;
        let mut second = Page::named(&server, "tab-1").await?;
        let close = first.socket.until_closed().await?;
        assert_eq!(
            (close.code, close.reason.as_str()),
            (1000, "Replaced by newer connection")
        );
        for page in [&mut second, &mut other, &mut nameless] {
            page.ask("account/read", json!({})).await?;
        }
        let mut third = Page::named(&server, "tab-1").await?;
        assert_eq!(second.socket.until_closed().await?.code, 1000);
        third.socket.hang_up().await?;
        Ok(())
    });
}

/// Section 6.1: local mode of the original drops the connection every 40 s, because nobody answers its ping.
#[test]
fn defect_1_a_ping_is_answered_with_exactly_the_string_that_is_compared() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let mut page = Page::open(&server).await?;
        page.control(json!({ "type": "ping" })).await?;
        page.socket.until_type("pong").await?;
        let last = page.socket.heard().last().cloned();
        assert_eq!(last.as_deref(), Some(r#"{"type":"pong"}"#));
        Ok(())
    });
}

/// Section 6.2: all clients of the original get every response, and ids begin with 1 in each of them.
#[test]
fn defect_2_every_client_gets_the_answers_to_its_own_ids_only() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = start(&scratch).await?;
        let cwd = scratch.workspace().display().to_string();
        let (mut a, mut b) = (Page::open(&server).await?, Page::open(&server).await?);
        let thread = a.start_thread(&cwd).await?;
        b.subscribe(&thread).await?;
        let id = a.post("thread/list", json!({ "limit": 50 })).await?;
        a.response(id).await?;
        a.converse(&thread, "echo one").await?;
        b.rest().await?;
        let is_response = |frame: &&String| {
            let frame: Value = serde_json::from_str(frame).unwrap_or_default();
            frame.get("id").is_some() && frame.get("method").is_none()
        };
        assert_eq!(b.socket.heard().iter().filter(is_response).count(), 0);
        Ok(())
    });
}
