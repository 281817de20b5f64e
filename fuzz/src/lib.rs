//! One connection, driven by any bytes: frames and the engine's answers, in any order.
//!
//! The input is a list of lines, so that a transcript is a good input as it stands: `> frame` is
//! heard, `= x` chooses how the engine answers from here on, `! {json}` is a fact of the thread,
//! `~` lets a minute pass. `<` and `#` lines are what a transcript has besides.

mod samples;

use std::collections::VecDeque;

use dialects::{Action, Cx, Delivery, Dialect, Heard, Tag, tell};
use vocabulary::{Call, Caller, Event, Fact, Notice, Refusal, Reply, Seq, Timestamp};

/// A dialect whose every answer brings a new call has not come to rest, and never will.
const ANSWERS_MAX: usize = 10_000;

/// How the engine answers.
#[derive(Clone, Copy)]
enum Mood {
    /// As it would.
    Fitting,
    /// With a refusal of this number.
    Refusing(u8),
    /// With a reply of this number, whatever was asked.
    Wrong(u8),
    /// Not yet.
    Waiting,
}

/// Holds a conversation; a panic is the finding.
pub fn converse(dialect: impl Dialect, input: &[u8]) {
    let mut connection = Connection {
        dialect,
        caller: Caller::local(),
        now: Timestamp(1_767_225_600_000),
        mood: Mood::Fitting,
        open: VecDeque::new(),
        told: Seq::ZERO,
    };
    let hello = samples::hello();
    connection.go(|dialect, cx, out| dialect.opened(cx, out, &hello));
    for line in String::from_utf8_lossy(input).lines() {
        connection.line(line);
    }
    let last = Notice::ShuttingDown {
        reason: "restart".into(),
    };
    connection.go(|dialect, cx, out| dialect.noticed(cx, out, &last));
    connection.go(|dialect, cx, out| dialect.gone(cx, out));
}

struct Connection<D> {
    dialect: D,
    caller: Caller,
    now: Timestamp,
    mood: Mood,
    /// What the engine has not answered; `None` is a wish to listen.
    open: VecDeque<(Tag, Option<Call>)>,
    told: Seq,
}

impl<D: Dialect> Connection<D> {
    fn line(&mut self, line: &str) {
        self.now = Timestamp(self.now.0 + 1);
        if let Some(choice) = line.strip_prefix('=') {
            self.mood = mood(choice.trim().as_bytes());
            self.answer();
        } else if let Some(fact) = line.strip_prefix('!') {
            if let Ok(fact) = serde_json::from_str(fact) {
                self.tell(fact);
            }
        } else if line.starts_with('~') {
            self.now = Timestamp(self.now.0 + 60_000);
            self.go(|dialect, cx, out| dialect.woke(cx, out));
        } else if !line.starts_with(['<', '#']) {
            let frame = line.strip_prefix("> ").unwrap_or(line);
            self.go(|dialect, cx, out| dialect.heard(cx, out, frame));
        }
    }

    /// An event live, and again as it is read back, with a gap before.
    fn tell(&mut self, fact: Fact) {
        self.told = self.told.next();
        let event = &Event {
            seq: self.told,
            at: self.now,
            by: None,
            fact,
        };
        let card = samples::thread().card;
        let gap = Heard::Gap {
            after: Seq::ZERO,
            to: event.seq,
        };
        let caught_up = Heard::CaughtUp { head: event.seq };
        for what in [Heard::Live(event), gap, Heard::Replay(event), caught_up] {
            let delivery = Delivery { card: &card, what };
            self.go(|dialect, cx, out| dialect.told(cx, out, delivery));
        }
        tell(self.dialect.variant(), &card, event);
    }

    fn go(&mut self, speak: impl FnOnce(&mut D, &Cx<'_>, &mut Vec<Action>)) {
        self.speak(speak);
        self.answer();
    }

    fn speak(&mut self, speak: impl FnOnce(&mut D, &Cx<'_>, &mut Vec<Action>)) {
        let mut out = Vec::new();
        let cx = Cx {
            now: self.now,
            caller: Some(&self.caller),
        };
        speak(&mut self.dialect, &cx, &mut out);
        for action in out {
            match action {
                Action::Call { tag, call } => self.open.push_back((tag, Some(call))),
                Action::CallNext { tag, call } => self.open.push_front((tag, Some(call))),
                Action::Listen { tag, .. } => self.open.push_back((tag, None)),
                Action::Send(_)
                | Action::Shared
                | Action::Unlisten(_)
                | Action::Authenticate { .. }
                | Action::Watch
                | Action::WatchServer
                | Action::WakeAt(_)
                | Action::Close(_) => {}
            }
        }
    }

    fn answer(&mut self) {
        for _ in 0..ANSWERS_MAX {
            if matches!(self.mood, Mood::Waiting) {
                return;
            }
            let Some((tag, call)) = self.open.pop_front() else {
                return;
            };
            let outcome = self.outcome(call.as_ref());
            self.speak(|dialect, cx, out| dialect.replied(cx, out, tag, outcome));
        }
        panic!("still calling after {ANSWERS_MAX} answers");
    }

    fn outcome(&self, call: Option<&Call>) -> Result<Reply, Refusal> {
        match (self.mood, call) {
            (Mood::Refusing(number), _) => Err(samples::refusal(number)),
            (Mood::Wrong(number), _) => Ok(samples::any_reply(number)),
            (Mood::Fitting | Mood::Waiting, Some(call)) => Ok(samples::fitting(call)),
            (Mood::Fitting | Mood::Waiting, None) => Ok(samples::listening()),
        }
    }
}

fn mood(choice: &[u8]) -> Mood {
    let number = choice.get(1).copied().unwrap_or_default();
    match choice.first() {
        Some(b'r') => Mood::Refusing(number),
        Some(b'w') => Mood::Wrong(number),
        Some(b'.') => Mood::Waiting,
        Some(_) | None => Mood::Fitting,
    }
}

#[cfg(test)]
mod tests {
    use dialects::cowork::Cowork;

    use super::*;

    #[test]
    fn a_conversation_with_every_kind_of_line_ends() {
        let input = b"# a line\n> {\"type\":\"ping\"}\n= r1\n> {\"type\":\"cancel\"}\n= w3\n~\n\
                      ! \"thread_reset\"\n= .\nanything\xff\n= f\n";
        converse(Cowork::new(), input);
    }
}
