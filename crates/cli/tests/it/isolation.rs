//! Two tenants on one server, over real sockets in every dialect: neither sees or touches anything of
//! the other, and what is the other's is answered like what nobody has.

mod guessing;
mod load;
mod samples;

use anyhow::{Context, bail, ensure};
use identity::{Directory, MemberChange, NewToken};
use testkit::process::Launch;
use testkit::tongue::{Deed, Language, Signal, Tongue};
use testkit::{Client, Heard, Process, Scratch};
use vocabulary::TenantId;

use crate::DRAGOMAN;

/// The tenants' ids, and the word that stands in everything each of them says.
const TENANTS: [&str; 2] = ["borealis", "australis"];

/// A server with two tenants, each with a token.
struct TwoTenants {
    server: Process,
    scratch: Scratch,
    tokens: [String; 2],
}

impl TwoTenants {
    async fn open() -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let tokens = [
            token(&scratch, TENANTS[0]).await?,
            token(&scratch, TENANTS[1]).await?,
        ];
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        server.hush();
        Ok(Self {
            server,
            scratch,
            tokens,
        })
    }

    /// A client of one of them, at a new thread or at one that it names.
    async fn client(
        &self,
        tenant: usize,
        language: &Language,
        thread: Option<&str>,
    ) -> anyhow::Result<Guest> {
        let tongue = (language.learn)();
        let url = tongue.url(self.server.url(), thread);
        let joint = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{joint}token={}", self.tokens[tenant]);
        let client = Client::connect(&url).await?;
        let mut guest = Guest {
            client,
            tongue,
            tenant,
        };
        let greeting = guest.tongue.greet(thread);
        guest.send_all(greeting).await?;
        Ok(guest)
    }
}

/// A tenant with an owner, and a token of theirs.
async fn token(scratch: &Scratch, tenant: &str) -> anyhow::Result<String> {
    let store = server::database::open(scratch.home(), "a test")?;
    let directory = Directory::new(store);
    let (owner, about) = (format!("owner-of-{tenant}"), MemberChange::default());
    directory
        .create_tenant(tenant, tenant, &owner, &about)
        .await?;
    let new = NewToken {
        name: "test".to_owned(),
        member: owner,
        ..NewToken::default()
    };
    let made = directory.create_token(&TenantId::new(tenant), new).await?;
    Ok(made.1.reveal())
}

/// A client of one tenant. Every frame it hears is looked at.
struct Guest {
    client: Client,
    tongue: Box<dyn Tongue>,
    tenant: usize,
}

impl Guest {
    async fn send_all(&mut self, frames: Vec<String>) -> anyhow::Result<()> {
        for frame in frames {
            self.client.send(frame).await?;
        }
        Ok(())
    }

    /// The next frame, and what it means.
    async fn next(&mut self) -> anyhow::Result<(String, Vec<Signal>)> {
        let frame = match self.client.recv().await? {
            Heard::Frame(frame) => frame,
            Heard::Closed(close) => bail!("closed: {close}"),
        };
        let other = TENANTS[1 - self.tenant];
        ensure!(
            !frame.contains(other),
            "{} hears of {other}: {frame}",
            TENANTS[self.tenant]
        );
        // Others of its tenant start threads, too, and in codex a tongue takes every one for its own.
        let own = self.tongue.thread().unwrap_or("no thread yet");
        if frame.starts_with(r#"{"method":"thread/started""#) && !frame.contains(own) {
            return Ok((frame, Vec::new()));
        }
        let signals = self.tongue.hear(&frame)?;
        let replies = self.tongue.follow_up();
        self.send_all(replies).await?;
        Ok((frame, signals))
    }

    async fn until(&mut self, wanted: Signal) -> anyhow::Result<()> {
        let waiting = async {
            // Others of its tenant tell of their threads, too: it is where it wanted to be when it has one.
            while !self.next().await?.1.contains(&wanted) || self.tongue.thread().is_none() {}
            Ok(())
        };
        let waited: anyhow::Result<()> = waiting.await;
        waited.with_context(|| format!("waiting for {wanted:?}"))
    }

    /// Says it and hears the turn out.
    async fn converse(&mut self, words: &str) -> anyhow::Result<()> {
        let said = self.tongue.say(&Deed::Say(words.to_owned()))?;
        self.send_all(said.into_iter().collect()).await?;
        // A session that wakes is at rest, too, before the turn begins.
        let mut is_answered = false;
        loop {
            let (frame, signals) = self.next().await.context("waiting for the end of a turn")?;
            is_answered |= signals.iter().any(|each| matches!(each, Signal::Text(_)))
                || frame.contains("assistant_message");
            if is_answered && signals.contains(&Signal::Rest) {
                return Ok(());
            }
        }
    }
}
