//! Signing in to a scripted server, and what must not work.

mod files;
mod refusals;
mod renewals;
mod scripted_server;
mod sign_ins;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use reqwest::{Client, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use tools::web::Lookup;

use super::kept_sign_in::{KeptSignIn, TokenStore};
use super::server_sign_in::{ServerSignIn, SignInTarget};
use super::{AuthFailure, RefusedRequest};
use scripted_server::{Script, ScriptedServer};

/// A script whose tokens are good for reading.
fn script() -> Script {
    Script {
        required_scope: "read".to_owned(),
        ..Script::default()
    }
}

struct Names;

#[async_trait]
impl Lookup for Names {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        match host {
            "internal.test" => Ok(vec![[10, 0, 0, 1].into()]),
            _ => Ok(Vec::new()),
        }
    }
}

#[derive(Default)]
struct Kept(Mutex<Option<KeptSignIn>>);

#[async_trait]
impl TokenStore for Kept {
    async fn load(&self) -> Result<Option<KeptSignIn>, String> {
        Ok(self.0.lock().clone())
    }

    async fn save(&self, kept: Option<KeptSignIn>) -> Result<(), String> {
        *self.0.lock() = kept;
        Ok(())
    }
}

/// A person with a browser, and the client they use.
struct Person {
    server: ScriptedServer,
    kept: Arc<Kept>,
    sign_in: Arc<ServerSignIn>,
    browser: Client,
}

impl Person {
    async fn at(script: Script) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = ScriptedServer::start(script).await;
        let target = SignInTarget {
            name: "notes".to_owned(),
            url: server.url(),
            scopes: Vec::new(),
            resource: None,
            client: None,
            asks_for_code: false,
            client_document: None,
            without_person: false,
        };
        let kept = Arc::<Kept>::default();
        let sign_in = ServerSignIn::new(target, Arc::clone(&kept) as Arc<_>, Arc::new(Names));
        let browser = Client::builder().redirect(redirect::Policy::none());
        Self {
            server,
            kept,
            sign_in,
            browser: browser.build().expect("a client"),
        }
    }

    /// Begins, and says to the sign-in server what the script wants: where it sends the browser.
    async fn allow(&self) -> Url {
        let challenge = self.sign_in.begin().await.expect("begun");
        let page = challenge.url.expect("a page");
        let answer = self.browser.get(page).send().await.expect("an answer");
        let back = answer.headers()["location"].to_str().expect("text");
        Url::parse(back).expect("a URL")
    }

    /// What the browser shows in the end.
    async fn go(&self, back: Url) -> (u16, String) {
        let answer = self.browser.get(back).send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.text().await.expect("a page"))
    }

    async fn signs_in(&self) {
        let back = self.allow().await;
        let pasted = self.sign_in.finish(Some(back.into()));
        pasted.await.expect("signed in");
    }

    /// A request to the server, as a transport makes it.
    async fn request(&self) -> Result<u16, AuthFailure> {
        let sent = self.sign_in.bearer().await?;
        let (status, challenge) = self.post(sent.as_ref()).await;
        if !matches!(status, 401 | 403) {
            return Ok(status);
        }
        let refused = RefusedRequest {
            status,
            challenge: challenge.as_deref(),
            sent: sent.as_ref(),
        };
        let another = self.sign_in.refused(refused).await?;
        Ok(self.post(Some(&another)).await.0)
    }

    async fn post(&self, token: Option<&SecretString>) -> (u16, Option<String>) {
        let mut request = self.browser.post(self.server.url()).body("{}");
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        let answer = request.send().await.expect("an answer");
        let challenge = answer.headers().get("www-authenticate");
        let challenge = challenge.and_then(|value| value.to_str().ok());
        (answer.status().as_u16(), challenge.map(str::to_owned))
    }

    /// What is kept expired a second ago.
    fn expires(&self) {
        let mut kept = self.kept.0.lock();
        let kept = kept.as_mut().expect("signed in");
        kept.expires_at = Some(super::kept_sign_in::now_secs() - 1);
    }

    fn kept_access(&self) -> Option<String> {
        let kept = self.kept.0.lock();
        kept.as_ref()
            .map(|kept| kept.access_token.expose_secret().to_owned())
    }
}

/// The first value of a name in a query.
fn value_of(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(each, _)| each == name)
        .map(|(_, value)| value.into_owned())
}

/// The same address with another value.
fn with(url: &Url, name: &str, value: Option<&str>) -> Url {
    let pairs: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(each, _)| each != name)
        .map(|(each, value)| (each.into_owned(), value.into_owned()))
        .collect();
    let mut url = url.clone();
    url.query_pairs_mut().clear().extend_pairs(pairs);
    if let Some(value) = value {
        url.query_pairs_mut().append_pair(name, value);
    }
    url
}
