//! A server, a tap before it, and terminals with the official client.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::process::Launch;
use testkit::service::ServedService;
use testkit::tap::{SocketTap, TappedFrame};
use testkit::terminal::{WatchedTerminal, key};
use testkit::{Process, Scratch};
use tokio::process::Command;

use crate::codex_schema::{CodexJudge, binary};
use crate::{DRAGOMAN, KEY};

/// How the client marks lines that tell of an error.
const ERROR: &str = "■";
/// What stands where a person writes, as long as they do not.
const INVITATION: &str = "Ask Codex to do anything";
/// The client's own line for a turn that its user stopped.
pub const STOPPED: &str = "■ Conversation interrupted";
/// What stands below the answer of a turn that is over.
const OVER: &str = "Worked for ";

pub struct CodexDesk {
    /// Before the scratch it works in, so that it ends first.
    pub server: Process,
    pub tap: Arc<SocketTap>,
    pub scratch: Scratch,
}

impl CodexDesk {
    /// The model is the rehearsal, which does what it is told.
    pub async fn open() -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch);
        Self::open_with(scratch, &launch).await
    }

    /// Beside the rehearsal there are the models of this service.
    pub async fn open_beside(service: &ServedService) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let config = scratch.home().join("config");
        std::fs::create_dir_all(&config)?;
        let (id, url) = (service.vendor().id(), service.url());
        let catalog = format!("[[provider]]\nid = \"{id}\"\nbase_url = \"{url}\"\n");
        std::fs::write(config.join("catalog.toml"), catalog)?;
        let name = format!("{}_API_KEY", id.to_uppercase());
        let launch = Launch::new(DRAGOMAN, &scratch).variable(&name, KEY);
        Self::open_with(scratch, &launch).await
    }

    async fn open_with(scratch: Scratch, launch: &Launch) -> anyhow::Result<Self> {
        let codex = scratch.user().join(".codex");
        std::fs::create_dir(&codex)?;
        let project = scratch.workspace().display();
        // It asks nobody for a newer version, and knows the directory.
        let config = format!(
            "check_for_update_on_startup = false\n[projects.\"{project}\"]\ntrust_level = \"trusted\"\n"
        );
        std::fs::write(codex.join("config.toml"), config)?;
        let git = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .arg(scratch.workspace())
            .status()?;
        ensure!(git.success(), "no repository");
        let server = Process::start(launch).await?;
        let tap = Arc::new(SocketTap::start(server.port(), "/codex").await?);
        Ok(Self {
            server,
            tap,
            scratch,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let user = self.scratch.user();
        command
            .current_dir(self.scratch.workspace())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
            .env("HOME", user)
            .env("CODEX_HOME", user.join(".codex"))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8");
        command
    }

    /// A client whose frames go through the tap.
    pub fn sit_down(&self, arguments: &[&str]) -> anyhow::Result<TerminalUser> {
        let mut command = self.command(&binary()?);
        command.args(arguments).args(["--remote", &self.tap.url()]);
        let terminal = WatchedTerminal::start(command, ERROR)?;
        let tap = Some(Arc::clone(&self.tap));
        Ok(TerminalUser { terminal, tap })
    }

    /// `dragoman tui`, which finds the client in PATH.
    pub fn sit_down_by_ourselves(&self, arguments: &[&str]) -> anyhow::Result<TerminalUser> {
        let folder = self.scratch.user().join("bin");
        std::fs::create_dir_all(&folder)?;
        let link = folder.join("codex");
        if !link.exists() {
            std::os::unix::fs::symlink(binary()?, &link)?;
        }
        let mut paths = vec![folder];
        paths.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let mut command = self.command(Path::new(DRAGOMAN));
        command
            .arg("tui")
            .args(arguments)
            .env("PATH", std::env::join_paths(paths)?)
            .env("DRAGOMAN_HOME", self.scratch.home())
            .env("DRAGOMAN_MODEL", "rehearsal/rehearsal-1");
        let terminal = WatchedTerminal::start(command, ERROR)?;
        let tap = None;
        Ok(TerminalUser { terminal, tap })
    }

    /// The thread that the first client made.
    pub fn thread(&self) -> anyhow::Result<String> {
        let frames = self.tap.frames();
        let mut opened = frames.iter().filter_map(|tapped| {
            let thread = &tapped.frame["result"]["thread"];
            thread["id"].as_str()
        });
        Ok(opened.next().context("no thread was made")?.to_owned())
    }

    /// Waits until something of this kind is asked for and not refused.
    pub async fn takes(&self, method: &str) -> anyhow::Result<()> {
        let asked = |tapped: &TappedFrame| tapped.frame["method"] == method;
        self.tap.sees(method, asked).await?;
        let asked = self.tap.frames().into_iter().rfind(asked);
        let asked = asked.context("it came by")?;
        let answers = |tapped: &TappedFrame| {
            let is_same = tapped.frame["id"] == asked.frame["id"];
            let is_same = is_same && tapped.connection == asked.connection;
            is_same && tapped.by_server && tapped.frame.get("result").is_some()
        };
        self.tap.sees(&asked.frame.to_string(), answers).await
    }

    /// All that we said is as the client's schemas want it, and nothing that it asked for was refused.
    pub async fn judged(self) -> anyhow::Result<()> {
        let frames = self.tap.frames();
        let judging = tokio::task::spawn_blocking(move || {
            let refused = frames.iter().filter(|tapped| tapped.by_server);
            let refused = refused.filter(|tapped| tapped.frame.get("error").is_some());
            let mut wrong: Vec<_> = refused.map(|tapped| tapped.frame.to_string()).collect();
            wrong.extend(CodexJudge::new(true)?.misfits(&frames));
            anyhow::Ok((wrong, frames.len()))
        });
        let (wrong, frames) = judging.await??;
        ensure!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        ensure!(frames > 20, "only {frames} frames came by");
        Ok(())
    }
}

/// Who sits before a terminal.
pub struct TerminalUser {
    terminal: WatchedTerminal,
    /// Where its frames come by.
    tap: Option<Arc<SocketTap>>,
}

impl TerminalUser {
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        self.terminal.sees(INVITATION).await
    }

    pub async fn sees(&mut self, words: &str) -> anyhow::Result<()> {
        self.terminal.sees(words).await
    }

    /// Waits until it is so, which is looked at whenever the screen changes.
    pub async fn until(&mut self, what: &str, met: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        self.terminal.until(what, met).await
    }

    pub async fn misses(&mut self, words: &str) -> anyhow::Result<()> {
        self.terminal.misses(words).await
    }

    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    /// Several lines; the last of them is waited for.
    pub async fn paste_and_send(&mut self, text: &str) -> anyhow::Result<()> {
        self.terminal.paste(text)?;
        let last = text.lines().last().unwrap_or_default();
        self.terminal.sees(last).await?;
        self.terminal.press(key::ENTER)
    }

    /// Writes it, sends it, and sees what comes of it.
    pub async fn say(&mut self, text: &str, seen: &str) -> anyhow::Result<()> {
        self.terminal.paste(text)?;
        // What begins so is a command of one's own, and looks like one.
        let shown = match text.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("› {text}"),
        };
        let shown: String = shown.chars().take(60).collect();
        self.terminal.sees(&shown).await?;
        self.terminal.press(key::ENTER)?;
        self.terminal.sees(seen).await
    }

    pub async fn press(&mut self, keys: &str, seen: &str) -> anyhow::Result<()> {
        self.terminal.press(keys)?;
        self.terminal.sees(seen).await
    }

    /// Nothing runs any more.
    pub async fn rests(&mut self) -> anyhow::Result<()> {
        let tap = self.tap.clone();
        let over = |screen: &str| {
            let told = tap.as_ref();
            let told = told.is_none_or(|tap| last_turn_is_over(&tap.frames()));
            told && is_drawn(screen)
        };
        self.terminal
            .until("waiting for the end of the turn", over)
            .await?;
        self.terminal.sees(INVITATION).await
    }

    /// Ends the client as people do. No line of an error was shown but these.
    pub async fn leaves(&mut self, expected: &[&str]) -> anyhow::Result<()> {
        let is_expected = |line: &String| expected.iter().any(|each| line.starts_with(each));
        let mut errors = self.terminal.errors();
        errors.retain(|line| !is_expected(line));
        ensure!(
            errors.is_empty(),
            "shown: {errors:?}\n{}",
            self.terminal.screen()
        );
        self.terminal.paste("/exit")?;
        self.terminal.sees("› /exit").await?;
        self.terminal.press(key::ENTER)?;
        assert_eq!(self.ended().await?, Some(0));
        Ok(())
    }

    pub async fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        Ok(self.terminal.end().await?.code())
    }
}

/// Whether the client shows the end of what was said last: until then it takes words for the same turn.
fn is_drawn(screen: &str) -> bool {
    let Some((history, _)) = screen.rsplit_once(INVITATION) else {
        return false;
    };
    // The invitation itself stands behind this mark.
    let history = history.trim_end_matches(['›', ' ']);
    let ends = [OVER, STOPPED].map(|words| history.rfind(words));
    ends.into_iter().max().flatten() > history.rfind("\n› ")
}

/// Of those that the person sees: the client has threads for itself, too, which it keeps nowhere.
fn last_turn_is_over(frames: &[TappedFrame]) -> bool {
    let own: HashSet<_> = frames
        .iter()
        .map(|tapped| &tapped.frame["result"]["thread"])
        .filter(|thread| thread["ephemeral"] == true)
        .filter_map(|thread| thread["id"].as_str())
        .collect();
    let told = |method: &'static str| {
        let frames = frames.iter().rev().map(|tapped| &tapped.frame);
        frames.filter(move |frame| frame["method"] == method)
    };
    let is_shown = |frame: &&Value| {
        let thread = frame["params"]["threadId"].as_str();
        thread.is_some_and(|thread| !own.contains(thread))
    };
    let started = told("turn/started").find(is_shown);
    let id = |frame: &Value| frame["params"]["turn"]["id"].clone();
    started.is_some_and(|started| {
        let mut ended = told("turn/completed");
        ended.any(|ended| id(ended) == id(started))
    })
}
