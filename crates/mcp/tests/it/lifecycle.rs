//! Starting, ending and starting again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tools::Sandbox;
use vocabulary::{McpAuthMode, McpLayer, McpRunning};

use crate::workshop::{PATIENCE, Workshop, error, names, script, scripted, text};

#[tokio::test]
async fn a_connection_is_shared_and_made_anew_when_the_configuration_changes() {
    let workshop = Workshop::new();
    let first = script("one", &[]);
    let (one, other) = tokio::join!(
        workshop.offer(std::slice::from_ref(&first)),
        workshop.offer(std::slice::from_ref(&first)),
    );
    let pid = text(workshop.call(&one, "mcp__one__pids", json!({})).await);
    assert_eq!(
        text(workshop.call(&other, "mcp__one__pids", json!({})).await),
        pid
    );
    assert_eq!(workshop.file("starts").as_deref(), Some("x"));

    let changed = script("one", &["--resources"]);
    let offer = workshop.offer(&[changed]).await;
    assert_ne!(
        text(workshop.call(&offer, "mcp__one__pids", json!({})).await),
        pid
    );
    gone(&pid).await;
    // Tools of the turn before say so.
    let late = error(workshop.call(&one, "mcp__one__pids", json!({})).await);
    assert!(late.contains("not configured any more"), "{late}");
}

#[tokio::test]
async fn changed_lists_are_read_again_and_known_at_the_next_start() {
    let workshop = Workshop::new();
    let server = [script("one", &[])];
    let offer = workshop.offer(&server).await;
    assert!(!names(&offer).contains(&"mcp__one__added"));
    workshop
        .call(&offer, "mcp__one__change", json!({}))
        .await
        .unwrap();
    let begun = Instant::now();
    while !names(&workshop.offer(&server).await).contains(&"mcp__one__added") {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    workshop.servers.stop().await;
    // All of it is there at once, while the server starts.
    let begun = Instant::now();
    while workshop
        .directory
        .path()
        .join(".home/cache/mcp-tools")
        .read_dir()
        .unwrap()
        .count()
        == 0
    {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let offer = workshop
        .servers
        .offer(&workshop.place, &server, Duration::ZERO)
        .await;
    assert!(
        names(&offer).contains(&"mcp__one__echo"),
        "{:?}",
        offer.notes
    );
    let said = workshop
        .call(&offer, "mcp__one__echo", json!({"text": "here"}))
        .await;
    assert_eq!(text(said), "here");
}

#[tokio::test]
async fn a_check_connects_counts_and_lets_go() {
    let workshop = Workshop::new();
    let server = script("one", &[]);
    let check = workshop.servers.check(&workshop.place, &server).await;
    assert!(check.ok && check.mode == McpAuthMode::None, "{check:?}");
    assert_eq!(check.tool_count, Some(13));
    assert!(check.latency_ms.is_some());
    let running = workshop.servers.running(&workshop.place, &server);
    assert_eq!(running, McpRunning::NotStarted);
    let dead = script("dead", &["--die"]);
    let check = workshop.servers.check(&workshop.place, &dead).await;
    assert!(
        !check.ok && check.message.contains("exit code 3"),
        "{check:?}"
    );
}

#[tokio::test]
async fn a_server_has_a_small_environment_and_starts_in_its_directory() {
    let workshop = Workshop::new();
    std::fs::create_dir(workshop.place.directory.join("inner")).unwrap();
    let mut server = script("one", &[]);
    if let vocabulary::McpTransport::Stdio { cwd, .. } = &mut server.server.transport {
        *cwd = Some("inner".to_owned());
    }
    let offer = workshop.offer(&[server]).await;
    let known = text(
        workshop
            .call(&offer, "mcp__one__environment", json!({}))
            .await,
    );
    assert!(
        known.contains("PATH") && known.contains("SCRIPT_SECRET"),
        "{known}"
    );
    // Cargo sets this for tests.
    assert!(!known.contains("CARGO"), "{known}");
    assert_eq!(workshop.file("inner/starts").as_deref(), Some("x"));
}

/// A sandbox that works here, with the scripted server as its launcher.
fn sandbox() -> Option<Sandbox> {
    let sandbox = Sandbox::best(&scripted());
    (sandbox.mode() != tools::sandbox::Mode::Nothing).then_some(sandbox)
}

#[tokio::test]
async fn a_server_of_the_workspace_runs_in_the_sandbox() {
    let Some(sandbox) = sandbox() else { return };
    let outside = tempfile::tempdir().unwrap();
    let workshop = Workshop::fenced(sandbox);
    let run = async |layer: McpLayer| {
        let mut server = script("one", &[]);
        server.layer = layer;
        // Sockets that others make and remove meanwhile can make the fence fail.
        server.server.retries = Some(5);
        if let vocabulary::McpTransport::Stdio { command, args, .. } = &mut server.server.transport
        {
            let touch = outside.path().join("touched").display().to_string();
            let line = format!("touch '{touch}' inside; exec '{command}'");
            *args = vec!["-c".to_owned(), line];
            *command = "bash".to_owned();
        }
        let offer = workshop.offer(&[server]).await;
        let said = workshop
            .call(&offer, "mcp__one__echo", json!({"text": "hi"}))
            .await;
        assert_eq!(text(said), "hi", "{:?}", offer.notes);
        outside.path().join("touched").exists()
    };
    assert!(!run(McpLayer::Workspace).await);
    assert!(workshop.file("inside").is_some());
    assert!(run(McpLayer::User).await);
    workshop.servers.stop().await;
}

#[tokio::test]
async fn no_process_is_left_when_this_one_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = Command::new(scripted())
        .arg("host")
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(host.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("26 []"), "{line}");
    let theirs = processes_in(directory.path());
    // Both servers, and what each of them started.
    assert!(theirs.len() >= 4, "{theirs:?}");
    host.kill().unwrap();
    host.wait().unwrap();
    for pid in theirs {
        gone(&pid).await;
    }
}

/// Those whose directory this is.
fn processes_in(directory: &Path) -> Vec<String> {
    let directory = directory.canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap();
    let is_there = |pid: &String| {
        let path = std::fs::read_link(format!("/proc/{pid}/cwd"));
        path.is_ok_and(|path| path == directory)
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(|name| name.parse::<u32>().is_ok())
        .filter(is_there)
        .collect()
}

async fn gone(pid: &str) {
    let begun = Instant::now();
    let is_there = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while is_there() {
        assert!(begun.elapsed() < PATIENCE, "{pid} is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
