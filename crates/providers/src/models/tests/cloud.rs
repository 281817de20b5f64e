//! Providers that are reached with what the owner of a cloud gives in place of a key.

use secrecy::ExposeSecret;
use serde_json::json;

use super::server::{Asked, Server};
use super::{Home, models_list, remote_provider};
use crate::ErrorKind;
use crate::remote::Authorizer;

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

#[tokio::test]
async fn a_request_is_signed_with_the_keys_of_an_aws_account() {
    let server = Server::start(|_: &Asked| (200, models_list(&["m"]))).await;
    let home = Home::new()
        .set("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .set("AWS_SECRET_ACCESS_KEY", "aws-secret")
        .set("AWS_SESSION_TOKEN", "session")
        .set("AWS_REGION", "eu-west-1");
    home.write(
        "config/catalog.toml",
        &format!(
            "[[provider]]\nid = \"cloud\"\nbase_url = \"{}/v1\"\nkey_env = [\"CLOUD_KEY\"]\n\
             aws_service = \"bedrock-mantle\"\n\
             [[provider.model]]\nid = \"m\"\n",
            server.url
        ),
    );
    let models = home.open();
    assert!(models.connected("cloud"));
    assert_eq!(
        models.default_model().await.provider,
        "rehearsal",
        "these keys may be there for other work"
    );
    assert_eq!(models.refresh("cloud").await, Ok(1));
    let asked = &server.asked("/v1/models")[0];
    let proof = asked.header("authorization").unwrap_or_default();
    assert!(
        proof.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
            && proof.contains("/eu-west-1/bedrock-mantle/aws4_request, "),
        "{proof}"
    );
    assert_eq!(asked.header("x-amz-security-token"), Some("session"));
    assert!(!asked.head.contains("aws-secret"));

    let with_key = home.set("CLOUD_KEY", "sk-1");
    assert_eq!(with_key.open().refresh("cloud").await, Ok(1));
    let asked = &server.asked("/v1/models")[1];
    assert_eq!(
        asked.header("authorization"),
        Some("Bearer sk-1"),
        "a key comes first"
    );
}
