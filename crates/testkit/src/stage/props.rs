//! What a story has beside its server: files, a repository, and servers that ours talks to.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::Scratch;
use crate::peer::push::PushService;
use crate::peer::sign_in::SignInServer;
use crate::scenario::Config;

/// A catalog lists the agent programs that a machine has; the one of a story has none.
const NO_AGENTS: &str = "[agents]
claude-code = { command = '/none/claude-agent-acp' }
codex-acp = { command = '/none/codex-acp' }
gemini-cli = { command = '/none/gemini' }
";

/// A commit is named by all that is in it, its time, too.
const COMMITTED_AT: &str = "2026-01-01T00:00:00Z";

pub struct Props {
    /// What stands in files and frames, and what it stands for.
    names: Vec<(&'static str, String)>,
    /// Kept for its drop, which ends it.
    _issuer: Option<SignInServer>,
    push: Option<PushService>,
}

impl Props {
    /// Everything is there before the server is.
    pub async fn prepare(config: &Config, scratch: &Scratch) -> anyhow::Result<Self> {
        let workspace = scratch.workspace().display().to_string();
        let mut names = vec![("WORKSPACE", workspace)];
        let issuer = match config.sign_in_server {
            true => Some(SignInServer::start().await?),
            false => None,
        };
        let address = issuer.as_ref().map_or("", SignInServer::url);
        names.push(("SIGN_IN_SERVER", address.to_owned()));
        let push = match config.push_service {
            true => Some(PushService::start().await?),
            false => None,
        };
        let address = push.as_ref().map_or_else(String::new, PushService::url);
        names.push(("PUSH_SERVICE", address));
        let props = Self {
            names,
            _issuer: issuer,
            push,
        };
        props.write(config, scratch)?;
        Ok(props)
    }

    fn write(&self, config: &Config, scratch: &Scratch) -> anyhow::Result<()> {
        for (name, text) in &config.files {
            scratch.write(name, &self.named(text))?;
        }
        if config.repository {
            commit_all(scratch.workspace(), scratch.user())?;
        }
        for (name, text) in &config.home {
            let path = scratch.home().join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(scratch.home()))?;
            std::fs::write(path, self.named(text))?;
        }
        let folder = scratch.home().join("config");
        std::fs::create_dir_all(&folder)?;
        let settings = config.settings.as_deref().unwrap_or_default();
        let settings = format!("{settings}\n{NO_AGENTS}");
        Ok(std::fs::write(folder.join("config.toml"), settings)?)
    }

    /// The text with what its names stand for.
    pub fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, meant) in &self.names {
            text = text.replace(name, meant);
        }
        text
    }

    /// Further words of the server's command line.
    pub fn arguments(&self) -> Vec<String> {
        // Addresses of this machine are not sent to where nobody has said that they may be.
        let push = self.push.iter();
        push.map(|service| format!("--allow-private={}", service.host()))
            .collect()
    }

    /// The next message that the push service is given.
    pub async fn pushed(&mut self) -> anyhow::Result<String> {
        let push = self.push.as_mut();
        push.context("the story has no push service")?.next().await
    }
}

/// One commit of all files, with the same name each time.
fn commit_all(folder: &Path, home: &Path) -> anyhow::Result<()> {
    for words in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--allow-empty", "--message=First"],
    ] {
        let mut git = Command::new("git");
        let git = git.args(words).current_dir(folder).stdin(Stdio::null());
        // Nothing of whoever runs the tests.
        let git = git.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ada");
            git.env(format!("GIT_{who}_EMAIL"), "ada@example.com");
            git.env(format!("GIT_{who}_DATE"), COMMITTED_AT);
        }
        let ended = git.status().context("cannot run git")?;
        ensure!(ended.success(), "git {words:?}: {ended}");
    }
    Ok(())
}
