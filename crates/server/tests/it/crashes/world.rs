//! The driver: several sessions, one server, and somebody who keeps killing it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use testkit::chance::Chance;
use testkit::process::Launch;
use testkit::tongue::Deed;
use testkit::{Process, Scratch};

use super::ledger::{Asks, Ledger};
use super::session::Session;
use crate::DRAGOMAN;

const SESSIONS: usize = 3;
/// Partial text is kept at the latest this long after it was told: a second is promised, the
/// rest is for a machine with other things to do.
const DRAFT_AGE_MAX: Duration = Duration::from_millis(1500);
const COMMAND_LIMIT: Duration = Duration::from_secs(20);
/// Each command adds its token here, so a command that ran twice is seen.
const RAN: &str = "ran.txt";

/// When the server is killed.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// A message, or a title, was just acknowledged.
    Acknowledged,
    Streaming,
    CommandRuns,
    ApprovalWaits,
    QuestionWaits,
    /// An answer was sent, and nothing came back yet.
    Answering,
    Random,
}

impl Moment {
    pub const ALL: [Moment; 7] = [
        Moment::Acknowledged,
        Moment::Streaming,
        Moment::CommandRuns,
        Moment::ApprovalWaits,
        Moment::QuestionWaits,
        Moment::Answering,
        Moment::Random,
    ];
}

/// How often a command's token may stand in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Never,
    AtMostOnce,
    Once,
}

pub struct World {
    pub chance: Chance,
    server: Process,
    sessions: Vec<Session>,
    asks: Asks,
    commands: BTreeMap<String, Fate>,
    /// Makes every message, title and command unlike all others.
    last_number: usize,
    scratch: Scratch,
}

impl World {
    pub async fn open(seed: u64) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        server.hush();
        let asks = Asks::default();
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(Session::open(&server, asks.clone()).await?);
        }
        let mut world = Self {
            chance: Chance::new(seed),
            server,
            sessions,
            asks,
            commands: BTreeMap::new(),
            last_number: 0,
            scratch,
        };
        // A session in which nothing happened yet may be forgotten; from here on none may.
        for at in 0..SESSIONS {
            world.echo(at).await?;
        }
        Ok(world)
    }

    /// Some work, a kill at this moment, and everything checked after the restart.
    pub async fn round(&mut self, moment: Moment) -> anyhow::Result<()> {
        for at in 0..SESSIONS {
            if !self.sessions[at].busy() {
                self.finish_something(at).await.context("before the kill")?;
            }
        }
        let target = self.free_session().await?;
        for at in (0..SESSIONS).filter(|at| *at != target) {
            if !self.sessions[at].busy() && self.chance.once_in(2) {
                self.begin_something(at)?;
            }
        }
        self.reach(moment, target)
            .await
            .context("before the kill")?;
        let killed_at = Instant::now();
        self.server.kill9().await?;
        for session in &mut self.sessions {
            session.drain().await?;
        }
        self.server.restart().await?;
        for at in 0..SESSIONS {
            self.check(at, killed_at)
                .await
                .context("after the restart")?;
        }
        for at in 0..SESSIONS {
            // Some asks stay open over another kill.
            if !self.chance.once_in(4) {
                self.settle(at)
                    .await
                    .context("going on after the restart")?;
            }
        }
        self.check_commands()
    }

    fn number(&mut self) -> usize {
        self.last_number += 1;
        self.last_number
    }

    /// A session at rest; if all wait for a person, one of them is answered.
    async fn free_session(&mut self) -> anyhow::Result<usize> {
        let free: Vec<usize> = (0..SESSIONS)
            .filter(|at| !self.sessions[*at].busy())
            .collect();
        if free.is_empty() {
            self.settle(0).await?;
            return Ok(0);
        }
        Ok(*self.chance.pick(&free))
    }

    async fn rest(&mut self, at: usize) -> anyhow::Result<()> {
        self.sessions[at].wait("rest", |ledger| !ledger.busy).await
    }

    async fn asked(&mut self, at: usize) -> anyhow::Result<()> {
        let asked = |ledger: &Ledger| ledger.ask.is_some();
        self.sessions[at].wait("an ask", asked).await
    }

    async fn echo(&mut self, at: usize) -> anyhow::Result<()> {
        let text = format!("echo number {}", self.number());
        self.sessions[at].tell(&text).await?;
        self.rest(at).await
    }

    async fn finish_something(&mut self, at: usize) -> anyhow::Result<()> {
        match self.chance.below(5) {
            0 => self.echo(at).await,
            1 => {
                let text = format!("stream {}", 100 + self.number());
                self.sessions[at].tell(&text).await?;
                self.rest(at).await
            }
            2 => self.retitle(at).await,
            3 => {
                self.question(at).await?;
                self.answer(at)?;
                self.rest(at).await
            }
            _ => {
                let token = self.command(at, "").await?;
                if self.chance.once_in(3) {
                    self.sessions[at].say(&Deed::Deny)?;
                    self.commands.insert(token, Fate::Never);
                } else {
                    self.sessions[at].say(&Deed::Approve)?;
                    self.rest(at).await?;
                    self.commands.insert(token, Fate::Once);
                }
                self.rest(at).await
            }
        }
    }

    /// Starts a turn and does not look what becomes of it.
    fn begin_something(&mut self, at: usize) -> anyhow::Result<()> {
        let number = self.number();
        let text = match self.chance.below(3) {
            0 => format!("slow {}", 100_000 + number),
            1 => format!("stream {}", 2_000 + number),
            _ => format!(r#"tool ask {{"question":"Which, number {number}?"}}"#),
        };
        self.sessions[at].say(&Deed::Say(text))
    }

    async fn retitle(&mut self, at: usize) -> anyhow::Result<()> {
        let title = format!("Title {}", self.number());
        self.sessions[at].say(&Deed::Title(title.clone()))?;
        let told = |ledger: &Ledger| ledger.title.as_ref() == Some(&title);
        self.sessions[at].wait("the title", told).await
    }

    async fn question(&mut self, at: usize) -> anyhow::Result<()> {
        let number = self.number();
        let text =
            format!(r#"tool ask {{"question":"Which, number {number}?","options":["one","two"]}}"#);
        self.sessions[at].tell(&text).await?;
        self.asked(at).await
    }

    /// A command that waits for its approval; tells the token it will leave when it runs.
    async fn command(&mut self, at: usize, then: &str) -> anyhow::Result<String> {
        let token = format!("token-{}", self.number());
        self.commands.insert(token.clone(), Fate::AtMostOnce);
        let text = format!(r#"tool bash {{"command":"echo {token} >> {RAN}{then}"}}"#);
        self.sessions[at].tell(&text).await?;
        self.asked(at).await?;
        Ok(token)
    }

    fn answer(&mut self, at: usize) -> anyhow::Result<()> {
        let ask = self.sessions[at].look(|ledger| ledger.ask.clone());
        let deed = match ask.context("nothing is asked")?.approval {
            true => Deed::Approve,
            false => Deed::Answer("one".to_owned()),
        };
        self.sessions[at].say(&deed)
    }

    async fn reach(&mut self, moment: Moment, at: usize) -> anyhow::Result<()> {
        match moment {
            Moment::Acknowledged if self.chance.once_in(2) => self.retitle(at).await,
            Moment::Acknowledged => {
                let text = format!("slow {}", 100_000 + self.number());
                self.sessions[at].tell(&text).await
            }
            Moment::Streaming => {
                let text = format!("slow {}", 100_000 + self.number());
                self.sessions[at].tell(&text).await?;
                let kept = DRAFT_AGE_MAX + Duration::from_millis(200);
                self.sessions[at]
                    .wait("text that is old enough", |ledger| {
                        let first = ledger.turns.last().and_then(|turn| turn.pieces.first());
                        first.is_some_and(|(seen, _)| seen.elapsed() > kept)
                    })
                    .await
            }
            Moment::CommandRuns => {
                let token = self.command(at, "; sleep 2").await?;
                self.sessions[at].say(&Deed::Approve)?;
                self.ran(&token).await
            }
            Moment::ApprovalWaits => self.command(at, "").await.map(drop),
            Moment::QuestionWaits => self.question(at).await,
            Moment::Answering => {
                match self.chance.once_in(2) {
                    true => self.question(at).await?,
                    false => self.command(at, "").await.map(drop)?,
                }
                self.answer(at)?;
                self.random_time(30).await;
                Ok(())
            }
            Moment::Random => {
                for at in 0..SESSIONS {
                    if !self.sessions[at].busy() {
                        self.begin_something(at)?;
                    }
                }
                self.random_time(400).await;
                Ok(())
            }
        }
    }

    /// Not a wait for anything: the moment itself is what chance decides.
    async fn random_time(&mut self, most_ms: usize) {
        let millis = u64::try_from(self.chance.below(most_ms)).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    async fn ran(&self, token: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        while self.times_run(token) == 0 {
            ensure!(started.elapsed() < COMMAND_LIMIT, "{token} never ran");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    fn times_run(&self, token: &str) -> usize {
        let ran = self.scratch.read(RAN);
        ran.lines().filter(|line| *line == token).count()
    }

    /// What was promised before the kill is there, and what waited still waits.
    async fn check(&mut self, at: usize, killed_at: Instant) -> anyhow::Result<()> {
        let session = &mut self.sessions[at];
        let (turns, title, ask) = session.look(|ledger| {
            (
                ledger.turns.clone(),
                ledger.title.clone(),
                ledger.ask.clone(),
            )
        });
        let kept_by = killed_at.checked_sub(DRAFT_AGE_MAX).unwrap_or(killed_at);
        session.forget_text_after(kept_by);
        session.resume(&self.server).await?;
        let now = session.look(|ledger| ledger.title.clone());
        // One that was sent and not yet told may have been taken: then it is a newer one.
        let kept = |now: &str| {
            title
                .as_deref()
                .is_none_or(|title| number_in(now) >= number_in(title))
        };
        ensure!(
            now.as_deref().is_some_and(kept),
            "the title {title:?} became {now:?}"
        );
        if let Some(ask) = ask.filter(|ask| !ask.answered) {
            let open = session.look(|ledger| ledger.ask.clone());
            let open = open.map(|open| open.request);
            ensure!(
                open.as_deref() == Some(ask.request.as_str()),
                "ask {} was open, and now there is {open:?}",
                ask.request
            );
        }
        let history = session.history().await?;
        history
            .check(&turns, kept_by)
            .with_context(|| format!("session {}", session.id))
    }

    /// Answers what is asked, lets the turn end, and starts another.
    async fn settle(&mut self, at: usize) -> anyhow::Result<()> {
        loop {
            let stands = |ledger: &Ledger| {
                !ledger.busy || ledger.ask.as_ref().is_some_and(|ask| !ask.answered)
            };
            self.sessions[at].wait("rest or an ask", stands).await?;
            if !self.sessions[at].busy() {
                break;
            }
            self.answer(at)?;
            self.rest(at).await?;
            // Allowed and heard out: now its command must have run.
            let user =
                self.sessions[at].look(|ledger| ledger.turns.last().map(|turn| turn.user.clone()));
            let token = self
                .commands
                .keys()
                .find(|token| mentions(&user, token))
                .cloned();
            self.commands.extend(token.map(|token| (token, Fate::Once)));
        }
        self.echo(at).await
    }

    fn check_commands(&self) -> anyhow::Result<()> {
        for (token, fate) in &self.commands {
            let times = self.times_run(token);
            let right = match fate {
                Fate::Never => times == 0,
                Fate::AtMostOnce => times <= 1,
                Fate::Once => times == 1,
            };
            if !right {
                bail!("{token} ran {times} times, and should {fate:?}");
            }
        }
        Ok(())
    }

    pub fn tally(&self) -> String {
        let turns: usize = self
            .sessions
            .iter()
            .map(|session| session.look(|ledger| ledger.turns.len()))
            .sum();
        format!(
            "{turns} turns, {} asks, {} commands checked",
            self.asks.count(),
            self.commands.len()
        )
    }

    /// What a failure needs to be understood.
    pub fn evidence(&self) -> String {
        let mut text = format!("--- server log\n{}\n", self.server.log());
        for session in &self.sessions {
            let recent = session.look(Ledger::recent);
            text.push_str(&format!("--- session {}\n{recent}\n", session.id));
        }
        text
    }
}

fn mentions(user: &Option<String>, token: &str) -> bool {
    let command = format!("echo {token} >>");
    user.as_ref().is_some_and(|user| user.contains(&command))
}

/// Titles are numbered; the ones the server makes up count as none.
fn number_in(title: &str) -> usize {
    let number = title.strip_prefix("Title ");
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
