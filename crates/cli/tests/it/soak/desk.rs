//! What a client of any dialect keeps: what it said and what became of it, what it was asked, which answers it
//! waits for, and what was wrong.

use std::collections::BTreeMap;

/// What became of something a client said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was sent, and its answer is on the way.
    Waiting,
    Accepted,
    Refused,
    /// The connection broke before the answer.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Said {
    pub id: String,
    pub words: String,
    pub steers: bool,
    pub fate: Fate,
}

/// An approval or questions, by the number it has in every dialect.
#[derive(Clone, Debug, Default)]
pub struct AskSeen {
    pub open: bool,
    /// Empty for an approval.
    pub questions: Vec<String>,
    /// The id to answer with, as the dialect spells it.
    pub reply_to: String,
    pub answered: bool,
    /// Told on this connection that it is over; more than once is wrong.
    pub ends: usize,
    /// How it ended, where that is told: allowed or not.
    pub outcome: Option<String>,
}

#[derive(Default)]
pub struct Desk {
    pub thread: Option<String>,
    /// The greeting is over and the conversation so far is known.
    pub ready: bool,
    pub busy: bool,
    pub turn: Option<String>,
    pub title: Option<String>,
    pub said: Vec<Said>,
    pub asks: BTreeMap<u64, AskSeen>,
    /// Requests without an answer yet, by id or kind, and what they are about.
    pending: BTreeMap<String, usize>,
    pub alarms: Vec<String>,
    /// Answers that came too late, or had been given by another.
    pub too_late: usize,
    pub comparisons: usize,
    last_number: u64,
}

impl Desk {
    pub fn for_thread(thread: Option<String>) -> Self {
        Self {
            thread,
            ..Self::default()
        }
    }

    /// A number that this client did not use before.
    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub fn alarm(&mut self, what: impl Into<String>) {
        self.alarms.push(what.into());
    }

    /// Two views of one moment.
    pub fn compare(&mut self, what: &str, seen: Vec<String>, read: Vec<String>) {
        self.comparisons += 1;
        if seen != read {
            let same = seen.iter().zip(&read).take_while(|(a, b)| a == b).count();
            let (seen, read) = (seen.get(same), read.get(same));
            self.alarm(format!("{what}, line {same}: seen {seen:?}, read {read:?}"));
        }
    }

    pub fn say(&mut self, id: &str, words: &str, steers: bool) -> usize {
        self.said.push(Said {
            id: id.to_owned(),
            words: words.to_owned(),
            steers,
            fate: Fate::Waiting,
        });
        self.said.len() - 1
    }

    pub fn accept(&mut self, at: usize) {
        if self.said[at].fate == Fate::Refused {
            let words = self.said[at].words.clone();
            self.alarm(format!("refused, and then accepted: {words:?}"));
        }
        self.said[at].fate = Fate::Accepted;
    }

    pub fn refuse(&mut self, at: usize, why: &str) {
        // A server that stops says no to everything, also to what it took before.
        if why.contains("shutting down") && self.said[at].fate != Fate::Waiting {
            return;
        }
        if self.said[at].fate == Fate::Accepted {
            let words = self.said[at].words.clone();
            self.alarm(format!(
                "accepted, and refused when sent again: {words:?}, {why}"
            ));
            return;
        }
        self.said[at].fate = Fate::Refused;
    }

    /// What was said last and may be sent again with the same id.
    pub fn last_said(&self) -> Option<usize> {
        let said = self.said.iter();
        let mut may = said.map(|said| !said.steers && said.fate != Fate::Refused);
        may.rposition(|may| may)
    }

    pub fn is_waiting(&self) -> bool {
        self.said.iter().any(|said| said.fate == Fate::Waiting)
    }

    pub fn expect(&mut self, request: impl Into<String>) {
        *self.pending.entry(request.into()).or_default() += 1;
    }

    pub fn waits_for(&self, request: &str) -> bool {
        self.pending.contains_key(request)
    }

    pub fn answered(&mut self, request: &str) {
        match self.pending.get_mut(request) {
            Some(1) => {
                self.pending.remove(request);
            }
            Some(many) => *many -= 1,
            None => self.alarm(format!("an answer that nobody waits for: {request}")),
        }
    }

    pub fn asked(&mut self, number: u64, reply_to: &str, questions: Vec<String>) {
        let ask = self.asks.entry(number).or_default();
        if ask.ends > 0 {
            self.alarms
                .push(format!("ask {number} was over, and is asked again"));
        }
        // The next question of the same ask has another id.
        ask.answered &= ask.reply_to == reply_to;
        ask.open = true;
        ask.reply_to = reply_to.to_owned();
        ask.questions = questions;
    }

    /// It was told that the ask is over.
    pub fn ask_ended(&mut self, number: u64, outcome: Option<String>) {
        let ask = self.asks.entry(number).or_default();
        ask.open = false;
        ask.ends += 1;
        if let (Some(before), Some(now)) = (&ask.outcome, &outcome)
            && before != now
        {
            let what = format!("ask {number} ended as {before}, and then as {now}");
            self.alarms.push(what);
        }
        if ask.ends > 1 {
            self.alarms
                .push(format!("ask {number} ended {} times", ask.ends));
        }
        ask.outcome = outcome.or(ask.outcome.take());
    }

    /// Nothing is asked any more, as far as this dialect tells.
    pub fn asks_over(&mut self) {
        self.asks.values_mut().for_each(|ask| ask.open = false);
    }

    /// The connection is gone; answers that were on their way never come.
    pub fn lost(&mut self) {
        self.ready = false;
        self.pending.clear();
        for said in &mut self.said {
            if said.fate == Fate::Waiting {
                said.fate = Fate::Unknown;
            }
        }
        for ask in self.asks.values_mut() {
            ask.open = false;
            ask.answered = false;
            ask.ends = 0;
        }
    }

    /// How many asks wait for this client's answer.
    pub fn unanswered(&self) -> usize {
        let asks = self.asks.values();
        asks.filter(|ask| ask.open && !ask.answered).count()
    }

    /// Nothing goes on, and nothing is owed.
    pub fn is_quiet(&self) -> bool {
        let open = self.asks.values().any(|ask| ask.open);
        self.ready && !self.busy && !open && self.pending.is_empty() && !self.is_waiting()
    }

    /// Why it is not quiet.
    pub fn stirring(&self) -> String {
        let waiting = self.said.iter().filter(|said| said.fate == Fate::Waiting);
        let waiting: Vec<&str> = waiting.map(|said| said.words.as_str()).collect();
        let open = self.asks.iter().filter(|(_, ask)| ask.open);
        let open: Vec<&u64> = open.map(|(number, _)| number).collect();
        format!(
            "ready {}, busy {}, open asks {open:?}, without an answer {:?} and {waiting:?}",
            self.ready, self.busy, self.pending
        )
    }
}
