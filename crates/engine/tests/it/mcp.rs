//! MCP servers of a thread: which may run, what the model gets of them, and what people are told.

mod scripted;

use std::sync::Arc;
use std::time::Duration;

use engine::ListenFrom;
use serde_json::json;
use tokio::time::Instant;
use vocabulary::{
    Answer, ApprovalAnswer, Approvals, Ask, AskFact, Call, Changes, Effects, Fact, FilesFact,
    McpCall, McpLayer, McpReply, NoteFact, Reply, ThreadId, ToolEvent, ToolFact, TurnErrorKind,
    TurnOutcome,
};

use crate::grants::asked;
use crate::house::{Ear, House, Stage};
use crate::puppet::{Asked, Gate, Play, Puppet, calls, says};
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
async fn a_server_of_the_workspace_runs_once_a_person_trusts_exactly_it() {
    let puppet = Puppet::new(["1", "2", "3", "4"].map(says));
    let docs = server("docs", McpLayer::Workspace);
    let servers = ScriptedServers::new([(docs.clone(), search("docs").ready())]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    let question = "trust MCP server docs of this workspace: docs-server --quiet with env TOKEN (";
    assert!(approval.command.starts_with(question), "{approval:?}");
    assert!(!approval.command.contains("hush"), "{approval:?}");
    assert_eq!(servers.offers().len(), 0, "nothing runs before the answer");
    answer(&house, thread, &ask, ApprovalAnswer::Once).await;
    ear.completed().await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(asks(&ear), 1, "a yes is kept");

    let mut other = docs;
    other.server.retries = Some(7);
    servers.configure([(other, search("docs").ready())]);
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    answer(&house, thread, &ask, ApprovalAnswer::Deny).await;
    ear.completed().await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(asks(&ear), 2, "a no is kept, too");
    let requests = puppet.requests();
    let has: Vec<usize> = requests.iter().map(|each| tools_in(each).len()).collect();
    assert_eq!(has, [1, 1, 0, 0]);
    let note = "[mcp] docs came with the workspace and is not run: the user said no to it";
    assert_eq!(told(&ear), [note], "told once");
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_asks_nobody_runs_no_server_of_the_workspace_and_one_that_allows_all_does() {
    let puppet = Puppet::new(["1", "2"].map(says));
    let docs = server("docs", McpLayer::WorkspaceLegacy);
    let own = server("own", McpLayer::System);
    let servers = [(docs, search("docs").ready()), (own, search("own").ready())];
    let servers = ScriptedServers::new(servers);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    let changes = |approvals, auto_approve| Changes {
        approvals: Some(approvals),
        auto_approve: Some(auto_approve),
        ..Changes::default()
    };
    house.change(thread, changes(Approvals::Never, false)).await;
    turn(&house, thread, &mut ear).await;
    let note = "[mcp] docs came with the workspace and is not run: nobody has trusted it yet";
    assert_eq!(told(&ear), [note]);
    house.change(thread, changes(Approvals::Ask, true)).await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(asks(&ear), 0);
    let requests = puppet.requests();
    assert_eq!(tools_in(&requests[0]), ["mcp__own__search"]);
    assert_eq!(
        tools_in(&requests[1]),
        ["mcp__docs__search", "mcp__own__search"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_ask_for_trust_outlives_the_process_and_the_turn_begins_as_if_nothing_had_happened() {
    let puppet = Puppet::new([says("1")]);
    let docs = (server("docs", McpLayer::Workspace), search("docs").ready());
    let servers = ScriptedServers::new([docs]);
    let house = house(&puppet, &servers);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    drop(ear);
    let house = house.crash();
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.asks.len(), 1);
    answer(&house, thread, &ask, ApprovalAnswer::Once).await;
    ear.completed().await;
    assert_eq!(asks(&ear), 0, "the same ask is answered");
    let requests = puppet.requests();
    assert_eq!(tools_in(&requests[0]), ["mcp__docs__search"]);
    assert_eq!(requests[0].context().len(), 1, "it is told where it works");
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
async fn servers_are_up_before_the_first_words_but_only_those_that_may_run() {
    let puppet = Puppet::new([]);
    let servers = ScriptedServers::new([
        (server("own", McpLayer::User), search("own").ready()),
        (server("docs", McpLayer::Workspace), search("docs").ready()),
    ]);
    let house = house(&puppet, &servers);
    let (thread, _ear) = house.heard_thread().await;
    while servers.warmed().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(servers.warmed(), ["own"]);
    let name = "docs".to_owned();
    let call = McpCall::Check { name };
    let checked = house.call(Call::Mcp { thread, call }).await;
    let Ok(Reply::Mcp(reply)) = checked else {
        panic!("no reply: {checked:?}")
    };
    let McpReply::Checked(check) = *reply else {
        panic!("no check: {reply:?}")
    };
    assert!(
        !check.ok && check.message.contains("nobody has trusted it"),
        "{check:?}"
    );
}
