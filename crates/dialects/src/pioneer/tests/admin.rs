//! Skills, uploads and MCP servers, and ids as the original wants them.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use vocabulary::{
    Call, InspectedSkill, McpAuthMode, McpAuthState, McpCall, McpChangeKind, McpInstallOutcome,
    McpInstalled, McpLayer, McpReply, McpRunning, McpScope, McpServer, McpServerState, McpSnapshot,
    McpToolInfo, McpTransport, Notice, Reply, Skill, SkillCall, SkillChange, SkillChangeKind,
    SkillFault, SkillReport, SkillTier, Timestamp, WorkspaceCall, WorkspaceId,
};

use super::samples::{NOW, WORKSPACE, workspace};
use super::stub::Stub;

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn chunk(header: &Value, bytes: &[u8]) -> Vec<u8> {
    let header = header.to_string().into_bytes();
    let length = (header.len() as u32).to_be_bytes();
    [b"PSU1".as_slice(), &length, &header, bytes].concat()
}

fn header(upload: &str, offset: usize, bytes: &[u8]) -> Value {
    json!({
        "workspace_id": WORKSPACE, "upload_id": upload, "offset": offset, "len": bytes.len(),
        "chunk_sha256": sha256(bytes),
    })
}

fn start(stub: &mut Stub, bytes: &[u8]) -> String {
    let params = json!({
        "workspace_id": WORKSPACE, "file_name": "skill.tar.gz", "archive_format": "tar_gz",
        "compressed_size_bytes": bytes.len(), "sha256": sha256(bytes),
    });
    stub.say("skills/upload/start", params);
    assert_eq!(*skill_call(stub), SkillCall::CheckInstall);
    stub.reply(Ok(Reply::Done));
    let started = stub.take().remove(0);
    started["result"]["upload_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

fn skill_call(stub: &Stub) -> &SkillCall {
    let Call::Workspace { workspace, call } = stub.call() else {
        panic!("another call: {:?}", stub.call());
    };
    assert_eq!(workspace.as_str(), WORKSPACE);
    let WorkspaceCall::Skills(call) = &**call else {
        panic!("another call: {call:?}");
    };
    call
}

fn skill(enabled: bool, trusted: bool) -> InspectedSkill {
    InspectedSkill {
        skill: Skill {
            name: "release".to_owned(),
            path: "/data/skills/release/SKILL.md".into(),
            tier: match trusted {
                true => SkillTier::Global,
                false => SkillTier::Project,
            },
            enabled,
            triggers: Vec::new(),
            description: "Releases".to_owned(),
            interface: None,
        },
        fingerprint: "f2".to_owned(),
        changed_at: Some(Timestamp(5_000)),
        trusted,
    }
}

fn report(skills: Vec<InspectedSkill>, change: Option<SkillChange>) -> Reply {
    Reply::SkillReport(Box::new(SkillReport {
        version: 3,
        at: NOW,
        skills,
        faults: vec![SkillFault {
            path: "/data/skills/Odd/SKILL.md".into(),
            problem: "its name is odd".to_owned(),
        }],
        change,
    }))
}

fn change(what: SkillChangeKind) -> SkillChange {
    SkillChange {
        name: "release".to_owned(),
        tier: SkillTier::Global,
        what,
        before: None,
        after: Some("f2".to_owned()),
    }
}

#[test]
fn an_upload_comes_in_chunks_is_checked_and_installed_once() {
    let mut stub = Stub::opened(false);
    let bytes = b"packed bytes of a skill".to_vec();
    let id = start(&mut stub, &bytes);
    let (first, second) = bytes.split_at(10);
    stub.say_bytes(&chunk(&header(&id, 0, first), first));
    let acked = stub.take().remove(0);
    assert_eq!(acked["method"], "skills/upload/chunk_ack");
    let expected = json!({
        "upload_id": id, "offset": 0, "len": 10, "received_bytes": 10, "next_offset": 10,
    });
    assert_eq!(acked["params"], expected);
    let one = json!({ "workspace_id": WORKSPACE, "upload_id": id });
    let install = json!({
        "workspace_id": WORKSPACE, "source": { "type": "uploaded_archive", "upload_id": id },
    });
    // Not whole yet.
    stub.say("skills/upload/finish", one.clone());
    stub.say("skills/install", install.clone());
    assert_eq!(stub.methods(), ["error -32600", "error -32600"]);
    stub.say_bytes(&chunk(&header(&id, 10, second), second));
    stub.say("skills/upload/finish", one.clone());
    let sent = stub.take();
    assert_eq!(sent[1]["result"]["status"], "finalized");
    stub.say("skills/install", install.clone());
    let SkillCall::Install(archive) = skill_call(&stub) else {
        panic!("nothing is installed");
    };
    assert_eq!((&archive.packed, &archive.replaces), (&bytes, &None));
    // The answer first, then what it changed.
    stub.say("workspace/default", json!({}));
    let what = SkillChangeKind::Installed;
    stub.reply(Ok(report(vec![skill(true, true)], Some(change(what)))));
    let sent = stub.take().remove(0);
    assert_eq!(sent["result"]["status"], "installed");
    assert_eq!(
        sent["result"]["skill"]["install_path"],
        "/data/skills/release"
    );
    stub.library(vocabulary::LibraryReply::Workspace(workspace()));
    stub.take();
    // It is used up.
    stub.say("skills/install", install);
    assert_eq!(stub.methods(), ["error -32600"]);
}

#[test]
fn what_does_not_fit_is_refused_and_ends_nothing_else() {
    let mut stub = Stub::opened(false);
    let bytes = b"0123456789".to_vec();
    let id = start(&mut stub, &bytes);
    let mut wrong = vec![
        b"PSU1".to_vec(),
        b"PSU1\xff\xff\xff\xff{}".to_vec(),
        chunk(&json!({}), b"x"),
        chunk(&header("upload-of-somebody", 0, b"x"), b"x"),
        chunk(&header(&id, 3, b"x"), b"x"),
        chunk(&header(&id, 0, b"xy"), b"x"),
        chunk(&header(&id, 0, b""), b""),
        chunk(&header(&id, 0, b"0123456789x"), b"0123456789x"),
    ];
    let mut elsewhere = header(&id, 0, b"x");
    elsewhere["workspace_id"] = json!("another");
    wrong.push(chunk(&elsewhere, b"x"));
    for frame in &wrong {
        stub.say_bytes(frame);
        let sent = stub.take().remove(0);
        assert_eq!(
            (&sent["id"], &sent["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
    }
    // Bytes that are not what they say end the upload.
    let mut lies = header(&id, 0, b"0123");
    lies["chunk_sha256"] = json!(sha256(b"other"));
    stub.say_bytes(&chunk(&lies, b"0123"));
    stub.say(
        "skills/upload/finish",
        json!({ "workspace_id": WORKSPACE, "upload_id": id }),
    );
    let sent = stub.take();
    assert!(
        sent[1]["error"]["message"]
            .as_str()
            .expect("words")
            .contains("was not found")
    );
    // So does a whole that is another.
    let id = start(&mut stub, &bytes);
    stub.say_bytes(&chunk(&header(&id, 0, b"9876543210"), b"9876543210"));
    stub.say(
        "skills/upload/finish",
        json!({ "workspace_id": WORKSPACE, "upload_id": id }),
    );
    let words = stub.take()[1]["error"]["message"].to_string();
    assert!(words.contains("sha256"), "{words}");
}

#[test]
fn an_upload_ends_by_abort_or_age_and_there_are_few() {
    let mut stub = Stub::opened(false);
    let (one, two) = (start(&mut stub, b"one"), start(&mut stub, b"two"));
    let params = json!({
        "workspace_id": WORKSPACE, "file_name": "a", "archive_format": "tar_gz",
        "compressed_size_bytes": 1, "sha256": sha256(b"x"),
    });
    stub.say("skills/upload/start", params.clone());
    assert_eq!(stub.methods(), ["error -32600"]);
    stub.say(
        "skills/upload/abort",
        json!({ "workspace_id": WORKSPACE, "upload_id": one }),
    );
    assert_eq!(
        stub.take()[0]["result"],
        json!({ "upload_id": one, "status": "aborted" })
    );
    stub.wake(Timestamp(NOW.millis() + 11 * 60 * 1000));
    stub.say(
        "skills/upload/abort",
        json!({ "workspace_id": WORKSPACE, "upload_id": two }),
    );
    assert_eq!(stub.methods(), ["error -32600"]);
    for (field, value) in [
        ("compressed_size_bytes", json!(0)),
        ("compressed_size_bytes", json!(9 * 1024 * 1024)),
        ("uncompressed_size_hint_bytes", json!(17 * 1024 * 1024)),
        ("sha256", json!("abc")),
        ("file_name", json!("")),
        ("archive_format", json!("zip")),
    ] {
        let mut wrong = params.clone();
        wrong[field] = value;
        stub.say("skills/upload/start", wrong);
        let sent = stub.take().remove(0);
        assert_eq!(sent["error"]["code"], -32602, "{field}");
    }
}

#[test]
fn skills_are_listed_as_they_are_and_only_the_users_are_changed() {
    let mut stub = Stub::opened(false);
    stub.say("skills/list", json!({ "workspace_id": WORKSPACE }));
    assert_eq!(*skill_call(&stub), SkillCall::Inspect);
    stub.reply(Ok(report(
        vec![skill(false, true), skill(true, false)],
        None,
    )));
    let listed = stub.take().remove(0)["result"].take();
    let shown = |place: usize, field: &str| listed["skills"][place][field].clone();
    assert_eq!(
        (shown(0, "status"), shown(1, "status")),
        (json!("disabled"), json!("blocked"))
    );
    assert_eq!(shown(0, "source_kind"), "user");
    assert_eq!(shown(1, "trust_level"), "untrusted");
    stub.say(
        "skills/health",
        json!({ "workspace_id": WORKSPACE, "skills": [{ "slug": "none" }] }),
    );
    stub.reply(Ok(report(vec![skill(true, true)], None)));
    let health = stub.take().remove(0)["result"].take();
    assert_eq!(health["skills"], json!([]));
    assert_eq!(health["unusable"][0]["message"], "its name is odd");
    let policy = json!({
        "workspace_id": WORKSPACE, "skill_slug": "release", "source_kind": "user", "enabled": false,
    });
    stub.say("skills/policy/set", policy);
    let (name, enabled) = ("release".to_owned(), false);
    assert_eq!(*skill_call(&stub), SkillCall::SetEnabled { name, enabled });
    stub.reply(Ok(Reply::Skills(vec![skill(false, true).skill])));
    assert_eq!(stub.take()[0]["result"]["policy"]["enabled"], false);
    for wrong in [
        json!({ "workspace_id": WORKSPACE, "skill_slug": "r", "source_kind": "built_in", "enabled": true }),
        json!({ "workspace_id": WORKSPACE, "skill_slug": "r", "allow_implicit_invocation": false }),
        json!({ "workspace_id": WORKSPACE, "skill_slug": "r" }),
    ] {
        stub.say("skills/policy/set", wrong);
        assert_eq!(stub.methods(), ["error -32602"]);
    }
}

fn server(running: McpRunning, switched_off: bool) -> McpServerState {
    McpServerState {
        server: McpServer {
            name: "docs".to_owned(),
            transport: McpTransport::Http {
                url: "https://me:hush@docs.test/mcp?key=hush".to_owned(),
                headers: [("X-Key".to_owned(), "hush".to_owned())].into(),
            },
            required: None,
            retries: None,
            auth: None,
        },
        layer: McpLayer::Workspace,
        auth: McpAuthState {
            mode: McpAuthMode::None,
            scope: McpScope::Workspace,
            message: String::new(),
        },
        running,
        switched_off,
    }
}

fn ready() -> McpRunning {
    McpRunning::Ready {
        title: Some("Docs".to_owned()),
        version: None,
        tools: vec![McpToolInfo {
            name: "search".to_owned(),
            title: None,
            description: "Searches".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        tools_left_out: 0,
    }
}

fn servers(states: Vec<McpServerState>) -> McpSnapshot {
    McpSnapshot {
        servers: states,
        version: 4,
        at: NOW,
        ..McpSnapshot::default()
    }
}

#[test]
fn servers_are_shown_without_what_may_be_a_key() {
    let mut stub = Stub::opened(false);
    stub.say("mcp/list", json!({ "workspace_id": WORKSPACE }));
    let both = servers(vec![server(ready(), false), server(ready(), true)]);
    stub.reply(Ok(Reply::Mcp(Box::new(McpReply::Servers(both)))));
    let listed = stub.take().remove(0)["result"].take();
    assert_eq!(listed["servers"][0]["status"], "ready");
    assert_eq!(listed["servers"][0]["tools_count"], 1);
    assert_eq!(listed["servers"][1]["status"], "disabled");
    assert_eq!(listed["servers"][1]["policy"]["enabled"], false);
    stub.say(
        "mcp/server/details",
        json!({ "workspace_id": WORKSPACE, "server_id": "docs" }),
    );
    let one = servers(vec![server(ready(), false)]);
    stub.reply(Ok(Reply::Mcp(Box::new(McpReply::Servers(one)))));
    let details = stub.take().remove(0)["result"].take();
    let transport = json!({ "kind": "streamable_http", "url": "https://docs.test/mcp" });
    assert_eq!(details["management"]["transport"], transport);
    assert_eq!(details["catalog"]["tools"][0]["name"], "search");
    assert!(!format!("{listed}{details}").contains("hush"));
    let config = json!({ "workspace_id": WORKSPACE, "config_json": { "hush": 1 } });
    stub.say("mcp/install", config);
    assert!(
        !stub.take()[0].to_string().contains("hush"),
        "no error repeats it"
    );
}

#[test]
fn some_servers_of_a_configuration_may_be_wrong() {
    let mut stub = Stub::opened(false);
    let config = r#"{"mcpServers":{}}"#;
    stub.say(
        "mcp/install",
        json!({ "workspace_id": WORKSPACE, "config_json": config }),
    );
    let Call::Workspace { call, .. } = stub.call() else {
        panic!("another call");
    };
    let WorkspaceCall::Mcp(McpCall::Install { scope, enabled, .. }) = &**call else {
        panic!("another call: {call:?}");
    };
    assert_eq!((*scope, *enabled), (McpScope::Workspace, true));
    let of = |name: &str, outcome| McpInstalled {
        name: name.to_owned(),
        outcome,
    };
    stub.reply(Ok(Reply::Mcp(Box::new(McpReply::Installed {
        servers: vec![
            of("docs", McpInstallOutcome::Installed),
            of(
                "bad",
                McpInstallOutcome::Refused("command: expected text".to_owned()),
            ),
        ],
        now: servers(vec![server(McpRunning::NotStarted, false)]),
    }))));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["status"], "partial");
    assert_eq!(result["servers"][0]["server"]["status"], "not_started");
    assert_eq!(
        result["servers"][1]["diagnostics"][0]["message"],
        "command: expected text"
    );
    stub.say(
        "mcp/policy/set",
        json!({ "workspace_id": WORKSPACE, "name": "docs" }),
    );
    assert_eq!(stub.methods(), ["error -32602"]);
}

#[test]
fn only_who_is_bound_to_the_workspace_hears_of_it() {
    let mut stub = Stub::opened(false);
    let skills = Notice::SkillsChanged {
        version: 5,
        at: NOW,
        change: Box::new(change(SkillChangeKind::Installed)),
    };
    let configured = |workspace: &str| Notice::McpChanged {
        workspaces: vec![WorkspaceId::new(workspace)],
        version: 6,
        name: "docs".to_owned(),
        what: McpChangeKind::Switched,
    };
    let started = Notice::McpServerChanged {
        workspaces: vec![WorkspaceId::new(WORKSPACE)],
        version: 7,
        state: Box::new(server(ready(), false)),
    };
    stub.notice(&skills);
    assert_eq!(stub.methods(), Vec::<String>::new());
    stub.say("workspace/default", json!({}));
    stub.library(vocabulary::LibraryReply::Workspace(workspace()));
    stub.take();
    for notice in [
        &skills,
        &configured("another"),
        &configured(WORKSPACE),
        &started,
    ] {
        stub.notice(notice);
    }
    let heard = stub.take();
    let methods: Vec<&str> = heard
        .iter()
        .filter_map(|frame| frame["method"].as_str())
        .collect();
    let expected = [
        "skills/changed",
        "mcp/changed",
        "mcp/server/status_changed",
        "mcp/server/catalog_changed",
    ];
    assert_eq!(methods, expected);
    assert_eq!(heard[0]["params"]["changes"][0]["change_type"], "added");
    assert_eq!(heard[1]["params"]["changed"][0]["action"], "policy");
}

#[test]
fn strict_ids_are_those_of_the_original() {
    let mut stub = Stub::strict();
    let frame =
        |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/list" }).to_string();
    for id in [
        json!("1"),
        json!(7),
        json!("a".repeat(22)),
        json!(format!("{}-", "a".repeat(20))),
    ] {
        stub.say_text(&frame(id));
        let sent = stub.take().remove(0);
        assert_eq!(
            (&sent["id"], &sent["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
    }
    assert!(stub.calls.is_empty());
    stub.say_text(&frame(json!("a1B".repeat(7))));
    assert_eq!(stub.calls.len(), 1);
}
