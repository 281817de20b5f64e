//! A provider that is reached with a credential file of Google's.

use serde_json::json;

use super::server::{Asked, Server};
use super::{Home, remote_provider};
use crate::ErrorKind;
use crate::remote::Authorizer;
use secrecy::ExposeSecret;

const KEY: &str = include_str!("../../accounts/google_file/key-for-tests.pem");

/// Gives a new token for every signed statement.
async fn google() -> Server {
    let given = std::sync::atomic::AtomicU32::new(0);
    Server::start(move |asked: &Asked| {
        let grant = asked.form("grant_type").unwrap_or_default();
        let signed = asked.form("assertion").unwrap_or_default();
        if !grant.ends_with("jwt-bearer") || signed.split('.').count() != 3 {
            return (400, json!({ "error": "invalid_grant" }).to_string());
        }
        let number = given.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        let token = json!({ "access_token": format!("ya29.{number}"), "expires_in": 3600,
                            "token_type": "Bearer" });
        (200, token.to_string())
    })
    .await
}

fn home(server: &Server, file: &str) -> Home {
    let home = Home::new();
    home.write(
        "config/catalog.toml",
        &format!(
            "[[provider]]\nid = \"cloud\"\nwire = \"gemini\"\nbase_url = \"{}/v1\"\n\
             google_file_env = [\"MY_CREDENTIALS\"]\n",
            server.url
        ),
    );
    home.write("key.json", file);
    let path = home.directory.path().join("key.json");
    home.set("MY_CREDENTIALS", &path.to_string_lossy())
}

#[tokio::test]
async fn a_service_account_is_exchanged_for_a_token_that_is_kept_while_it_is_good() {
    let server = google().await;
    let file = json!({
        "type": "service_account", "private_key": KEY, "client_email": "bot@p.example",
        "token_uri": format!("{}/token", server.url),
    });
    let home = home(&server, &file.to_string());
    let models = home.open();
    assert!(models.connected("cloud"));
    let cloud = remote_provider(&models, "cloud");
    let bearer = async |renew: bool| {
        let access = cloud.authorizer.access(renew).await.expect("let in");
        assert!(access.renewable);
        let (name, value) = &access.headers[0];
        (name.clone(), value.expose_secret().to_owned())
    };
    let of = |token: &str| ("authorization".to_owned(), format!("Bearer {token}"));
    assert_eq!(bearer(false).await, of("ya29.1"));
    assert_eq!(bearer(false).await, of("ya29.1"));
    assert_eq!(bearer(true).await, of("ya29.2"), "the first was refused");
    assert_eq!(server.count("/token"), 2);
    let statuses = models.statuses(true).await;
    let status = statuses.iter().find(|each| each.provider == "cloud");
    let status = status.expect("a status");
    assert_eq!(
        (status.verified, status.message.as_str()),
        (true, "Signed in")
    );
}

#[tokio::test]
async fn a_file_that_is_no_good_says_so() {
    let server = google().await;
    let home = home(&server, "{\"type\": \"external_account\"}");
    let models = home.open();
    let cloud = remote_provider(&models, "cloud");
    let error = cloud.authorizer.access(false).await.expect_err("no key");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.contains("key.json could not be read"),
        "{error}"
    );
}
