//! A client that plays: connects, keeps what it hears, does what its plan says, goes and comes back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use testkit::Client;
use testkit::chance::Chance;
use testkit::client::Heard;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::desk::Desk;
use super::plan::{Move, Plan};
use super::report::Counts;
use super::voice::{Deed, Voice};

/// A player listens as long as it takes; the round has the limits.
const FOREVER: Duration = Duration::from_secs(3600);

/// What everybody does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Play,
    /// Nothing new; what is asked is answered.
    Settle,
    /// At rest: everyone reads.
    Read,
    Stop,
}

/// What others may know of a player while it plays.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    pub thread: Option<String>,
    pub quiet: bool,
    /// It has read, since reading was called for.
    pub read: bool,
    /// It cannot come back.
    pub gone: bool,
    pub why: String,
    pub accepted: usize,
}

pub struct Player {
    pub name: String,
    pub dialect: &'static str,
    pub voice: Box<dyn Voice>,
    pub desk: Desk,
    pub plan: Plan,
    pub counts: Counts,
    /// Every frame, with what was done to the connection.
    pub frames: Vec<String>,
    pub gone: bool,
    /// Frames are lost on purpose, one in so many.
    pub drops: Option<(usize, Chance)>,
    pub began: std::time::Instant,
    pub server: watch::Receiver<Option<String>>,
    pub phase: watch::Receiver<Phase>,
    pub outlook: Arc<Mutex<Outlook>>,
    /// Said as soon as it can be, whatever the phase: a thread is kept from its first message on.
    pub first_words: Option<String>,
    /// It was told to read, at rest; until then what it read is of some moment in between.
    pub asked_to_read: bool,
}

/// How a conversation on one connection went on.
enum Next {
    On,
    Leave { polite: bool },
    Stop,
}

impl Player {
    pub async fn play(mut self, late: Duration) -> Self {
        sleep(late).await;
        while *self.phase.borrow() != Phase::Stop {
            let url = self.server.borrow_and_update().clone();
            let connected = match url {
                Some(url) if !self.gone => self.connect(&url).await,
                _ => None,
            };
            let Some(client) = connected else {
                self.show();
                tokio::select! {
                    _ = self.server.changed() => {}
                    _ = self.phase.changed() => {}
                    () = sleep(Duration::from_millis(20)), if !self.gone => {}
                }
                continue;
            };
            if let Err(error) = self.converse(client).await {
                self.desk.alarm(format!("{error:#}"));
            }
            if *self.phase.borrow() == Phase::Stop {
                break;
            }
            self.note("--", "gone");
            self.desk.lost();
            self.gone = !self.voice.resumes();
            self.counts.add("reconnects", usize::from(!self.gone));
        }
        self
    }

    /// A server that is being killed takes nobody in; that is no alarm.
    async fn connect(&mut self, url: &str) -> Option<Client> {
        let url = self.voice.url(url, self.desk.thread.as_deref());
        let client = match self.plan.reads_narrowly() {
            true => Client::connect_narrow(&url).await,
            false => Client::connect(&url).await,
        };
        let mut client = client.ok()?;
        client.set_limit(FOREVER);
        self.note("--", &url);
        Some(client)
    }

    async fn converse(&mut self, mut client: Client) -> anyhow::Result<()> {
        for frame in self.voice.greet(&mut self.desk) {
            self.send(&mut client, frame).await;
        }
        self.asked_to_read = false;
        let mut next_move = Instant::now() + self.plan.pause(&self.desk);
        loop {
            self.do_what_is_due(&mut client).await;
            self.show();
            let next = tokio::select! {
                heard = client.recv() => match heard? {
                    Heard::Frame(frame) => {
                        let asked = self.desk.unanswered();
                        let next = self.hear(&mut client, &frame).await?;
                        if self.desk.unanswered() > asked && self.plan.hastens() {
                            next_move = Instant::now();
                        }
                        next
                    }
                    Heard::Closed(close) => {
                        self.note("--", &format!("closed {close}"));
                        return Ok(());
                    }
                },
                () = sleep_until(next_move) => {
                    let next = self.act(&mut client).await;
                    next_move = Instant::now() + self.plan.pause(&self.desk);
                    next
                }
                _ = self.phase.changed() => match *self.phase.borrow() {
                    Phase::Stop => Next::Stop,
                    _ => Next::On,
                },
            };
            match next {
                Next::On => {}
                Next::Stop => return Ok(()),
                Next::Leave { polite: false } => return Ok(()),
                Next::Leave { polite: true } => {
                    let _ = client.close().await;
                    return Ok(());
                }
            }
        }
    }

    async fn hear(&mut self, client: &mut Client, frame: &str) -> anyhow::Result<Next> {
        self.counts.add("frames heard", 1);
        // The beginning and the end of a round are heard whole: they say when it is over.
        let playing = *self.phase.borrow() == Phase::Play;
        if let Some((one_in, chance)) = &mut self.drops
            && chance.once_in(*one_in)
            && playing
        {
            self.counts.add("frames dropped on purpose", 1);
            self.note("<x", frame);
            return Ok(Next::On);
        }
        self.note("<", frame);
        let value: Value = serde_json::from_str(frame)?;
        for frame in self.voice.hear(&mut self.desk, &value)? {
            self.send(client, frame).await;
        }
        Ok(Next::On)
    }

    /// Sending to a server that is gone is no alarm; that it is gone is heard.
    async fn send(&mut self, client: &mut Client, frame: String) {
        self.note(">", &frame);
        let _ = client.send(frame).await;
    }

    async fn act(&mut self, client: &mut Client) -> Next {
        if !self.desk.ready {
            return Next::On;
        }
        let next = match *self.phase.borrow() {
            // Who cannot come back does not go lightly.
            Phase::Play if !self.voice.resumes() => self.plan.next_of_one_who_stays(&self.desk),
            Phase::Play => self.plan.next(&self.desk),
            Phase::Settle => self.plan.settle(&self.desk),
            Phase::Read | Phase::Stop => Move::Nothing,
        };
        match next {
            Move::Do(deed) => self.do_deed(client, &deed).await,
            Move::SayAndGo(deed) => {
                self.do_deed(client, &deed).await;
                self.counts.add("said and hung up", 1);
                return Next::Leave { polite: false };
            }
            Move::Leave { polite } => return Next::Leave { polite },
            Move::Doze(time) => {
                self.counts.add("slow readers", 1);
                self.note("--", "dozes");
                sleep(time).await;
            }
            Move::Nothing => {}
        }
        Next::On
    }

    async fn do_deed(&mut self, client: &mut Client, deed: &Deed) {
        let frames = self.voice.act(&mut self.desk, deed);
        if !frames.is_empty() {
            self.counts.did(deed);
        }
        for frame in frames {
            self.send(client, frame).await;
        }
    }

    async fn do_what_is_due(&mut self, client: &mut Client) {
        if self.desk.ready
            && let Some(words) = self.first_words.take()
        {
            self.do_deed(client, &Deed::Say(words)).await;
        }
        let reading = *self.phase.borrow() == Phase::Read;
        if reading && self.desk.ready && !self.asked_to_read {
            self.asked_to_read = true;
            self.do_deed(client, &Deed::Read).await;
        }
    }

    fn show(&self) {
        let mut outlook = self.outlook.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = |said: &&super::desk::Said| said.fate == super::desk::Fate::Accepted;
        *outlook = Outlook {
            thread: self.desk.thread.clone(),
            quiet: self.desk.is_quiet(),
            read: self.asked_to_read && self.desk.is_quiet(),
            gone: self.gone,
            why: self.desk.stirring(),
            accepted: self.desk.said.iter().filter(accepted).count(),
        };
    }

    fn note(&mut self, direction: &str, frame: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.frames
            .push(format!("{seconds:9.4} {direction} {frame}"));
    }
}
