//! What counts as a file of servers, and the words for what does not.

use proptest::prelude::*;

use super::*;

fn parsed(value: Value) -> Result<Vec<McpServer>, String> {
    parse(value.to_string().as_bytes())
}

fn stdio(rest: Value) -> Value {
    let mut transport = json!({ "type": "stdio", "command": "node" });
    for (name, value) in rest.as_object().expect("fields") {
        transport[name] = value.clone();
    }
    json!({ "servers": [{ "name": "a", "transport": transport }] })
}

fn with(field: &str, value: Value) -> Value {
    let transport = json!({ "type": "http", "url": "https://mcp.example" });
    let mut server = json!({ "name": "a", "transport": transport });
    server[field] = value;
    json!({ "servers": [server] })
}

fn http(url: &str, headers: Value) -> Value {
    let transport = json!({ "type": "http", "url": url, "headers": headers });
    with("transport", transport)
}

#[test]
fn every_field_is_read_and_written_again() {
    let file = json!({
        "servers": [
            {
                "name": "files",
                "transport": {
                    "type": "stdio",
                    "command": "npx",
                    "args": ["-y", "server", "."],
                    "env": { "TOKEN": "t" },
                    "cwd": "sub",
                },
                "required": true,
                "retries": 2,
                "auth": { "type": "none" },
            },
            {
                "name": "Grep & Co",
                "transport": {
                    "type": "http",
                    "url": "https://mcp.example/x?y=1",
                    "headers": { "X-One": "1" },
                },
                "auth": { "type": "api_key", "headerName": "X-Key", "prefix": "Token ", "keyId": "k" },
            },
            {
                "name": "old",
                "transport": { "type": "sse", "url": "http://127.0.0.1:9/sse" },
                "auth": {
                    "type": "oauth",
                    "scope": "read",
                    "resource": "https://mcp.example",
                    "oauthMode": "code",
                },
            },
        ],
        "theirs": "is left alone",
    });
    let servers = parsed(file.clone()).expect("well formed");
    let spelled: Vec<Value> = servers
        .iter()
        .map(|server| Value::Object(spell(server)))
        .collect();
    assert_eq!(json!(spelled), file["servers"]);
}

#[test]
fn what_may_be_left_out_is() {
    let servers = parsed(json!({ "servers": [] })).expect("well formed");
    assert_eq!(servers, []);
    let text = "\u{feff}{\"servers\":[{\"name\":\" a \",\"more\":1,\"transport\":{\"type\":\"stdio\",\"command\":\"x\"}}]}";
    let servers = parse(text.as_bytes()).expect("well formed");
    let transport = McpTransport::Stdio {
        command: "x".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let expected = McpServer {
        name: "a".to_owned(),
        transport,
        required: None,
        retries: None,
        auth: None,
    };
    assert_eq!(servers, [expected]);
}

#[test]
fn what_is_wrong_is_named_by_its_field() {
    let long = "x".repeat(NAME_CHARS_MAX + 1);
    let server = json!({ "name": "a", "transport": { "type": "stdio", "command": "x" } });
    let cases = [
        (json!([]), "Invalid input: expected object, received array"),
        (
            json!({}),
            "servers: Invalid input: expected array, received undefined",
        ),
        (
            json!({ "servers": {} }),
            "servers: Invalid input: expected array, received object",
        ),
        (
            json!({ "servers": [1] }),
            "servers.0: Invalid input: expected object, received number",
        ),
        (
            json!({ "servers": [{}] }),
            "servers.0.name: Invalid input: expected string, received undefined",
        ),
        (
            json!({ "servers": [{ "name": "a" }] }),
            "servers.0.transport: Invalid input: expected object, received undefined",
        ),
        (
            json!({ "servers": [server, server] }),
            "servers.1.name: an earlier server has the same name",
        ),
        (
            json!({ "servers": vec![server.clone(); SERVERS_MAX + 1] }),
            "servers: there are more than 200",
        ),
        (
            with("name", json!(" \t")),
            "servers.0.name: must not be empty",
        ),
        (
            with("name", json!(long)),
            "servers.0.name: is longer than 128 characters",
        ),
        (
            with("name", json!("a\u{202e}b")),
            "servers.0.name: has characters that cannot be seen",
        ),
        (
            with("name", json!("a\nb")),
            "servers.0.name: has characters that cannot be seen",
        ),
        (
            with("transport", json!({ "type": "websocket", "url": "x" })),
            "servers.0.transport.type: must be \"stdio\", \"http\" or \"sse\"",
        ),
        (
            stdio(json!({ "command": " " })),
            "servers.0.transport.command: must not be empty",
        ),
        (
            stdio(json!({ "command": "a\u{0}" })),
            "servers.0.transport.command: has a NUL in it",
        ),
        (
            stdio(json!({ "args": "x" })),
            "servers.0.transport.args: Invalid input: expected array, received string",
        ),
        (
            stdio(json!({ "args": ["x", 1] })),
            "servers.0.transport.args.1: Invalid input: expected string, received number",
        ),
        (
            stdio(json!({ "env": { "A": 1 } })),
            "servers.0.transport.env.A: Invalid input: expected string, received number",
        ),
        (
            stdio(json!({ "env": { "A=B": "x" } })),
            "servers.0.transport.env: has a name that no variable can have",
        ),
        (
            stdio(json!({ "cwd": null })),
            "servers.0.transport.cwd: Invalid input: expected string, received null",
        ),
        (
            http("mcp.example", json!({})),
            "servers.0.transport.url: is not a URL",
        ),
        (
            http("file:///etc/passwd", json!({})),
            "servers.0.transport.url: must begin with http:// or https://",
        ),
        (
            http("https://me:pw@mcp.example", json!({})),
            "servers.0.transport.url: must not hold a password; use headers or auth",
        ),
        (
            http("https://mcp.example", json!({ "a b": "x" })),
            "servers.0.transport.headers: has a name that no header can have",
        ),
        (
            http("https://mcp.example", json!({ "X-A": "x\r\nHost: y" })),
            "servers.0.transport.headers.X-A: has characters that no header can have",
        ),
        (
            with("required", json!("yes")),
            "servers.0.required: Invalid input: expected boolean, received string",
        ),
        (
            with("retries", json!(1.5)),
            "servers.0.retries: must be a whole number from 0 to 100",
        ),
        (
            with("retries", json!(-1)),
            "servers.0.retries: must be a whole number from 0 to 100",
        ),
        (
            with("auth", json!({ "type": "basic" })),
            "servers.0.auth.type: must be \"none\", \"api_key\" or \"oauth\"",
        ),
        (
            with("auth", json!({ "type": "api_key", "headerName": "a b" })),
            "servers.0.auth.headerName: cannot be the name of a header",
        ),
        (
            with("auth", json!({ "type": "oauth", "oauthMode": "manual" })),
            "servers.0.auth.oauthMode: must be \"auto\" or \"code\"",
        ),
    ];
    for (file, message) in cases {
        let error = parsed(file.clone()).expect_err(&file.to_string());
        assert_eq!(error, format!("mcp-servers.json: {message}"));
    }
}

#[test]
fn what_is_no_json_is_told_without_repeating_it() {
    let deep = "[".repeat(100_000);
    let deeper = format!("{{\"servers\":{}", "{\"a\":".repeat(100_000));
    for text in ["", "{", "sk-secret", "{\"a\":\"sk-secret\"", &deep, &deeper] {
        let error = parse(text.as_bytes()).expect_err("no JSON");
        assert!(
            error.starts_with("mcp-servers.json: invalid JSON: "),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
    let error = parse(b"{\"servers\":[\"\xff\"]}").expect_err("not UTF-8");
    assert_eq!(error, "mcp-servers.json: it is not UTF-8");
}

#[test]
fn a_value_that_is_wrong_is_never_repeated() {
    let secret = "sk-secret\u{0}";
    for file in [
        stdio(json!({ "env": { "A": [secret] } })),
        stdio(json!({ "env": { "A": secret } })),
        stdio(json!({ "env": secret })),
        stdio(json!({ "args": [secret] })),
        http(secret, json!({})),
        http("https://sk-secret@mcp.example", json!({})),
        http("https://mcp.example", json!({ "A": secret })),
        with("auth", json!({ "type": secret })),
        with("auth", json!({ "type": "api_key", "prefix": secret })),
    ] {
        let error = parsed(file).expect_err("wrong");
        assert!(!error.contains("secret"), "{error}");
    }
    let name = "\u{1b}[2J".repeat(100);
    let error = parsed(stdio(json!({ "env": { name: 1 } }))).expect_err("wrong");
    assert!(error.len() < 200 && !error.contains('\u{1b}'), "{error}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "servers",
        "name",
        "transport",
        "type",
        "command",
        "args",
        "env",
        "url",
        "headers",
        "auth",
    ]);
    let texts = prop::sample::select(vec![
        "stdio",
        "http",
        "sse",
        "oauth",
        "a",
        "",
        "https://a.b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts.prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(names.clone(), inner, 0..6).prop_map(|fields| {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(value in any_json(), bytes: Vec<u8>) {
        let _ = parse(&bytes);
        let _ = parsed(value.clone());
        if let Ok(servers) = parsed(json!({ "servers": [value] })) {
            for server in servers {
                let again = parse_server(&Value::Object(spell(&server)), "servers.0");
                prop_assert_eq!(again, Ok(server));
            }
        }
    }

    #[test]
    fn what_is_written_is_read_as_it_was(
        name in "[a-z ]{0,5}[a-z]",
        command in "[^\0]*[a-z]",
        args in prop::collection::vec("[^\0]*", 0..4),
        env in prop::collection::btree_map("[^=\0]+", "[^\0]*", 0..4),
    ) {
        let server = McpServer {
            name: name.trim().to_owned(),
            transport: McpTransport::Stdio { command, args, env, cwd: None },
            required: None,
            retries: Some(3),
            auth: Some(McpAuth::None),
        };
        let again = parse_server(&Value::Object(spell(&server)), "servers.0");
        prop_assert_eq!(again, Ok(server));
    }
}
