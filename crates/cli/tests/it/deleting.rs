//! Deleting sessions that somebody has open, or is just leaving.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::Client;

use crate::{Site, Visitor, resume_url, tell};

const LIMIT: Duration = Duration::from_secs(60);

impl Visitor {
    /// Deletes another session; gives the answer, whatever it is.
    async fn delete(&mut self, session: &str) -> anyhow::Result<Value> {
        self.send("delete_session", json!({ "targetSessionId": session }))
            .await?;
        let answered = |frame: &Value| frame["type"] == "error" || is_deleted(frame);
        self.client.until(answered).await
    }
}

fn is_deleted(frame: &Value) -> bool {
    frame["type"] == "session_deleted"
}

#[test]
fn what_a_client_just_left_is_deleted_without_a_pause() {
    const ROUNDS: usize = 60;
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut control = Visitor::arrive(&site.server).await?;
        for round in 0..ROUNDS {
            let mut leaving = Visitor::arrive(&site.server).await?;
            // Every other one was never kept.
            if round % 2 == 0 {
                leaving.converse("echo kept").await?;
            }
            leaving.send("session_close", json!({})).await?;
            let session = leaving.session.clone();
            let (closed, answer) = tokio::join!(leaving.client.close(), control.delete(&session));
            let answer = answer?;
            ensure!(is_deleted(&answer), "round {round}: {answer}");
            closed.ok();
        }
        assert_eq!(control.list().await?, Vec::<String>::new());
        Ok(())
    });
}

#[test]
fn everyone_there_hears_the_turn_end_and_is_closed_with_the_reason() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut control = Visitor::arrive(&site.server).await?;
        let mut first = Visitor::arrive(&site.server).await?;
        first.say("slow 100000").await?;
        first.client.until_type("model_stream_chunk").await?;
        let url = resume_url(&site.server, &first.session);
        let mut second = Client::connect(&url).await?;
        second.until_type("server_hello").await?;
        // Of another dialect, and in the session.
        let mut other =
            Client::connect(&format!("ws://127.0.0.1:{}/diminuendo", site.server.port())).await?;
        other.until_type("authenticated").await?;
        let join = json!({"type": "join_session", "sessionId": first.session});
        other.send_json(&join).await?;
        other.until_type("state_snapshot").await?;

        let answer = control.delete(&first.session).await?;
        ensure!(is_deleted(&answer), "{answer}");
        assert_eq!(first.rest().await?["outcome"], "cancelled");
        for client in [&mut first.client, &mut second] {
            let closed = client.until_closed().await?;
            assert_eq!(
                (closed.code, &*closed.reason),
                (1000, "the session was deleted")
            );
        }
        let gone = other.until_type("session_deleted").await?;
        assert_eq!(gone["sessionId"], first.session);
        assert_eq!(control.list().await?, Vec::<String>::new());

        let own = control.session.clone();
        let refused = control.delete(&own).await?;
        assert_eq!(refused["message"], "Cannot delete the active session");
        Ok(())
    });
}
