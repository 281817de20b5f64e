//! One thread, every dialect at once: each client sees the whole turn, and any of them may answer.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use testkit::client::Heard;
use testkit::tongue::{Deed, LANGUAGES, Language, Signal, Tongue};
use testkit::{Client, Process};

use crate::{Site, tell};

const LIMIT: Duration = Duration::from_secs(90);
/// Session and connection are one in this dialect: it cannot join a thread, so it opens it.
pub const HOST: &str = "cowork1";

/// One client at the table.
pub struct Guest {
    pub name: &'static str,
    pub client: Client,
    pub tongue: Box<dyn Tongue>,
    pub frames: Vec<String>,
    signals: Vec<Signal>,
}

impl Guest {
    pub async fn seat(
        language: &Language,
        server: &Process,
        thread: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut tongue = (language.learn)();
        let client = Client::connect(&tongue.url(server.url(), thread)).await?;
        let greeting = tongue.greet(thread);
        let (frames, signals) = (Vec::new(), Vec::new());
        let name = language.name;
        let mut guest = Self {
            name,
            client,
            tongue,
            frames,
            signals,
        };
        for frame in greeting {
            guest.client.send(frame).await?;
        }
        guest.hear(&Signal::Connected).await?;
        Ok(guest)
    }

    pub async fn say(&mut self, deed: &Deed) -> anyhow::Result<()> {
        let frame = self.tongue.say(deed)?;
        let frame = frame.with_context(|| format!("{} has no word for {deed:?}", self.name))?;
        self.client.send(frame).await
    }

    /// Listens until the signal came that was not waited for before.
    pub async fn hear(&mut self, wanted: &Signal) -> anyhow::Result<()> {
        loop {
            if let Some(at) = self.signals.iter().position(|signal| signal == wanted) {
                self.signals.drain(..=at);
                return Ok(());
            }
            let signals = self.listen().await;
            let signals = signals.with_context(|| format!("{} waits for {wanted:?}", self.name))?;
            self.signals.extend(signals);
        }
    }

    /// Takes the next frame in; gives what it signals.
    pub async fn listen(&mut self) -> anyhow::Result<Vec<Signal>> {
        match self.client.recv().await? {
            Heard::Frame(frame) => {
                let signals = self.tongue.hear(&frame)?;
                self.frames.push(frame);
                for frame in self.tongue.follow_up() {
                    self.client.send(frame).await?;
                }
                Ok(signals)
            }
            Heard::Closed(close) => bail!("{} was closed: {close}", self.name),
        }
    }

    /// The text streamed or told since the last look.
    pub fn told(&self, words: &str) -> bool {
        self.frames.iter().any(|frame| frame.contains(words))
    }
}

/// Everyone at one table: the host opens the thread, the others join it.
pub async fn table(site: &Site) -> anyhow::Result<Vec<Guest>> {
    let host = LANGUAGES
        .iter()
        .find(|language| language.name == HOST)
        .context("no host")?;
    let host = Guest::seat(host, &site.server, None).await?;
    let thread = host.tongue.thread().context("a thread")?.to_owned();
    let mut guests = vec![host];
    // A workspace exists from the first time a client asks for it; a pioneer client does so once.
    let pioneer = LANGUAGES.iter().find(|language| language.name == "pioneer");
    Guest::seat(pioneer.context("no pioneer")?, &site.server, None).await?;
    for language in LANGUAGES.iter().filter(|language| language.name != HOST) {
        let guest = Guest::seat(language, &site.server, Some(&thread)).await;
        guests.push(guest.with_context(|| format!("{} cannot join", language.name))?);
    }
    Ok(guests)
}

#[test]
fn an_approval_answered_in_one_dialect_closes_in_all() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        for turn in 0..guests.len() {
            let mark = format!("mark-{turn}");
            let command = format!("tool bash {{\"command\":\"echo {mark} >> marks.txt\"}}");
            let speaker = (turn + 1) % guests.len();
            guests[speaker].say(&Deed::Say(command)).await?;
            for guest in &mut guests {
                guest.hear(&Signal::Asked).await?;
            }
            guests[turn].say(&Deed::Approve).await?;
            for guest in &mut guests {
                guest.hear(&Signal::Rest).await?;
                ensure!(guest.told(&mark), "{} was not told of {mark}", guest.name);
            }
        }
        let marks = std::fs::read_to_string(site.scratch.workspace().join("marks.txt"))?;
        let once: Vec<String> = (0..guests.len())
            .map(|turn| format!("mark-{turn}"))
            .collect();
        ensure!(
            marks.lines().eq(once.iter()),
            "each command runs once: {marks}"
        );
        for (name, word) in [
            ("diminuendo", "approval_resolved"),
            ("codex", "serverRequest/resolved"),
            ("pioneer", "turn/permission/request/resolved"),
        ] {
            let guest = guests.iter().find(|guest| guest.name == name);
            let guest = guest.with_context(|| format!("no {name}"))?;
            ensure!(guest.told(word), "{name} never heard {word}");
        }
        Ok(())
    });
}

#[test]
fn a_question_asked_once_may_be_answered_in_any_dialect() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        for turn in 0..guests.len() {
            let question = "tool ask {\"question\":\"Which?\",\"options\":[\"left\",\"right\"]}";
            guests[0].say(&Deed::Say(question.to_owned())).await?;
            for guest in &mut guests {
                guest.hear(&Signal::Asked).await?;
            }
            let answer = format!("answer-{turn}");
            guests[turn].say(&Deed::Answer(answer.clone())).await?;
            for guest in &mut guests {
                guest.hear(&Signal::Rest).await?;
                ensure!(
                    guest.told(&answer),
                    "{} was not told of {answer}",
                    guest.name
                );
            }
        }
        Ok(())
    });
}

#[test]
fn a_cancel_from_one_ends_the_turn_for_all() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        for turn in 0..guests.len() {
            if guests[turn].name == HOST {
                // It has no word for a cancel.
                continue;
            }
            guests[0].say(&Deed::Say("slow 1000".to_owned())).await?;
            let streaming = Signal::Text("w0 ".to_owned());
            guests[turn].hear(&streaming).await?;
            guests[turn].say(&Deed::Cancel).await?;
            for guest in &mut guests {
                guest.hear(&Signal::Rest).await?;
            }
        }
        Ok(())
    });
}
