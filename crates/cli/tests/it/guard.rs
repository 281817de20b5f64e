//! Who is let in, and what nobody can do to the server.

mod closing;
mod descriptors;
mod doors;
mod garbage;
mod jwt;
mod limits;
mod on_socket;
mod pages;
pub mod raw;
mod secrets;
mod sender;
mod start_stop;
mod users;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use server::token::Token;
use server::{RunningServer, Settings};
use testkit::Scratch;

const LIMIT: Duration = Duration::from_secs(60);
const SECRET: &str = "planted-token-0123456789abcdef";

/// A server in this process, so that a test can set what a command line sets.
struct Door {
    running: RunningServer,
    /// Kept for its drop.
    _scratch: Scratch,
}

impl Door {
    async fn open(change: impl FnOnce(&mut Settings)) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let mut settings = settings(&scratch);
        change(&mut settings);
        Ok(Self {
            running: server::start(settings).await?,
            _scratch: scratch,
        })
    }

    fn main(&self) -> SocketAddr {
        self.running.address
    }

    /// The status that an upgrade gets.
    async fn upgrade(&self, path: &str, headers: &[&str]) -> anyhow::Result<u16> {
        raw::upgrade_status(self.main(), path, headers).await
    }
}

fn settings(scratch: &Scratch) -> Settings {
    let (directory, home) = (scratch.workspace(), scratch.home());
    let mut settings = Settings::new(directory.to_path_buf(), home.to_path_buf());
    settings.engine.sandbox = engine::SandboxSetting::Nothing;
    settings
}

/// Fails unless a log has these words, and no more often than strangers may cause them.
fn ensure_logged_now_and_then(log: &str, words: &str, since: Instant) -> anyhow::Result<()> {
    let most = 1 + since.elapsed().as_secs() / server::limits::LOG_EVERY.as_secs();
    let found = log.matches(words).count() as u64;
    ensure!(
        (1..=most).contains(&found),
        "{found} times `{words}`: {log}"
    );
    Ok(())
}

fn token() -> Option<Token> {
    Token::new(SECRET).ok()
}
