//! A scenario: what the model will say, and what people do, in core words.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::tongue::Deed;
use crate::until::{Until, Wanted};

/// One `scenario.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One sentence: what the story shows.
    pub about: String,
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
        let takes_text = matches!(
            self.act,
            Act::Say | Act::Steer | Act::Answer | Act::Title | Act::Wait
        );
        match (&self.text, takes_text) {
            (None, true) => bail!("needs a text"),
            (Some(_), false) => bail!("takes no text"),
            _ => {}
        }
        if self.thread.is_some() && self.act != Act::Resume {
            bail!("only `resume` takes a thread");
        }
        if self.act == Act::Wait {
            self.pause()?;
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
            Act::Connect
            | Act::Resume
            | Act::Disconnect
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
            Act::Say | Act::Approve | Act::Deny | Act::Answer | Act::Skip | Act::Cancel => {
                Wanted::Rest
            }
            Act::Blank => Wanted::Refused,
            Act::Reset
            | Act::Steer
            | Act::Read
            | Act::List
            | Act::Title
            | Act::Archive
            | Act::Unarchive => Wanted::Done,
            Act::Close | Act::Terminate => Wanted::Closed,
            Act::Disconnect | Act::Kill | Act::Restart | Act::Wait => Wanted::Nothing,
        })
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
        let word = format!("{:?}", self.act).to_lowercase();
        match self.act {
            Act::Kill | Act::Restart | Act::Terminate | Act::Wait => write!(out, "{word}")?,
            _ => write!(out, "{}: {word}", self.client)?,
        }
        if let Some(text) = &self.text {
            write!(out, " {text:?}")?;
        }
        if let Some(thread) = &self.thread {
            write!(out, " the thread of {thread}")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "
about = 'Two people watch.'
script = '''
turn
say Hello.
'''
[config.files]
'a.txt' = 'one'
[[step]]
do = 'connect'
[[step]]
client = 'b'
do = 'resume'
thread = 'a'
[[step]]
do = 'say'
text = 'Hi'
until = 'text Hello'
";

    #[test]
    fn a_story_is_read_with_its_defaults() {
        let story = Scenario::parse(STORY).expect("a good story");
        assert!(story.several_clients());
        let told: Vec<_> = story.steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "a: connect, until connected",
                "b: resume the thread of a, until connected",
                "a: say \"Hi\", until text Hello",
            ]
        );
    }

    #[test]
    fn what_a_story_may_not_say_is_refused() {
        for (bad, why) in [
            ("abuot = 'x'\n", "unknown field"),
            ("[[step]]\ndo = 'dance'\n", "unknown variant"),
            ("[[step]]\ndo = 'cancel'\nuntli = 'rest'\n", "unknown field"),
            ("[[step]]\ndo = 'say'\n", "needs a text"),
            ("[[step]]\ndo = 'reset'\ntext = 'x'\n", "takes no text"),
            (
                "[[step]]\ndo = 'say'\ntext = 'x'\nthread = 'a'\n",
                "only `resume`",
            ),
            ("[[step]]\ndo = 'wait'\ntext = 'long'\n", "not a time"),
        ] {
            let text = match bad.starts_with('[') {
                true => format!("about = 'x'\n{bad}"),
                false => format!("{bad}[[step]]\ndo = 'connect'\n"),
            };
            let error = Scenario::parse(&text).expect_err(bad);
            assert!(format!("{error:#}").contains(why), "{bad}: {error:#}");
        }
    }
}
