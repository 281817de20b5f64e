//! Push messages: a browser that is not there hears that somebody is asked for.

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::{aead, hkdf, rand, signature};
use serde_json::{Value, json};
use testkit::http::ReceivedRequest;
use testkit::process::Launch;
use testkit::{Process, Scratch, http};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::{LIMIT, Page};
use crate::{DRAGOMAN, tell};

/// What the browser keeps to itself.
const SECRET: [u8; 16] = [7; 16];

/// A push service for one browser, whose key opens one message.
struct Browser {
    service: TcpListener,
    key: EphemeralPrivateKey,
    point: Vec<u8>,
}

impl Browser {
    async fn new() -> anyhow::Result<Self> {
        let random = rand::SystemRandom::new();
        let key = EphemeralPrivateKey::generate(&ECDH_P256, &random)
            .ok()
            .context("a key")?;
        let point = key.compute_public_key().ok().context("a point")?;
        Ok(Self {
            service: TcpListener::bind("127.0.0.1:0").await?,
            point: point.as_ref().to_vec(),
            key,
        })
    }

    fn host(&self) -> anyhow::Result<String> {
        Ok(self.service.local_addr()?.to_string())
    }

    fn subscription(&self) -> anyhow::Result<Value> {
        Ok(json!({
            "type": "orbit.push-subscribe",
            "endpoint": format!("http://{}/send/secret-path", self.host()?),
            "p256dh": BASE64.encode(&self.point),
            "auth": BASE64.encode(SECRET),
        }))
    }

    /// The next request, answered with this status.
    async fn received(&self, status: &str) -> anyhow::Result<ReceivedRequest> {
        let (mut stream, _) = self.service.accept().await?;
        let request = ReceivedRequest::read(&mut stream, &mut Vec::new()).await?;
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await?;
        request.context("a request")
    }

    /// As a browser does: RFC 8291, from the receiver's side.
    fn open(self, body: &[u8]) -> anyhow::Result<Value> {
        let (salt, rest) = body.split_at(16);
        ensure!(rest[..5] == [0, 0, 16, 0, 65], "its head");
        let (point, sealed) = rest[5..].split_at(65);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, point);
        let info = [b"WebPush: info\0".as_slice(), &self.point, point].concat();
        let drawn = agree_ephemeral(self.key, &theirs, |shared| {
            let material = draw(&SECRET, shared, &info, 32);
            let key = draw(salt, &material, b"Content-Encoding: aes128gcm\0", 16);
            (key, draw(salt, &material, b"Content-Encoding: nonce\0", 12))
        });
        let (key, nonce) = drawn.ok().context("no shared key")?;
        let key = aead::UnboundKey::new(&aead::AES_128_GCM, &key)
            .ok()
            .context("a key")?;
        let nonce = aead::Nonce::try_assume_unique_for_key(&nonce)
            .ok()
            .context("a nonce")?;
        let mut text = sealed.to_vec();
        let opened =
            aead::LessSafeKey::new(key).open_in_place(nonce, aead::Aad::empty(), &mut text);
        let opened = opened.ok().context("it does not open")?;
        let (last, message) = opened.split_last().context("empty")?;
        ensure!(*last == 2, "the end of the record");
        Ok(serde_json::from_slice(message)?)
    }
}

struct Bytes(usize);

impl hkdf::KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn draw(salt: &[u8], from: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut drawn = vec![0; length];
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(from);
    let parts = [info];
    let filled = prk
        .expand(&parts, Bytes(length))
        .and_then(|okm| okm.fill(&mut drawn));
    filled.expect("drawn");
    drawn
}

/// The signature of `authorization`, checked with the key that the server publishes.
async fn ensure_signed(server: &Process, head: &str, origin: &str) -> anyhow::Result<()> {
    let (_, page) = http::get(server.port(), "/push/vapid").await?;
    let published: Value = serde_json::from_str(&page)?;
    let line = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("authorization:"));
    let value = line
        .and_then(|line| line.split_once(": "))
        .context("a signature")?
        .1;
    let (token, key) = value
        .strip_prefix("vapid t=")
        .and_then(|rest| rest.split_once(", k="))
        .context("its form")?;
    ensure!(published["publicKey"] == key, "{page}");
    let (signed, mark) = token.rsplit_once('.').context("a JWT")?;
    let known =
        signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, BASE64.decode(key)?);
    let good = known.verify(signed.as_bytes(), &BASE64.decode(mark)?);
    ensure!(good.is_ok(), "signed by another key");
    let claims = signed.split('.').nth(1).context("claims")?;
    let claims: Value = serde_json::from_slice(&BASE64.decode(claims)?)?;
    ensure!(claims["aud"] == origin, "{claims}");
    ensure!(claims["sub"] == "mailto:ops@example.com", "{claims}");
    Ok(())
}

async fn start(scratch: &Scratch, browser: &Browser) -> anyhow::Result<Process> {
    let launch = Launch::new(DRAGOMAN, scratch)
        .argument(format!("--allow-private={}", browser.host()?))
        .argument("--push-contact=mailto:ops@example.com");
    Process::start(&launch).await
}

#[test]
fn an_ask_reaches_a_browser_that_is_not_connected_even_after_a_restart() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let browser = Browser::new().await?;
        let origin = format!("http://{}", browser.host()?);
        let mut server = start(&scratch, &browser).await?;
        let mut page = Page::open(&server).await?;
        page.control(browser.subscription()?).await?;
        page.socket.until_type("orbit.push-subscribed").await?;
        page.socket.hang_up().await?;
        server.kill9().await?;
        server.restart().await?;

        let mut other = Page::open(&server).await?;
        let cwd = scratch.workspace().display().to_string();
        let thread = other.start_thread(&cwd).await?;
        other.say(&thread, "show me an approval").await?;
        let request = browser.received("201 Created").await?;
        ensure!(
            request.head.starts_with("POST /send/secret-path "),
            "{}",
            request.head
        );
        let head = request.head.to_lowercase();
        for line in ["content-encoding: aes128gcm", "ttl: 86400", "urgency: high"] {
            ensure!(head.contains(line), "{line}: {head}");
        }
        ensure_signed(&server, &request.head, &origin).await?;
        let key = scratch.home().join("push.key");
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&key)?);
        assert_eq!(mode & 0o777, 0o600);
        let message = browser.open(&request.body)?;
        assert_eq!(message["type"], "approval");
        assert_eq!(message["title"], "Command Approval");
        assert_eq!(message["threadId"], thread.as_str());
        assert_eq!(message["actionUrl"], format!("/thread/{thread}"));
        let body = message["body"].as_str().context("a body")?;
        ensure!(
            !body.contains("touch"),
            "what is run is nobody's business on a locked screen"
        );
        ensure!(
            !server.whole_log().contains("secret-path"),
            "the address is as good as a key"
        );
        Ok(())
    });
}

#[test]
fn a_test_message_arrives_and_a_browser_that_is_gone_is_forgotten() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let browser = Browser::new().await?;
        let server = start(&scratch, &browser).await?;
        let mut page = Page::open(&server).await?;
        let test = json!({ "type": "orbit.push-test" });
        page.control(test.clone()).await?;
        let none = page
            .socket
            .until(|frame| frame.get("error").is_some())
            .await?;
        ensure!(
            none["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .contains("no browser")
        );
        page.control(browser.subscription()?).await?;
        page.socket.until_type("orbit.push-subscribed").await?;
        page.control(test.clone()).await?;
        page.socket.until_type("orbit.push-sent").await?;
        browser.received("410 Gone").await?;
        // It is forgotten a moment after the answer.
        let forgotten = async {
            loop {
                page.control(test.clone()).await?;
                let answer = page.socket.until(|frame| {
                    frame.get("error").is_some() || frame["type"] == "orbit.push-sent"
                });
                if answer.await?.get("error").is_some() {
                    return anyhow::Ok(());
                }
                browser.received("410 Gone").await?;
            }
        };
        forgotten.await?;
        Ok(())
    });
}

#[test]
fn subscriptions_are_taken_back_and_bad_ones_are_refused() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let browser = Browser::new().await?;
        let server = start(&scratch, &browser).await?;
        let mut page = Page::open(&server).await?;
        let good = browser.subscription()?;
        for (field, value, words) in [
            ("endpoint", json!("http://push.example/x"), "https://"),
            ("endpoint", json!("https://127.0.0.1:9/x"), "endpoint:"),
            ("endpoint", json!("https://10.1.2.3/x"), "endpoint:"),
            ("endpoint", json!("https://[::1]/x"), "endpoint:"),
            ("p256dh", json!("AAAA"), "p256dh"),
            ("auth", json!("AAAA"), "auth"),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            page.control(bad).await?;
            let no = page
                .socket
                .until(|frame| frame.get("error").is_some())
                .await?;
            let message = no["error"]["message"].as_str().unwrap_or_default();
            ensure!(message.contains(words), "{field}: {message}");
        }
        page.control(good.clone()).await?;
        page.socket.until_type("orbit.push-subscribed").await?;
        let endpoint = &good["endpoint"];
        let leave = json!({ "type": "orbit.push-unsubscribe", "endpoint": endpoint });
        page.control(leave).await?;
        page.socket.until_type("orbit.push-unsubscribed").await?;
        page.control(json!({ "type": "orbit.push-test" })).await?;
        page.socket
            .until(|frame| frame.get("error").is_some())
            .await?;
        Ok(())
    });
}
