//! The driver: several sessions, one server, and somebody who keeps killing it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use testkit::chance::Chance;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::ledger::{Asks, Ledger};
use super::session::Session;
use super::work::Moment;
use crate::DRAGOMAN;

pub const SESSIONS: usize = 3;
/// Partial text is kept at the latest this long after it was told: a second is promised, the
/// rest is for a machine with other things to do.
pub const DRAFT_AGE_MAX: Duration = Duration::from_millis(1500);

/// A summarised rehearsal answers other words than it was told, so that a long run could not know
/// what to wait for: its conversations are never summarised.
const LONG_MEMORY: &str = r#"
[[provider]]
id = "rehearsal"

[[provider.model]]
id = "rehearsal-1"
context = 1_000_000_000
"#;

/// How often a command's token may stand in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Never,
    AtMostOnce,
    Once,
}

pub struct World {
    pub chance: Chance,
    pub(super) server: Process,
    pub(super) sessions: Vec<Session>,
    asks: Asks,
    pub(super) commands: BTreeMap<String, Fate>,
    /// Makes every message, title and command unlike all others.
    last_number: usize,
    pub(super) scratch: Scratch,
}

impl World {
    pub async fn open(seed: u64) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let config = scratch.home().join("config");
        std::fs::create_dir_all(&config)?;
        std::fs::write(config.join("catalog.toml"), LONG_MEMORY)?;
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

    pub(super) fn number(&mut self) -> usize {
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
