//! What depends on the environment of the whole process, and therefore runs in one of its own.

use std::process::Command;

use super::server::{Server, events};
use super::*;

/// Variables that a machine may have set, and that change the network.
const NETWORK_VARIABLES: [&str; 9] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ssl_cert_file",
    "ssl_cert_dir",
    "node_extra_ca_certs",
    "requests_ca_bundle",
    "curl_ca_bundle",
];

/// Runs one of the ignored tests here or in `network` in a process with these variables.
pub(super) async fn alone(test: &'static str, variables: Vec<(&'static str, String)>) {
    let program = std::env::current_exe().expect("this test");
    let mut command = Command::new(program);
    command
        .args(["--exact", "--ignored"])
        .arg(format!("remote::tests::{test}"));
    for name in NETWORK_VARIABLES {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.envs(variables);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .expect("no panic");
    let output = output.expect("the test runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn without_a_tls_library_there_is_an_error_and_no_panic() {
    alone("alone::no_tls_library", vec![]).await;
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn no_tls_library() {
    let access = Keys {
        base_url: "http://127.0.0.1:1".to_owned(),
        renewable: false,
        renewals: AtomicU32::new(0),
    };
    let (parts, error) = run(&plain(Arc::new(access), quick())).await;
    let error = error.expect("an error");
    assert_eq!((parts, error.kind), (vec![], ErrorKind::Unreachable));
    assert!(error.message.contains("without a TLS library"), "{error}");
}

/// The proxy answers whatever it is asked for.
#[tokio::test]
async fn a_proxy_is_used_for_the_world_but_not_for_this_machine() {
    let mut proxy = Server::saying(events(&[r#"{"text":"by proxy"}"#, "[DONE]"], true)).await;
    let mut local = Server::saying(events(&[r#"{"text":"local"}"#, "[DONE]"], true)).await;
    let variables = vec![
        ("http_proxy", format!("http://127.0.0.1:{}", proxy.port)),
        ("TEST_LOCAL_URL", local.url()),
    ];
    alone("alone::through_a_proxy", variables).await;
    let seen = proxy.rest();
    assert_eq!(seen.len(), 1);
    assert!(
        seen[0]
            .head
            .starts_with("POST http://model.example/v1/answer?stream=1 "),
        "{}",
        seen[0].head
    );
    assert_eq!(local.rest().len(), 1);
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn through_a_proxy() {
    let (parts, error) = run(&remote("http://model.example/v1", quick())).await;
    assert_eq!((parts, error), (vec![delta("by proxy"), finish()], None));
    let local = std::env::var("TEST_LOCAL_URL").expect("an address");
    let (parts, error) = run(&remote(&local, quick())).await;
    assert_eq!((parts, error), (vec![delta("local"), finish()], None));
}
