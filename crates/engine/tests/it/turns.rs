//! Turns: answers, tools, asks, cancels.

use std::collections::BTreeMap;

use std::time::Duration;

use engine::ListenFrom;
use providers::Message;
use serde_json::json;
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, AskId, Call, Changes, Closing, Fact, FilesFact, GrantScope,
    ItemFact, MessagePage, NoteFact, Refusal, Reply, StartedTurn, Status, StepFact, ThreadFact,
    ThreadId, ToolEvent, ToolFact, ToolOutcome, ToolOutput, TurnErrorKind, TurnFact, TurnOutcome,
    Why,
};

use crate::house::{Ear, House, Stage, said};
use crate::puppet::{Puppet, calls, says};

/// The kinds of facts told, without the deltas.
fn kinds(ear: &Ear) -> Vec<&'static str> {
    let name = |fact: &&Fact| match fact {
        Fact::Thread(ThreadFact::Created { .. }) => "created",
        Fact::Thread(ThreadFact::Titled { .. }) => "title",
        Fact::Thread(ThreadFact::SettingsChanged { .. }) => "settings",
        Fact::Thread(ThreadFact::Archived { .. }) => "archived",
        Fact::Thread(ThreadFact::Labelled { .. }) => "labelled",
        Fact::Thread(ThreadFact::Reset) => "reset",
        Fact::Thread(ThreadFact::Reverted { .. }) => "reverted",
        Fact::Thread(ThreadFact::StatusChanged {
            status: Status::Running,
            ..
        }) => "running",
        Fact::Thread(ThreadFact::StatusChanged {
            status: Status::Waiting,
            ..
        }) => "waiting",
        Fact::Thread(ThreadFact::StatusChanged {
            status: Status::Ready,
            ..
        }) => "ready",
        Fact::Thread(ThreadFact::StatusChanged { .. }) => "status",
        Fact::Thread(ThreadFact::Closed) => "closed",
        Fact::Turn(TurnFact::Started { .. }) => "turn started",
        Fact::Turn(TurnFact::Finished { .. }) => "turn finished",
        Fact::Turn(TurnFact::Steered { .. }) => "steered",
        Fact::Turn(TurnFact::SteerPlaced { .. }) => "steer placed",
        Fact::Step {
            what: StepFact::Compacted { .. },
            ..
        } => "compacted",
        Fact::Turn(TurnFact::UsageAdded { .. }) => "usage added",
        Fact::Step {
            what: StepFact::Delayed { .. },
            ..
        } => "step delayed",
        Fact::Step {
            what: StepFact::Retried { .. },
            ..
        } => "step retried",
        Fact::Step {
            what: StepFact::LimitReached { .. },
            ..
        } => "limit reached",
        Fact::Step {
            what: StepFact::CompactionStarted,
            ..
        } => "compaction started",
        Fact::Tool(ToolEvent {
            what: ToolFact::TimedOut { .. },
            ..
        }) => "timed out",
        Fact::Step {
            what: StepFact::Started,
            ..
        } => "step started",
        Fact::Step {
            what: StepFact::Finished { .. },
            ..
        } => "step finished",
        Fact::Step {
            what: StepFact::Failed { .. },
            ..
        } => "step failed",
        Fact::Item {
            what: ItemFact::Started { .. },
            ..
        } => "item started",
        Fact::Item {
            what: ItemFact::Grew { .. },
            ..
        } => "item grew",
        Fact::Item {
            what: ItemFact::Finished { .. },
            ..
        } => "item finished",
        Fact::Tool(ToolEvent {
            what: ToolFact::Planned { .. },
            ..
        }) => "planned",
        Fact::Tool(ToolEvent {
            what: ToolFact::Wrote { .. },
            ..
        }) => "wrote",
        Fact::Tool(ToolEvent {
            what: ToolFact::Interacted { .. },
            ..
        }) => "interacted",
        Fact::Tool(ToolEvent {
            what: ToolFact::JobEnded { .. },
            ..
        }) => "job ended",
        Fact::Tool(ToolEvent {
            what: ToolFact::Progressed { .. },
            ..
        }) => "tool progressed",
        Fact::Tool(ToolEvent {
            what: ToolFact::Reached,
            ..
        }) => "reached",
        Fact::Tool(ToolEvent {
            what: ToolFact::Started,
            ..
        }) => "started",
        Fact::Tool(ToolEvent {
            what: ToolFact::Exited { .. },
            ..
        }) => "exited",
        Fact::Tool(ToolEvent {
            what: ToolFact::Finished { .. },
            ..
        }) => "finished",
        Fact::Ask {
            what: AskFact::Opened { .. },
            ..
        } => "asked",
        Fact::Ask {
            what: AskFact::Progressed { .. },
            ..
        } => "progressed",
        Fact::Ask {
            what: AskFact::Closed { .. },
            ..
        } => "answered",
        Fact::Note(NoteFact::Unknown) => "revoked",
        Fact::Turn(TurnFact::PlanChanged { .. }) => "plan",
        Fact::Files(FilesFact::CheckpointsChanged { .. }) => "checkpoints",
        Fact::Files(FilesFact::Changed { .. }) => "files",
        Fact::Files(FilesFact::TurnDiffed { .. }) => "diff",
        Fact::Files(FilesFact::Uploaded { .. }) => "uploaded",
        Fact::Note(NoteFact::Logged { .. }) => "logged",
        Fact::Note(NoteFact::Instructed { .. }) => "instructed",
        Fact::Step {
            what: StepFact::Cited { .. },
            ..
        } => "cited",
        Fact::Step {
            what: StepFact::RawReceived { .. },
            ..
        } => "raw",
        Fact::Step {
            what: StepFact::Informed { .. } | StepFact::Pruned { .. },
            ..
        } => "informed",
    };
    let mut kinds: Vec<_> = ear.facts().iter().map(name).collect();
    kinds.dedup();
    kinds
}

pub async fn opened_ask(ear: &mut Ear) -> AskId {
    match ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Opened { .. },
                    ..
                }
            )
        })
        .await
    {
        Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } => ask.id,
        other => panic!("not an ask: {other:?}"),
    }
}

/// Allows it, once.
pub async fn approve(house: &House, thread: ThreadId, ask: AskId) {
    let yes = Answer::Approval(ApprovalAnswer::Once);
    answer(house, thread, ask, yes).await.expect("an open ask");
}

pub async fn answer(
    house: &House,
    thread: ThreadId,
    ask: AskId,
    answer: Answer,
) -> Result<Reply, Refusal> {
    house
        .call(Call::AnswerAsk {
            thread,
            ask,
            answer,
        })
        .await
}

#[tokio::test]
async fn a_plain_answer_is_told_in_order() {
    let house = House::new("turn\n think Let me see.\n say Hello there.\n usage 10 2");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "Hi!").await.expect("a turn");
    let Fact::Turn(TurnFact::Finished {
        outcome,
        text,
        reasoning,
        usage,
        ..
    }) = ear.rest().await
    else {
        panic!("no end")
    };
    assert_eq!(
        (outcome, text.as_str()),
        (TurnOutcome::Completed, "Hello there.")
    );
    assert_eq!(reasoning[0].1, "Let me see.");
    assert_eq!(usage.map(|usage| usage.total_tokens()), Some(12));
    ear.fact(|fact| {
        matches!(
            fact,
            Fact::Thread(ThreadFact::StatusChanged {
                status: Status::Ready,
                ..
            })
        )
    })
    .await;
    assert_eq!(
        kinds(&ear),
        [
            "running",
            "turn started",
            "title",
            "informed",
            "step started",
            "item started",
            "item grew",
            "item finished",
            "item started",
            "item grew",
            "item finished",
            "step finished",
            "turn finished",
            "ready"
        ]
    );
    house.kept(thread).await;
}

#[tokio::test]
async fn the_parts_of_a_turn_are_numbered_without_holes() {
    let house =
        House::new("turn\n think a b\n say c d\n call todoWrite {\"todos\":[]}\nnext\n say done");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    let mut next = 0;
    for fact in ear.facts() {
        let mut fact = fact.clone();
        let parts = 1;
        if let Some(tag) = fact.tag_mut()
            && parts > 0
        {
            assert_eq!(tag.part, next);
            next += parts;
        }
    }
    assert!(next > 10);
}

#[tokio::test]
async fn an_approved_command_runs_once_and_a_denied_one_never() {
    let house = House::new(
        "turn\n call bash {\"command\":\"echo ran >> here.txt\"}\nnext\n say {result}\n\
         turn\n call bash {\"command\":\"echo ran >> here.txt\"}\nnext\n say {result}",
    );
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "one").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let yes = Answer::Approval(ApprovalAnswer::Once);
    answer(&house, thread, ask, yes.clone())
        .await
        .expect("an open ask");
    ear.rest().await;
    let late = answer(&house, thread, ask, yes)
        .await
        .expect_err("too late");
    assert_eq!(late.why, Why::AlreadyAnswered);

    house.say(thread, "two").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    answer(&house, thread, ask, Answer::Approval(ApprovalAnswer::Deny))
        .await
        .expect("an open ask");
    let finished = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Tool(ToolEvent {
                    what: ToolFact::Finished { .. },
                    ..
                })
            )
        })
        .await;
    let Fact::Tool(ToolEvent {
        what:
            ToolFact::Finished {
                outcome: ToolOutcome::Denied(output),
                ..
            },
        ..
    }) = finished
    else {
        panic!("not denied: {finished:?}")
    };
    assert!(matches!(output, ToolOutput::Command { exit_code: 1, .. }));
    ear.rest().await;
    let kept = house.kept(thread).await;
    assert_eq!(kept.state.thread.message_count, 8);
}

#[tokio::test]
async fn a_command_allowed_for_the_session_is_not_asked_again() {
    let step = "turn\n call bash {\"command\":\"touch x\"}\nnext\n say done\n";
    let house = House::new(&step.repeat(2));
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "one").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let answered = Answer::Approval(ApprovalAnswer::ForSession);
    answer(&house, thread, ask, answered)
        .await
        .expect("an open ask");
    ear.rest().await;
    house.say(thread, "two").await.expect("a turn");
    ear.rest().await;
    let asked = kinds(&ear).iter().filter(|kind| **kind == "asked").count();
    assert_eq!(asked, 1);
}

/// Two turns with the same command: how often is asked when the first answer is this one?
async fn asked_in_two_turns(allowed: ApprovalAnswer, revoke: Option<GrantScope>) -> usize {
    let calls = "turn\n call bash {\"command\":\"touch x\"}\n call bash {\"command\":\"touch x\"}\nnext\n say done\n";
    let house = House::new(&calls.repeat(2));
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let mut asked = 0;
    for said in ["one", "two"] {
        house.say(thread, said).await.expect("a turn");
        loop {
            let fact = ear
                .fact(|fact| {
                    matches!(
                        fact,
                        Fact::Ask {
                            what: AskFact::Opened { .. },
                            ..
                        } | Fact::Turn(TurnFact::Finished { .. })
                    )
                })
                .await;
            let Fact::Ask {
                what: AskFact::Opened { ask, .. },
                ..
            } = fact
            else {
                break;
            };
            asked += 1;
            answer(&house, thread, ask.id, Answer::Approval(allowed))
                .await
                .expect("an open ask");
        }
        if let Some(scope) = revoke {
            let what = "touch x".to_owned();
            let grants = house
                .call(Call::ListGrants { thread })
                .await
                .expect("a list");
            let Reply::Grants(grants) = grants else {
                panic!("no grants: {grants:?}")
            };
            let known: Vec<_> = grants
                .iter()
                .map(|grant| (&*grant.what, grant.scope))
                .collect();
            assert_eq!(known, [("touch x", scope)]);
            let taken_back = Call::RevokeGrant {
                thread,
                what,
                scope,
            };
            house.call(taken_back).await.expect("revoked");
        }
    }
    asked
}

#[tokio::test]
async fn a_grant_lasts_as_long_as_it_says_and_until_it_is_revoked() {
    let table = [
        (ApprovalAnswer::Once, None, 4),
        (ApprovalAnswer::ForTurn, None, 2),
        (ApprovalAnswer::ForSession, None, 1),
        (ApprovalAnswer::ForWorkspace, None, 1),
        (ApprovalAnswer::ForSession, Some(GrantScope::Session), 2),
        (ApprovalAnswer::ForWorkspace, Some(GrantScope::Workspace), 2),
    ];
    for (allowed, revoke, expected) in table {
        let asked = asked_in_two_turns(allowed, revoke).await;
        assert_eq!(asked, expected, "{allowed:?}, revoked {revoke:?}");
    }
}

#[tokio::test]
async fn a_grant_for_the_workspace_holds_in_its_other_threads() {
    let step = "turn\n call bash {\"command\":\"touch x\"}\nnext\n say done\n";
    let house = House::new(step);
    let first = house.thread().await;
    let (_, mut ear) = house.listen(first, ListenFrom::Head).await;
    house.say(first, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let answered = Answer::Approval(ApprovalAnswer::ForWorkspace);
    answer(&house, first, ask, answered)
        .await
        .expect("an open ask");
    ear.rest().await;
    let second = house.thread().await;
    let (_, mut ear) = house.listen(second, ListenFrom::Head).await;
    house.say(second, "go").await.expect("a turn");
    ear.rest().await;
    assert!(!kinds(&ear).contains(&"asked"));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_nobody_is_there_to_see_may_be_answered_by_policy() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({ "command": "touch x" })),
        says("then not"),
    ]);
    let mut stage = Stage::of(&puppet);
    stage.ask_timeout = Some(Duration::from_secs(600));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    opened_ask(&mut ear).await;
    // As long as somebody listens, it waits.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(!kinds(&ear).contains(&"answered"));
    drop(ear);
    tokio::time::sleep(Duration::from_secs(601)).await;
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.asks, []);
    let denied = &puppet.requests()[1].messages[2];
    let Message::ToolResults(results) = denied else {
        panic!("no result: {denied:?}")
    };
    assert_eq!(results[0].text(), "User rejected this command.");
}

#[tokio::test]
async fn several_questions_may_be_answered_one_by_one_but_not_blankly() {
    let house = House::new(
        "turn\n call ask {\"questions\":[{\"question\":\"A?\"},{\"question\":\"B?\"}]}\nnext\n say {result}",
    );
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let given = |id: &str, text: &str| {
        Answer::Questions(BTreeMap::from([(id.to_owned(), vec![text.to_owned()])]))
    };
    let blank = answer(&house, thread, ask, given("q1", "  "))
        .await
        .expect_err("blank");
    assert_eq!(blank.why, Why::BlankAnswer);
    let unknown = answer(&house, thread, ask, given("q7", "x"))
        .await
        .expect_err("unknown");
    assert_eq!(unknown.why, Why::invalid("answers"));
    answer(&house, thread, ask, given("q1", "yes"))
        .await
        .expect("half");
    ear.fact(|fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Progressed { position: 1, .. },
                ..
            }
        )
    })
    .await;
    answer(&house, thread, ask, given("q2", "no"))
        .await
        .expect("whole");
    let Fact::Turn(TurnFact::Finished { text, .. }) = ear.rest().await else {
        panic!("no end")
    };
    assert!(
        text.contains("\"A?\":\"yes\"") && text.contains("\"B?\":\"no\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_cancel_keeps_what_was_said_and_ends_the_turn() {
    let house = House::new("turn\n say one two\n hold");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let busy = house.say(thread, "more").await.expect_err("busy");
    assert_eq!(busy, Refusal::busy());
    let changes = Changes {
        mcp: Some(false),
        ..Changes::default()
    };
    let change = house.call(Call::ChangeThread { thread, changes }).await;
    assert_eq!(
        change,
        Err(Refusal::busy()),
        "a turn keeps what it started with"
    );
    ear.word("two").await;
    house
        .call(Call::CancelTurn { thread, turn: None })
        .await
        .expect("a cancel");
    let Fact::Turn(TurnFact::Finished { outcome, text, .. }) = ear.rest().await else {
        panic!("no end")
    };
    assert_eq!(
        (outcome, text.as_str()),
        (TurnOutcome::Cancelled, "one two")
    );
    house
        .call(Call::CancelTurn { thread, turn: None })
        .await
        .expect("nothing to cancel is fine");
    house.kept(thread).await;
}

#[tokio::test]
async fn a_cancel_while_asking_closes_the_ask() {
    let house = House::new(
        "turn\n call bash {\"command\":\"touch x\"}\n call bash {\"command\":\"touch y\"}",
    );
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    opened_ask(&mut ear).await;
    house
        .call(Call::CancelTurn { thread, turn: None })
        .await
        .expect("a cancel");
    ear.rest().await;
    let closings: Vec<&Closing> = ear
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Ask {
                what: AskFact::Closed { closing, .. },
                ..
            } => Some(closing),
            _ => None,
        })
        .collect();
    assert_eq!(closings, [&Closing::Cancelled]);
    let not_run = |fact: &&Fact| {
        matches!(
            fact,
            Fact::Tool(ToolEvent {
                what: ToolFact::Finished {
                    outcome: ToolOutcome::NotRun { .. },
                    ..
                },
                ..
            })
        )
    };
    assert_eq!(ear.facts().iter().filter(|fact| not_run(fact)).count(), 2);
    house.kept(thread).await;
}

#[tokio::test]
async fn a_failing_provider_fails_the_turn_and_the_next_one_works() {
    let house = House::new("turn\n fail 429 Slow down.\nturn\n say fine");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let Fact::Turn(TurnFact::Finished {
        outcome: TurnOutcome::Failed(error),
        ..
    }) = ear.rest().await
    else {
        panic!("not failed")
    };
    assert_eq!(
        (error.kind, error.message.as_str()),
        (TurnErrorKind::Provider, "Slow down.")
    );
    house.say(thread, "again").await.expect("a turn");
    assert!(matches!(
        ear.rest().await,
        Fact::Turn(TurnFact::Finished {
            outcome: TurnOutcome::Completed,
            ..
        })
    ));
}

#[tokio::test]
async fn the_same_client_id_runs_once() {
    let house = House::new("turn\n say once\nturn\n say twice");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let mut start = said(thread, "go");
    start.client_message_id = Some("m1".to_owned());
    let first = house
        .call(Call::StartTurn(start.clone()))
        .await
        .expect("a turn");
    let again = house
        .call(Call::StartTurn(start.clone()))
        .await
        .expect("the same, even if busy");
    let (
        Reply::Turn(StartedTurn {
            turn,
            again: false,
            joined: None,
        }),
        Reply::Turn(StartedTurn {
            turn: same,
            again: true,
            joined: None,
        }),
    ) = (first, again)
    else {
        panic!("not answered again")
    };
    assert_eq!(turn, same);
    ear.rest().await;
    start.text = "something else".to_owned();
    let other = house
        .call(Call::StartTurn(start))
        .await
        .expect_err("another body");
    assert_eq!(other.why, Why::Conflict);
}

#[tokio::test]
async fn a_reset_starts_the_conversation_anew() {
    let house = House::new("turn\n say first");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    house
        .call(Call::ResetThread { thread })
        .await
        .expect("a reset");
    let read = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 100,
    };
    let Ok(Reply::Messages(MessagePage { entries, total, .. })) = house.call(read.clone()).await
    else {
        panic!("no messages")
    };
    assert_eq!((entries.len(), total), (0, 0));
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    let Ok(Reply::Messages(MessagePage { entries, total, .. })) = house.call(read).await else {
        panic!("no messages")
    };
    assert_eq!((entries.len(), total), (4, 2));
    house.kept(thread).await;
}

#[tokio::test]
async fn settings_that_come_with_a_turn_are_changed_with_it_or_not_at_all() {
    let house =
        House::new("turn\n call bash {\"command\":\"touch x\"}\nnext\n say done\nturn\n say two");
    let (thread, mut ear) = house.heard_thread().await;
    let with_effort = |effort: &str| {
        let mut start = said(thread, "go");
        start.changes.effort = Some(effort.to_owned());
        Call::StartTurn(start)
    };
    house.call(with_effort("high")).await.expect("a turn");
    let waits = |fact: &Fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Opened { .. },
                ..
            }
        )
    };
    ear.fact(waits).await;
    let refused = house.call(with_effort("low")).await.expect_err("busy");
    assert_eq!(refused.why, Why::Busy);
    let state = house.kept(thread).await.state;
    assert_eq!(state.thread.settings.effort.as_deref(), Some("high"));
}
