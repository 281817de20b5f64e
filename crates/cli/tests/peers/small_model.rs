//! One turn with a real model. It is small and may say anything; it must say something.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::peer::Llama;

use crate::{CHAT, Site};

/// It reads our whole prompt on whatever processor there is: only hanging is a failure.
const LIMIT: Duration = Duration::from_secs(15 * 60);

#[test]
fn a_small_model_answers() {
    crate::tell(LIMIT, async {
        let llama = Llama::start().await?;
        let mut site = Site::open(&CHAT, &llama.openai_url()).await?;
        site.visitor.client.set_limit(LIMIT);
        let from = site.visitor.client.heard().len();
        site.visitor.say("Say hello in one short sentence.").await?;
        loop {
            let pause = |frame: &Value| {
                frame["type"] == "approval"
                    || (frame["type"] == "session_busy" && frame["busy"] == false)
            };
            let frame = site.visitor.client.until(pause).await?;
            if frame["type"] == "session_busy" {
                break;
            }
            // Whatever it has in mind.
            let no = json!({ "requestId": frame["requestId"], "approved": false });
            site.visitor.send("approval_response", no).await?;
        }
        let turn = site.turn(from)?;
        assert_eq!(turn.outcome(), "completed", "{:?}", turn.trouble());
        let usage = turn.of_type("turn_usage");
        let usage = &usage.first().context("no turn_usage")?["usage"];
        ensure!(usage["promptTokens"].as_u64() > Some(100), "{usage}");
        ensure!(usage["completionTokens"].as_u64() > Some(0), "{usage}");
        Ok(())
    });
}
