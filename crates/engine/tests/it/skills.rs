//! Skills and slash commands, from the files to the request that a model reads.

use engine::{ContentTrust, KeptTrust, ListenFrom};
use serde_json::json;
use vocabulary::{
    Call, Caller, Changes, CommandOrigin, Fact, Idempotency, Refusal, Reply, RunCommand, Skill,
    SkillCall, SkillTier, SlashCommand, ThreadId, TurnFact, Why,
};

use crate::house::{Ear, House};
use crate::puppet::{Gate, Play, Puppet, calls, says};

fn write(house: &House, path: &str, text: &str) {
    let path = house.directory().join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\nDo {name}.\n")
}

async fn turn(house: &House, thread: ThreadId, ear: &mut Ear) {
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
}

async fn skills(house: &House, thread: ThreadId, call: SkillCall) -> Result<Vec<Skill>, Refusal> {
    let reply = house.call(Call::Skills { thread, call }).await?;
    Ok(reply.skills().expect("skills"))
}

async fn switch(house: &House, thread: ThreadId, name: &str, enabled: bool) -> Vec<Skill> {
    let name = name.to_owned();
    let switched = skills(house, thread, SkillCall::SetEnabled { name, enabled });
    switched.await.expect("switched")
}

async fn commands(house: &House, thread: ThreadId) -> Vec<SlashCommand> {
    let reply = house.call(Call::ListCommands { thread }).await;
    reply.and_then(Reply::commands).expect("commands")
}

async fn run(house: &House, thread: ThreadId, line: &str) -> Result<Reply, Refusal> {
    let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
    let run = RunCommand {
        thread,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        client_message_id: None,
        idempotency: Idempotency::Lasting,
    };
    house.call(Call::RunCommand(run)).await
}

fn told(puppet: &Puppet, request: usize) -> String {
    puppet.requests()[request].context().concat()
}

#[tokio::test(start_paused = true)]
async fn a_request_lists_the_skills_that_are_there_and_those_no_longer_that_went() {
    let load = |name: &str| calls("c1", "skill", json!({"skillName": name}));
    let puppet = Puppet::new([
        load("ship"),
        says("1"),
        says("2"),
        load("ship"),
        says("3"),
        says("4"),
    ]);
    let house = House::with(&puppet);
    write(&house, "home/skills/ship/SKILL.md", &skill("ship"));
    write(&house, "home/skills/pack/SKILL.md", &skill("pack"));
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    let block = told(&puppet, 0);
    for line in ["- pack: About pack\n- ship: About ship\n", "\n- review: "] {
        assert!(block.contains(line), "{block}");
    }
    let loaded = format!("{:?}", puppet.requests()[1].whole());
    assert!(loaded.contains("Do ship."), "{loaded}");
    // Switched off.
    let listed = switch(&house, thread, "ship", false).await;
    let ship = listed.iter().find(|skill| skill.name == "ship");
    assert_eq!(ship.map(|ship| ship.enabled), Some(false));
    turn(&house, thread, &mut ear).await;
    let all = told(&puppet, 2);
    let news = &all[block.len()..];
    assert!(news.contains("- pack: About pack"), "{news}");
    assert!(!news.contains("ship"), "{news}");
    turn(&house, thread, &mut ear).await;
    let refused = format!("{:?}", puppet.requests()[4].whole());
    assert!(refused.contains("there is no skill ship"), "{refused}");
    // A thread that begins now never hears of it; nor of what was deleted.
    let name = "pack".to_owned();
    let deleted = skills(&house, thread, SkillCall::Delete { name }).await;
    assert!(
        deleted
            .expect("a list")
            .iter()
            .all(|skill| skill.name != "pack")
    );
    let (other, mut ear) = house.heard_thread().await;
    turn(&house, other, &mut ear).await;
    let block = told(&puppet, 5);
    assert!(block.contains("- review: "), "{block}");
    assert!(
        !block.contains("ship") && !block.contains("pack"),
        "{block}"
    );
}

#[tokio::test(start_paused = true)]
async fn skills_are_listed_and_read_and_refused_in_words() {
    let house = House::with(&Puppet::new([]));
    write(&house, ".agent/skills/deploy/SKILL.md", &skill("deploy"));
    let (thread, _ear) = house.heard_thread().await;
    let listed = skills(&house, thread, SkillCall::List)
        .await
        .expect("a list");
    let tiers: Vec<_> = listed.iter().map(|each| (&*each.name, each.tier)).collect();
    assert!(tiers.contains(&("deploy", SkillTier::Project)), "{tiers:?}");
    assert!(tiers.contains(&("review", SkillTier::BuiltIn)), "{tiers:?}");
    let name = "deploy".to_owned();
    let read = Call::Skills {
        thread,
        call: SkillCall::Read { name },
    };
    let read = house.call(read).await.and_then(Reply::skill_content);
    assert_eq!(read.expect("a skill").content, "Do deploy.");
    let set = |name: &str, enabled| SkillCall::SetEnabled {
        name: name.to_owned(),
        enabled,
    };
    let delete = |name: &str| SkillCall::Delete {
        name: name.to_owned(),
    };
    let read = |name: &str| SkillCall::Read {
        name: name.to_owned(),
    };
    for (call, words) in [
        (
            set("deploy", false),
            "Only global skills can be disabled in v1.",
        ),
        (
            set("review", true),
            "Only global skills can be enabled in v1.",
        ),
        (delete("review"), "Only global skills can be deleted in v1."),
        (delete("none"), "Skill \"none\" not found."),
        (read("../x"), "Skill \"../x\" not found."),
    ] {
        let refusal = skills(&house, thread, call).await.expect_err("refused");
        assert_eq!(refusal.message, words);
        assert!(matches!(refusal.why, Why::Invalid { .. }), "{refusal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_starts_a_turn_with_what_it_stands_for() {
    let gate = Gate::new();
    let puppet = Puppet::new([says("1"), Play::new().hold(&gate).say("2").end(1, 1)]);
    let house = House::with(&puppet);
    write(&house, "home/commands/fix.md", "Fix $1, then say $2.");
    write(&house, "home/commands/empty.md", "$1");
    let (thread, mut ear) = house.heard_thread().await;
    let listed = commands(&house, thread).await;
    let fix = listed.iter().find(|command| command.name == "fix");
    assert_eq!(
        fix.map(|fix| &fix.hints[..]),
        Some(&["$1".to_owned(), "$2".to_owned()][..])
    );
    assert!(
        listed
            .iter()
            .any(|each| each.name == "test" && each.origin == CommandOrigin::Skill)
    );

    run(&house, thread, "FIX 'the bug' it is done")
        .await
        .expect("a turn");
    let started = |fact: &Fact| matches!(fact, Fact::Turn(TurnFact::Started { .. }));
    let started = format!("{:?}", ear.fact(started).await);
    assert!(started.contains("SlashCommand"), "{started}");
    ear.completed().await;
    let asked = format!("{:?}", puppet.requests()[0].whole().last());
    assert!(
        asked.contains("Fix the bug, then say it is done."),
        "{asked}"
    );
    let log = format!("{:?}", house.log(thread).await);
    assert!(log.contains("/FIX 'the bug' it is done"), "{log}");

    for (line, words) in [
        ("nothing", "Unknown command: nothing"),
        ("server:prompt", "Unknown command: server:prompt"),
        ("empty", "Command \"empty\" expanded to empty prompt"),
    ] {
        let refusal = run(&house, thread, line).await.expect_err("refused");
        assert_eq!(refusal.message, words);
        assert!(matches!(refusal.why, Why::Invalid { .. }), "{refusal:?}");
    }
    run(&house, thread, "fix a b").await.expect("a turn");
    puppet.was_asked(2).await;
    let refusal = run(&house, thread, "fix a b").await.expect_err("refused");
    assert_eq!(refusal.why, Why::Busy);
    let enable = SkillCall::SetEnabled {
        name: "x".to_owned(),
        enabled: true,
    };
    let refusal = skills(&house, thread, enable).await.expect_err("refused");
    assert_eq!(refusal.why, Why::Busy);
    assert!(skills(&house, thread, SkillCall::List).await.is_ok());
    gate.open();
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_comes_again_is_the_same_whatever_it_stands_for_by_now() {
    let puppet = Puppet::new([says("1")]);
    let house = House::with(&puppet);
    write(&house, "home/commands/fix.md", "Fix it.");
    let (thread, mut ear) = house.heard_thread().await;
    let run = Call::RunCommand(RunCommand {
        thread,
        name: "fix".to_owned(),
        arguments: String::new(),
        client_message_id: Some("m1".to_owned()),
        idempotency: Idempotency::Lasting,
    });
    let first = house.call(run.clone()).await.and_then(Reply::turn);
    assert!(!first.expect("a turn").again);
    ear.completed().await;
    write(&house, "home/commands/fix.md", "Fix it well.");
    let second = house.call(run).await.and_then(Reply::turn);
    assert!(second.expect("the same turn").again);
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_command_of_a_workspace_runs_once_it_is_trusted_and_until_it_is_changed() {
    let puppet = Puppet::new([says("1"), says("2")]);
    let house = House::with(&puppet);
    write(&house, ".cowork/commands/deploy.md", "Push it.");
    let (thread, mut ear) = house.heard_thread().await;
    let listed = commands(&house, thread).await;
    assert!(listed.iter().any(|command| command.name == "deploy"));
    let refusal = run(&house, thread, "deploy").await.expect_err("refused");
    assert_eq!(refusal.why, Why::Forbidden);
    let place = house.directory().display();
    let advice = format!("dragoman trust add {place}");
    assert!(refusal.message.ends_with(&advice), "{refusal}");

    let (trust, tenant) = (KeptTrust::new(house.store.clone()), Caller::local().tenant);
    assert_eq!(trust.all(&tenant).await, Ok(Vec::new()));
    let files = trust
        .add(&tenant, house.directory())
        .await
        .expect("trusted");
    assert_eq!(files, [std::path::Path::new(".cowork/commands/deploy.md")]);
    run(&house, thread, "deploy").await.expect("a turn");
    ear.completed().await;
    let state = async || trust.all(&tenant).await.expect("a list")[0].content;
    assert_eq!(state().await, ContentTrust::Yes);

    write(&house, ".cowork/commands/deploy.md", "Push it to them.");
    assert_eq!(state().await, ContentTrust::Changed);
    assert!(run(&house, thread, "deploy").await.is_err());
    trust
        .add(&tenant, house.directory())
        .await
        .expect("trusted");
    let servers = json!({"trusted": ["a", "b"], "refused": ["c"]}).to_string();
    let name = format!("mcp trust {place}");
    let kept = store::Store::set_setting(&*house.store, &tenant, &name, &servers);
    kept.await.expect("kept");
    let all = trust.all(&tenant).await.expect("a list");
    assert_eq!((all[0].servers_trusted, all[0].servers_refused), (2, 1));
    assert_eq!(trust.revoke(&tenant, house.directory()).await, Ok(true));
    assert_eq!(trust.revoke(&tenant, house.directory()).await, Ok(false));
    assert_eq!(trust.all(&tenant).await, Ok(Vec::new()));
    assert!(run(&house, thread, "deploy").await.is_err());

    // Who lets a thread do everything trusts what lies there.
    let changes = Changes {
        auto_approve: Some(true),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    drop(ear);
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    run(&house, thread, "deploy").await.expect("a turn");
    ear.completed().await;
}
