//! What people order beside what they say: summaries, reviews, commands of their own.

use engine::ListenFrom;
use providers::{Message, RequestPurpose};
use serde_json::json;
use vocabulary::{
    AgentMode, Call, Cause, Changes, Fact, Item, ItemFact, Reply, ReviewTarget, RunShell,
    SandboxMode, StartReview, StartedTurn, StepFact, TerminalCall, TerminalReply, ThreadId,
    ToolCall, ToolFact, ToolOutcome, ToolOutput, TurnErrorKind, TurnFact, TurnOutcome, Why,
};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Asked, Gate, Play, Puppet, calls, says};

fn stage(puppet: &std::sync::Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.auto_approve = true;
    stage
}

fn shell(thread: ThreadId, command: &str) -> Call {
    Call::RunShell(RunShell {
        thread,
        command: command.to_owned(),
        timeout_ms: None,
    })
}

fn texts(request: &Asked) -> Vec<String> {
    let texts = request.messages.iter().filter_map(|message| match message {
        Message::User(said) => Some(said.text.clone()),
        Message::Assistant(_) | Message::ToolResults(_) => None,
    });
    texts.collect()
}

fn is_end(fact: &Fact) -> bool {
    matches!(fact, Fact::Tool(tool) if tool.call.by_user && matches!(tool.what, ToolFact::Finished { .. }))
}

/// How a command of the user's own ended.
async fn ended(ear: &mut Ear) -> (std::sync::Arc<ToolCall>, ToolOutcome) {
    match ear.fact(is_end).await {
        Fact::Tool(tool) => match tool.what {
            ToolFact::Finished { outcome, .. } => (tool.call, outcome),
            other => panic!("no end: {other:?}"),
        },
        other => panic!("no call: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_ordered_is_a_turn_of_its_own_and_stands_for_what_was_said() {
    let puppet = Puppet::new([says("first answer"), says("second answer")]);
    puppet.then(RequestPurpose::Summary, [says("it was about paint")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let refused = house.call(Call::CompactThread { thread }).await;
    assert_eq!(
        refused.expect_err("nothing was said").why,
        Why::NotAvailable
    );

    house.say(thread, "Paint it").await.expect("a turn");
    ear.completed().await;
    let started = house.call(Call::CompactThread { thread }).await;
    let Ok(Reply::Turn(StartedTurn { turn, .. })) = started else {
        panic!("no turn: {started:?}");
    };
    let began = ear
        .fact(|fact| matches!(fact, Fact::Turn(TurnFact::Started { cause, .. }) if *cause == Cause::Compaction))
        .await;
    assert!(matches!(began, Fact::Turn(TurnFact::Started { turn: id, .. }) if id == turn));
    ear.fact(|fact| {
        matches!(fact, Fact::Step { what: StepFact::Compacted { summary, .. }, tag } if tag.turn == turn && summary.contains("it was about paint"))
    })
    .await;
    assert_eq!(ear.ended().await.0, TurnOutcome::Completed);

    house.say(thread, "And now?").await.expect("a turn");
    ear.completed().await;
    let next = puppet.requests_for(RequestPurpose::Answer).remove(1);
    let said = texts(&next);
    let is_there = |words: &str| said.iter().any(|text| text.contains(words));
    assert!(is_there("it was about paint"), "{said:?}");
    assert!(
        !format!("{:?}", next.messages).contains("first answer"),
        "{said:?}"
    );
    assert_eq!(said.last().map(String::as_str), Some("And now?"));
    assert!(said.contains(&"Paint it".to_owned()), "{said:?}");
    assert!(!is_there("/compact"), "{said:?}");

    // The same after a restart: the log alone says it.
    house.kept(thread).await;
    puppet.then(RequestPurpose::Answer, [says("third")]);
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "Go on").await.expect("a turn");
    ear.completed().await;
    let third = puppet.requests_for(RequestPurpose::Answer).remove(2);
    assert!(third.messages.starts_with(&next.messages));
}

#[tokio::test(start_paused = true)]
async fn a_summary_can_be_cancelled_and_hears_nothing_meanwhile() {
    let gate = Gate::new();
    let puppet = Puppet::new([says("first answer"), says("second answer")]);
    let held = Play::new().begin("it was").hold(&gate).end(1, 1);
    puppet.then(RequestPurpose::Summary, [held]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "Paint it").await.expect("a turn");
    ear.completed().await;
    house
        .call(Call::CompactThread { thread })
        .await
        .expect("a turn");
    let refused = house.steer(thread, "wait").await.expect_err("deaf");
    assert_eq!(refused.why, Why::Busy);
    assert!(
        refused.message.contains("summarised"),
        "{}",
        refused.message
    );
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    house.say(thread, "And now?").await.expect("a turn");
    ear.completed().await;
    let next = puppet.requests_for(RequestPurpose::Answer).remove(1);
    assert!(format!("{:?}", next.messages).contains("first answer"));
    // It was not the model's own turn that was stopped.
    assert!(!format!("{:?}", next.messages).contains("stopped your last turn"));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_cannot_be_made_fails_in_words_and_changes_nothing() {
    let puppet = Puppet::new([says("first answer")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "Paint it").await.expect("a turn");
    ear.completed().await;
    let fails = || Play::new().fail(providers::ErrorKind::BadRequest, "no summary today");
    puppet.then(RequestPurpose::Summary, [fails(), fails()]);
    house
        .call(Call::CompactThread { thread })
        .await
        .expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Provider);
    assert!(error.message.contains("no summary"), "{}", error.message);
}

#[tokio::test]
async fn a_command_of_the_users_own_runs_unasked_in_its_own_turn_and_the_model_reads_of_it() {
    let puppet = Puppet::new([says("seen")]);
    // Nobody is asked although this thread asks for everything.
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let started = house.call(shell(thread, "echo one | tr o 0; exit 3")).await;
    assert!(matches!(started, Ok(Reply::Turn(_))), "{started:?}");
    let (call, outcome) = ended(&mut ear).await;
    assert!(call.by_user && call.is_command());
    let ToolOutcome::Succeeded(ToolOutput::Command {
        stdout, exit_code, ..
    }) = outcome
    else {
        panic!("not run: {outcome:?}");
    };
    assert_eq!((stdout.as_str(), exit_code), ("0ne\n", 3));
    assert_eq!(ear.ended().await.0, TurnOutcome::Completed);
    assert!(puppet.requests().is_empty(), "no model is asked for it");

    house.say(thread, "What did I do?").await.expect("a turn");
    ear.completed().await;
    let said = texts(&puppet.requests()[0]);
    let note = said
        .iter()
        .find(|text| text.contains("$ echo one | tr o 0; exit 3"));
    let note = note.unwrap_or_else(|| panic!("not read: {said:?}"));
    assert!(note.contains("exit 3") && note.contains("0ne"), "{note}");
    assert_eq!(said.last().map(String::as_str), Some("What did I do?"));
    assert!(!format!("{:?}", puppet.requests()[0].messages).contains("ToolCall"));
}

#[tokio::test]
async fn a_command_beside_a_running_turn_is_read_at_the_next_step_and_after_a_restart_too() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new()
            .begin("one moment")
            .hold(&gate)
            .call("c1", "bash", json!({"command": "echo agent"}))
            .end(10, 2),
        says("heard"),
        says("next"),
    ]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("one moment").await;
    house.call(shell(thread, "echo person")).await.expect("run");
    ended(&mut ear).await;
    gate.open();
    assert_eq!(ear.completed().await, "one moment\n\nheard");
    let second = puppet.requests().remove(1);
    // What the agent called stays beside its result.
    assert!(
        matches!(
            second.messages[second.messages.len() - 2],
            Message::ToolResults(_)
        ),
        "{:?}",
        second.messages
    );
    let said = texts(&second);
    assert!(
        said.last()
            .is_some_and(|text| text.contains("$ echo person")),
        "{said:?}"
    );

    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "again").await.expect("a turn");
    ear.completed().await;
    let third = puppet.requests().remove(2);
    assert!(third.messages.starts_with(&second.messages));
}

#[tokio::test]
async fn a_turn_waits_for_the_users_command_and_a_cancel_ends_both() {
    let puppet = Puppet::new([says("done"), says("done again")]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house
        .call(shell(thread, "echo begun; sleep 600"))
        .await
        .expect("run");
    ear.fact(
        |fact| matches!(fact, Fact::Tool(tool) if matches!(tool.what, ToolFact::Wrote { .. })),
    )
    .await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    let (_, outcome) = ended(&mut ear).await;
    assert!(
        matches!(outcome, ToolOutcome::Interrupted(_)),
        "{outcome:?}"
    );
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);

    let timed = Call::RunShell(RunShell {
        thread,
        command: "sleep 600".to_owned(),
        timeout_ms: Some(200),
    });
    house.call(timed).await.expect("run");
    let (_, outcome) = ended(&mut ear).await;
    let ToolOutcome::Succeeded(ToolOutput::Command {
        exit_code, stderr, ..
    }) = outcome
    else {
        panic!("not ended: {outcome:?}");
    };
    assert_eq!(exit_code, 124);
    assert!(stderr.contains("longer than 0.2 s"), "{stderr}");
}

#[tokio::test]
async fn a_read_only_thread_and_plan_mode_hold_the_users_command_too() {
    let puppet = Puppet::new([]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let only_reads = Changes {
        sandbox: Some(SandboxMode::ReadOnly),
        ..Changes::default()
    };
    let plans = Changes {
        sandbox: Some(SandboxMode::WorkspaceWrite),
        mode: Some(AgentMode::Plan),
        ..Changes::default()
    };
    for changes in [only_reads, plans] {
        house.change(thread, changes).await;
        house
            .call(shell(thread, "touch made.txt"))
            .await
            .expect("run");
        ended(&mut ear).await;
        ear.ended().await;
        assert!(!house.directory().join("made.txt").exists());
    }
    let chats = Changes {
        mode: Some(AgentMode::Chat),
        ..Changes::default()
    };
    house.change(thread, chats).await;
    let refused = house.call(shell(thread, "true")).await;
    assert_eq!(refused.expect_err("only talks").why, Why::NotAvailable);
    for line in ["", "  \n", "a\0b"] {
        let refused = house.call(shell(thread, line)).await.expect_err("no line");
        assert_eq!(refused.why, Why::invalid("command"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ran_when_the_process_died_ends_as_interrupted_and_is_not_run_again() {
    let puppet = Puppet::new([says("next")]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house
        .call(shell(thread, "echo x >> ran.txt; sleep 600"))
        .await
        .expect("run");
    ear.fact(|fact| matches!(fact, Fact::Tool(tool) if matches!(tool.what, ToolFact::Started)))
        .await;
    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "again").await.expect("a turn");
    ear.completed().await;
    let facts = house.log(thread).await;
    let ends: Vec<&Fact> = facts.iter().filter(|fact| is_end(fact)).collect();
    assert!(
        matches!(&ends[..], [Fact::Tool(tool)] if matches!(tool.what, ToolFact::Finished { outcome: ToolOutcome::Interrupted(_), .. })),
        "{ends:?}"
    );
}

#[tokio::test]
async fn what_runs_in_the_background_is_listed_typed_to_and_ended() {
    let reads = json!({"command": "read a; echo got $a > got.txt; sleep 600", "background": true});
    let puppet = Puppet::new([calls("c1", "bash", reads), says("runs"), says("next")]);
    let house = House::in_real_time(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let terminals = |call| house.call(Call::Terminals { thread, call });
    let Ok(Reply::Terminals(TerminalReply::List(listed))) = terminals(TerminalCall::List).await
    else {
        panic!("no list");
    };
    let [only] = &listed[..] else {
        panic!("not one: {listed:?}");
    };
    assert!(only.item.is_some() && only.line.starts_with("read a;"));
    assert_eq!(only.directory, house.directory());
    let write = TerminalCall::Write {
        process: only.process,
        text: "words\n".to_owned(),
    };
    let written = terminals(write).await;
    assert_eq!(
        written.expect("written"),
        Reply::Terminals(TerminalReply::Written)
    );
    let got = house.directory().join("got.txt");
    while !std::fs::read_to_string(&got).is_ok_and(|text| text == "got words\n") {
        tokio::task::yield_now().await;
    }
    let nobody = TerminalCall::Write {
        process: 77,
        text: "x".to_owned(),
    };
    let refused = terminals(nobody).await.expect_err("nothing runs there");
    assert_eq!(refused.why, Why::invalid("processId"));
    let end = TerminalCall::End { process: None };
    let ended = terminals(end.clone()).await.expect("ended");
    assert_eq!(ended, Reply::Terminals(TerminalReply::Ended(1)));
    ear.fact(|fact| matches!(fact, Fact::Note(_))).await;
    let ended = terminals(end).await.expect("ended");
    assert_eq!(ended, Reply::Terminals(TerminalReply::Ended(0)));
    house.say(thread, "and?").await.expect("a turn");
    ear.completed().await;
    let said = format!("{:?}", puppet.requests()[2].messages);
    assert!(said.contains("the user typed to job 1"), "{said}");
    assert!(said.contains("stopped by the user"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_review_only_reads_and_is_known_to_the_conversation_afterwards() {
    let tries = Play::new()
        .call(
            "w",
            "write",
            json!({"filePath": "made.txt", "content": "x"}),
        )
        .call("g", "glob", json!({"pattern": "*"}))
        .end(5, 1);
    // The reviewer is asked as the agent is.
    let puppet = Puppet::new([
        says("first answer"),
        tries,
        says("All is right."),
        says("I know"),
    ]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "Paint it").await.expect("a turn");
    ear.completed().await;
    let review = |target| Call::StartReview(StartReview { thread, target });
    house
        .call(review(ReviewTarget::Uncommitted))
        .await
        .expect("a turn");
    let entered = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Item {
                    what: ItemFact::Finished {
                        body: Item::ReviewEntered { .. },
                        ..
                    },
                    ..
                }
            )
        })
        .await;
    assert!(format!("{entered:?}").contains("current changes"));
    let exited = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Item {
                    what: ItemFact::Finished {
                        body: Item::ReviewExited { .. },
                        ..
                    },
                    ..
                }
            )
        })
        .await;
    assert!(format!("{exited:?}").contains("All is right."));
    assert_eq!(
        ear.ended().await,
        (TurnOutcome::Completed, "All is right.".to_owned())
    );
    assert!(!house.directory().join("made.txt").exists());
    let asked = puppet.requests().remove(1);
    assert!(
        !format!("{:?}", asked.messages).contains("Paint it"),
        "its own conversation"
    );
    assert!(asked.system.contains("You review a code change"));
    assert!(!asked.tools.iter().any(|tool| tool.name == "write"));

    house.say(thread, "And now?").await.expect("a turn");
    ear.completed().await;
    let next = puppet.requests().remove(3);
    let words = format!("{:?}", next.messages);
    for expected in ["asked for a review of current changes", "All is right."] {
        assert!(words.contains(expected), "{words}");
    }
    for branch in ["", "-x", "a b", "$(x)", "a;b"] {
        let target = ReviewTarget::BaseBranch {
            branch: branch.to_owned(),
        };
        let refused = house.call(review(target)).await.expect_err("no branch");
        assert_eq!(refused.why, Why::invalid("branch"), "{branch:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_review_that_fails_says_so() {
    let fails = Play::new().fail(providers::ErrorKind::BadRequest, "no reviews today");
    let puppet = Puppet::new([fails]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    let target = ReviewTarget::Instructions {
        text: "Look at the roof".to_owned(),
    };
    house
        .call(Call::StartReview(StartReview { thread, target }))
        .await
        .expect("a turn");
    let error = ear.failed().await;
    assert!(
        error.message.contains("no reviews today"),
        "{}",
        error.message
    );
}
