//! A service that dies in the middle of an answer, and a person who does not want to hear its end.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::http::ReceivedRequest;
use testkit::peer::Aimock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::{KEY, RESPONSES, Site};

const LIMIT: Duration = Duration::from_secs(110);

#[test]
fn a_killed_service_ends_the_turn_with_an_error_and_the_next_turn_works() {
    crate::tell(LIMIT, async {
        let script = json!([
            {
                "match": { "userMessage": "a long story" },
                "response": { "content": "Once upon a time there was a fox. ".repeat(200) },
                "chunkSize": 4,
                "latency": 50,
            },
            {
                "match": { "userMessage": "a short one" },
                "response": { "content": "The fox slept." },
            },
        ]);
        let mut aimock = Aimock::start(&script).await?;
        let mut site = Site::open(&RESPONSES, &format!("{}/v1", aimock.url())).await?;
        let from = site.visitor.client.heard().len();
        site.visitor.say("Tell me a long story").await?;
        site.visitor.client.until(is_text).await?;
        aimock.kill9().await?;
        site.visitor.rest().await?;
        let turn = site.turn(from)?;
        assert_eq!(turn.outcome(), "error");
        let trouble = turn.trouble()?;
        ensure!(trouble.to_lowercase().contains("openai"), "{trouble}");
        ensure!(!trouble.contains(KEY), "a key is told: {trouble}");

        aimock.revive().await?;
        let turn = site.converse("Now a short one").await?;
        assert_eq!(turn.outcome(), "completed");
        assert_eq!(turn.answer()?, "The fox slept.");
        Ok(())
    });
}

#[test]
fn cancel_closes_the_connection_to_the_service_at_once() {
    const TRIES: usize = 5;
    const SOON: Duration = Duration::from_millis(100);
    crate::tell(LIMIT, async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let (told, mut closed) = mpsc::channel(TRIES);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(speak_until_closed(stream, told.clone()));
            }
        });
        let mut site = Site::open(&RESPONSES, &url).await?;
        let mut waits = Vec::new();
        for _ in 0..TRIES {
            site.visitor.say("Speak").await?;
            site.visitor.client.until(is_text).await?;
            let wanted = Instant::now();
            site.visitor.send("cancel", json!({})).await?;
            let noticed = closed.recv().await.context("the service is gone")?;
            waits.push(noticed.saturating_duration_since(wanted));
            let rest = site.visitor.rest().await?;
            assert_eq!(rest["outcome"], "cancelled");
        }
        // A busy machine may be late once, but not most of the time.
        waits.sort();
        ensure!(waits[TRIES / 2] < SOON, "closed after {waits:?}");
        Ok(())
    });
}

fn is_text(frame: &Value) -> bool {
    frame["partType"] == "text_delta"
}

/// Begins an answer, never ends it, and tells when the other side has gone. Requests that are no
/// step of a turn are turned away.
async fn speak_until_closed(mut stream: TcpStream, told: mpsc::Sender<Instant>) {
    let Ok(Some(request)) = ReceivedRequest::read(&mut stream, &mut Vec::new()).await else {
        return;
    };
    if !String::from_utf8_lossy(&request.body).contains("\"tools\"") {
        let no = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(no).await;
        return;
    }
    let events = [
        json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress", "output": [] } }),
        json!({ "type": "response.output_item.added", "output_index": 0,
            "item": { "type": "message", "id": "m", "role": "assistant", "content": [] } }),
        json!({ "type": "response.output_text.delta", "item_id": "m", "output_index": 0,
            "content_index": 0, "delta": "Well, " }),
    ];
    let mut answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        answer.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }
    if stream.write_all(answer.as_bytes()).await.is_err() {
        return;
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    let _ = told.send(Instant::now()).await;
}
