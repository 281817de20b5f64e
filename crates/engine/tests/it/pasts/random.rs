//! Random histories with forks and reverts: what the model is sent equals what it would be sent in a
//! thread that only ever had the turns which are left.

use std::collections::VecDeque;

use base64::Engine as _;
use engine::ListenFrom;
use proptest::prelude::*;
use providers::{ErrorKind, RequestPurpose};
use serde_json::json;
use store::Store;
use vocabulary::{Call, Changes, FileUpload, ForkPlace, RevertTo, ThreadId, TurnOutcome};

use super::{fork, revert, stage, turns};
use crate::house::{Ear, House};
use crate::puppet::{Gate, Play, Puppet, says};

/// What happens in a turn.
#[derive(Clone, Copy, Debug)]
enum Course {
    Answers,
    /// With a call.
    Looks,
    /// With so much that a summary is due next.
    LooksAtMuch,
    /// The user says more while it runs.
    IsSteered,
    IsCancelled,
    Fails,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Turn(Course),
    Upload,
    Reset,
    /// How many steps a turn may have.
    Set(u32),
    /// So many turns back.
    Revert(usize),
    /// The thread goes on as a fork of itself, without this many of its last turns.
    Fork(usize),
    /// The same, named by the first turn that stays behind.
    ForkBefore(usize),
    Crash,
}

/// What is left of a history: each with its own number, by which its words are its own.
#[derive(Clone, Copy, Debug)]
enum Left {
    Turn(usize, Course),
    Upload(usize),
    Reset,
}

fn course() -> impl Strategy<Value = Course> {
    prop_oneof![
        3 => Just(Course::Answers),
        2 => Just(Course::Looks),
        2 => Just(Course::LooksAtMuch),
        1 => Just(Course::IsSteered),
        1 => Just(Course::IsCancelled),
        1 => Just(Course::Fails),
    ]
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        8 => course().prop_map(Doing::Turn),
        1 => Just(Doing::Upload),
        1 => Just(Doing::Reset),
        1 => (20..90_u32).prop_map(Doing::Set),
        3 => (1..4_usize).prop_map(Doing::Revert),
        2 => (0..3_usize).prop_map(Doing::Fork),
        1 => (1..3_usize).prop_map(Doing::ForkBefore),
        1 => Just(Doing::Crash),
    ]
}

/// The script of one turn.
fn plays(number: usize, course: Course, gate: &Gate) -> Vec<Play> {
    let look = |words: usize| {
        let input = json!({"id": format!("look {number}"), "words": words});
        Play::new()
            .say("I look")
            .call(&format!("c{number}"), "look", input)
    };
    let answer = || Play::new().say(&format!("answer {number}"));
    match course {
        Course::Answers => vec![answer().end(100, 10)],
        Course::Looks => vec![look(3).end(100, 10), answer().end(200, 10)],
        Course::LooksAtMuch => vec![look(5_000).end(9_000, 10), answer().end(18_000, 10)],
        Course::IsSteered => vec![
            Play::new()
                .begin(&format!("waits {number}"))
                .hold(gate)
                .end(100, 10),
            answer().end(200, 10),
        ],
        Course::IsCancelled => vec![Play::new().begin(&format!("waits {number}")).hang()],
        Course::Fails => vec![Play::new().refuse(ErrorKind::BadRequest, "no")],
    }
}

/// A thread with its model, as one process after the other has it.
struct Stand {
    puppet: std::sync::Arc<Puppet>,
    house: House,
    thread: ThreadId,
    ear: Ear,
}

impl Stand {
    async fn new() -> Self {
        let puppet = Puppet::new([]);
        let summaries = (0..200).map(|_| says("in short"));
        puppet.then(RequestPurpose::Summary, summaries);
        let house = House::staged(stage(&puppet));
        let (thread, ear) = house.heard_thread().await;
        Self {
            puppet,
            house,
            thread,
            ear,
        }
    }

    async fn hear(&mut self, thread: ThreadId) {
        self.thread = thread;
        self.ear = self.house.listen(thread, ListenFrom::Head).await.1;
    }

    async fn turn(&mut self, number: usize, course: Course) {
        let gate = Gate::new();
        let plays = plays(number, course, &gate);
        self.puppet.then(RequestPurpose::Answer, plays);
        let text = format!("say {number}");
        self.house.say(self.thread, &text).await.expect("a turn");
        let waits = format!("waits {number}");
        match course {
            Course::IsSteered => {
                self.ear.word(&waits).await;
                let more = format!("more {number}");
                self.house.steer(self.thread, &more).await.expect("a steer");
                gate.open();
            }
            Course::IsCancelled => {
                self.ear.word(&waits).await;
                let (thread, turn) = (self.thread, None);
                let cancel = Call::CancelTurn { thread, turn };
                self.house.call(cancel).await.expect("a cancel");
            }
            Course::Answers | Course::Looks | Course::LooksAtMuch | Course::Fails => {}
        }
        let (outcome, _) = self.ear.ended().await;
        let as_meant = match course {
            Course::IsCancelled => outcome == TurnOutcome::Cancelled,
            Course::Fails => matches!(outcome, TurnOutcome::Failed(_)),
            _ => outcome == TurnOutcome::Completed,
        };
        assert!(as_meant, "{course:?}: {outcome:?}");
    }

    async fn upload(&mut self, number: usize) {
        let call = Call::UploadFile(FileUpload {
            thread: self.thread,
            name: format!("file-{number}.txt"),
            base64: base64::engine::general_purpose::STANDARD
                .encode("text")
                .into(),
        });
        self.house.call(call).await.expect("an upload");
    }

    async fn reset(&mut self) {
        let thread = self.thread;
        let reset = Call::ResetThread { thread };
        self.house.call(reset).await.expect("a reset");
    }

    async fn set(&mut self, steps: u32) {
        let max_steps = Some(steps);
        let changes = Changes {
            max_steps,
            ..Changes::default()
        };
        self.house.change(self.thread, changes).await;
    }

    /// The whole of what the model is sent next, without what names this thread or this place.
    async fn probe(&mut self) -> String {
        self.puppet
            .then(RequestPurpose::Answer, [says("the probe's answer")]);
        self.house
            .say(self.thread, "the probe")
            .await
            .expect("a turn");
        self.ear.completed().await;
        self.house.kept(self.thread).await;
        let asked = self.puppet.requests_for(RequestPurpose::Answer);
        let last = asked.last().expect("a request");
        let request = format!("{:#?} {:#?}", last.whole(), {
            let mut rest = (**last).clone();
            rest.messages.clear();
            rest
        });
        let place = self.house.directory().canonicalize().expect("a place");
        let request = request.replace(place.to_str().expect("a path"), "PLACE");
        let place = self.house.directory().to_str().expect("a path");
        let request = request.replace(place, "PLACE");
        without_tree(&request.replace(&self.thread.to_string(), "THREAD"))
    }
}

/// Files that were uploaded to turns which are no more still lie there, and are seen there.
fn without_tree(request: &str) -> String {
    let parts = request.split("Top of the tree:");
    let parts: Vec<&str> = parts.collect();
    let rest = parts[1..].iter().map(|part| {
        let end = part.find("</environment>").expect("its section ends");
        &part[end..]
    });
    std::iter::once(parts[0]).chain(rest).collect()
}

async fn is_kept(house: &House, thread: ThreadId) -> bool {
    house.store.thread(thread).await.expect("a read").is_some()
}

/// What is left when the newest turns go: whatever stands before the first of them.
fn without(left: &mut Vec<Left>, turns: usize) -> usize {
    let since = left.iter().rposition(|it| matches!(it, Left::Reset));
    let since = since.map_or(0, |at| at + 1);
    let is_turn = |at: &usize| matches!(left[*at], Left::Turn(..));
    let gone: Vec<usize> = (since..left.len())
        .rev()
        .filter(is_turn)
        .take(turns)
        .collect();
    if let Some(first) = gone.last() {
        left.truncate(*first);
    }
    gone.len()
}

async fn play(doings: Vec<Doing>) {
    let mut stand = Stand::new().await;
    let (mut left, mut steps) = (Vec::new(), None);
    for (number, doing) in doings.into_iter().enumerate() {
        match doing {
            Doing::Turn(course) => {
                stand.turn(number, course).await;
                left.push(Left::Turn(number, course));
            }
            Doing::Upload => {
                stand.upload(number).await;
                left.push(Left::Upload(number));
            }
            Doing::Reset => {
                stand.reset().await;
                left.push(Left::Reset);
            }
            Doing::Set(limit) => {
                stand.set(limit).await;
                steps = Some(limit);
            }
            Doing::Revert(count) => {
                let to = RevertTo::Newest(count as u32);
                let reverted = revert(&stand.house, stand.thread, to).await;
                assert_eq!(reverted.is_ok(), without(&mut left, count) > 0);
            }
            Doing::Fork(count) => {
                let ids = turns(&stand.house, stand.thread).await;
                let place = match (count, ids.len()) {
                    (0, _) => ForkPlace::Rest,
                    (count, all) if count < all => {
                        // What was uploaded behind the turn does not go along.
                        let upto = all - count - 1;
                        without(&mut left, count);
                        let last = |it: &Left| matches!(it, Left::Turn(..));
                        let at = left.iter().rposition(last).expect("a turn");
                        left.truncate(at + 1);
                        ForkPlace::After(ids[upto].clone())
                    }
                    _ => continue,
                };
                let child = fork(&stand.house, stand.thread, place).await;
                stand.hear(child.expect("a fork").card.id).await;
            }
            Doing::ForkBefore(count) => {
                let ids = turns(&stand.house, stand.thread).await;
                let Some(at) = ids.len().checked_sub(count) else {
                    continue;
                };
                without(&mut left, count);
                let place = ForkPlace::Before(ids[at].clone());
                let child = fork(&stand.house, stand.thread, place).await;
                stand.hear(child.expect("a fork").card.id).await;
            }
            Doing::Crash => {
                let thread = stand.thread;
                stand.house = stand.house.crash();
                if is_kept(&stand.house, thread).await {
                    stand.hear(thread).await;
                } else {
                    // Nothing had happened in it.
                    let (thread, ear) = stand.house.heard_thread().await;
                    (stand.thread, stand.ear, steps) = (thread, ear, None);
                }
            }
        }
        if is_kept(&stand.house, stand.thread).await {
            stand.house.kept(stand.thread).await;
        }
    }
    let sent = stand.probe().await;

    let mut plain = Stand::new().await;
    let mut left: VecDeque<Left> = left.into();
    while let Some(next) = left.pop_front() {
        match next {
            Left::Turn(number, course) => plain.turn(number, course).await,
            Left::Upload(number) => plain.upload(number).await,
            Left::Reset => plain.reset().await,
        }
    }
    if let Some(steps) = steps {
        plain.set(steps).await;
    }
    let expected = plain.probe().await;
    if sent != expected {
        let diff = similar_lines(&expected, &sent);
        panic!("the model reads something else:\n{diff}");
    }
}

/// The first lines in which two texts differ.
fn similar_lines(expected: &str, sent: &str) -> String {
    let pairs = expected.lines().zip(sent.lines()).enumerate();
    let mut differ = pairs.filter(|(_, (a, b))| a != b).take(6);
    let mut lines: Vec<String> = Vec::new();
    for (at, (a, b)) in differ.by_ref() {
        lines.push(format!("{at}: expected {a}\n{at}: sent     {b}"));
    }
    let (a, b) = (expected.lines().count(), sent.lines().count());
    lines.push(format!("{a} lines expected, {b} sent"));
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn the_model_reads_what_a_thread_of_the_kept_turns_would_have(
        doings in prop::collection::vec(doing(), 1..14)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(play(doings));
    }
}

/// A fork and a revert are one append each: whichever of them is the last that a process makes, the
/// next one finds the thread as it was before, or as it is after.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_append_leaves_one_of_two_states() {
    for fails_at in 1..40 {
        let mut stand = Stand::new().await;
        for number in 0..3 {
            stand.turn(number, Course::Looks).await;
        }
        let before = turns(&stand.house, stand.thread).await;
        let full = store::StoreError::Full;
        let nth = stand.house.store.appends() + fails_at;
        let fault = match fails_at % 2 {
            0 => store::testing::faulty::Fault::Refused(full),
            _ => store::testing::faulty::Fault::Unacknowledged(full),
        };
        stand.house.store.fail_append(nth, fault);
        let child = fork(&stand.house, stand.thread, ForkPlace::Rest).await;
        let reverted = revert(&stand.house, stand.thread, RevertTo::Newest(2)).await;
        let thread = stand.thread;
        let house = stand.house.crash();
        let after = turns(&house, thread).await;
        assert!(after == before || after == before[..1], "{after:?}");
        assert!(reverted.is_err() || after == before[..1]);
        house.kept(thread).await;
        for id in super::listed(&house).await {
            let is_child = child.as_ref().is_ok_and(|child| child.card.id == id);
            assert!(id == thread || is_child || child.is_err());
            house.kept(id).await;
            if id != thread {
                assert_eq!(turns(&house, id).await, before);
            }
        }
        if reverted.is_ok() && child.is_ok() {
            break;
        }
    }
}
