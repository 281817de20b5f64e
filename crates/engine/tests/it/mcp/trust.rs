//! Which servers may run: those of the user, and those of the workspace that a person trusts.

use engine::ListenFrom;
use serde_json::json;
use vocabulary::{
    ApprovalAnswer, Approvals, Call, Changes, McpCall, McpLayer, McpReply, McpRunning, Reply,
    ThreadId,
};

use super::scripted::{ScriptedServers, server};
use super::{answer, asks, house, search, told, tools_in, turn};
use crate::grants::{asked, put_skill};
use crate::house::{House, Stage};
use crate::puppet::{Puppet, calls, says};

#[tokio::test(start_paused = true)]
async fn a_server_of_the_workspace_runs_once_a_person_trusts_exactly_it() {
    let look = || calls("c", "mcp__own__search", json!({}));
    let puppet = Puppet::new([says("1"), says("2"), look(), says("3"), look(), says("4")]);
    let docs = server("docs", McpLayer::Workspace);
    let own = (server("own", McpLayer::User), search("own").ready());
    let servers = ScriptedServers::new([(docs.clone(), search("docs").ready()), own.clone()]);
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
    servers.configure([(other, search("docs").ready()), own]);
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    answer(&house, thread, &ask, ApprovalAnswer::Deny).await;
    ear.completed().await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(asks(&ear), 2, "a no is kept, too");
    let requests = puppet.requests();
    let has: Vec<usize> = requests.iter().map(|each| tools_in(each).len()).collect();
    assert_eq!(has, [2, 2, 1, 1, 1, 1]);
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

async fn servers_of(house: &House, thread: ThreadId, call: McpCall) -> Vec<(String, McpRunning)> {
    let answered = house.call(Call::Mcp { thread, call }).await;
    let Ok(Reply::Mcp(reply)) = answered else {
        panic!("no reply: {answered:?}")
    };
    let McpReply::Servers(snapshot) = *reply else {
        panic!("no servers: {reply:?}")
    };
    let servers = snapshot.servers.into_iter();
    servers
        .map(|each| (each.server.name, each.running))
        .collect()
}

#[tokio::test]
async fn a_person_who_saves_a_server_trusts_it_and_nothing_beside_it() {
    let house = House::in_real_time(Stage::of(&Puppet::new([])));
    let (thread, _ear) = house.heard_thread().await;
    let file = house.directory().join(".cowork/mcp-servers.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    let found = json!({ "servers": [
        { "name": "found", "transport": { "type": "stdio", "command": "x" } },
    ] });
    std::fs::write(&file, found.to_string()).expect("written");
    let waits = |name: &str| (name.to_owned(), McpRunning::WaitsForTrust);
    let listed = servers_of(&house, thread, McpCall::Get).await;
    assert_eq!(listed, [waits("found")]);
    let save = |name: &str| McpCall::Save {
        server: Box::new(server(name, McpLayer::Workspace).server),
        previous_name: None,
    };
    let may_run = |name: &str| (name.to_owned(), McpRunning::NotStarted);
    let listed = servers_of(&house, thread, save(" mine ")).await;
    assert_eq!(listed, [waits("found"), may_run("mine")]);
    // What is written over it by others is another server.
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, text.replace("mine-server", "evil-server")).expect("written");
    let listed = servers_of(&house, thread, McpCall::Get).await;
    assert_eq!(listed, [waits("found"), waits("mine")]);
}

#[tokio::test]
async fn trust_in_the_rest_of_a_workspace_outlives_a_save() {
    let script = "turn\n call skill {\"skillName\":\"deploy\"}\nnext\n say done";
    let house = House::new(&format!("{script}\n{script}"));
    put_skill(house.directory(), "first");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    answer(&house, thread, &ask, ApprovalAnswer::Once).await;
    ear.completed().await;
    let server = Box::new(server("mine", McpLayer::Workspace).server);
    let previous_name = None;
    let call = McpCall::Save {
        server,
        previous_name,
    };
    servers_of(&house, thread, call).await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(asks(&ear), 1, "the skill is still trusted");
}
