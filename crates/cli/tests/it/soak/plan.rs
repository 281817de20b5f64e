//! What the clients do: drawn from a seed, and fitted to the moment.

use std::time::Duration;

use testkit::chance::Chance;

use super::desk::Desk;
use super::voice::Deed;

/// The file that commands leave their marks in.
pub const MARKS: &str = "marks.txt";

/// How the mark of a sub-agent's command begins.
const NESTED: &str = "sub-";

/// A thing that a client does next.
pub enum Move {
    Do(Deed),
    /// Says something and is gone before the answer.
    SayAndGo(Deed),
    /// Closes its connection, and comes back.
    Leave {
        polite: bool,
    },
    /// Does not read for a while.
    Doze(Duration),
    Nothing,
}

pub struct Plan {
    chance: Chance,
    /// Makes every message unlike all others: round, thread and client.
    name: String,
    number: usize,
    seat: usize,
}

impl Plan {
    pub fn new(seed: u64, name: &str, seat: usize) -> Self {
        Self {
            chance: Chance::new(seed),
            name: name.to_owned(),
            number: 0,
            seat,
        }
    }

    /// How long a client thinks before its next move.
    pub fn pause(&mut self, desk: &Desk) -> Duration {
        let most = if desk.unanswered() > 0 { 150 } else { 500 };
        Duration::from_millis(u64::try_from(20 + self.chance.below(most)).unwrap_or(0))
    }

    /// Whether what is asked is answered at once: then several do so together.
    pub fn hastens(&mut self) -> bool {
        self.chance.once_in(3)
    }

    /// How long somebody waits before joining.
    pub fn lateness(&mut self) -> Duration {
        let most = if self.chance.once_in(3) { 4000 } else { 50 };
        Duration::from_millis(u64::try_from(self.chance.below(most)).unwrap_or(0))
    }

    pub fn reads_narrowly(&mut self) -> bool {
        self.chance.once_in(6)
    }

    pub fn next(&mut self, desk: &Desk) -> Move {
        let (draw, second) = (self.chance.below(100), self.chance.below(1000));
        let open = desk.asks.iter().find(|(_, ask)| ask.open && !ask.answered);
        if let Some((ask, _)) = open
            && draw < 60
        {
            return Move::Do(self.answer(*ask, second));
        }
        match draw {
            0..=31 if !desk.busy || second < 100 => Move::Do(Deed::Say(self.words(second))),
            0..=31 => Move::Do(Deed::Steer(self.unique("echo steer"))),
            32..=35 => Move::Do(Deed::Steer(self.unique("echo more"))),
            36..=40 => Move::Do(Deed::SayAgain),
            41..=46 => Move::Do(Deed::Cancel),
            47..=51 => Move::Do(Deed::Title(self.unique("Title"))),
            52..=58 => Move::Do(Deed::Read),
            59..=61 => Move::Do(Deed::Page(second % 7)),
            62..=63 => Move::Do(Deed::List),
            64..=66 => Move::Do(Deed::Look(second)),
            67 => Move::Do(Deed::Archive),
            68..=69 => Move::Do(Deed::Unarchive),
            70..=72 => Move::Do(Deed::Rejoin),
            73..=75 => Move::Do(Deed::Resume),
            76 => Move::Do(Deed::Throwaway),
            77 => Move::Do(Deed::Close),
            78 => Move::Do(Deed::Reset),
            79..=82 => Move::SayAndGo(Deed::Say(self.words(second))),
            83..=87 => Move::Leave {
                polite: second % 2 == 0,
            },
            88..=91 => Move::Doze(Duration::from_millis(200 + 2 * self.number_below(1000))),
            _ => Move::Nothing,
        }
    }

    /// The same, with fewer farewells.
    pub fn next_of_one_who_stays(&mut self, desk: &Desk) -> Move {
        match self.next(desk) {
            Move::SayAndGo(deed) if !self.chance.once_in(6) => Move::Do(deed),
            Move::Leave { .. } if !self.chance.once_in(6) => Move::Nothing,
            other => other,
        }
    }

    /// What is left to do before a thread is at rest.
    pub fn settle(&mut self, desk: &Desk) -> Move {
        let second = self.chance.below(1000);
        let open = desk.asks.iter().find(|(_, ask)| ask.open && !ask.answered);
        match open {
            Some((ask, _)) => Move::Do(self.answer(*ask, second)),
            None => Move::Nothing,
        }
    }

    fn answer(&mut self, ask: u64, second: usize) -> Deed {
        Deed::Answer {
            ask,
            yes: !second.is_multiple_of(3),
            words: self.unique("answer"),
        }
    }

    fn number_below(&mut self, limit: usize) -> u64 {
        u64::try_from(self.chance.below(limit)).unwrap_or(0)
    }

    fn unique(&mut self, words: &str) -> String {
        self.number += 1;
        format!("{words} {}-{}", self.name, self.number)
    }

    /// Something for the rehearsal model to do.
    fn words(&mut self, second: usize) -> String {
        let tag = self.unique("no");
        let mark = tag.replace(' ', "-");
        match second % 15 {
            0..=2 => format!("echo {tag}, and some words behind it"),
            3 | 4 => format!("Tell me about {tag}"),
            5 | 6 => command(&mark, ""),
            7 => command(&mark, "; exit 3"),
            8 => command(&mark, "; sleep 1"),
            9 => format!(r#"tool ask {{"question":"Which, {tag}?","options":["one","two"]}}"#),
            10 => format!(
                r#"tool ask {{"questions":[{{"question":"First, {tag}?"}},{{"question":"Second, {tag}?"}}]}}"#
            ),
            11 => format!("show me a plan ({tag})"),
            12 => format!("show me reasoning ({tag})"),
            13 => {
                let task = command(&format!("{NESTED}{mark}"), "");
                format!("tool spawnAgent {}", serde_json::json!({ "task": task }))
            }
            _ => match second % 3 {
                0 => format!("show me an error ({tag})"),
                1 => format!("show me a file edit ({tag})"),
                _ => format!("stream {}", 300 + 32 * self.number + self.seat % 32),
            },
        }
    }
}

/// A command that asks first, and leaves a mark when it runs.
fn command(mark: &str, then: &str) -> String {
    format!(r#"tool bash {{"command":"echo {mark} >> {MARKS}; echo did {mark}{then}"}}"#)
}

/// The mark that a command leaves, if it is one of ours.
pub fn mark_of(command: &str) -> Option<&str> {
    let rest = command.strip_prefix("echo ")?;
    let (mark, _) = rest.split_once(&format!(" >> {MARKS}"))?;
    Some(mark)
}

/// Whether a command is a sub-agent's.
pub fn is_nested(command: &str) -> bool {
    mark_of(command).is_some_and(|mark| mark.starts_with(NESTED))
}
