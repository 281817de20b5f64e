//! Grants and rules as their user meets them: given over a socket, taken back on the command line.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{DRAGOMAN, Visitor, command, tell};

const LIMIT: Duration = Duration::from_secs(90);
/// What is asked for in every mode.
const COMMAND: &str = "rm -rf built";

/// What `dragoman grants` said, and whether it ended well.
async fn grants(scratch: &Scratch, words: &[&str]) -> anyhow::Result<(bool, String)> {
    command::said(scratch, &[&["grants"], words].concat()).await
}

/// A codex client in a thread.
struct Codex {
    client: Client,
    thread: String,
}

impl Codex {
    async fn start(server: &Process) -> anyhow::Result<Self> {
        let url = format!("ws://127.0.0.1:{}/codex", server.port());
        let client = Client::connect(&url).await?;
        let thread = String::new();
        let mut codex = Self { client, thread };
        let info = json!({ "name": "test", "version": "1" });
        codex
            .call("initialize", json!({ "clientInfo": info }))
            .await?;
        codex
            .client
            .send_json(&json!({ "method": "initialized" }))
            .await?;
        let started = codex.call("thread/start", json!({})).await?;
        let thread = started["thread"]["id"].as_str();
        codex.thread = thread.context("a thread")?.to_owned();
        Ok(codex)
    }

    async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let request = json!({ "id": method, "method": method, "params": params });
        self.client.send_json(&request).await?;
        let answer = self.client.until(|frame| frame["id"] == *method).await?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].clone())
    }

    /// Begins a turn; tells whether it asks, and leaves that ask open.
    async fn turn_asks(&mut self) -> anyhow::Result<Option<Value>> {
        let input = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "threadId": self.thread, "input": input });
        self.call("turn/start", params).await?;
        let asks = |frame: &Value| frame["method"] == "item/commandExecution/requestApproval";
        let over = |frame: &Value| frame["method"] == "turn/completed";
        let frame = self
            .client
            .until(|frame| asks(frame) || over(frame))
            .await?;
        Ok(asks(&frame).then_some(frame))
    }

    async fn allow_for_thread(&mut self, ask: &Value) -> anyhow::Result<()> {
        let result = json!({ "decision": "acceptForSession" });
        let response = json!({ "id": ask["id"], "result": result });
        self.client.send_json(&response).await?;
        let over = |frame: &Value| frame["method"] == "turn/completed";
        self.client.until(over).await.map(|_| ())
    }
}

#[test]
fn a_grant_is_listed_and_revoked_on_the_command_line_while_the_server_runs() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        assert_eq!(
            grants(&scratch, &[]).await?,
            (true, "nothing is allowed for longer than once\n".to_owned())
        );
        ensure!(
            !scratch.home().join("sessions.db").exists(),
            "a look makes nothing"
        );
        let call = json!({ "command": COMMAND });
        let turn = format!("turn\n call bash {call}\nnext\n say done\n");
        let script = scratch.user().join("script");
        std::fs::write(&script, turn.repeat(3))?;
        let launch = Launch::new(DRAGOMAN, &scratch).rehearsal(&script);
        let server = Process::start(&launch.argument("--sandbox").argument("off")).await?;
        let mut codex = Codex::start(&server).await?;
        let ask = codex.turn_asks().await?.context("the first time asks")?;
        codex.allow_for_thread(&ask).await?;

        let (_, listed) = grants(&scratch, &["list", "--json", "--dir", "."]).await?;
        let listed: Value = serde_json::from_str(&listed)?;
        let id = listed[0]["id"].as_str().context("an id")?.to_owned();
        let expected = json!([{
            "id": id,
            "what": COMMAND,
            "key": r#"["bash",{"command":["rm","-rf","built"]}]"#,
            "scope": "thread",
            "directory": scratch.workspace().canonicalize()?,
            "thread": codex.thread,
            "turn": null,
            "by": "owner",
            "via": "codex",
            "at": listed[0]["at"],
        }]);
        assert_eq!(listed, expected);
        let (_, shown) = grants(&scratch, &[]).await?;
        let line = format!("{}  thread {} in ", &id[..8], codex.thread);
        ensure!(shown.starts_with(&line), "{shown}");
        ensure!(
            shown.contains(" by owner (codex)\n    rm -rf built\n    key [\"bash\""),
            "{shown}"
        );
        ensure!(
            codex.turn_asks().await?.is_none(),
            "the second time is granted"
        );

        let (fine, told) = grants(&scratch, &["revoke", "0123456789"]).await?;
        let unknown = "there is no grant `0123456789`; `dragoman grants` lists them";
        ensure!(!fine && told.contains(unknown), "{told}");
        let revoked = grants(&scratch, &["revoke", &id[..8]]).await?;
        assert_eq!(
            revoked,
            (true, format!("revoked {}  {COMMAND}\n", &id[..8]))
        );
        ensure!(
            codex.turn_asks().await?.is_some(),
            "the third time asks again"
        );
        let none = grants(&scratch, &["revoke", "--all", "--json"]).await?;
        assert_eq!(none, (true, "{\n  \"revoked\": []\n}\n".to_owned()));
        Ok(())
    });
}

/// A web server on all addresses of this machine: `/secret` is one, everything else redirects to it,
/// on the host that the path names. Counts how often the secret was told.
async fn redirecting(told: Arc<AtomicUsize>) -> anyhow::Result<u16> {
    let listener = TcpListener::bind("0.0.0.0:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4_096];
            let count = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..count]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
            let answer = match path.as_str() {
                "/secret" => {
                    told.fetch_add(1, Ordering::SeqCst);
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nsecret"
                        .to_owned()
                }
                path => format!(
                    "HTTP/1.1 302 Found\r\nlocation: http://{}:{port}/secret\r\n\
                     content-length: 0\r\n\r\n",
                    path.trim_start_matches('/')
                ),
            };
            // A client that has seen enough may hang up.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Ok(port)
}

#[test]
fn what_the_policy_says_of_a_host_holds_behind_a_redirect() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let config = scratch.home().join("config");
        std::fs::create_dir_all(&config)?;
        let rules = "[[rule]]\neffect = \"refuse\"\nhost = \"localhost\"\n\
                     [[rule]]\neffect = \"ask\"\nhost = \"127.0.0.2\"\n\
                     [[rule]]\neffect = \"allow\"\ntool = \"webFetch\"\nhost = \"127.0.0.1\"\n\
                     [[rule]]\neffect = \"allow\"\ntool = \"webFetch\"\nhost = \"127.0.0.3\"\n";
        std::fs::write(config.join("policy.toml"), rules)?;
        let told = Arc::new(AtomicUsize::new(0));
        let port = redirecting(Arc::clone(&told)).await?;
        let turn = |to: &str| {
            let call = json!({ "url": format!("http://127.0.0.1:{port}/{to}") });
            format!("turn\n call webFetch {call}\nnext\n say {{result}}\n")
        };
        let script = scratch.user().join("script");
        std::fs::write(
            &script,
            ["localhost", "127.0.0.2", "127.0.0.3"].map(turn).concat(),
        )?;
        let mut launch = Launch::new(DRAGOMAN, &scratch).rehearsal(&script);
        for host in ["127.0.0.1", "127.0.0.2", "127.0.0.3", "localhost"] {
            launch = launch.argument("--allow-private").argument(host);
        }
        let server = Process::start(&launch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        let refused = visitor.converse("go").await?;
        let words = "the redirect to localhost is not followed: refused by the policy: rule 1";
        ensure!(refused.contains(words), "{refused}");
        let asked = visitor.converse("go on").await?;
        let words =
            "the redirect to 127.0.0.2 is not followed: the policy wants this asked: rule 2";
        ensure!(asked.contains(words), "{asked}");
        let directly = format!("fetch http://127.0.0.2:{port}/secret directly");
        ensure!(asked.contains(&directly), "{asked}");
        assert_eq!(told.load(Ordering::SeqCst), 0);
        let allowed = visitor.converse("and on").await?;
        ensure!(allowed.contains("secret"), "{allowed}");
        assert_eq!(told.load(Ordering::SeqCst), 1);
        Ok(())
    });
}
