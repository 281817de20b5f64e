//! Grants: what a yes for longer than once covers, where it is kept, and how it is taken back.

use std::path::Path;

use bytes::Bytes;
use engine::{Grants, ListenFrom};
use serde_json::{Value, json};
use store::{Batch, Store, StoreError};
use vocabulary::Effects;
use vocabulary::{
    Answer, Approval, ApprovalAnswer, Ask, AskFact, AskKind, Call, Caller, Closing, Fact, Grant,
    GrantScope, Person, Refusal, Reply, ThreadId, ToolEvent, ToolFact, ToolOutcome, ToolOutput,
    Why,
};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Puppet, calls, says};
use crate::toys::Toys;

pub async fn asked(ear: &mut Ear) -> (Ask, Approval) {
    let fact = ear.fact(|fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Opened { .. },
                ..
            }
        )
    });
    match fact.await {
        Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } => match ask.kind.clone() {
            AskKind::Approval(approval) => (ask, approval),
            AskKind::Questions(_) => panic!("not an approval: {ask:?}"),
        },
        other => panic!("not an ask: {other:?}"),
    }
}

async fn answer(
    house: &House,
    thread: ThreadId,
    ask: &Ask,
    yes: ApprovalAnswer,
) -> Result<Reply, Refusal> {
    let (ask, answer) = (ask.id, Answer::Approval(yes));
    house
        .call(Call::AnswerAsk {
            thread,
            ask,
            answer,
        })
        .await
}

async fn listed(house: &House, thread: ThreadId) -> Vec<Grant> {
    match house.call(Call::ListGrants { thread }).await {
        Ok(Reply::Grants(grants)) => grants,
        other => panic!("no grants: {other:?}"),
    }
}

fn asks(ear: &Ear) -> usize {
    let asked = |fact: &&&Fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Opened { .. },
                ..
            }
        )
    };
    ear.facts().iter().filter(asked).count()
}

/// A house whose model calls a tool that asks, each time with the next of these ids, a call a turn.
/// The call of an id with "held" in it does not end.
pub fn house_of(ids: &[&str]) -> House {
    let plays = ids.iter().flat_map(|id| {
        let input = json!({ "id": id, "hold": id.contains("held") });
        [calls(&format!("c {id}"), "toy", input), says("done")]
    });
    let mut stage = Stage::of(&Puppet::new(plays));
    let toys = Toys::new();
    stage.tools.add(toys.asking_tool("toy", Effects::RUNS));
    House::staged(stage)
}

#[tokio::test(start_paused = true)]
async fn a_grant_covers_a_tool_with_exactly_this_input() {
    let house = house_of(&["one", "one", "two"]);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, first) = asked(&mut ear).await;
    let yes = ApprovalAnswer::ForSession;
    answer(&house, thread, &ask, yes).await.expect("taken");
    ear.rest().await;
    house.say(thread, "again").await.expect("a turn");
    ear.rest().await;
    assert_eq!(asks(&ear), 1, "the same again is not asked");
    house.say(thread, "another").await.expect("a turn");
    let (_, second) = asked(&mut ear).await;
    assert_eq!(first.command, second.command, "the words are the same");
    assert_ne!(first.key, second.key, "the input is not");
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_kept_before_its_answer_is_acknowledged() {
    let table = [
        (ApprovalAnswer::ForTurn, GrantScope::Turn),
        (ApprovalAnswer::ForSession, GrantScope::Session),
        (ApprovalAnswer::ForWorkspace, GrantScope::Workspace),
    ];
    for (yes, scope) in table {
        let house = house_of(&["held"]);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        let (ask, approval) = asked(&mut ear).await;
        let elsewhere = Grants::new(std::sync::Arc::new(house.world.open()));
        let tenant = Caller::local().tenant;
        assert_eq!(elsewhere.all(&tenant).await, Ok(vec![]));
        answer(&house, thread, &ask, yes).await.expect("taken");
        let kept = elsewhere.all(&tenant).await.expect("a list");
        let expected = Grant {
            id: kept[0].id.clone(),
            what: "toy".to_owned(),
            key: approval.key.expect("a key"),
            scope,
            thread: Some(thread),
            turn: (scope == GrantScope::Turn).then(|| ask.turn.clone()),
            directory: house.directory().to_owned(),
            by: Some(Person {
                member: "owner".to_owned(),
                via: None,
            }),
            at: kept[0].at,
        };
        assert_eq!(kept, [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_grant_cannot_be_kept_is_refused_and_the_ask_stays_open() {
    let house = house_of(&["one"]);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    house.store.fail_from_now_on(StoreError::Full);
    let refused = answer(&house, thread, &ask, ApprovalAnswer::ForSession).await;
    assert_eq!(refused.expect_err("a full disk").why, Why::Storage);
    house.store.heal();
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.asks.len(), 1);
    let yes = ApprovalAnswer::ForSession;
    answer(&house, thread, &ask, yes).await.expect("taken");
    ear.rest().await;
    assert_eq!(listed(&house, thread).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_revoked_in_another_process_is_gone_at_once() {
    for yes in [
        ApprovalAnswer::ForTurn,
        ApprovalAnswer::ForSession,
        ApprovalAnswer::ForWorkspace,
    ] {
        let toys = Toys::new();
        let mut stage = Stage::of(&Puppet::new([
            calls("c1", "toy", json!({ "id": "same" })),
            calls("c2", "wait", json!({ "id": "waiter", "hold": true })),
            calls("c3", "toy", json!({ "id": "same" })),
            says("done"),
        ]));
        stage.tools.add(toys.asking_tool("toy", Effects::RUNS));
        stage.tools.add(toys.tool("wait", Effects::RUNS));
        let house = House::staged(stage);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        let (ask, _) = asked(&mut ear).await;
        answer(&house, thread, &ask, yes).await.expect("taken");
        toys.noted(&["waiter begins"]).await;
        // The turn runs on here while another process takes it back.
        let elsewhere = Grants::new(std::sync::Arc::new(house.world.open()));
        let tenant = Caller::local().tenant;
        let known = elsewhere.all(&tenant).await.expect("a list");
        let ids: Vec<String> = known.into_iter().map(|grant| grant.id).collect();
        assert_eq!(ids.len(), 1);
        elsewhere.revoke(&tenant, &ids).await.expect("revoked");
        toys.release("waiter");
        let (again, _) = asked(&mut ear).await;
        assert_ne!(
            again.id, ask.id,
            "{yes:?} was revoked, so it is asked again"
        );
        assert_eq!(listed(&house, thread).await, []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_longer_counts_after_a_restart_too() {
    let house = house_of(&["one", "one"]);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    let house = house.crash();
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.asks[0].ask, ask, "the ask still says what it covers");
    let yes = ApprovalAnswer::ForSession;
    answer(&house, thread, &ask, yes).await.expect("taken");
    ear.rest().await;
    let house = house.crash();
    let keys = listed(&house, thread).await.into_iter();
    let keys: Vec<_> = keys.map(|grant| Some(grant.key)).collect();
    assert_eq!(keys, [approval.key]);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_for_a_turn_or_a_thread_is_not_listed_for_ever() {
    let house = house_of(&["one", "two"]);
    let (thread, mut ear) = house.heard_thread().await;
    for (said, yes) in [
        ("go", ApprovalAnswer::ForTurn),
        ("on", ApprovalAnswer::ForSession),
    ] {
        house.say(thread, said).await.expect("a turn");
        let (ask, _) = asked(&mut ear).await;
        answer(&house, thread, &ask, yes).await.expect("taken");
        ear.rest().await;
    }
    let tenant = Caller::local().tenant;
    let elsewhere = Grants::new(std::sync::Arc::new(house.world.open()));
    // The turn's goes in the background.
    while elsewhere.all(&tenant).await.expect("a list").len() > 1 {
        tokio::task::yield_now().await;
    }
    let scopes = listed(&house, thread).await.into_iter();
    let scopes: Vec<_> = scopes.map(|grant| grant.scope).collect();
    assert_eq!(scopes, [GrantScope::Session]);
    let delete = Call::DeleteThread { thread };
    house.call(delete).await.expect("deleted");
    assert_eq!(elsewhere.all(&tenant).await, Ok(vec![]));
}

/// As an older version left it: a thread whose state has a grant by its line, a workspace likewise.
async fn older(house: &House, thread: ThreadId) {
    let workspace = json!([{ "what": "touch  here", "scope": "workspace", "at": 7 }]).to_string();
    let name = format!("grants {}", house.directory().display());
    let tenant = Caller::local().tenant;
    let kept = house.store.set_setting(&tenant, &name, &workspace);
    kept.await.expect("kept");
    let loaded = house.store.load(thread).await.expect("a read");
    let loaded = loaded.expect("a kept thread");
    let mut state: Value = serde_json::from_slice(&loaded.state).expect("a state row");
    state["granted"] = json!([
        { "what": "touch x", "scope": "session", "at": 5 },
        { "what": "touch here", "scope": "workspace", "at": 6 },
    ]);
    let lease = house.store.acquire(thread).await.expect("a lease");
    let batch = Batch {
        state: Bytes::from(state.to_string()),
        high_water: loaded.high_water,
        ..Batch::default()
    };
    let appended = house.store.append(lease, loaded.last_seq, batch).await;
    appended.expect("appended");
    house.store.release(lease).await.expect("released");
}

#[tokio::test]
async fn grants_of_older_versions_are_taken_over_once() {
    let bash = |command: &str| {
        format!("turn\n call bash {{\"command\":\"{command}\"}}\nnext\n say done\n")
    };
    let script = ["touch x", "touch here", "touch x"].map(bash).concat();
    let house = House::new(&format!("turn\n say hello\n{script}"));
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "hi").await.expect("a turn");
    ear.rest().await;
    drop(ear);
    let house = house.crash();
    older(&house, thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    for said in ["x", "here"] {
        house.say(thread, said).await.expect("a turn");
        ear.rest().await;
    }
    assert_eq!(asks(&ear), 0, "both are allowed still");
    let known = listed(&house, thread).await;
    let known = known.iter();
    let shown = known.map(|grant| (&*grant.what, grant.scope, grant.at.0));
    let shown: Vec<_> = shown.collect();
    assert_eq!(
        shown,
        [
            ("touch x", GrantScope::Session, 5),
            ("touch  here", GrantScope::Workspace, 7),
        ]
    );
    let revoke = Call::RevokeGrant {
        thread,
        what: "touch x".to_owned(),
        scope: GrantScope::Session,
    };
    house.call(revoke).await.expect("revoked");
    // Not even a new process brings back what was revoked.
    drop(ear);
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "x").await.expect("a turn");
    asked(&mut ear).await;
    assert_eq!(listed(&house, thread).await.len(), 1);
}

#[tokio::test]
async fn what_a_person_approves_hides_nothing_and_runs_as_it_is() {
    let raw = "printf '%s' 'a\u{1b}[2Kb\u{202e}c\r' > out\ntrue";
    let script = json!({ "command": raw });
    let house = House::new(&format!("turn\n call bash {script}\nnext\n say done"));
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    let shown = "printf '%s' 'a\\u{1b}[2Kb\\u{202e}c\\r' > out\ntrue";
    assert_eq!(approval.command, shown);
    let key: Value = serde_json::from_str(&approval.key.expect("a key")).expect("JSON");
    assert_eq!(key, json!(["bash", { "command": raw }]), "the key is exact");
    let yes = ApprovalAnswer::Once;
    answer(&house, thread, &ask, yes).await.expect("taken");
    ear.rest().await;
    let written = std::fs::read_to_string(house.directory().join("out"));
    assert_eq!(written.expect("it ran"), "a\u{1b}[2Kb\u{202e}c\r");
}

pub fn put_skill(directory: &Path, body: &str) {
    let skill = directory.join(".agent/skills/deploy");
    std::fs::create_dir_all(&skill).expect("made");
    let text = format!("---\nname: deploy\ndescription: Deploys\n---\n{body}\n");
    std::fs::write(skill.join("SKILL.md"), text).expect("written");
}

/// A thread that waits for trust in the workspace's skill, which says "first".
async fn waits_for_trust() -> (House, ThreadId, Ear, Ask) {
    let house = House::new("turn\n call skill {\"skillName\":\"deploy\"}\nnext\n say done");
    put_skill(house.directory(), "first");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, _) = asked(&mut ear).await;
    (house, thread, ear, ask)
}

async fn used(ear: &mut Ear) -> ToolOutcome {
    let finished = ear.fact(|fact| {
        matches!(
            fact,
            Fact::Tool(ToolEvent {
                what: ToolFact::Finished { .. },
                ..
            })
        )
    });
    match finished.await {
        Fact::Tool(ToolEvent {
            what: ToolFact::Finished { outcome, .. },
            ..
        }) => outcome,
        other => panic!("no end: {other:?}"),
    }
}

fn text_of(outcome: &ToolOutcome) -> &str {
    match outcome {
        ToolOutcome::Succeeded(ToolOutput::Text(text)) => text,
        other => panic!("no text: {other:?}"),
    }
}

#[tokio::test]
async fn trust_is_given_to_what_was_asked_about_and_to_nothing_else() {
    let (house, thread, mut ear, first) = waits_for_trust().await;
    put_skill(house.directory(), "second");
    let yes = ApprovalAnswer::Once;
    answer(&house, thread, &first, yes).await.expect("taken");
    let (second, _) = asked(&mut ear).await;
    assert_ne!(
        first.kind, second.kind,
        "it is seen to be about something else"
    );
    answer(&house, thread, &second, yes).await.expect("taken");
    let outcome = used(&mut ear).await;
    assert!(text_of(&outcome).starts_with("second"), "{outcome:?}");
}

#[tokio::test]
async fn a_no_to_the_changed_content_is_a_no() {
    let (house, thread, mut ear, first) = waits_for_trust().await;
    put_skill(house.directory(), "second");
    let yes = ApprovalAnswer::ForWorkspace;
    answer(&house, thread, &first, yes).await.expect("taken");
    let (second, _) = asked(&mut ear).await;
    let no = ApprovalAnswer::Deny;
    answer(&house, thread, &second, no).await.expect("taken");
    let ToolOutcome::Failed { error } = used(&mut ear).await else {
        panic!("it was used")
    };
    assert!(error.contains("the user does not trust it"), "{error}");
    assert_eq!(listed(&house, thread).await, [], "trust is no grant");
}

#[tokio::test]
async fn trust_asked_for_before_a_restart_is_asked_for_again_if_it_changed() {
    let (house, thread, ear, first) = waits_for_trust().await;
    drop(ear);
    let house = house.crash();
    put_skill(house.directory(), "second");
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    // The turn sees what changed and asks again; the first ask is over.
    let closed = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Closed { .. },
                    ..
                }
            )
        })
        .await;
    let Fact::Ask {
        what: AskFact::Closed { ask, closing, .. },
        ..
    } = closed
    else {
        panic!("not closed")
    };
    assert_eq!(ask, first);
    assert!(matches!(closing, Closing::Lost { .. }), "{closing:?}");
    let (second, _) = asked(&mut ear).await;
    let yes = ApprovalAnswer::Once;
    answer(&house, thread, &second, yes).await.expect("taken");
    assert!(text_of(&used(&mut ear).await).starts_with("second"));
    house.kept(thread).await;
}
