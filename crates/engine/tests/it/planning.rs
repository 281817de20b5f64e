//! An agent that plans: what it proposes, what it reads of that later, and what holds while it runs.

use engine::ListenFrom;
use providers::{Block, Message, Part};
use serde_json::json;
use vocabulary::{
    AgentMode, Changes, Fact, Growth, Item, ItemFact, Opening, PlanMarks, ThreadId, ToolEvent,
    ToolFact, ToolOutcome,
};

use crate::answers::{answer, stage_with};
use crate::house::House;
use crate::puppet::{Gate, Play, Puppet, native, says};
use crate::toys::Toys;

const SAID: &str = "Here it is:\n\n<proposed_plan>\n# Do it\n</proposed_plan>\n\nShall I?";

async fn set(house: &House, thread: ThreadId, mode: AgentMode) {
    let changes = Changes {
        mode: Some(mode),
        ..Changes::default()
    };
    house.change(thread, changes).await;
}

/// An answer whose text comes letter by letter.
fn letters(text: &str) -> Play {
    let block = 0;
    let deltas = text.chars().map(|letter| Part::TextDelta {
        block,
        text: letter.to_string(),
    });
    Play::new()
        .part(Part::TextStart { block })
        .then(deltas)
        .part(Part::TextEnd {
            block,
            native: native("words"),
        })
        .end(10, 2)
}

fn bodies(facts: &[&Fact]) -> Vec<Item> {
    let finished = facts.iter().filter_map(|fact| match fact {
        Fact::Item {
            what: ItemFact::Finished { body, .. },
            ..
        } => Some(body.clone()),
        _ => None,
    });
    finished.collect()
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_an_item_and_the_model_reads_what_it_wrote() {
    let puppet = Puppet::new([letters(SAID), says("done"), says("later")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    set(&house, thread, AgentMode::Plan).await;
    house.say(thread, "go").await.expect("a turn");
    let text = "Here it is:\n\n\n\n# Do it\n\n\nShall I?";
    assert_eq!(ear.completed().await, text);
    let text = |text: &str, native| Item::AgentMessage {
        text: text.to_owned(),
        partial: false,
        native,
    };
    let plan = Item::Plan {
        text: "# Do it\n".to_owned(),
        partial: false,
        marks: PlanMarks {
            before: "<proposed_plan>\n".to_owned(),
            after: "</proposed_plan>\n\n".to_owned(),
        },
        native: None,
    };
    let whole = [
        text("Here it is:\n\n", None),
        plan,
        text("Shall I?", native("words")),
    ];
    let facts = ear.facts();
    assert_eq!(bodies(&facts), whole);
    let grew: String = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Item {
                what:
                    ItemFact::Grew {
                        growth: Growth::Plan,
                        delta,
                    },
                ..
            } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(grew, "# Do it\n");

    // The next turn's request begins with what was written, live and after a crash.
    set(&house, thread, AgentMode::Code).await;
    house.say(thread, "do it").await.expect("a turn");
    ear.completed().await;
    let written = Message::Assistant(vec![Block::Text {
        text: SAID.to_owned(),
        native: native("words"),
    }]);
    assert!(puppet.requests()[1].messages.contains(&written));
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and").await.expect("a turn");
    ear.completed().await;
    let messages = &puppet.requests()[2].messages;
    assert!(messages.contains(&written), "{messages:?}");
    assert!(messages.contains(&answer("done")), "{messages:?}");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_looks_like_a_plan_is_text_for_who_does_not_plan() {
    let puppet = Puppet::new([letters(SAID)]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, SAID);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_broke_off_is_kept_as_far_as_it_came() {
    let gate = Gate::new();
    let text = "<proposed_plan>\nstep one";
    let puppet = Puppet::new([Play::new().begin(text).hold(&gate)]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    set(&house, thread, AgentMode::Plan).await;
    house.say(thread, "go").await.expect("a turn");
    let opened = |fact: &Fact| matches!(fact, Fact::Item { what: ItemFact::Started { opening }, .. } if *opening == Opening::Plan);
    ear.fact(opened).await;
    ear.word("step one").await;
    let call = vocabulary::Call::CancelTurn { thread, turn: None };
    house.call(call).await.expect("cancelled");
    ear.rest().await;
    let facts = ear.facts();
    let [Item::Plan { text, partial, .. }] = &bodies(&facts)[..] else {
        panic!("{facts:?}")
    };
    assert_eq!((text.as_str(), *partial), ("step one", true));
}

/// A mode that is set while a turn runs counts from its next call on.
#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_is_held_as_soon_as_its_thread_plans() {
    let (gate, toys) = (Gate::new(), Toys::new());
    let puppet = Puppet::new([
        Play::new().call("c1", "act", json!({"id": "a"})).end(1, 1),
        Play::new()
            .hold(&gate)
            .call("c2", "act", json!({"id": "b"}))
            .end(1, 1),
        says("held"),
    ]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(2).await;
    set(&house, thread, AgentMode::Plan).await;
    gate.open();
    assert_eq!(ear.completed().await, "held");
    assert_eq!(toys.notes(), ["a begins", "a ends"]);
    let facts = ear.facts();
    let refused = facts.iter().any(|fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what:
                ToolFact::Finished {
                    outcome: ToolOutcome::Failed { .. },
                    ..
                },
            ..
        }) => call.call_id == "c2",
        _ => false,
    });
    assert!(refused, "{facts:?}");
}
