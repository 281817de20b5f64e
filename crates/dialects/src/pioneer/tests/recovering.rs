//! What goes wrong in a turn, live and as it is read again: the same events with the same ids.

use serde_json::{Value, json};
use vocabulary::{
    EventPage, Fact, ItemId, Reply, RetryStage, Seq, StepFact, SubAgent, Subject, TimeLimit,
    ToolCall, ToolFact, ToolOutcome, ToolOutput, TurnId, TurnLimit,
};

use super::samples::{self, THREAD, WORKSPACE, bash, tag, thread, turn_finished, turn_started};
use super::stub::Stub;

fn step(what: StepFact) -> Fact {
    Fact::Step { tag: tag(), what }
}

fn delayed(attempt: u32, agent: Option<&str>) -> Fact {
    step(StepFact::Delayed {
        attempt,
        delay_ms: 1_500,
        error: "slow down".to_owned(),
        agent: agent.map(ItemId::new),
        discards: false,
    })
}

fn retried(attempt: u32, stage: RetryStage, agent: Option<&str>) -> Fact {
    step(StepFact::Retried {
        attempt,
        stage,
        agent: agent.map(ItemId::new),
    })
}

fn told(facts: &[Fact]) -> Vec<Value> {
    let mut stub = Stub::subscribed(false);
    facts.iter().for_each(|fact| stub.tell(fact.clone()));
    stub.take()
}

fn kept(facts: &[Fact]) -> Vec<Value> {
    let mut stub = Stub::opened(false);
    stub.say("thread/history", json!({ "thread_id": THREAD }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(page(facts)));
    let result = stub.take().remove(0)["result"].take();
    result["events"].as_array().cloned().unwrap_or_default()
}

fn page(facts: &[Fact]) -> Reply {
    let events = (10..).zip(facts.iter().cloned());
    Reply::Events(EventPage {
        card: Box::new(thread().card),
        events: events
            .map(|(seq, fact)| samples::event(seq, fact))
            .collect(),
        more: false,
    })
}

/// The same event told live and kept: by name, item and job.
fn in_short(live: &[Value], kept: &[Value]) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let live: Vec<_> = live
        .iter()
        .map(|frame| {
            let params = &frame["params"];
            let item = text(&params["item_id"]) + &text(&params["item"]["id"]);
            let method = text(&frame["method"]).replace("item/", "");
            [method, item, text(&params["recovery_job_id"])]
        })
        .collect();
    let kept: Vec<_> = kept
        .iter()
        .map(|event| {
            let payload = &event["payload"];
            let item = text(&payload["itemId"]) + &text(&payload["item"]["id"]);
            (item, text(&payload["recoveryJobId"]))
        })
        .collect();
    let same: Vec<_> = live
        .iter()
        .map(|[_, item, job]| (item.clone(), job.clone()))
        .collect();
    assert_eq!(kept, same, "history has the same items and jobs");
    live
}

#[test]
fn a_request_that_is_made_again_is_recovered_step_by_step() {
    let facts = [
        delayed(1, None),
        retried(2, RetryStage::Started, None),
        delayed(2, None),
        retried(3, RetryStage::Started, None),
        retried(3, RetryStage::Succeeded, None),
    ];
    let (live, kept) = (told(&facts), kept(&facts));
    let (item, job) = ("t1-retry-1", "t1-recovery-1");
    let expected = [
        ("started", ""),
        ("recovery_opened", job),
        ("retry_scheduled", job),
        ("retry_attempt_started", job),
        ("updated", ""),
        ("retry_scheduled", job),
        ("retry_attempt_started", job),
        ("recovery_succeeded", job),
        ("completed", ""),
    ];
    let expected = expected.map(|(what, job)| [what, item, job].map(str::to_owned));
    assert_eq!(in_short(&live, &kept), expected);
    let scheduled = json!({
        "workspace_id": WORKSPACE, "thread_id": THREAD, "turn_id": "t1", "item_id": item,
        "item_type": "system_event", "recovery_job_id": job, "attempt_number": 2,
        "next_run_at_unix": samples::NOW.seconds() + 2, "reason": "slow down",
    });
    assert_eq!(live[2]["params"], scheduled);
    let payload = json!({
        "type": "itemRetryScheduled", "workspaceId": WORKSPACE, "threadId": THREAD, "turnId": "t1",
        "itemId": item, "itemType": "system_event", "recoveryJobId": job, "attemptNumber": 2,
        "nextRunAtUnix": samples::NOW.seconds() + 2, "reason": "slow down",
    });
    assert_eq!(kept[2]["payload"], payload);
}

#[test]
fn what_is_given_up_says_why_and_what_is_cancelled_too() {
    let error = "slow down".to_owned();
    for (stage, status, words) in [
        (RetryStage::GivenUp { error }, "exhausted", "slow down"),
        (RetryStage::Cancelled, "cancelled", "the turn was cancelled"),
    ] {
        let live = told(&[retried(2, stage, None)]);
        assert_eq!(live[0]["method"], "item/recovery_exhausted");
        assert_eq!(live[0]["params"]["status"], status);
        assert_eq!(live[0]["params"]["error_message"], words);
        assert_eq!(live[1]["method"], "item/completed");
    }
}

#[test]
fn a_sub_agents_request_is_recovered_with_the_call_it_works_for() {
    let facts = [
        delayed(1, Some("i1")),
        retried(2, RetryStage::Started, Some("i1")),
        retried(2, RetryStage::Succeeded, Some("i1")),
    ];
    let short = in_short(&told(&facts), &kept(&facts));
    let what: Vec<_> = short.iter().map(|[what, ..]| what.as_str()).collect();
    let expected = [
        "recovery_opened",
        "retry_scheduled",
        "retry_attempt_started",
        "recovery_succeeded",
    ];
    assert_eq!(what, expected);
    assert!(
        short
            .iter()
            .all(|[_, item, job]| item == "i1" && job == "i1-recovery")
    );
}

#[test]
fn a_call_that_takes_too_long_is_told() {
    for (by, reason) in [
        (TimeLimit::Whole, "hard_deadline_exceeded"),
        (TimeLimit::Silence, "idle_deadline_exceeded"),
    ] {
        let what = ToolFact::TimedOut { limit_ms: 1, by };
        let facts = [Fact::tool(tag(), bash("sleep 9").into(), what)];
        let (live, kept) = (told(&facts), kept(&facts));
        assert_eq!(live[0]["method"], "item/timeout_detected");
        assert_eq!(live[0]["params"]["item_type"], "command_execution");
        assert_eq!(live[0]["params"]["reason"], reason);
        assert_eq!(kept[0]["payload"]["type"], "itemTimeoutDetected");
        assert_eq!(kept[0]["payload"]["reason"], reason);
    }
}

#[test]
fn the_limits_of_a_turn_are_those_of_its_tool_loop() {
    for (kind, limit_kind, action) in [
        (
            TurnLimit::Steps,
            "agent_rounds",
            "request_final_no_tools_round",
        ),
        (
            TurnLimit::CallsInWrapUp,
            "provider_returned_tools_after_tools_disabled",
            "fail_turn",
        ),
    ] {
        let facts = [step(StepFact::LimitReached {
            kind,
            limit: 100,
            observed: 100,
        })];
        let (live, kept) = (told(&facts), kept(&facts));
        assert_eq!(live[0]["method"], "turn/tool_loop/budget_exceeded");
        let params = &live[0]["params"];
        assert_eq!(
            (&params["limit_kind"], &params["action"]),
            (&json!(limit_kind), &json!(action))
        );
        let payload = &kept[0]["payload"];
        assert_eq!(payload["type"], "turnToolLoopBudgetExceeded");
        assert_eq!(
            (&payload["limitKind"], &payload["action"]),
            (&json!(limit_kind), &json!(action))
        );
    }
}

#[test]
fn a_summary_is_announced() {
    let live = told(&[step(StepFact::CompactionStarted)]);
    assert_eq!(live[0]["method"], "context/compressing");
    assert_eq!(live[0]["params"]["turn_id"], "t1");
}

fn sub_agents_call() -> ToolCall {
    ToolCall {
        item: ItemId::new("i9"),
        agent: Some(Box::new(SubAgent {
            parent: ItemId::new("i1"),
            kind: "explore".to_owned(),
            depth: 1,
        })),
        ..bash("ls")
    }
}

fn spawn() -> ToolCall {
    ToolCall {
        name: "spawnAgent".to_owned(),
        subject: Subject::Agent {
            prompt: "Look".to_owned(),
        },
        ..bash("ls")
    }
}

fn timeline(params: Value) -> Value {
    let ended = || ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(ToolOutput::Text("found".to_owned())),
        duration_ms: None,
    };
    let planned = || ToolFact::Planned { content: 0 };
    let facts = [
        turn_started(),
        Fact::tool(tag(), spawn().into(), planned()),
        Fact::tool(tag(), sub_agents_call().into(), planned()),
        Fact::tool(tag(), sub_agents_call().into(), ended()),
        Fact::tool(tag(), spawn().into(), ended()),
        turn_finished(),
    ];
    let mut stub = Stub::opened(false);
    stub.say("turn/timeline", params);
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    let indexed = vocabulary::IndexedTurn {
        number: 1,
        turn: TurnId::new("t1"),
        first_seq: Seq(10),
        first_ordinal: 0,
        started_at: samples::NOW,
        ended: None,
    };
    stub.reply(Ok(Reply::Turns(Box::new(vocabulary::TurnPage {
        view: samples::view(),
        turns: vec![indexed],
        entries: Vec::new(),
        more: false,
    }))));
    stub.reply(Ok(page(&facts)));
    stub.take().remove(0)["result"].take()
}

fn lanes(timeline: &Value) -> Vec<(String, Option<String>)> {
    let items = timeline["items"].as_array().expect("items").iter();
    let lane = |item: &Value| {
        let origin = &item["origin"];
        let of = origin["originTurnItemId"].as_str().map(str::to_owned);
        (origin["lane"].as_str().unwrap_or_default().to_owned(), of)
    };
    items.map(lane).collect()
}

#[test]
fn a_timeline_has_what_sub_agents_did_in_a_lane_of_its_own() {
    let params = json!({ "threadId": THREAD, "turnId": "t1" });
    let all = timeline(params);
    let parent = ("parent".to_owned(), None);
    let child = |lane: &str| (lane.to_owned(), Some("i1".to_owned()));
    let expected = [
        parent.clone(),
        parent.clone(),
        parent,
        child("child_tool"),
        child("child_tool"),
        child("child_tool"),
        child("child_result"),
        child("child_result"),
    ];
    assert_eq!(lanes(&all), expected);
    let first = &all["items"][0];
    assert_eq!(first["payload"]["kind"], "turn_item_event");
    assert_eq!(first["origin"]["kind"], "parent_turn");
    assert_eq!(
        first["origin"]["originSequence"],
        first["payload"]["event"]["sequence"]
    );
    let few = json!({ "threadId": THREAD, "turnId": "t1", "maxChildItemsPerTask": 1 });
    assert_eq!(lanes(&timeline(few)).len(), expected.len() - 2);
    let none = json!({ "threadId": THREAD, "turnId": "t1", "composeTasks": false });
    assert_eq!(lanes(&timeline(none)).len(), expected.len() - 3);
}

#[test]
fn a_timeline_changes_with_what_is_kept_only() {
    let mut stub = Stub::subscribed(false);
    stub.tell(delayed(1, None));
    let last = stub.sent.last().expect("frames");
    let params = json!({
        "workspaceId": WORKSPACE, "threadId": THREAD, "turnId": "t1", "reason": "parent_turn_changed",
    });
    assert_eq!(
        (&last["method"], &last["params"]),
        (&json!("turn/timeline/changed"), &params)
    );
    stub.sent.clear();
    stub.tell(step(StepFact::CompactionStarted));
    assert!(
        stub.sent
            .iter()
            .all(|frame| frame["method"] != "turn/timeline/changed")
    );
}

#[test]
fn a_command_left_running_is_told_anew_when_it_ends() {
    let what = ToolFact::JobEnded {
        outcome: ToolOutcome::Succeeded(ToolOutput::Command {
            stdout: "done".to_owned(),
            stderr: String::new(),
            exit_code: 0,
            duration_ms: 5,
            model_text: None,
        }),
    };
    let live = told(&[Fact::tool(tag(), bash("make").into(), what)]);
    assert_eq!(live[0]["method"], "item/updated");
    assert_eq!(live[0]["params"]["item"]["display"]["stdout"], "done");
}

#[test]
fn a_write_is_told_with_what_it_wrote() {
    let call = ToolCall {
        name: "write".to_owned(),
        subject: Subject::Files(Vec::new()),
        effects: vocabulary::Effects::WRITES,
        ..bash("ls")
    };
    let what = ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(ToolOutput::Files {
            summary: "wrote a.txt".to_owned(),
            changes: Vec::new(),
        }),
        duration_ms: Some(3),
    };
    let live = told(&[Fact::tool(tag(), call.into(), what)]);
    assert_eq!(live[0]["method"], "item/file_change/output_delta");
    assert_eq!(live[0]["params"]["stream"], "file_change");
    assert_eq!(live[1]["params"]["item"]["type"], "fileChange");
    assert_eq!(
        live[1]["params"]["item"]["display"]["metadata"],
        json!({ "duration_ms": 3 })
    );
}
