//! A cowork client with its session: what most tests of the whole server need of one.

use serde_json::{Value, json};

use crate::tongue::cowork::backup;
use crate::{Client, Process};

pub struct Visitor {
    pub client: Client,
    pub session: String,
    pub hello: Value,
}

impl Visitor {
    pub async fn arrive(server: &Process) -> anyhow::Result<Self> {
        Self::greet(Client::connect(server.url()).await?).await
    }

    async fn greet(mut client: Client) -> anyhow::Result<Self> {
        let hello = client.until_type("server_hello").await?;
        // The original may be on its way when it is first told; then its being there is told, too.
        let kept = |frame: &Value| {
            frame["type"] == "session_backup_state" && !backup::is_on_its_way(frame)
        };
        client.until(kept).await?;
        let session = hello["sessionId"].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            client,
            session,
            hello,
        })
    }

    pub async fn send(&mut self, kind: &str, mut fields: Value) -> anyhow::Result<()> {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(self.session);
        self.client.send_json(&fields).await
    }

    pub async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.send("user_message", json!({ "text": text })).await
    }

    /// Reads up to the end of the turn, which tells its outcome.
    pub async fn rest(&mut self) -> anyhow::Result<Value> {
        let over = |frame: &Value| frame["type"] == "session_busy" && frame["busy"] == false;
        self.client.until(over).await
    }

    /// Has its session use another model, and waits until it does.
    pub async fn choose(&mut self, provider: &str, model: &str) -> anyhow::Result<()> {
        let fields = json!({ "provider": provider, "model": model });
        self.send("set_model", fields).await?;
        let chosen = |frame: &Value| {
            frame["type"] == "error" || (frame["type"] == "session_info" && frame["model"] == model)
        };
        let frame = self.client.until(chosen).await?;
        anyhow::ensure!(frame["type"] != "error", "no {provider} {model}: {frame}");
        Ok(())
    }
}
