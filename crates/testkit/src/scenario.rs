//! A scenario: what the model will say, and what people do, in core words.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::tongue::{Deed, OrderDeed, PastDeed, SettingDeed, SkillDeed};
use crate::until::{Until, Wanted};

/// One `scenario.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One sentence: what the story shows.
    pub about: String,
    /// The dialects it is told in; all, where none is named.
    #[serde(default)]
    pub only: Vec<String>,
    /// The rehearsal script; without one the model is interactive.
    pub script: Option<String>,
    #[serde(default)]
    pub config: Config,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// What is there before the first step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Files of the workspace, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Files of the server's data, by name.
    #[serde(default)]
    pub home: BTreeMap<String, String>,
    /// The server's settings file.
    pub settings: Option<String>,
    /// Whether there is a server that people sign in to; files and frames call it `SIGN_IN_SERVER`.
    #[serde(default)]
    pub sign_in_server: bool,
    /// Whether there is a service that takes push messages; frames call it `PUSH_SERVICE`.
    #[serde(default)]
    pub push_service: bool,
    /// Whether the workspace is a git repository whose files are committed.
    #[serde(default)]
    pub repository: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    #[serde(default = "first_client")]
    pub client: String,
    #[serde(rename = "do")]
    pub act: Act,
    pub text: Option<String>,
    /// For `resume`: the client whose thread is meant; its own when absent.
    pub thread: Option<String>,
    /// For `connect` and `resume`: another dialect than the story's. Nothing of it is in the transcript.
    pub speaks: Option<String>,
    pub until: Option<Until>,
}

fn first_client() -> String {
    "a".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Opens a socket on a new thread.
    Connect,
    /// Opens a socket on a thread that exists.
    Resume,
    /// Drops the socket without a word in the protocol.
    Disconnect,
    Say,
    Approve,
    Deny,
    Answer,
    Skip,
    Blank,
    Cancel,
    /// Says more to the turn that runs.
    Steer,
    Reset,
    Read,
    List,
    Title,
    /// Out of the list, without losing it; and back.
    Archive,
    Unarchive,
    /// Lets the thread go, in the protocol's own words.
    Close,
    /// Keeps the files as they are.
    Checkpoint,
    /// Puts them back: to the checkpoint in `text`, else to what they were at first.
    Restore,
    DeleteCheckpoint,
    /// Asks which checkpoints there are.
    Checkpoints,
    /// Asks for the versions of the file in `text`.
    FileHistory,
    /// Asks for one of them: `notes.txt 2`.
    FileVersion,
    /// Has the conversation summarised.
    Compact,
    /// Has the uncommitted changes reviewed.
    Review,
    /// Runs a command line of the user's own.
    Shell,
    /// Asks which commands run in the background.
    Terminals,
    /// Ends all of them.
    Clean,
    /// Ends the one whose number is in `text`.
    EndTerminal,
    /// Types to the first of them.
    Type,
    /// Asks which skills there are.
    Skills,
    ReadSkill,
    EnableSkill,
    DisableSkill,
    DeleteSkill,
    /// Asks which slash commands there are.
    Commands,
    /// Gives one with its arguments: `fix it now`.
    Command,
    /// Sends a frame of the dialect's own as it is; `THREAD_a` stands for the thread of the client a,
    /// `WORKSPACE` for the workspace's path,
    /// `SECTION_a` for the section of the list that it was last answered with.
    Send,
    /// Says nothing, and waits.
    Hear,
    /// Opens the page that the client was last told to sign in at, and lets it lead back.
    Visit,
    /// The push service is given its next message.
    Pushed,
    /// Uploads a file: its name, then its content in base64: `notes.txt aGVsbG8=`.
    Upload,
    /// Says what the work is for.
    Objective,
    /// Asks what the work is for.
    ReadObjective,
    /// Chooses the model: `openai gpt-5.2`.
    Model,
    /// Chooses the model of sub-agents.
    SubAgentModel,
    /// Uses no MCP servers.
    NoMcp,
    /// Goes on in a thread that begins with the past of this one.
    Fork,
    /// Takes turns back, as many as `text` says.
    Rollback,
    /// Takes the newest turn back.
    Revert,
    /// Begins an ephemeral thread beside this one.
    Aside,
    /// Looks for threads with the words in `text`.
    Search,
    /// Asks which threads are awake.
    Loaded,
    /// Forgets the thread for good.
    Delete,
    /// Runs the program itself, as whoever operates the server does: `tenants credit --set 1`.
    Operate,
    /// Another server on the same data takes the thread: somebody joins it there.
    HandOver,
    /// `kill -9` of the server.
    Kill,
    Restart,
    /// SIGTERM, and an exit with 0.
    Terminate,
    /// Lets time pass, where a promise is about time.
    Wait,
}

impl Scenario {
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let scenario: Self = toml::from_str(text)?;
        for (index, step) in scenario.steps.iter().enumerate() {
            step.check()
                .with_context(|| format!("step {}: {step}", index + 1))?;
        }
        Ok(scenario)
    }

    /// Whether lines need to say whose they are.
    pub fn several_clients(&self) -> bool {
        let mut clients = self.steps.iter().map(|step| &step.client);
        let first = clients.next();
        clients.any(|client| Some(client) != first)
    }
}

impl Step {
    fn check(&self) -> anyhow::Result<()> {
        let needs_text = matches!(
            self.act,
            Act::Say
                | Act::Steer
                | Act::Answer
                | Act::Title
                | Act::Wait
                | Act::Operate
                | Act::DeleteCheckpoint
                | Act::FileHistory
                | Act::FileVersion
                | Act::ReadSkill
                | Act::EnableSkill
                | Act::DisableSkill
                | Act::DeleteSkill
                | Act::Command
                | Act::Send
                | Act::Upload
                | Act::Objective
                | Act::Model
                | Act::SubAgentModel
                | Act::Rollback
                | Act::Shell
                | Act::Type
                | Act::EndTerminal
                | Act::Search
        );
        match (&self.text, needs_text) {
            (None, true) => bail!("needs a text"),
            (Some(_), false) if self.act != Act::Restore => bail!("takes no text"),
            _ => {}
        }
        if self.act == Act::FileVersion {
            self.version()?;
        }
        if self.thread.is_some() && self.act != Act::Resume {
            bail!("only `resume` takes a thread");
        }
        if self.speaks.is_some() && !matches!(self.act, Act::Connect | Act::Resume) {
            bail!("only `connect` and `resume` say what is spoken");
        }
        if self.act == Act::Wait {
            self.pause()?;
        }
        if matches!(self.act, Act::Send | Act::Hear) && self.until.is_none() {
            bail!("must say what it waits for");
        }
        Ok(())
    }

    /// What the acting client says, where the step is something one says.
    pub fn deed(&self) -> Option<Deed> {
        let text = || self.text.clone().unwrap_or_default();
        Some(match self.act {
            Act::Say => Deed::Say(text()),
            Act::Approve => Deed::Approve,
            Act::Deny => Deed::Deny,
            Act::Answer => Deed::Answer(text()),
            Act::Skip => Deed::Skip,
            Act::Blank => Deed::Blank,
            Act::Cancel => Deed::Cancel,
            Act::Steer => Deed::Steer(text()),
            Act::Reset => Deed::Reset,
            Act::Read => Deed::Read,
            Act::List => Deed::List,
            Act::Title => Deed::Title(text()),
            Act::Archive => Deed::Archive,
            Act::Unarchive => Deed::Unarchive,
            Act::Close => Deed::Close,
            Act::Checkpoint => Deed::Checkpoint,
            Act::Restore => Deed::Restore(self.text.clone()),
            Act::DeleteCheckpoint => Deed::DeleteCheckpoint(text()),
            Act::Checkpoints => Deed::Checkpoints,
            Act::FileHistory => Deed::FileHistory(text()),
            Act::FileVersion => {
                let (path, iteration) = self.version().ok()?;
                Deed::FileVersion { path, iteration }
            }
            Act::Compact => Deed::Order(OrderDeed::Compact),
            Act::Review => Deed::Order(OrderDeed::Review),
            Act::Shell => Deed::Order(OrderDeed::Shell(text())),
            Act::Terminals => Deed::Order(OrderDeed::Terminals),
            Act::Clean => Deed::Order(OrderDeed::Clean),
            Act::EndTerminal => Deed::Order(OrderDeed::End(text())),
            Act::Type => Deed::Order(OrderDeed::Type(text())),
            Act::Skills => Deed::Skill(SkillDeed::List),
            Act::ReadSkill => Deed::Skill(SkillDeed::Read(text())),
            Act::EnableSkill => Deed::Skill(SkillDeed::Enable(text())),
            Act::DisableSkill => Deed::Skill(SkillDeed::Disable(text())),
            Act::DeleteSkill => Deed::Skill(SkillDeed::Delete(text())),
            Act::Commands => Deed::Skill(SkillDeed::Commands),
            Act::Command => Deed::Skill(SkillDeed::Run(text())),
            Act::Upload => Deed::Setting(SettingDeed::Upload(text())),
            Act::Objective => Deed::Setting(SettingDeed::Objective(text())),
            Act::ReadObjective => Deed::Setting(SettingDeed::ReadObjective),
            Act::Model => Deed::Setting(SettingDeed::Model(text())),
            Act::SubAgentModel => Deed::Setting(SettingDeed::SubAgentModel(text())),
            Act::NoMcp => Deed::Setting(SettingDeed::NoMcp),
            Act::Fork => Deed::Past(PastDeed::Fork),
            Act::Rollback => Deed::Past(PastDeed::Rollback(text().parse().ok()?)),
            Act::Aside => Deed::Past(PastDeed::Aside),
            Act::Revert => Deed::Past(PastDeed::Revert),
            Act::Search => Deed::Past(PastDeed::Search(text())),
            Act::Loaded => Deed::Past(PastDeed::Loaded),
            Act::Delete => Deed::Past(PastDeed::Delete),
            Act::Connect
            | Act::Resume
            | Act::Disconnect
            | Act::Send
            | Act::Hear
            | Act::Visit
            | Act::Pushed
            | Act::Operate
            | Act::HandOver
            | Act::Kill
            | Act::Restart
            | Act::Terminate
            | Act::Wait => return None,
        })
    }

    pub fn until(&self) -> Until {
        if let Some(until) = &self.until {
            return until.clone();
        }
        Until::once(match self.act {
            Act::Connect | Act::Resume => Wanted::Connected,
            Act::Say
            | Act::Command
            | Act::Compact
            | Act::Review
            | Act::Shell
            | Act::Approve
            | Act::Deny
            | Act::Answer
            | Act::Skip
            | Act::Cancel => Wanted::Rest,
            Act::Blank => Wanted::Refused,
            Act::Reset
            | Act::Steer
            | Act::Read
            | Act::List
            | Act::Title
            | Act::Archive
            | Act::Unarchive
            | Act::Checkpoint
            | Act::Restore
            | Act::DeleteCheckpoint
            | Act::Checkpoints
            | Act::FileHistory
            | Act::FileVersion
            | Act::Terminals
            | Act::Clean
            | Act::EndTerminal
            | Act::Type
            | Act::Skills
            | Act::ReadSkill
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
            | Act::Commands => Wanted::Done,
            // The skills, then the commands.
            Act::EnableSkill | Act::DisableSkill | Act::DeleteSkill => {
                return Until {
                    count: 2,
                    wanted: Wanted::Done,
                };
            }
            Act::Close | Act::Terminate => Wanted::Closed,
            Act::Disconnect
            | Act::Send
            | Act::Hear
            | Act::Visit
            | Act::Pushed
            | Act::Operate
            | Act::HandOver
            | Act::Kill
            | Act::Restart
            | Act::Wait => Wanted::Nothing,
        })
    }

    /// The file and the number of a `file_version`: `notes.txt 2`.
    fn version(&self) -> anyhow::Result<(String, u64)> {
        let text = self.text.as_deref().unwrap_or_default();
        let (path, number) = text.rsplit_once(' ').unwrap_or((text, ""));
        let number = number.parse();
        let number = number.with_context(|| format!("not a version such as a.txt 2: `{text}`"))?;
        Ok((path.to_owned(), number))
    }

    /// How long a `wait` lasts: `1200ms`.
    pub fn pause(&self) -> anyhow::Result<Duration> {
        let text = self.text.as_deref().unwrap_or_default();
        let millis = text
            .strip_suffix("ms")
            .and_then(|number| number.parse().ok())
            .with_context(|| format!("not a time such as 1200ms: `{text}`"))?;
        Ok(Duration::from_millis(millis))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = words(&format!("{:?}", self.act));
        match self.act {
            Act::Operate | Act::Kill | Act::Restart | Act::Terminate | Act::Pushed | Act::Wait => {
                write!(out, "{word}")?
            }
            _ => write!(out, "{}: {word}", self.client)?,
        }
        // What is sent stands right below.
        if let Some(text) = self.text.as_ref().filter(|_| self.act != Act::Send) {
            write!(out, " {text:?}")?;
        }
        if let Some(thread) = &self.thread {
            write!(out, " the thread of {thread}")?;
        }
        if let Some(language) = &self.speaks {
            write!(out, " in {language}")?;
        }
        match self.until() {
            Until {
                wanted: Wanted::Nothing,
                ..
            } => Ok(()),
            until => write!(out, ", until {until}"),
        }
    }
}

/// `DeleteCheckpoint` is `delete checkpoint`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests;
