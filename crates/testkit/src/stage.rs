//! Plays a scenario on a real server, in one tongue, and writes down what crosses the sockets.

mod props;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::client::LIMIT;
use crate::process::{Launch, Process};
use crate::scenario::{Act, Scenario, Step};
use crate::tongue::{self, Language, Signal, Tongue};
use crate::transcript::{self, Transcript, same::Same};
use crate::until::{Until, Wanted};
use crate::{Client, Heard, Scratch, http};
use props::Props;

/// Long enough for a server to notice that a socket is gone.
const NOTICED: std::time::Duration = std::time::Duration::from_millis(100);

/// Plays `scenarios/<name>` and compares it with its transcript in this language.
pub async fn play(
    folder: &Path,
    language: &'static Language,
    binary: impl AsRef<Path>,
) -> anyhow::Result<()> {
    let scenario = Scenario::load(&folder.join("scenario.toml"))?;
    let scratch = Scratch::new()?;
    let props = Props::prepare(&scenario.config, &scratch).await?;
    // One story for all: what asks in the protocol that has rules for it asks in the others.
    let mut launch = Launch::new(binary.as_ref(), &scratch).argument("--approvals=ask");
    for word in props.arguments() {
        launch = launch.argument(word);
    }
    if let Some(script) = &scenario.script {
        let path = scratch.user().join("script.txt");
        std::fs::write(&path, script)?;
        launch = launch.rehearsal(&path);
    }
    let title = format!("{}\nspoken in {}", scenario.about, language.name);
    let mut stage = Stage {
        language,
        server: Process::start(&launch).await?,
        actors: BTreeMap::new(),
        transcript: Transcript::new(title, scenario.several_clients()),
        scratch,
        props,
        launch,
        elsewhere: None,
    };
    for (index, step) in scenario.steps.iter().enumerate() {
        let outcome = stage.step(step).await;
        outcome.with_context(|| format!("step {}: {step}", index + 1))?;
    }
    let text = stage.transcript.render(Same::under(stage.scratch.user()));
    let golden = folder.join(format!("{}.transcript", language.name));
    transcript::settle(&golden, &text)
}

struct Stage {
    language: &'static Language,
    server: Process,
    actors: BTreeMap<String, Actor>,
    transcript: Transcript,
    scratch: Scratch,
    props: Props,
    launch: Launch,
    /// Another server on the same data, and who is connected there.
    elsewhere: Option<(Process, Client)>,
}

/// One client of the story.
struct Actor {
    tongue: Box<dyn Tongue>,
    /// None once the socket is gone; the thread's name is still known.
    client: Option<Client>,
    /// What the frames of this step meant.
    signals: Vec<Signal>,
    /// Their types, where the dialect's frames begin with one.
    kinds: Vec<String>,
    /// Speaks another dialect than the story's, and so has no place in its transcript.
    is_aside: bool,
    /// Where it was last told to sign in.
    sign_in_page: Option<String>,
    /// The section of the list of threads that it was last answered with.
    section: Option<String>,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Yes,
    NoWord,
}

impl Stage {
    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        self.transcript.step(step.to_string());
        for actor in self.actors.values_mut() {
            actor.signals.clear();
            actor.kinds.clear();
        }
        match step.act {
            Act::Connect => self.connect(step, None).await?,
            Act::Resume => {
                let whose = step.thread.as_ref().unwrap_or(&step.client);
                let thread = self.actor(whose)?.tongue.thread().map(str::to_owned);
                let thread = thread.with_context(|| format!("{whose} has no thread yet"))?;
                self.connect(step, Some(&thread)).await?;
            }
            Act::Disconnect => {
                let client = self.actor(&step.client)?.client.take();
                client.context("not connected")?.close().await?;
                // Nothing tells a client that the server has seen it go; some greetings count heads.
                tokio::time::sleep(NOTICED).await;
            }
            Act::Operate => {
                let words = step.text.as_deref().unwrap_or_default();
                let words: Vec<&str> = words.split_whitespace().collect();
                self.server.operate(&words).await?;
            }
            Act::HandOver => self.hand_over(&step.client).await?,
            Act::Kill => {
                self.server.kill9().await?;
                self.lose_sockets();
            }
            Act::Restart => {
                self.server.restart().await?;
                self.lose_sockets();
            }
            Act::Terminate => return self.terminate().await,
            Act::Wait => tokio::time::sleep(step.pause()?).await,
            Act::Hear => {}
            Act::Visit => self.visit(&step.client).await?,
            Act::Pushed => {
                let message = self.props.pushed().await?;
                self.transcript.note(&message);
            }
            Act::Send => {
                let frame = self.own_frame(step);
                self.send(&step.client, vec![frame]).await?;
            }
            Act::Say
            | Act::Approve
            | Act::Deny
            | Act::Answer
            | Act::Skip
            | Act::Blank
            | Act::Cancel
            | Act::Steer
            | Act::Reset
            | Act::Read
            | Act::List
            | Act::Title
            | Act::Archive
            | Act::Unarchive
            | Act::Close
            | Act::Checkpoint
            | Act::Restore
            | Act::DeleteCheckpoint
            | Act::Checkpoints
            | Act::FileHistory
            | Act::FileVersion
            | Act::Compact
            | Act::Review
            | Act::Shell
            | Act::Terminals
            | Act::Clean
            | Act::EndTerminal
            | Act::Type
            | Act::Skills
            | Act::ReadSkill
            | Act::EnableSkill
            | Act::DisableSkill
            | Act::DeleteSkill
            | Act::Commands
            | Act::Upload
            | Act::Objective
            | Act::ReadObjective
            | Act::Model
            | Act::SubAgentModel
            | Act::NoMcp
            | Act::Fork
            | Act::Rollback
            | Act::Aside
            | Act::Revert
            | Act::Search
            | Act::Loaded
            | Act::Delete
            | Act::Command => {
                if self.say(step).await? == Said::NoWord {
                    let language = self.language.name;
                    self.transcript
                        .note(&format!("{language} has no word for this"));
                    return Ok(());
                }
            }
        }
        self.wait(step).await
    }

    fn actor(&mut self, name: &str) -> anyhow::Result<&mut Actor> {
        self.actors
            .get_mut(name)
            .with_context(|| format!("client {name} has not connected"))
    }

    async fn connect(&mut self, step: &Step, thread: Option<&str>) -> anyhow::Result<()> {
        let name = step.client.as_str();
        let language = match &step.speaks {
            Some(other) => tongue::language(other).with_context(|| format!("no {other}"))?,
            None => self.language,
        };
        let mut tongue = (language.learn)();
        let url = tongue.url(self.server.url(), thread);
        let greeting = tongue.greet(thread);
        let actor = Actor {
            client: Some(Client::connect(&url).await?),
            tongue,
            signals: Vec::new(),
            kinds: Vec::new(),
            is_aside: step.speaks.is_some(),
            sign_in_page: None,
            section: self.actors.get(name).and_then(|it| it.section.clone()),
            closed: false,
        };
        self.actors.insert(name.to_owned(), actor);
        self.send(name, greeting).await
    }

    /// Nothing of what is said elsewhere is in the transcript.
    async fn hand_over(&mut self, name: &str) -> anyhow::Result<()> {
        let thread = self.actor(name)?.tongue.thread().map(str::to_owned);
        let thread = thread.with_context(|| format!("{name} has no thread yet"))?;
        let server = Process::start(&self.launch).await?;
        let mut tongue = (self.language.learn)();
        let mut client = Client::connect(&tongue.url(server.url(), Some(&thread))).await?;
        let mut next = tongue.greet(Some(&thread));
        loop {
            for frame in next {
                client.send(frame).await?;
            }
            let Heard::Frame(frame) = client.recv().await? else {
                bail!("the other server closed the socket");
            };
            if tongue.hear(&frame)?.contains(&Signal::Connected) {
                break;
            }
            next = tongue.follow_up();
        }
        self.elsewhere = Some((server, client));
        Ok(())
    }

    async fn send(&mut self, name: &str, frames: Vec<String>) -> anyhow::Result<()> {
        for frame in frames {
            let actor = self.actor(name)?;
            let (client, is_aside) = (actor.client.as_mut(), actor.is_aside);
            let client = client.context("not connected")?;
            match binary(&frame) {
                Some(bytes) => client.send_bytes(bytes).await?,
                None => client.send(frame.clone()).await?,
            }
            if !is_aside {
                self.transcript.said(name, &frame);
            }
        }
        Ok(())
    }

    async fn say(&mut self, step: &Step) -> anyhow::Result<Said> {
        let deed = step.deed().context("nothing to say")?;
        let actor = self.actor(&step.client)?;
        match actor.tongue.say(&deed)? {
            Some(frame) => self.send(&step.client, vec![frame]).await?,
            None => return Ok(Said::NoWord),
        }
        Ok(Said::Yes)
    }

    /// What a step sends as it is, with the names of threads and sections in it.
    fn own_frame(&self, step: &Step) -> String {
        let mut frame = self.props.named(step.text.as_deref().unwrap_or_default());
        for (name, actor) in &self.actors {
            if let Some(thread) = actor.tongue.thread() {
                frame = frame.replace(&format!("THREAD_{name}"), thread);
            }
            if let Some(section) = &actor.section {
                frame = frame.replace(&format!("SECTION_{name}"), section);
            }
        }
        frame
    }

    /// As a browser: the page where one signs in leads back to our own.
    async fn visit(&mut self, name: &str) -> anyhow::Result<()> {
        let page = self.actor(name)?.sign_in_page.take();
        let page = page.with_context(|| format!("{name} was not told where to sign in"))?;
        let back = http::location(&page).await?;
        http::visit(&back).await
    }

    /// Frames that a dead server had still sent are nobody's: which of them arrive is chance.
    fn lose_sockets(&mut self) {
        for actor in self.actors.values_mut() {
            actor.client = None;
        }
    }

    /// Everyone hears the goodbye, each to its end.
    async fn terminate(&mut self) -> anyhow::Result<()> {
        let status = self.server.terminate().await?;
        ensure!(status.success(), "after SIGTERM it ended with {status}");
        for name in self.connected() {
            self.hear_until(&name, &Until::once(Wanted::Closed)).await?;
        }
        self.lose_sockets();
        Ok(())
    }

    fn connected(&self) -> Vec<String> {
        let connected = self
            .actors
            .iter()
            .filter(|(_, actor)| actor.client.is_some());
        connected.map(|(name, _)| name.clone()).collect()
    }

    async fn wait(&mut self, step: &Step) -> anyhow::Result<()> {
        let until = step.until();
        match &until.wanted {
            Wanted::Nothing => return Ok(()),
            Wanted::File(name) => return self.file(name).await,
            _ => self.hear_until(&step.client, &until).await?,
        }
        if !told_to_all(step.act, &until.wanted) {
            return Ok(());
        }
        let thread = self.actor(&step.client)?.tongue.thread().map(str::to_owned);
        for name in self.connected() {
            let same_thread = self.actor(&name)?.tongue.thread() == thread.as_deref();
            if name != step.client && same_thread {
                self.hear_until(&name, &until).await?;
            }
        }
        Ok(())
    }

    async fn hear_until(&mut self, name: &str, until: &Until) -> anyhow::Result<()> {
        loop {
            let actor = self.actor(name)?;
            if actor.satisfied(until) {
                return Ok(());
            }
            let client = actor.client.as_mut().context("not connected")?;
            let heard = client.recv().await;
            let heard = heard.with_context(|| format!("{name} waits for {until}"))?;
            match &heard {
                Heard::Frame(frame) => {
                    let signals = actor.tongue.hear(frame)?;
                    actor.signals.extend(signals);
                    actor.kinds.extend(kind(frame));
                    actor.sign_in_page = sign_in_page(frame).or(actor.sign_in_page.take());
                    actor.section = section(frame).or(actor.section.take());
                    let follow_up = actor.tongue.follow_up();
                    if !actor.is_aside && !actor.tongue.aside(frame) {
                        self.transcript.heard(name, frame);
                    }
                    self.send(name, follow_up).await?;
                }
                Heard::Closed(close) => {
                    actor.closed = true;
                    actor.client = None;
                    if !actor.is_aside {
                        self.transcript.heard(name, &format!("closed {close}"));
                    }
                    if until.wanted != Wanted::Closed {
                        bail!("{name} waits for {until}, and was closed: {close}");
                    }
                }
            }
        }
    }

    /// Nothing tells of a file, so this looks again and again.
    async fn file(&self, name: &str) -> anyhow::Result<()> {
        let path = self.scratch.workspace().join(name);
        let appeared = async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LIMIT, appeared)
            .await
            .with_context(|| format!("no file {name} within {LIMIT:?}"))
    }
}

/// Whether every listener of the thread sees it, or only the one who acted.
fn told_to_all(act: Act, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Streaming | Wanted::Text(_) | Wanted::Asked | Wanted::Rest => {
            act != Act::Connect && act != Act::Resume
        }
        Wanted::Done => matches!(
            act,
            Act::Title | Act::Reset | Act::Checkpoint | Act::Restore | Act::DeleteCheckpoint
        ),
        Wanted::Connected
        | Wanted::Frame(_)
        | Wanted::Refused
        | Wanted::Closed
        | Wanted::File(_)
        | Wanted::Nothing => false,
    }
}

/// The page that a frame tells its client to sign in at.
fn sign_in_page(frame: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(frame).ok()?;
    let result = &frame["result"];
    let page = result["authorizationUrl"].as_str();
    page.or(result["authUrl"].as_str()).map(str::to_owned)
}

/// A chunk of an upload, which crosses the socket as bytes: `PSU1`, its header, and the rest in hex.
fn binary(frame: &str) -> Option<Vec<u8>> {
    let (header, hex) = frame.strip_prefix("PSU1 ")?.rsplit_once(' ')?;
    let digits = hex.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let length = u32::try_from(header.len()).ok()?.to_be_bytes();
    Some([b"PSU1".as_slice(), &length, header.as_bytes(), &bytes?].concat())
}

/// What a frame begins with: its type, its method, or what its client called the request that it answers.
fn kind(frame: &str) -> Option<String> {
    // Some say first which JSON-RPC they speak.
    let whole = frame.replacen("\"jsonrpc\":\"2.0\",", "", 1);
    let frame = whole.as_str();
    let begins = ["type", "method", "id"].iter().find_map(|field| {
        let rest = frame.strip_prefix('{')?;
        let rest = rest.strip_prefix(r#""jsonrpc":"2.0","#).unwrap_or(rest);
        let rest = rest.strip_prefix(&format!("\"{field}\":\""))?;
        rest.split_once('"')
    });
    begins.map(|(kind, _)| kind.to_owned())
}

/// The section that an answer is about, if it is one.
fn section(frame: &str) -> Option<String> {
    if !frame.contains("\"section\"") {
        return None;
    }
    let frame: serde_json::Value = serde_json::from_str(frame).ok()?;
    let id = frame.pointer("/result/section/id")?;
    id.as_str().map(str::to_owned)
}

impl Actor {
    fn satisfied(&self, until: &Until) -> bool {
        let seen = |meant: fn(&Signal) -> bool| {
            self.signals.iter().filter(|signal| meant(signal)).count() >= until.count
        };
        match &until.wanted {
            Wanted::Connected => seen(|signal| *signal == Signal::Connected),
            Wanted::Streaming => seen(|signal| matches!(signal, Signal::Text(_))),
            Wanted::Text(words) => self.text().contains(words.as_str()),
            Wanted::Frame(kind) => {
                self.kinds.iter().filter(|each| *each == kind).count() >= until.count
            }
            Wanted::Asked => seen(|signal| *signal == Signal::Asked),
            Wanted::Rest => seen(|signal| *signal == Signal::Rest),
            Wanted::Refused => seen(|signal| *signal == Signal::Refused),
            Wanted::Done => seen(|signal| *signal == Signal::Done),
            Wanted::Closed => self.closed,
            Wanted::File(_) | Wanted::Nothing => true,
        }
    }

    fn text(&self) -> String {
        let pieces = self.signals.iter().filter_map(|signal| match signal {
            Signal::Text(text) => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }
}
