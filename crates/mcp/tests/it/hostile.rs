//! Servers that lie, hang, flood and die: each costs itself, and nobody else.

use std::time::{Duration, Instant};

use serde_json::json;
use vocabulary::McpRunning;

use crate::workshop::{PATIENCE, Workshop, error, names, script, text};

#[tokio::test]
async fn garbage_wrong_ids_and_floods_do_no_harm() {
    let workshop = Workshop::new();
    let servers = [
        script("garbage", &["--garbage"]),
        script("flood", &["--flood"]),
        script("same", &["--same-page"]),
    ];
    let offer = workshop.offer(&servers).await;
    assert_eq!(offer.notes, [""; 0]);
    for name in ["garbage", "flood", "same"] {
        let tool = format!("mcp__{name}__echo");
        let said = workshop.call(&offer, &tool, json!({"text": name})).await;
        assert_eq!(text(said), name);
    }
    let same = names(&offer)
        .into_iter()
        .filter(|name| name.contains("__same__"));
    assert_eq!(same.count(), 1);
}

#[tokio::test]
async fn odd_definitions_and_odd_results_are_taken_as_far_as_they_go() {
    let workshop = Workshop::new();
    let offer = workshop
        .offer(&[script("odd", &["--odd"]), script("one", &[])])
        .await;
    let odd: Vec<&str> = names(&offer)
        .into_iter()
        .filter(|name| name.contains("__odd__"))
        .collect();
    assert_eq!(
        odd,
        [
            "mcp__odd__bad-schema",
            "mcp__odd__echo",
            "mcp__odd__no-schema"
        ]
    );
    let strange = workshop.call(&offer, "mcp__one__odd", json!({})).await;
    assert!(text(strange).contains("a piece of the kind smell cannot be shown"));
}

#[tokio::test]
async fn ten_thousand_tools_are_counted_and_most_are_left_out() {
    let workshop = Workshop::new();
    let many = script("many", &["--many", "10000"]);
    let offer = workshop.offer(&[many.clone(), script("one", &[])]).await;
    let (of_many, of_one): (Vec<&str>, Vec<&str>) = names(&offer)
        .into_iter()
        .partition(|name| name.contains("__many__"));
    assert_eq!((of_one.len(), of_many.len()), (13, 128 - 13));
    let left_out = 10_000 - of_many.len();
    assert!(
        offer.notes[0].starts_with(&format!("{left_out} tools of MCP server many")),
        "{:?}",
        offer.notes
    );
    let McpRunning::Ready { tools_left_out, .. } = workshop.servers.running(&workshop.place, &many)
    else {
        panic!("not ready");
    };
    assert_eq!(tools_left_out, left_out);
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why_without_secrets() {
    let workshop = Workshop::new();
    let mut missing = script("missing", &[]);
    if let vocabulary::McpTransport::Stdio { command, .. } = &mut missing.server.transport {
        *command = "no-such-program-here".to_owned();
    }
    let mut required = script("dying", &["--die"]);
    required.server.required = Some(true);
    let offer = workshop.offer(&[required, missing]).await;
    assert_eq!(names(&offer), [""; 0]);
    let note = &offer.notes[0];
    assert!(
        note.contains("dying is not there: it ended with exit code 3"),
        "{note}"
    );
    assert!(
        note.contains("cannot find the database\nsecret is …"),
        "{note}"
    );
    assert!(
        offer.notes[1].contains("cannot start `no-such-program-here`"),
        "{:?}",
        offer.notes
    );
    assert_eq!(offer.missing.len(), 1);
    assert_eq!(offer.missing[0].0, "dying");
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection_and_the_next_call_makes_another() {
    let workshop = Workshop::new();
    let offer = workshop.offer(&[script("one", &[])]).await;
    let huge = workshop
        .call(&offer, "mcp__one__huge", json!({"bytes": 17 * 1024 * 1024}))
        .await;
    let why = error(huge);
    assert!(why.contains("longer than 16 MB"), "{why}");
    let crash = call_when_it_is_back(&workshop, &offer, "mcp__one__crash").await;
    assert!(crash.contains("it ended with exit code 11"), "{crash}");
    assert!(crash.contains("segmentation fault"), "{crash}");
}

/// A server that ended is not started again at once.
async fn call_when_it_is_back(workshop: &Workshop, offer: &mcp::Offer, tool: &str) -> String {
    let begun = Instant::now();
    loop {
        let why = error(workshop.call(offer, tool, json!({})).await);
        if !why.contains("longer than 16 MB") || begun.elapsed() > PATIENCE {
            return why;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn five_servers_one_dead_one_slow_one_hanging_hold_nobody_up() {
    let workshop = Workshop::new();
    let servers = [
        script("a", &[]),
        script("b", &[]),
        script("dead", &["--die"]),
        script("slow", &["--slow-start", "3000"]),
        script("hanging", &["--hang"]),
    ];
    workshop.servers.warm(&workshop.place, &servers);
    // What is there is there.
    workshop.offer(&servers[..2]).await;
    let begun = Instant::now();
    let wait = Duration::from_millis(50);
    let offer = workshop
        .servers
        .offer(&workshop.place, &servers, wait)
        .await;
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(150), "{took:?}");
    let of = |server: &str| names(&offer).iter().any(|name| name.contains(server));
    assert!(of("__a__") && of("__b__") && !of("__slow__") && !of("__hanging__"));
    assert_eq!(offer.notes.len(), 3, "{:?}", offer.notes);
    assert!(offer.notes[1].ends_with("slow is not there: it is still starting"));
    let begun = Instant::now();
    workshop.servers.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
