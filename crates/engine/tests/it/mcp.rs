//! MCP servers of a thread: which may run, what the model gets of them, and what people are told.

mod scripted;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use engine::ListenFrom;
use mcp::ConfiguredServer;
use serde_json::{Value, json};
use testkit::service::{ScriptedReply, ServedService, Vendor};
use tokio::time::Instant;
use vocabulary::{
    Answer, ApprovalAnswer, Approvals, Ask, AskFact, Call, Changes, Effects, Fact, FilesFact,
    McpLayer, NoteFact, ThreadId, ToolEvent, ToolFact, TurnErrorKind, TurnOutcome,
};

use crate::grants::asked;
use crate::house::{Ear, House, Stage};
use crate::puppet::{Asked, Gate, Play, Puppet, calls, says};
use crate::requests::{is_title, options, reference};
use scripted::{Behaviour, ScriptedServers, ServerTool, server};

/// A house with these servers, in paused time.
fn house(puppet: &Arc<Puppet>, servers: &Arc<ScriptedServers>) -> House {
    House::staged(stage(puppet, servers))
}

fn stage(puppet: &Arc<Puppet>, servers: &Arc<ScriptedServers>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.mcp_tools = Some(Arc::clone(servers) as _);
    stage
}

/// Tools that only look.
fn search(server: &str) -> ServerTool {
    ServerTool::new(server, "search", Effects::READS)
}

async fn turn(house: &House, thread: ThreadId, ear: &mut Ear) {
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
}

async fn answer(house: &House, thread: ThreadId, ask: &Ask, answer: ApprovalAnswer) {
    let answer = Answer::Approval(answer);
    let answered = house.call(Call::AnswerAsk {
        thread,
        ask: ask.id,
        answer,
    });
    answered.await.expect("an answer");
}

/// The names of the servers' tools in a request.
fn tools_in(request: &Asked) -> Vec<&str> {
    let names = request.tools.iter().map(|spec| spec.name.as_str());
    names.filter(|name| name.starts_with("mcp__")).collect()
}

fn told(ear: &Ear) -> Vec<String> {
    let lines = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Note(NoteFact::Logged { line }) => Some(line.clone()),
        // tidy: wildcard, because only log lines are looked for.
        _ => None,
    });
    lines.filter(|line| line.starts_with("[mcp]")).collect()
}

fn asks(ear: &Ear) -> usize {
    let is_ask = |fact: &&&Fact| {
        let Fact::Ask { what, .. } = fact else {
            return false;
        };
        matches!(what, AskFact::Opened { .. })
    };
    ear.facts().iter().filter(is_ask).count()
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_the_tools_of_the_user_s_servers_as_long_as_they_are_configured() {
    let puppet = Puppet::new(["1", "2", "3", "4"].map(says));
    let docs = (server("docs", McpLayer::User), search("docs").ready());
    let servers = ScriptedServers::new([docs.clone()]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    let off = |mcp| Changes {
        mcp: Some(mcp),
        ..Changes::default()
    };
    house.change(thread, off(false)).await;
    turn(&house, thread, &mut ear).await;
    house.change(thread, off(true)).await;
    turn(&house, thread, &mut ear).await;
    servers.configure([]);
    turn(&house, thread, &mut ear).await;
    let requests = puppet.requests();
    let has: Vec<Vec<&str>> = requests.iter().map(tools_in).collect();
    let tool = vec!["mcp__docs__search"];
    assert_eq!(has, [tool.clone(), vec![], tool, vec![]]);
    let context = |at: usize| requests[at].context().last().cloned().expect("a block");
    assert!(
        context(0).contains("\nMCP servers: docs\n"),
        "{}",
        context(0)
    );
    assert!(
        context(1).contains("\nMCP servers: none\n"),
        "{}",
        context(1)
    );
    assert!(
        context(2).contains("\nMCP servers: docs\n"),
        "{}",
        context(2)
    );
    assert!(
        context(3).contains("\nMCP servers: none\n"),
        "{}",
        context(3)
    );
    assert_eq!(servers.offers().len(), 2, "what is off is not asked");
}

#[tokio::test(start_paused = true)]
async fn where_no_server_is_configured_nothing_is_done_or_said() {
    let puppet = Puppet::new([says("1")]);
    let servers = ScriptedServers::new([]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(servers.offers(), Vec::<Vec<String>>::new());
    assert_eq!(servers.warmed(), Vec::<String>::new());
    let block = puppet.requests()[0].context().concat();
    assert!(!block.contains("MCP"), "{block}");
}

#[tokio::test(start_paused = true)]
async fn servers_that_are_dead_or_slow_hold_a_turn_for_less_than_50_ms() {
    let gate = Gate::new();
    let first = Play::new().hold(&gate);
    let puppet = Puppet::new([
        first.call("c1", "mcp__a__search", json!({})).end(10, 2),
        calls("c2", "mcp__slow__search", json!({})),
        says("done"),
    ]);
    let slow = Behaviour::Slow(Duration::from_secs(9), vec![Arc::new(search("slow"))]);
    let configured = [
        (server("a", McpLayer::User), search("a").ready()),
        (server("b", McpLayer::User), search("b").ready()),
        (server("c", McpLayer::System), search("c").ready()),
        (server("dead", McpLayer::User), Behaviour::Dead),
        (server("slow", McpLayer::User), slow),
    ];
    let servers = ScriptedServers::new(configured.clone());
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    let began = Instant::now();
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(1).await;
    assert!(began.elapsed() < Duration::from_millis(50));
    let slow = (server("slow", McpLayer::User), search("slow").ready());
    servers.configure(configured.into_iter().take(4).chain([slow]));
    gate.open();
    ear.completed().await;
    let requests = puppet.requests();
    assert_eq!(tools_in(&requests[0]).len(), 3);
    let block = requests[0].context().concat();
    let line = "\nMCP servers: a, b, c; dead: connection refused; slow: it is not there yet\n";
    assert!(block.contains(line), "{block}");
    assert_eq!(tools_in(&requests[2]).len(), 4);
    let notes = [
        "[mcp] dead: connection refused",
        "[mcp] slow: it is not there yet",
    ];
    assert_eq!(told(&ear), notes);
    let said = format!("{:?}", requests[2].whole());
    let joined = "These tools are there from now on, or have changed: mcp__slow__search";
    assert!(said.contains(joined), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_a_server_that_is_required_and_fails_without_it() {
    let puppet = Puppet::new([says("1")]);
    let mut needed = server("needed", McpLayer::User);
    needed.server.required = Some(true);
    let slow = Behaviour::Slow(Duration::from_secs(5), vec![Arc::new(search("needed"))]);
    let servers = ScriptedServers::new([(needed.clone(), slow)]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(tools_in(&puppet.requests()[0]), ["mcp__needed__search"]);
    servers.configure([(needed, Behaviour::Dead)]);
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Internal);
    let words = "an MCP server that is required here is not there (needed: connection refused)";
    assert!(error.message.starts_with(words), "{error:?}");
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_gives_reaches_the_model_and_its_progress_those_who_listen() {
    let input = json!({ "query": "x" });
    let puppet = Puppet::new([calls("c1", "mcp__docs__search", input), says("done")]);
    let tool = search("docs").asking();
    let docs = (server("docs", McpLayer::User), tool.ready());
    let servers = ScriptedServers::new([docs]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    assert_eq!(approval.command, "mcp docs.search {\"query\":\"x\"}");
    drop(ear);
    // The turn that is picked up has the tool again, though its server takes a while.
    let tool = Arc::new(search("docs").asking());
    let slow = Behaviour::Slow(Duration::from_secs(5), vec![tool]);
    servers.configure([(server("docs", McpLayer::User), slow)]);
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    answer(&house, thread, &ask, ApprovalAnswer::ForSession).await;
    let progressed = |fact: &Fact| {
        let Fact::Tool(ToolEvent { what, .. }) = fact else {
            return false;
        };
        matches!(what, ToolFact::Progressed { message } if message == "half of it")
    };
    ear.fact(progressed).await;
    ear.completed().await;
    let said = format!("{:?}", puppet.requests()[1].whole());
    assert!(said.contains("found it"), "{said}");
    assert!(said.contains("hits"), "{said}");
}

#[tokio::test]
async fn what_a_server_changes_in_the_workspace_is_seen_like_any_other_change() {
    let input = json!({ "write": "made.txt" });
    let puppet = Puppet::new([calls("c1", "mcp__docs__make", input), says("done")]);
    let tool = ServerTool::new("docs", "make", Effects::RUNS);
    let servers = ScriptedServers::new([(server("docs", McpLayer::User), tool.ready())]);
    let mut stage = stage(&puppet, &servers);
    stage.checkpoints = engine::CheckpointSetting::default();
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.fact(|fact| {
        let Fact::Files(FilesFact::Changed { files, turn }) = fact else {
            return false;
        };
        turn.is_some() && files.iter().any(|file| file.path == "made.txt")
    })
    .await;
    assert_eq!(ear.ended().await.0, TurnOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn rules_name_a_server_s_tools_one_by_one_or_all() {
    let rules = json!({ "rule": [
        { "effect": "refuse", "tool": "mcp__docs__*" },
        { "effect": "ask", "tool": "mcp__own__search" },
    ] });
    let input = json!({ "query": "x" });
    let puppet = Puppet::new([
        calls("c1", "mcp__docs__search", input.clone()),
        calls("c2", "mcp__own__search", input),
        says("done"),
    ]);
    let servers = ScriptedServers::new([
        (server("docs", McpLayer::User), search("docs").ready()),
        (server("own", McpLayer::User), search("own").ready()),
    ]);
    let mut stage = stage(&puppet, &servers);
    stage.policy = Arc::new(serde_json::from_value(rules).expect("rules"));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    assert_eq!(approval.command, "mcp own.search {\"query\":\"x\"}");
    answer(&house, thread, &ask, ApprovalAnswer::Once).await;
    ear.completed().await;
    let said = format!("{:?}", puppet.requests()[1].whole());
    let refused = "refused by the policy: rule 1: refuse tool mcp__docs__*";
    assert!(said.contains(refused), "{said}");
}

#[tokio::test(start_paused = true)]
async fn sub_agents_that_only_look_have_only_tools_that_only_look() {
    let spawn = |kind: &str| json!({ "task": "look", "kind": kind });
    let puppet = Puppet::new([
        calls("c1", "spawnAgent", spawn("explore")),
        says("explored"),
        calls("c2", "spawnAgent", spawn("general")),
        says("worked"),
        says("done"),
    ]);
    let make = ServerTool::new("docs", "make", Effects::RUNS);
    let both: Vec<Arc<dyn tools::Tool>> = vec![Arc::new(search("docs")), Arc::new(make)];
    let docs = (server("docs", McpLayer::User), Behaviour::Ready(both));
    let house = house(&puppet, &ScriptedServers::new([docs]));
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    let requests = puppet.requests();
    let has: Vec<Vec<&str>> = requests.iter().map(tools_in).collect();
    let (looks, all) = (
        vec!["mcp__docs__search"],
        vec!["mcp__docs__make", "mcp__docs__search"],
    );
    assert_eq!(has, [all.clone(), looks, all.clone(), all.clone(), all]);
}

/// The tools of servers in the requests that a model service got, as it got them.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_service_is_told_of_servers_tools_while_they_are_there() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    for (vendor, model) in [
        (Vendor::Anthropic, "claude-opus-5-5"),
        (Vendor::OpenAi, "gpt-6.1-sol"),
        (Vendor::Google, "gemini-4-argon"),
    ] {
        let replies = ["one", "two", "three"].map(ScriptedReply::says);
        let service = ServedService::start_with(vendor, replies).await;
        let service = service.expect("a service");
        let home = tempfile::tempdir().expect("a home");
        let options = options(home.path(), &service);
        let docs = (server("docs", McpLayer::User), search("docs").ready());
        let servers = ScriptedServers::new([docs.clone()]);
        let mut stage = Stage::served(options, reference(vendor, model));
        stage.mcp_tools = Some(Arc::clone(&servers) as _);
        stage.approvals = Some(Approvals::Never);
        let house = House::in_real_time(stage);
        let (thread, mut ear) = house.heard_thread().await;
        turn(&house, thread, &mut ear).await;
        servers.configure([]);
        turn(&house, thread, &mut ear).await;
        let (docs, behaviour) = docs;
        let layer = McpLayer::Workspace;
        servers.configure([(ConfiguredServer { layer, ..docs }, behaviour)]);
        turn(&house, thread, &mut ear).await;
        let mut requests = service.requests();
        requests.retain(|request| !is_title(request));
        let has = |request: &Value| request["tools"].to_string().contains("mcp__docs__search");
        let has: Vec<bool> = requests.iter().map(has).collect();
        assert_eq!(
            has,
            [true, false, false],
            "{model}: {:?}",
            service.refusals()
        );
    }
}
