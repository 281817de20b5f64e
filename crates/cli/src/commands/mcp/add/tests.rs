//! Words on the command line as servers.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    add: AddArguments,
}

fn parsed(words: &[&str]) -> anyhow::Result<McpServer> {
    let line = Line::try_parse_from(std::iter::once(&"add").chain(words))?;
    let variable = |name: &str| (name == "TOKEN").then(|| "from here".to_owned());
    server(line.add, &variable)
}

fn pair(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

#[test]
fn a_command_is_what_stands_behind_the_dashes() {
    let words = [
        "files", "--env", "A=b=c", "--cwd", "sub", "--", "npx", "-y", "x", "--env",
    ];
    let server = parsed(&words).expect("a server");
    let transport = McpTransport::Stdio {
        command: "npx".to_owned(),
        args: ["-y", "x", "--env"].map(str::to_owned).to_vec(),
        env: pair("A", "b=c"),
        cwd: Some("sub".to_owned()),
    };
    assert_eq!((server.transport, server.auth), (transport, None));
    let server = parsed(&["files", "--env", "TOKEN", "--", "x"]).expect("a server");
    let McpTransport::Stdio { env, .. } = server.transport else {
        panic!("another transport");
    };
    assert_eq!(env, pair("TOKEN", "from here"));
}

#[test]
fn an_address_is_reached_as_it_is_said() {
    let words = [
        "a",
        "--url",
        "https://a.example",
        "--header",
        "X-A=b",
        "--auth",
        "api-key",
    ];
    let server = parsed(&words).expect("a server");
    let transport = McpTransport::Http {
        url: "https://a.example".to_owned(),
        headers: pair("X-A", "b"),
    };
    assert_eq!(server.transport, transport);
    assert!(matches!(server.auth, Some(McpAuth::ApiKey { .. })));
    let server = parsed(&["a", "--url", "https://a.example", "--sse", "--required"]);
    let server = server.expect("a server");
    assert!(matches!(server.transport, McpTransport::Sse { .. }));
    assert_eq!(server.required, Some(true));
}

#[test]
fn what_does_not_fit_together_is_refused_without_a_value() {
    for (words, told) in [
        (&["a"][..], "say what starts the server"),
        (
            &["a", "--url", "https://a.example", "--", "x"],
            "cannot be used with",
        ),
        (&["a", "--sse", "--", "x"], "cannot be used with"),
        (&["a", "--sse"], "--url"),
        (&["a", "--header", "A=b", "--", "x"], "cannot be used with"),
        (
            &["a", "--env", "A=b", "--url", "https://a.example"],
            "cannot be used with",
        ),
        (
            &["a", "--env", "GONE", "--", "x"],
            "your environment has no such variable",
        ),
        (
            &["a", "--env", "A=secret", "--env", "A=b", "--", "x"],
            "--env A is there twice",
        ),
        (
            &["a", "--url", "https://a.example", "--header", "secret"],
            "--header wants NAME=VALUE",
        ),
    ] {
        let error = parsed(words).expect_err("refused").to_string();
        assert!(error.contains(told), "{words:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
