//! Agents that are programs of the user's: what they say and do is told as ours, what they ask is asked,
//! and whatever they do wrong ends the turn in words.

use std::sync::Arc;

use engine::{ExternalAgent, ListenFrom};
use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, Ask, Call, Changes, Fact, FilesFact, Item, ItemFact, ModelRef,
    NoteFact, PlanStepStatus, SandboxMode, StepFact, ThreadId, ToolFact, ToolOutcome, TurnFact,
};

mod credits;
mod hostile;
mod memory;
mod stub;

use stub::{HeardMethods, SESSION, StubAbilities, StubAgent, StubScript, params};

use crate::grants::asked;
use crate::house::{Ear, House, Stage};
use crate::puppet::{Puppet, says};

fn house(script: StubScript) -> (House, HeardMethods) {
    let (agent, heard) = stub::agent(StubAbilities::default(), script);
    (House::staged(stage(&agent)), heard)
}

fn stage(agent: &Arc<ExternalAgent>) -> Stage {
    let puppet = Puppet::new([says("the model")]);
    let mut stage = Stage::of(&puppet);
    stage.agents.add_external(Arc::clone(agent));
    stage
}

fn model(name: &str) -> Changes {
    Changes {
        model: Some(ModelRef {
            provider: "stub".to_owned(),
            model: name.to_owned(),
        }),
        ..Changes::default()
    }
}

/// A thread that has chosen the agent.
async fn chosen(house: &House) -> (ThreadId, Ear) {
    let (thread, ear) = house.heard_thread().await;
    house.change(thread, model("default")).await;
    (thread, ear)
}

async fn answer(house: &House, thread: ThreadId, ask: &Ask, said: ApprovalAnswer) {
    let answer = Answer::Approval(said);
    let call = Call::AnswerAsk {
        thread,
        ask: ask.id,
        answer,
    };
    house.call(call).await.expect("answered");
}

/// What was told of a turn, a word for each.
fn words(ear: &Ear) -> Vec<String> {
    let word = |fact: &&Fact| match fact {
        Fact::Step { tag, what } => match what {
            StepFact::Started => Some(format!("step {} starts", tag.step)),
            StepFact::Finished { reason, .. } => Some(format!("step {} {reason:?}", tag.step)),
            _ => None,
        },
        Fact::Item {
            what: ItemFact::Finished { body, .. },
            ..
        } => Some(match body {
            Item::AgentMessage { text, partial, .. } => format!("says {text:?} {partial}"),
            Item::Reasoning { text, .. } => format!("thinks {text:?}"),
            Item::Plan { text, .. } => format!("proposes {text:?}"),
            Item::File { .. } => "makes a file".to_owned(),
            Item::ReviewEntered { .. } | Item::ReviewExited { .. } => "reviews".to_owned(),
        }),
        Fact::Tool(tool) => match &tool.what {
            ToolFact::Planned { .. } => Some(format!("plans {}", tool.call.name)),
            ToolFact::Started => Some(format!("starts {}", tool.call.name)),
            ToolFact::Wrote { delta, .. } => Some(format!("wrote {delta:?}")),
            ToolFact::Finished { outcome, .. } => Some(match outcome {
                ToolOutcome::Succeeded(output) => format!("did {:?}", output.words()),
                ToolOutcome::Failed { error } => format!("failed {error:?}"),
                ToolOutcome::Denied(_) => "denied".to_owned(),
                ToolOutcome::Interrupted(_) => "interrupted".to_owned(),
                ToolOutcome::NotRun { .. } => "not run".to_owned(),
            }),
            ToolFact::Reached
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => None,
        },
        Fact::Ask {
            what: vocabulary::AskFact::Opened { .. },
            ..
        } => Some("asks".to_owned()),
        // tidy: wildcard, because only what an agent does is looked at.
        _ => None,
    };
    ear.facts().iter().filter_map(word).collect()
}

fn whole_turn(mut stub: StubAgent, prompt: Value) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(async move {
        stub.update(json!({"sessionUpdate": "agent_thought_chunk",
                           "content": {"type": "text", "text": "hm"}}))
            .await;
        stub.update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "high", "status": "completed"},
            {"content": "do", "priority": "high", "status": "in_progress"}]}))
            .await;
        stub.text("I will ").await;
        stub.text("run it.").await;
        let outcome = stub.ask_to_run("c1", "touch made.txt").await;
        assert_eq!(outcome, json!({"outcome": "selected", "optionId": "once"}));
        let content =
            |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        for text in ["one\n", "one\ntwo\n"] {
            stub.update(
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
                               "status": "in_progress", "content": content(text)}),
            )
            .await;
        }
        stub.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
                           "status": "completed", "content": content("one\ntwo\n")}),
        )
        .await;
        stub.update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "Edit a.txt",
            "kind": "edit", "status": "completed",
            "content": [{"type": "diff", "path": "a.txt", "newText": "new\n"}]}),
        )
        .await;
        stub.update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 1000}))
            .await;
        stub.text("Done.").await;
        let usage = json!({"totalTokens": 12, "inputTokens": 10, "outputTokens": 2});
        stub.answer(
            &prompt["id"],
            json!({"stopReason": "end_turn", "usage": usage}),
        )
        .await;
        // It stays for the next turn.
        let _ = stub.hear().await;
    })
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_does_and_asks_is_told_as_ours() {
    let (house, heard) = house(whole_turn);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "make it").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    assert_eq!(approval.command, "touch made.txt");
    assert!(
        approval
            .reason
            .ends_with("stub does it itself, outside of this server's sandbox"),
        "{}",
        approval.reason
    );
    answer(&house, thread, &ask, ApprovalAnswer::Once).await;
    assert_eq!(ear.completed().await, "I will run it.\n\nDone.");
    assert_eq!(
        words(&ear),
        [
            "step 1 starts",
            "thinks \"hm\"",
            "says \"I will run it.\" false",
            "plans execute",
            "asks",
            "starts execute",
            "wrote \"one\\n\"",
            "wrote \"two\\n\"",
            "did \"one\\ntwo\\n\"",
            "step 1 ToolUse",
            "step 2 starts",
            "plans edit",
            "starts edit",
            "did \"Edit a.txt\"",
            "step 2 ToolUse",
            "step 3 starts",
            "says \"Done.\" false",
            "step 3 Stop",
        ]
    );
    let plan = ear.facts().into_iter().find_map(|fact| match fact {
        Fact::Turn(TurnFact::PlanChanged { steps, .. }) => Some(steps.clone()),
        // tidy: wildcard, because only the plan is looked at.
        _ => None,
    });
    let plan = plan.expect("a plan");
    assert_eq!(plan[1].status, PlanStepStatus::InProgress);
    let end = ear.facts().into_iter().find_map(|fact| match fact {
        Fact::Turn(TurnFact::Finished { usage, model, .. }) => Some((*usage, model.clone())),
        // tidy: wildcard, because only the end is looked at.
        _ => None,
    });
    let (usage, model) = end.expect("an end");
    assert_eq!(usage.map(|usage| usage.total_tokens()), Some(12));
    assert_eq!(
        model.as_ref().map(|model| &model.provider[..]),
        Some("stub")
    );
    assert_eq!(
        params(&heard, "session/prompt")[0]["prompt"],
        json!([{"type": "text", "text": "make it"}])
    );
    house.kept(thread).await;
}

fn asks_twice(mut stub: StubAgent, prompt: Value) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut said = Vec::new();
        for call in ["c1", "c2"] {
            let outcome = stub.ask_to_run(call, "make").await;
            said.push(
                outcome["optionId"]
                    .as_str()
                    .unwrap_or("cancelled")
                    .to_owned(),
            );
        }
        stub.text(&said.join(" ")).await;
        stub.end(&prompt).await;
        let _ = stub.hear().await;
    })
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_the_session_is_remembered_here_and_the_agent_hears_once() {
    let (house, _) = house(asks_twice);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    answer(&house, thread, &ask, ApprovalAnswer::ForSession).await;
    assert_eq!(ear.completed().await, "once once");
}

#[tokio::test(start_paused = true)]
async fn a_no_is_told_to_the_agent_and_its_call_is_over() {
    let (house, _) = house(asks_twice);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    for _ in 0..2 {
        let (ask, _) = asked(&mut ear).await;
        answer(&house, thread, &ask, ApprovalAnswer::Deny).await;
    }
    assert_eq!(ear.completed().await, "no no");
    let denied = words(&ear).iter().filter(|word| *word == "denied").count();
    assert_eq!(denied, 2);
}

#[tokio::test(start_paused = true)]
async fn who_asks_nobody_is_answered_by_the_thread() {
    for (changes, expected) in [
        (
            Changes {
                auto_approve: Some(true),
                ..Changes::default()
            },
            "once once",
        ),
        (
            Changes {
                approvals: Some(vocabulary::Approvals::Never),
                ..Changes::default()
            },
            "no no",
        ),
    ] {
        let (house, _) = house(asks_twice);
        let (thread, mut ear) = chosen(&house).await;
        house.change(thread, changes).await;
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(ear.completed().await, expected);
        assert!(!words(&ear).contains(&"asks".to_owned()));
    }
}

fn files(mut stub: StubAgent, prompt: Value) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut said = Vec::new();
        let at = |path: &str| json!({"sessionId": SESSION, "path": path, "content": "text"});
        for (method, path) in [
            ("fs/write_text_file", "new.txt"),
            ("fs/read_text_file", "new.txt"),
            ("fs/read_text_file", "/etc/hostname"),
            ("fs/write_text_file", "../out.txt"),
            ("terminal/create", "x"),
        ] {
            let answer = stub.ask(method, at(path)).await;
            let read = answer["result"]["content"].as_str().unwrap_or("done");
            let error = answer["error"]["message"].as_str();
            said.push(
                error
                    .unwrap_or(read)
                    .split(':')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        stub.text(&said.join(", ")).await;
        stub.end(&prompt).await;
        let _ = stub.hear().await;
    })
}

#[tokio::test]
async fn files_are_served_through_the_guard_of_the_thread() {
    let (agent, _) = stub::agent(StubAbilities::default(), files);
    let house = House::in_real_time(stage(&agent));
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    let said = ear.completed().await;
    let expected = "done, text, read blocked";
    assert!(said.starts_with(expected), "{said}");
    assert!(
        said.ends_with("this client has no terminal/create"),
        "{said}"
    );
    let written = std::fs::read_to_string(house.directory().join("new.txt"));
    assert_eq!(written.ok().as_deref(), Some("text"));
    let changes = Changes {
        sandbox: Some(SandboxMode::ReadOnly),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house
        .call(Call::ResetThread { thread })
        .await
        .expect("reset");
    house.say(thread, "go").await.expect("a turn");
    // Nothing of ours would keep it from writing by itself.
    let error = ear.failed().await;
    assert!(error.message.contains("may only read"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_to_hold_an_agent() {
    let (house, _) = house(memory::parrot);
    let (thread, _ear) = chosen(&house).await;
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    assert!(!view.sandbox.holds && view.sandbox.network);
}

/// Writes a file without a word.
fn writes(mut stub: StubAgent, prompt: Value) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(async move {
        let path = prompt["params"]["prompt"][0]["text"]
            .as_str()
            .unwrap_or_default();
        std::fs::write(path, "by the agent\n").expect("written");
        stub.text("done").await;
        stub.end(&prompt).await;
        let _ = stub.hear().await;
    })
}

#[tokio::test]
async fn what_an_agent_writes_on_its_own_is_in_the_diff_of_the_turn() {
    let (agent, _) = stub::agent(StubAbilities::default(), writes);
    let mut stage = stage(&agent);
    stage.checkpoints = engine::CheckpointSetting::default();
    let house = House::in_real_time(stage);
    let (thread, mut ear) = chosen(&house).await;
    let path = house.directory().join("quiet.txt");
    house
        .say(thread, &path.display().to_string())
        .await
        .expect("a turn");
    let diffed = ear.fact(|fact| matches!(fact, Fact::Files(FilesFact::TurnDiffed { .. })));
    let Fact::Files(FilesFact::TurnDiffed { diff, .. }) = diffed.await else {
        panic!("no diff")
    };
    assert!(
        diff.contains("quiet.txt") && diff.contains("+by the agent"),
        "{diff}"
    );
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_not_there_is_told_when_it_is_chosen_and_when_it_is_needed() {
    let agents = engine::known_agents(&std::collections::BTreeMap::from([(
        "gemini-cli".to_owned(),
        engine::AgentSettings {
            command: Some("no-such-program-anywhere".to_owned()),
            ..engine::AgentSettings::default()
        },
    )]));
    let gemini = agents.iter().find(|agent| agent.name() == "gemini-cli");
    let house = House::staged(stage(gemini.expect("it is known")));
    let (thread, mut ear) = house.heard_thread().await;
    let missing = "gemini-cli is not installed: there is no program `no-such-program-anywhere`; \
                   install it with `npm install -g @google/gemini-cli`";
    let changes = Changes {
        model: Some(ModelRef {
            provider: "gemini-cli".to_owned(),
            model: "default".to_owned(),
        }),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    let warned = ear.fact(|fact| {
        matches!(fact, Fact::Note(NoteFact::Logged { line }) if line == &format!("[warn] {missing}"))
    });
    warned.await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.failed().await.message, missing);
}
