//! One session's socket: a task that reads into the ledger, and waits that look at it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use testkit::tongue::{Deed, Tongue};
use testkit::{Client, Heard, Process};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::history::History;
use super::ledger::{Asks, Ledger};
use crate::resume_url;

/// How long anything may take to be seen.
const LIMIT: Duration = Duration::from_secs(20);
/// Nothing may come for a long time on a socket that only waits.
const SILENCE: Duration = Duration::from_secs(24 * 3600);
/// Messages of a session in one page.
const PAGE: usize = 100;

pub struct Session {
    pub id: String,
    ledger: Arc<Mutex<Ledger>>,
    changed: watch::Receiver<()>,
    outgoing: mpsc::UnboundedSender<String>,
    reader: JoinHandle<()>,
}

impl Session {
    pub async fn open(server: &Process, asks: Asks) -> anyhow::Result<Self> {
        let ledger = Arc::new(Mutex::new(Ledger::new(asks)));
        let client = Client::connect(server.url()).await?;
        let mut session = Self::attach(String::new(), ledger, client);
        session.wait("connected", |ledger| ledger.connected).await?;
        session.id = session.look(|ledger| ledger.tongue.thread().unwrap_or_default().to_owned());
        Ok(session)
    }

    /// The same session on a new server; the ledger goes on.
    pub async fn resume(&mut self, server: &Process) -> anyhow::Result<()> {
        self.lock().reconnect();
        let client = Client::connect(&resume_url(server, &self.id)).await?;
        *self = Self::attach(self.id.clone(), self.ledger.clone(), client);
        self.wait("connected", |ledger| ledger.connected).await?;
        let hello = self.look(|ledger| ledger.hello.clone()).unwrap_or_default();
        ensure!(
            hello["sessionId"] == *self.id && hello["isResume"] == true,
            "session {} was not resumed: {hello}",
            self.id
        );
        Ok(())
    }

    fn attach(id: String, ledger: Arc<Mutex<Ledger>>, client: Client) -> Self {
        let (outgoing, frames) = mpsc::unbounded_channel();
        let (change, changed) = watch::channel(());
        let reader = tokio::spawn(read(client, ledger.clone(), frames, change));
        Self {
            id,
            ledger,
            changed,
            outgoing,
            reader,
        }
    }

    /// What was told of a broken turn after this moment was no promise: a later history is
    /// not held to it.
    pub fn forget_text_after(&mut self, moment: Instant) {
        for turn in &mut self.lock().turns {
            if !turn.over {
                turn.pieces.retain(|(seen, _)| *seen <= moment);
            }
        }
    }

    /// After a kill: takes in all that had arrived.
    pub async fn drain(&mut self) -> anyhow::Result<()> {
        tokio::time::timeout(LIMIT, &mut self.reader)
            .await
            .context("the socket of a dead server stays open")??;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn look<T>(&self, at: impl FnOnce(&Ledger) -> T) -> T {
        at(&self.lock())
    }

    pub fn busy(&self) -> bool {
        self.look(|ledger| ledger.busy)
    }

    /// Sends it; on a socket that just broke that reaches nobody, like anything in flight.
    pub fn say(&mut self, deed: &Deed) -> anyhow::Result<()> {
        let mut ledger = self.lock();
        let frame = ledger.tongue.say(deed)?.context("no word for it")?;
        let answers = matches!(deed, Deed::Approve | Deed::Deny | Deed::Answer(_));
        if let (true, Some(ask)) = (answers, &mut ledger.ask) {
            ask.answered = true;
        }
        ledger.sent(&frame);
        drop(ledger);
        let _ = self.outgoing.send(frame);
        Ok(())
    }

    /// Says it and waits until the server has taken it.
    pub async fn tell(&mut self, text: &str) -> anyhow::Result<()> {
        self.say(&Deed::Say(text.to_owned()))?;
        self.wait("the echo", |ledger| {
            let turn = ledger.turns.last().filter(|turn| turn.user == text);
            turn.is_some_and(|turn| ledger.busy || turn.over)
        })
        .await
    }

    pub async fn wait(
        &mut self,
        what: &str,
        meant: impl Fn(&Ledger) -> bool,
    ) -> anyhow::Result<()> {
        let mut changed = self.changed.clone();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                let (done, violation) = {
                    let ledger = self.lock();
                    (meant(&ledger), ledger.violation.clone())
                };
                if let Some(violation) = violation {
                    bail!("{violation}");
                }
                if done {
                    return Ok(());
                }
                if changed.changed().await.is_err() {
                    bail!("the socket closed");
                }
            }
        };
        tokio::time::timeout(LIMIT, waiting)
            .await
            .with_context(|| format!("not within {LIMIT:?}"))
            .flatten()
            .with_context(|| format!("session {} waits for {what}", self.id))
    }

    /// The whole history, page by page.
    pub async fn history(&mut self) -> anyhow::Result<History> {
        let mut messages: Vec<Value> = Vec::new();
        loop {
            self.lock().page = None;
            let frame = format!(
                r#"{{"type":"get_messages","sessionId":"{}","offset":{},"limit":{PAGE}}}"#,
                self.id,
                messages.len()
            );
            let _ = self.outgoing.send(frame);
            self.wait("messages", |ledger| ledger.page.is_some())
                .await?;
            let page = self.look(|ledger| ledger.page.clone()).unwrap_or_default();
            let rows = page["messages"].as_array().cloned().unwrap_or_default();
            let total = page["total"].as_u64().context("messages without a total")?;
            let empty = rows.is_empty();
            messages.extend(rows);
            if messages.len() as u64 >= total {
                return History::parse(&messages);
            }
            ensure!(
                !empty,
                "{} of {total} messages, then nothing",
                messages.len()
            );
        }
    }
}

async fn read(
    mut client: Client,
    ledger: Arc<Mutex<Ledger>>,
    mut outgoing: mpsc::UnboundedReceiver<String>,
    change: watch::Sender<()>,
) {
    client.set_limit(SILENCE);
    loop {
        tokio::select! {
            heard = client.recv() => match heard {
                Ok(Heard::Frame(frame)) => {
                    ledger.lock().unwrap_or_else(PoisonError::into_inner).heard(&frame);
                    let _ = change.send(());
                }
                Ok(Heard::Closed(_)) | Err(_) => return,
            },
            Some(frame) = outgoing.recv() => {
                // A broken socket is noticed by the next read, after what had still arrived.
                let _ = client.send(frame).await;
            }
        }
    }
}
