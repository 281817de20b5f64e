//! A round: some threads, clients of all dialects at each, kills, and everything compared at rest.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use testkit::chance::Chance;
use testkit::{Process, Scratch};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Options;
use super::codex::{Codex, Endpoint};
use super::compare::Comparison;
use super::cowork::Cowork;
use super::cowork1::Cowork1;
use super::desk::Desk;
use super::diminuendo::Diminuendo;
use super::entry::lines;
use super::pioneer::Pioneer;
use super::plan::{MARKS, Plan};
use super::player::{Outlook, Phase, Player};
use super::report::{Counts, Finding};
use super::voice::Voice;

/// Who can join a thread; the first protocol can only open one.
const GUESTS: [&str; 5] = ["cowork", "diminuendo", "codex", "zane", "pioneer"];
const HOSTS: [&str; 5] = ["cowork1", "cowork", "diminuendo", "codex", "zane"];
const THREADS: usize = 2;
const LOOK_EVERY: Duration = Duration::from_millis(10);

fn voice(dialect: &str) -> Box<dyn Voice> {
    match dialect {
        "cowork1" => Box::new(Cowork1::default()),
        "diminuendo" => Box::new(Diminuendo::default()),
        "codex" => Box::new(Codex::new(Endpoint::Codex)),
        "zane" => Box::new(Codex::new(Endpoint::Zane)),
        "pioneer" => Box::new(Pioneer::default()),
        _ => Box::new(Cowork::default()),
    }
}

struct Seat {
    thread: usize,
    name: String,
    outlook: Arc<Mutex<Outlook>>,
    playing: JoinHandle<Player>,
}

impl Seat {
    fn look(&self) -> Outlook {
        self.outlook
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

pub struct Round<'a> {
    options: &'a Options,
    number: usize,
    chance: Chance,
    server: &'a mut Process,
    scratch: &'a Scratch,
    began: Instant,
    url: watch::Sender<Option<String>>,
    phase: watch::Sender<Phase>,
    seats: Vec<Seat>,
    pub counts: Counts,
    pub findings: Vec<Finding>,
    pub players: Vec<Player>,
}

impl<'a> Round<'a> {
    pub fn new(
        options: &'a Options,
        number: usize,
        server: &'a mut Process,
        scratch: &'a Scratch,
    ) -> Self {
        let url = Some(server.url().to_owned());
        Self {
            options,
            number,
            chance: Chance::new(options.seed.wrapping_add(number as u64 * 1_000_003)),
            server,
            scratch,
            began: Instant::now(),
            url: watch::channel(url).0,
            phase: watch::channel(Phase::Settle).0,
            seats: Vec::new(),
            counts: Counts::default(),
            findings: Vec::new(),
            players: Vec::new(),
        }
    }

    /// Whatever happens, the players come back with their frames.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        let ended = self.play_and_compare().await;
        self.stop().await?;
        self.counts.add("rounds", 1);
        self.counts.add("findings", self.findings.len());
        ended
    }

    async fn play_and_compare(&mut self) -> anyhow::Result<()> {
        let threads = self.open().await?;
        self.counts.add("threads", threads.len());
        for (at, thread) in threads.iter().enumerate() {
            let extra = *self.chance.pick(&GUESTS);
            for dialect in GUESTS.into_iter().chain([extra]) {
                for _ in 0..self.options.clients {
                    self.seat(at, dialect, Some(thread));
                }
            }
        }
        self.phase.send_replace(Phase::Play);
        self.play().await?;
        self.phase.send_replace(Phase::Settle);
        self.end().await?;
        self.compare();
        if self.findings.is_empty() && self.number % 3 == 1 {
            self.read_after_restart(&threads).await?;
        }
        Ok(())
    }

    /// Every thread is opened by another dialect, and kept from its first message on.
    async fn open(&mut self) -> anyhow::Result<Vec<String>> {
        let mut threads = Vec::new();
        for at in 0..THREADS {
            let host = match at {
                0 => "cowork1",
                _ => self.chance.pick(&HOSTS),
            };
            self.seat(at, host, None);
            let open = |seat: &Seat| seat.look().accepted > 0 && seat.look().quiet;
            self.wait("the first message", |seats| seats.iter().all(open))
                .await?;
            let thread = self.seats.last().and_then(|seat| seat.look().thread);
            threads.push(thread.context("a thread without an id")?);
        }
        Ok(threads)
    }

    fn seat(&mut self, thread: usize, dialect: &'static str, id: Option<&String>) {
        let count = self.seats.len();
        let name = format!("{}.{thread}.{count}", self.number);
        let seed = self.options.seed ^ ((self.number * 100 + count) as u64).wrapping_mul(7_919);
        let mut plan = Plan::new(seed, &name, count);
        let late = match id {
            Some(_) => plan.lateness(),
            None => Duration::ZERO,
        };
        let outlook = Arc::new(Mutex::new(Outlook::default()));
        let drops = self.options.drop_one_in;
        let player = Player {
            name: format!("thread{thread}-{dialect}-{count}"),
            dialect,
            voice: voice(dialect),
            desk: Desk::for_thread(id.cloned()),
            plan,
            counts: Counts::default(),
            frames: Vec::new(),
            gone: false,
            drops: drops.map(|one_in| (one_in, Chance::new(seed ^ 0xd09))),
            began: self.began,
            server: self.url.subscribe(),
            phase: self.phase.subscribe(),
            outlook: outlook.clone(),
            first_words: id.is_none().then(|| format!("echo first of {name}")),
            asked_to_read: false,
        };
        self.seats.push(Seat {
            thread,
            name: player.name.clone(),
            outlook,
            playing: tokio::spawn(player.play(late)),
        });
    }

    async fn wait(&self, what: &str, done: impl Fn(&[Seat]) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !done(&self.seats) {
            anyhow::ensure!(
                began.elapsed() < self.options.patience,
                "no {what} within {:?}",
                self.options.patience
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Lets them play, and kills the server under them now and then.
    async fn play(&mut self) -> anyhow::Result<()> {
        let mut left = self.options.play;
        for _ in 0..self.chance.below(3) {
            let share = self.options.play / 3;
            let millis = self.chance.below(share.as_millis() as usize) as u64;
            let time = Duration::from_millis(millis);
            tokio::time::sleep(time).await;
            left = left.saturating_sub(time);
            self.restart().await?;
        }
        tokio::time::sleep(left).await;
        Ok(())
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.url.send_replace(None);
        if self.chance.once_in(4) {
            let status = self.server.terminate().await?;
            self.counts.add("SIGTERM", 1);
            anyhow::ensure!(status.success(), "SIGTERM ended it with {status}");
        } else {
            self.server.kill9().await?;
            self.counts.add("SIGKILL", 1);
        }
        self.server.restart().await?;
        self.url.send_replace(Some(self.server.url().to_owned()));
        Ok(())
    }

    /// Waits for rest, has everyone read, and takes the players from their seats.
    async fn end(&mut self) -> anyhow::Result<()> {
        let quiet = |seat: &Seat| seat.look().quiet || seat.look().gone;
        let rest = self.wait("rest", |seats| seats.iter().all(quiet)).await;
        self.blame(rest.is_err(), "is not at rest", quiet);
        if rest.is_ok() {
            self.phase.send_replace(Phase::Read);
            let read = |seat: &Seat| seat.look().read || seat.look().gone;
            let all = self.wait("reads", |seats| seats.iter().all(read)).await;
            self.blame(all.is_err(), "has not read", read);
        }
        self.stop().await
    }

    async fn stop(&mut self) -> anyhow::Result<()> {
        self.phase.send_replace(Phase::Stop);
        for seat in self.seats.drain(..) {
            let mut player = seat.playing.await?;
            player.counts.add("answers too late", player.desk.too_late);
            player.counts.add("comparisons", player.desk.comparisons);
            self.counts.merge(&player.counts);
            self.players.push(player);
        }
        Ok(())
    }

    fn blame(&mut self, failed: bool, what: &str, fine: impl Fn(&Seat) -> bool) {
        for seat in self.seats.iter().filter(|seat| failed && !fine(seat)) {
            let what = format!("{what} on thread {}: {}", seat.thread, seat.look().why);
            self.findings.push(Finding::new(&seat.name, what));
        }
    }

    fn compare(&mut self) {
        let marks = self.scratch.read(MARKS);
        for thread in 0..THREADS {
            let prefix = format!("thread{thread}-");
            let at_it = |player: &&Player| player.name.starts_with(&prefix);
            let mut comparison = Comparison::new(self.players.iter().filter(at_it), &marks);
            comparison.run();
            self.counts.merge(&comparison.counts);
            let id = self.players.iter().find(at_it);
            let id = id.and_then(|player| player.desk.thread.clone());
            for mut finding in comparison.findings {
                finding.who = format!("thread {}, {}", id.as_deref().unwrap_or("?"), finding.who);
                self.findings.push(finding);
            }
        }
    }

    /// A new process, new clients: the same histories.
    async fn read_after_restart(&mut self, threads: &[String]) -> anyhow::Result<()> {
        let before: Vec<(String, &'static str, Vec<String>)> = histories(&self.players);
        self.restart().await?;
        self.phase.send_replace(Phase::Settle);
        let known = self.players.len();
        for (at, thread) in threads.iter().enumerate() {
            for dialect in GUESTS {
                self.seat(at, dialect, Some(thread));
            }
        }
        self.end().await?;
        for (thread, dialect, now) in histories(&self.players[known..]) {
            let same =
                |(at, each, _): &&(String, &str, Vec<String>)| *at == thread && *each == dialect;
            if let Some((_, _, before)) = before.iter().find(same) {
                self.counts.add("comparisons", 1);
                if *before != now {
                    self.findings.push(Finding {
                        who: format!("{thread} {dialect}"),
                        what: "its history before (-) and after (+) a restart".to_owned(),
                        views: Some((before.clone(), now)),
                    });
                }
            }
        }
        Ok(())
    }
}

/// By thread and dialect.
fn histories(players: &[Player]) -> Vec<(String, &'static str, Vec<String>)> {
    let mut all = Vec::new();
    for player in players {
        let thread = player.desk.thread.clone().unwrap_or_default();
        if let Some(history) = player.voice.views(&player.desk).history {
            all.push((thread, player.dialect, lines(&history)));
        }
    }
    all
}
