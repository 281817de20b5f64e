//! Replayed events and gaps cover every number after the cursor exactly once, whatever happened.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{ApprovalAnswer, AskFact, Event, Fact, OpenAsk, Reply, Seq, ThreadFact};

use super::facts;
use super::stub::Stub;
use crate::Heard;
use crate::cowork::tests::samples::{NOW, SESSION, tag, view};

/// What happens next: any fact but an ask, or an ask opened, or the oldest open one closed.
#[derive(Clone, Debug)]
enum Next {
    Fact(usize),
    Open { is_question: bool },
    Close,
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        6 => (0..facts::all().len()).prop_map(Next::Fact),
        1 => any::<bool>().prop_map(|is_question| Next::Open { is_question }),
        1 => Just(Next::Close),
    ]
}

/// The log of these, numbered from 1, and the asks that are open at its end.
fn log(nexts: &[Next]) -> (Vec<Event>, Vec<OpenAsk>) {
    let kinds = facts::all();
    let (mut events, mut open): (Vec<Event>, Vec<(u64, bool, Seq)>) = (Vec::new(), Vec::new());
    for (next, number) in nexts.iter().zip(1..) {
        let seq = Seq(number);
        let fact = match next {
            Next::Fact(kind) => kinds[*kind].clone(),
            Next::Open { is_question } => {
                open.push((number, *is_question, seq));
                facts::asked(number, *is_question)
            }
            Next::Close if open.is_empty() => Fact::Thread(ThreadFact::Reset),
            Next::Close => {
                let (id, is_question, _) = open.remove(0);
                facts::closed(id, is_question, ApprovalAnswer::Once)
            }
        };
        events.push(Event {
            seq,
            at: NOW,
            by: None,
            fact,
        });
    }
    let open = open.into_iter().map(|(id, is_question, seq)| {
        let Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } = facts::asked(id, is_question)
        else {
            unreachable!("an ask");
        };
        OpenAsk {
            ask,
            seq,
            at: NOW,
            tag: tag(0),
            answers: Default::default(),
        }
    });
    (events, open.collect())
}

/// Delivers the log as the engine does: durable events, and gaps where the others were.
fn deliver(stub: &mut Stub, events: &[Event], after: u64) {
    let mut at = Seq(after);
    let head = Seq(events.len() as u64);
    for event in events.iter().filter(|event| event.seq.0 > after) {
        if !event.fact.durable() {
            continue;
        }
        if event.seq > at.next() {
            let to = Seq(event.seq.0 - 1);
            stub.hear(Heard::Gap { after: at, to });
        }
        stub.hear(Heard::Replay(event));
        at = event.seq;
    }
    if at < head {
        stub.hear(Heard::Gap {
            after: at,
            to: head,
        });
    }
    stub.caught_up(head.0);
}

/// The numbers a client knows about after these frames, in their order; twins count once.
fn covered(frames: &[Value]) -> Vec<u64> {
    let mut covered = Vec::new();
    for frame in frames {
        let kind = frame["type"].as_str().expect("a type");
        if kind == "gap" {
            let from = frame["fromSeq"].as_u64().expect("a start");
            covered.extend(from + 1..=frame["toSeq"].as_u64().expect("an end"));
        } else if let Some(seq) = frame["seq"].as_u64()
            && !kind.starts_with("message.")
        {
            covered.push(seq);
        }
    }
    covered
}

fn requests(frames: &[Value]) -> Vec<&str> {
    let opens = |frame: &&Value| {
        frame["type"] == "question_requested" || frame["type"] == "permission_requested"
    };
    let ids = frames.iter().filter(opens);
    ids.filter_map(|frame| frame["requestId"].as_str())
        .collect()
}

proptest! {
    #[test]
    fn replay_and_gaps_cover_every_number_once(
        nexts in prop::collection::vec(next(), 1..60),
        cursor in any::<prop::sample::Index>(),
        dotted in any::<bool>(),
    ) {
        let (events, open) = log(&nexts);
        let (head, after) = (events.len() as u64, cursor.index(events.len() + 1) as u64);
        let query: &[(&str, &str)] = if dotted { &[("events", "dotted")] } else { &[] };
        let mut stub = Stub::opened(query);
        stub.say(json!({"type": "join_session", "sessionId": SESSION, "afterSeq": after}));
        stub.sent.clear();
        let mut joined = view();
        joined.head = Seq(head);
        joined.asks = open.clone();
        stub.reply(Ok(Reply::View(Box::new(joined))));
        deliver(&mut stub, &events, after);
        let frames = stub.take();

        let end = frames.iter().position(|frame| frame["type"] == "replay_complete");
        let (replayed, rest) = frames.split_at(end.expect("an end of the replay"));
        prop_assert_eq!(covered(replayed), (after + 1..=head).collect::<Vec<_>>());
        prop_assert_eq!(rest[0]["lastSeq"].as_u64(), Some(head));
        let is_gap = |frame: &Value| frame["type"] == "gap";
        let two_gaps = replayed.windows(2).any(|pair| is_gap(&pair[0]) && is_gap(&pair[1]));
        prop_assert!(!two_gaps, "one gap per hole");

        let all = requests(&frames);
        for ask in &open {
            let id = format!("req-{}", ask.ask.id);
            let times = all.iter().filter(|told| **told == id).count();
            prop_assert_eq!(times, 1, "each open request is told once");
        }
        let told_late = requests(rest).len();
        prop_assert_eq!(rest.len(), 1 + told_late, "nothing else follows the end");
    }
}

#[test]
fn a_gap_that_is_heard_later_is_told_before_the_next_live_event() {
    let mut stub = Stub::joined(view());
    stub.hear(Heard::Gap {
        after: Seq(9),
        to: Seq(12),
    });
    assert_eq!(stub.take(), Vec::<Value>::new());
    let event = Event {
        seq: Seq(13),
        at: NOW,
        by: None,
        fact: facts::turn_started(),
    };
    stub.hear(Heard::Live(&event));
    assert_eq!(stub.take_types(), ["gap", "turn_started"]);
}
