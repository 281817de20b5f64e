//! Whether all clients of a thread have the same of it, and whether that is what was said and done.

use std::collections::{BTreeMap, BTreeSet};

use super::desk::Fate;
use super::entry::{Entry, TurnSeen, lines};
use super::plan::{is_nested, mark_of};
use super::player::Player;
use super::report::{Counts, Finding};
use super::voice::Views;

/// One fault often rings many times.
const ALARMS_SHOWN: usize = 3;
/// What is not an item in codex and zane: they have messages of their own.
const NO_ITEMS: [&str; 2] = ["ask", "todoWrite"];

pub struct Comparison<'a> {
    players: Vec<(&'a Player, Views)>,
    /// What commands left behind, a line each.
    marks: &'a str,
    /// Somebody wanted the conversation to begin anew.
    was_reset: bool,
    pub findings: Vec<Finding>,
    pub counts: Counts,
}

impl<'a> Comparison<'a> {
    pub fn new(players: impl Iterator<Item = &'a Player>, marks: &'a str) -> Self {
        let players: Vec<(&Player, Views)> = players
            .map(|player| (player, player.voice.views(&player.desk)))
            .collect();
        let mut each = players.iter();
        Self {
            was_reset: each.any(|(player, _)| player.counts.get("resets") > 0),
            players,
            marks,
            findings: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub fn run(&mut self) {
        self.alarms();
        // Who did not come to rest is a finding already, and has nothing to compare.
        if !self
            .players
            .iter()
            .all(|(player, _)| player.gone || player.asked_to_read)
        {
            return;
        }
        self.own_views();
        let cowork = self
            .players
            .iter()
            .find(|(player, _)| player.dialect == "cowork");
        let Some(reference) = cowork.and_then(|(_, views)| views.history.clone()) else {
            let finding = Finding::new("everyone", "no cowork client read the history");
            return self.findings.push(finding);
        };
        self.histories(&reference);
        self.first_protocol();
        self.messages(&reference);
        self.asks();
        self.titles();
        self.commands(&reference);
        let nested = self.nested();
        self.commands(&nested);
    }

    fn alarms(&mut self) {
        for (player, _) in &self.players {
            let alarms = &player.desk.alarms;
            for alarm in alarms.iter().take(ALARMS_SHOWN) {
                self.findings.push(Finding::new(&player.name, alarm));
            }
            if let Some(more) = alarms.len().checked_sub(ALARMS_SHOWN + 1) {
                let what = format!("and {} more like these", more + 1);
                self.findings.push(Finding::new(&player.name, what));
            }
        }
    }

    fn equal(&mut self, who: &str, what: &str, left: Vec<String>, right: Vec<String>) {
        self.counts.add("comparisons", 1);
        if left != right {
            self.findings.push(Finding {
                who: who.to_owned(),
                what: what.to_owned(),
                views: Some((left, right)),
            });
        }
    }

    /// What everyone saw is what the same client read.
    fn own_views(&mut self) {
        let mut pairs = Vec::new();
        for (player, views) in &mut self.players {
            for pair in std::mem::take(&mut views.pairs) {
                pairs.push((player.name.clone(), pair));
            }
        }
        for (name, mut pair) in pairs {
            // Who was there before a reset keeps the events that can be read no more.
            if self.was_reset && pair.what == "events" {
                let first = pair
                    .seen
                    .iter()
                    .position(|seen| pair.read.first() == Some(seen));
                pair.seen.drain(..first.unwrap_or(pair.seen.len()));
            }
            let what = format!("its {}: seen (-) and read (+)", pair.what);
            self.equal(&name, &what, pair.seen, pair.read);
        }
    }

    /// What one dialect reads is what the others read, as far as they tell it.
    fn histories(&mut self, reference: &[Entry]) {
        let mut told = Vec::new();
        for (player, views) in &self.players {
            if let Some(history) = &views.history {
                let expected = projected(reference, player.dialect);
                let history = history.iter().filter(|entry| !nested(entry));
                told.push((player.name.clone(), expected, lines(history)));
            }
        }
        for (name, expected, history) in told {
            let what = "its history (+) is not cowork's (-)";
            self.equal(&name, what, expected, history);
        }
    }

    /// What sub-agents did is in no history of cowork; the others have the same of it.
    fn nested(&mut self) -> Vec<Entry> {
        let others = self
            .players
            .iter()
            .filter(|(player, _)| player.dialect != "cowork");
        let told = others.filter_map(|(player, views)| {
            let history = views.history.as_ref()?.iter();
            let entries: Vec<Entry> = history.filter(|entry| nested(entry)).cloned().collect();
            Some((player.name.clone(), entries))
        });
        let told: Vec<(String, Vec<Entry>)> = told.collect();
        let first = told.first().map(|(_, entries)| entries.clone());
        let first = first.unwrap_or_default();
        for (name, entries) in told {
            let what = "its calls of sub-agents (+) are not another's (-)";
            self.equal(&name, what, lines(&first), lines(&entries));
        }
        first
    }

    /// What a client of the first protocol heard, by the turns that codex reads.
    fn first_protocol(&mut self) {
        let turns = self
            .players
            .iter()
            .find_map(|(_, views)| views.turns.clone());
        let live = self.players.iter().find_map(|(player, views)| {
            let live = views.live.as_ref()?;
            Some((player.name.clone(), player.gone, lines(live)))
        });
        if let (Some(turns), Some((name, gone, live))) = (turns, live) {
            // It cannot be told whether that was before it went.
            if gone && self.was_reset {
                return;
            }
            let expected = turns.iter().flat_map(heard_in_the_first_protocol);
            let mut expected: Vec<String> = expected.collect();
            if gone {
                expected.truncate(live.len());
            }
            let what = "what it heard (+) is not what codex reads (-)";
            self.equal(&name, what, expected, live);
        }
    }

    /// Accepted once, refused never, unknown at most once; and nothing that nobody said. A reset may have taken away
    /// what was accepted.
    fn messages(&mut self, reference: &[Entry]) {
        let mut bounds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for said in self
            .players
            .iter()
            .flat_map(|(player, _)| &player.desk.said)
        {
            let (least, most) = bounds.entry(&said.words).or_default();
            match said.fate {
                Fate::Accepted if !self.was_reset => (*least, *most) = (*least + 1, *most + 1),
                Fate::Accepted | Fate::Waiting | Fate::Unknown => *most += 1,
                Fate::Refused => {}
            }
            self.counts
                .add("accepted", usize::from(said.fate == Fate::Accepted));
        }
        let mut times: BTreeMap<&str, usize> = bounds.keys().map(|words| (*words, 0)).collect();
        for entry in reference {
            if let Entry::User(words) = entry {
                *times.entry(words).or_default() += 1;
            }
        }
        for (words, times) in times {
            self.counts.add("comparisons", 1);
            let (least, most) = bounds.get(words).copied().unwrap_or_default();
            if !(least..=most).contains(&times) {
                let what =
                    format!("{words:?} is there {times} times, and should {least} to {most} times");
                self.findings.push(Finding::new("everyone", what));
            }
        }
    }

    fn asks(&mut self) {
        let mut outcomes: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for (player, _) in &self.players {
            for (number, ask) in &player.desk.asks {
                let told = outcomes.entry(*number).or_default();
                told.extend(ask.outcome.clone());
            }
        }
        self.counts.add("asks", outcomes.len());
        for (number, told) in outcomes {
            self.counts.add("comparisons", 1);
            if told.len() > 1 {
                let what = format!("ask {number} ended as {told:?}");
                self.findings.push(Finding::new("everyone", what));
            }
        }
    }

    fn titles(&mut self) {
        let told = self.players.iter().filter(|(player, _)| player.desk.ready);
        let told = told.filter(|(player, _)| player.dialect != "cowork1");
        let titles: Vec<(&String, &Option<String>)> = told
            .map(|(player, _)| (&player.name, &player.desk.title))
            .collect();
        self.counts.add("comparisons", titles.len());
        if titles.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            let what = format!("the thread is called {titles:?}");
            self.findings.push(Finding::new("everyone", what));
        }
    }

    /// A command that ran left one mark, one that was denied none.
    fn commands(&mut self, reference: &[Entry]) {
        for entry in reference {
            let Entry::Call(call) = entry else { continue };
            let Some(mark) = mark_of(&call.input) else {
                continue;
            };
            let times = self.marks.lines().filter(|line| *line == mark).count();
            let result = call.result.as_ref();
            let said = result
                .map(|result| result.output.as_str())
                .unwrap_or_default();
            let right = match result {
                // It told its mark, so it ran to its end.
                Some(_) if said.contains(&format!("did {mark}")) => times == 1,
                Some(_) if said.contains("rejected") || said.contains("not run") => times == 0,
                _ => times <= 1,
            };
            self.counts.add("commands checked", 1);
            if !right {
                let what = format!("{mark} stands {times} times on disk, and the call is {entry}");
                self.findings.push(Finding::new("everyone", what));
            }
        }
    }
}

fn nested(entry: &Entry) -> bool {
    matches!(entry, Entry::Call(call) if is_nested(&call.input))
}

/// Cowork's history, as far as a dialect tells it.
fn projected(reference: &[Entry], dialect: &str) -> Vec<String> {
    let is_item = |entry: &&Entry| match entry {
        Entry::Call(call) => !NO_ITEMS.contains(&call.tool.as_str()),
        _ => true,
    };
    match dialect {
        "codex" | "zane" => lines(reference.iter().filter(is_item)),
        "diminuendo" => {
            let said = reference.iter().filter(|entry| !entry.is_call());
            lines(said.chain(reference.iter().filter(|entry| entry.is_call())))
        }
        _ => lines(reference),
    }
}

/// What people said comes as it is said, what the agent said whole at the end of a turn that ended well.
fn heard_in_the_first_protocol(turn: &TurnSeen) -> Vec<String> {
    let users = turn.entries.iter();
    let mut heard: Vec<Entry> = users
        .filter(|entry| matches!(entry, Entry::User(_)))
        .cloned()
        .collect();
    let said = turn.entries.iter().filter_map(|entry| match entry {
        Entry::Agent(words) => Some(words.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    if turn.completed && !said.is_empty() {
        heard.push(Entry::Agent(said.join("\n\n")));
    }
    lines(&heard)
}
