//! Clients that are let in by the JWTs of an issuer of our own.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use testkit::{Client, Heard};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{Door, LIMIT};
use crate::tell;

const NAME: &str = "https://login.example/";
/// By how much clocks may differ: for that long a token is good beyond its end.
const SKEW_S: i64 = 60;
/// How long a short sign-in lasts here.
const SHORT_S: i64 = 2;

struct Issuer {
    key: Ed25519KeyPair,
    jwks_url: String,
    serving: JoinHandle<()>,
}

impl Issuer {
    async fn start() -> anyhow::Result<Self> {
        // Without this the server could not ask for keys; the program does it at its start.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let der = der.ok().context("no key")?;
        let key = Ed25519KeyPair::from_pkcs8(der.as_ref())
            .ok()
            .context("no key")?;
        let x = coded(key.public_key().as_ref());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x}]});
        let keys = keys.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let jwks_url = format!("http://{}/keys", listener.local_addr()?);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                let answer = format!("HTTP/1.0 200 OK\r\n\r\n{keys}");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Ok(Self {
            key,
            jwks_url,
            serving,
        })
    }

    async fn door(&self) -> anyhow::Result<Door> {
        Door::open(|settings| {
            settings.auth.issuer = Some(NAME.to_owned());
            settings.auth.jwks_url = Some(self.jwks_url.clone());
        })
        .await
    }

    /// A token that a server takes for so many seconds.
    fn token(&self, user: &str, seconds: i64) -> anyhow::Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64;
        let header = json!({"alg": "EdDSA", "kid": "1"}).to_string();
        let claims = json!({
            "iss": NAME, "sub": user, "tenant_id": "north", "exp": now + seconds - SKEW_S,
        });
        let claims = claims.to_string();
        let signed = format!("{}.{}", coded(header.as_bytes()), coded(claims.as_bytes()));
        let signature = self.key.sign(signed.as_bytes());
        Ok(format!("{signed}.{}", coded(signature.as_ref())))
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

async fn stranger(door: &Door) -> anyhow::Result<Client> {
    let mut client = Client::connect(&format!("ws://{}/diminuendo", door.main())).await?;
    client.until_type("connected").await?;
    Ok(client)
}

async fn show(client: &mut Client, token: &str) -> anyhow::Result<Value> {
    let shows = json!({"type": "authenticate", "token": token});
    client.send_json(&shows).await?;
    client.json().await
}

#[test]
fn a_socket_ends_with_its_sign_in_unless_a_fresh_token_came() {
    tell(LIMIT, async {
        let issuer = Issuer::start().await?;
        let door = issuer.door().await?;
        let (mut left, mut kept) = (stranger(&door).await?, stranger(&door).await?);
        let short = issuer.token("ada", SHORT_S)?;
        for client in [&mut left, &mut kept] {
            let told = show(client, &short).await?;
            ensure!(told["identity"]["userId"] == "ada", "{told}");
        }
        let told = show(&mut kept, &issuer.token("bob", 600)?).await?;
        ensure!(told["code"] == "AUTH_FAILED", "{told}");
        let words = told["message"].as_str().unwrap_or_default();
        ensure!(words.contains("another user's"), "{told}");
        let told = show(&mut kept, &issuer.token("ada", 600)?).await?;
        ensure!(told["type"] == "authenticated", "{told}");

        let told = left.until_type("error").await?;
        ensure!(told["code"] == "Unauthenticated", "{told}");
        let Heard::Closed(close) = left.recv().await? else {
            anyhow::bail!("it goes on");
        };
        assert_eq!(close.code, 1008);
        let told = show(&mut stranger(&door).await?, &short).await?;
        ensure!(told["code"] == "AUTH_FAILED", "{told}");
        kept.send_json(&json!({"type": "list_sessions"})).await?;
        kept.until_type("session_list").await?;
        Ok(())
    });
}

#[test]
fn wrong_tokens_are_counted_and_good_ones_are_not() {
    tell(LIMIT, async {
        let issuer = Issuer::start().await?;
        let door = issuer.door().await?;
        let mut client = stranger(&door).await?;
        let (good, old) = (issuer.token("ada", 600)?, issuer.token("ada", -1)?);
        for _ in 0..2 * server::limits::GUESSES_BURST {
            let told = show(&mut client, &good).await?;
            ensure!(told["type"] == "authenticated", "{told}");
        }
        for _ in 0..server::limits::GUESSES_BURST {
            let told = show(&mut client, &old).await?;
            ensure!(told["code"] == "AUTH_FAILED", "{told}");
        }
        let told = show(&mut client, &good).await?;
        ensure!(told["code"] == "AUTH_RATE_LIMITED", "{told}");
        ensure!(told["retryAfterMs"].as_i64() > Some(0), "{told}");
        Ok(())
    });
}

#[test]
fn with_an_issuer_nobody_comes_in_without_a_token() {
    tell(LIMIT, async {
        let issuer = Issuer::start().await?;
        let door = issuer.door().await?;
        let bearer = format!("authorization: Bearer {}", issuer.token("ada", 600)?);
        for path in ["/ws", "/codex", "/zane/ws", "/pioneer"] {
            assert_eq!(door.upgrade(path, &[]).await?, 401, "{path}");
            assert_eq!(door.upgrade(path, &[&bearer]).await?, 101, "{path}");
        }
        // An issuer that cannot be asked is nobody's fault.
        let unknown = issuer.door().await?;
        drop(issuer);
        for _ in 0..=server::limits::GUESSES_BURST {
            assert_eq!(unknown.upgrade("/ws", &[&bearer]).await?, 503);
        }
        Ok(())
    });
}
