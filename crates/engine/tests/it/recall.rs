//! A conversation only ever grows: what a model reads, live or read back from the log, begins with
//! what it read before. A summary begins a new one, which grows likewise.

use std::sync::Arc;

use engine::ListenFrom;
use proptest::collection::vec;
use proptest::prelude::*;
use providers::catalog::Model;
use providers::{ErrorKind, Message, RequestPurpose};
use serde_json::json;
use vocabulary::Effects;

use crate::house::{House, Stage};
use crate::puppet::{self, Gate, Play, Puppet, native, says};
use crate::toys::Toys;
use crate::turns::{approve, opened_ask};

#[derive(Clone, Debug)]
struct Step {
    thinks: bool,
    texts: usize,
    /// What each call does.
    calls: Vec<Does>,
    /// An answer that breaks off comes first, after so many blocks.
    breaks_after: Option<usize>,
    /// The user says something before the answer begins, or after its first block.
    steered: Option<bool>,
    /// The answer makes no calls, and is cut at its limit or has nothing in it.
    ends_badly: Option<BadEnding>,
    /// The context is full after it: a summary is made before the next one.
    fills: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BadEnding {
    Cut,
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Look,
    Act,
    Spawn,
    Misspell,
    /// Waits for a person; the process may die meanwhile.
    Beg {
        crashes: bool,
    },
}

#[derive(Clone, Debug)]
struct Turn {
    steps: Vec<Step>,
    /// The process dies when it is over.
    crashes: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let does = prop_oneof![
        4 => Just(Does::Look),
        2 => Just(Does::Act),
        1 => Just(Does::Spawn),
        1 => Just(Does::Misspell),
        1 => any::<bool>().prop_map(|crashes| Does::Beg { crashes }),
    ];
    let breaks = prop_oneof![3 => Just(None), 1 => (0usize..4).prop_map(Some)];
    let steered = prop_oneof![2 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let ends_badly = prop_oneof![
        4 => Just(None),
        1 => Just(Some(BadEnding::Cut)),
        1 => Just(Some(BadEnding::Empty)),
    ];
    let step = (
        any::<bool>(),
        0usize..3,
        vec(does, 1..7),
        breaks,
        steered,
        ends_badly,
        prop_oneof![3 => Just(false), 1 => Just(true)],
    );
    step.prop_map(
        |(thinks, texts, calls, breaks_after, steered, ends_badly, fills)| {
            // Two summaries in a row that free little would end the turn.
            let looks = [Does::Look].into_iter().filter(|_| fills);
            let (texts, calls) = match ends_badly {
                None => (texts, looks.chain(calls).collect()),
                Some(BadEnding::Cut) => (texts.max(1), Vec::new()),
                Some(BadEnding::Empty) => (0, Vec::new()),
            };
            Step {
                thinks,
                texts,
                calls,
                breaks_after,
                steered,
                ends_badly,
                fills: fills && ends_badly.is_none(),
            }
        },
    )
}

fn turn() -> impl Strategy<Value = Turn> {
    (vec(step(), 1..4), any::<bool>()).prop_map(|(mut steps, crashes)| {
        // The last step of a turn is the one that wants nothing more.
        let last = steps.last_mut().expect("a step");
        last.calls.clear();
        last.texts = last.texts.max(1);
        last.steered = None;
        last.ends_badly = None;
        Turn { steps, crashes }
    })
}

impl Step {
    /// The answer, or its first blocks. `gate` holds it where the user says something.
    fn play(&self, gate: &Gate, blocks: usize) -> Play {
        let mut play = Play::new();
        if self.steered == Some(false) {
            play = play.hold(gate);
        }
        let mut left = blocks;
        let mut next = |play: Play, change: &dyn Fn(Play) -> Play| match left {
            0 => play,
            _ => {
                left -= 1;
                change(play)
            }
        };
        if self.thinks {
            play = next(play, &|play| play.think("hm", native("thought")));
        }
        for n in 0..self.texts {
            play = next(play, &|play| play.say(&format!("text {n}")));
        }
        if self.steered == Some(true) {
            play = play.hold(gate);
        }
        for (n, does) in self.calls.iter().enumerate() {
            let id = format!("c{n}");
            let words = if self.fills && n == 0 { 3_000 } else { 10 };
            let input = json!({"id": format!("x{n}"), "words": words});
            play = next(play, &|play| match does {
                Does::Look => play.call(&id, "look", input.clone()),
                Does::Act => play.call(&id, "act", input.clone()),
                Does::Spawn => play.call(&id, "spawnAgent", json!({"n": n})),
                Does::Beg { .. } => play.call(&id, "beg", input.clone()),
                Does::Misspell => play.call_with(&id, "act", input.clone(), None, Some("what?")),
            });
        }
        play
    }
}

async fn live(turns: Vec<Turn>) {
    let puppet = Puppet::new([]);
    let mut house = House::staged(stage(&puppet));
    let thread = house.thread().await;
    let (mut asked, mut is_full) = (0, false);
    for turn in &turns {
        let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
        let mut gates = Vec::new();
        for step in &turn.steps {
            let gate = Gate::new();
            if is_full {
                puppet.then(RequestPurpose::Summary, [says("short")]);
                asked += 1;
            }
            is_full = step.fills;
            if let Some(blocks) = step.breaks_after {
                let open = Gate::new();
                open.open();
                let broken = step.play(&open, blocks).begin("half");
                let broken = broken.fail(ErrorKind::CutOff, "cut off");
                puppet.then(Default::default(), [broken]);
                asked += 1;
            }
            let whole = step.play(&gate, usize::MAX);
            let whole = match step.ends_badly {
                Some(BadEnding::Cut) => whole.cut(2),
                Some(BadEnding::Empty) | None if step.fills => whole.end(17_000, 2),
                Some(BadEnding::Empty) | None => whole.end(10, 2),
            };
            puppet.then(Default::default(), [whole]);
            asked += 1;
            gates.push((step, asked, gate));
        }
        house.say(thread, "go").await.expect("a turn");
        for (step, asked, gate) in gates {
            if step.steered.is_some() {
                puppet.was_asked(asked).await;
                house.steer(thread, "and this").await.expect("heard");
            }
            gate.open();
            for does in &step.calls {
                let Does::Beg { crashes } = does else {
                    continue;
                };
                let ask = opened_ask(&mut ear).await;
                house.steer(thread, "while it waits").await.expect("heard");
                if *crashes {
                    house = house.crash();
                    (_, ear) = house.listen(thread, ListenFrom::Head).await;
                }
                approve(&house, thread, ask).await;
            }
        }
        ear.completed().await;
        house.kept(thread).await;
        if turn.crashes {
            drop(ear);
            house = house.crash();
        }
    }
    assert_eq!(puppet.requests().len(), asked);
    for pair in puppet.requests().windows(2) {
        // A summary is asked for within the conversation that it ends.
        if pair[0].purpose == RequestPurpose::Summary {
            check_results(&pair[1].messages);
            continue;
        }
        assert!(
            pair[1].whole().starts_with(&pair[0].whole()),
            "{:#?}\nis followed by\n{:#?}",
            pair[0].whole(),
            pair[1].whole()
        );
        check_results(&pair[1].messages);
    }
}

fn stage(puppet: &Arc<Puppet>) -> Stage {
    let toys = Toys::new();
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tools.add(toys.tool("act", Effects::RUNS));
    stage.tools.add(toys.asking_tool("beg", Effects::RUNS));
    stage.catalog = puppet::catalog(Model {
        context: Some(20_000),
        ..puppet::big()
    });
    stage
}

/// Every call has its result, in the message after it.
fn check_results(messages: &[Message]) {
    for (n, message) in messages.iter().enumerate() {
        let Message::Assistant(blocks) = message else {
            continue;
        };
        let calls: Vec<&String> = blocks
            .iter()
            .filter_map(|block| match block {
                providers::Block::ToolCall { call_id, .. } => Some(call_id),
                providers::Block::Text { .. }
                | providers::Block::Reasoning { .. }
                | providers::Block::File { .. } => None,
            })
            .collect();
        let results: Vec<&String> = match messages.get(n + 1) {
            Some(Message::ToolResults(results)) => {
                results.iter().map(|result| &result.call_id).collect()
            }
            Some(Message::User(_) | Message::Assistant(_)) | None => Vec::new(),
        };
        assert_eq!(calls, results);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn a_conversation_only_grows(turns in vec(turn(), 1..4)) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(live(turns));
    }
}
