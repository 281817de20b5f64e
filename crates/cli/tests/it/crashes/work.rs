//! What people do in the sessions, and how each moment for a kill is reached.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::tongue::Deed;

use super::ledger::Ledger;
use super::world::{DRAFT_AGE_MAX, Fate, SESSIONS, World};

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

impl World {
    pub(super) async fn rest(&mut self, at: usize) -> anyhow::Result<()> {
        self.sessions[at].wait("rest", |ledger| !ledger.busy).await
    }

    async fn asked(&mut self, at: usize) -> anyhow::Result<()> {
        let asked = |ledger: &Ledger| ledger.ask.is_some();
        self.sessions[at].wait("an ask", asked).await
    }

    pub(super) async fn echo(&mut self, at: usize) -> anyhow::Result<()> {
        let text = format!("echo number {}", self.number());
        self.sessions[at].tell(&text).await?;
        self.rest(at).await
    }

    pub(super) async fn finish_something(&mut self, at: usize) -> anyhow::Result<()> {
        match self.chance.below(5) {
            0 => self.echo(at).await,
            1 => {
                let text = format!("stream {}", 100 + 2 * self.number());
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
    pub(super) fn begin_something(&mut self, at: usize) -> anyhow::Result<()> {
        let number = self.number();
        let text = match self.chance.below(3) {
            0 => format!("slow {}", 100_000 + number),
            1 => format!("stream {}", 2_001 + 2 * number),
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

    pub(super) fn answer(&mut self, at: usize) -> anyhow::Result<()> {
        let ask = self.sessions[at].look(|ledger| ledger.ask.clone());
        let deed = match ask.context("nothing is asked")?.approval {
            true => Deed::Approve,
            false => Deed::Answer("one".to_owned()),
        };
        self.sessions[at].say(&deed)
    }

    pub(super) async fn reach(&mut self, moment: Moment, at: usize) -> anyhow::Result<()> {
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

    pub(super) fn times_run(&self, token: &str) -> usize {
        let ran = self.scratch.read(RAN);
        ran.lines().filter(|line| *line == token).count()
    }
}
