//! One configuration: flags over the environment over the file over defaults, laid over each other
//! here and nowhere else.

mod agent_variables;
mod agents;
mod choices;
pub mod file;
mod setting;
mod table;
pub(crate) mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ArgMatches;
use observability::TracingSettings;
use server::Settings;
use server::token::{self, Token};

use crate::logging::LogSettings;
use file::ConfigFile;
use setting::VARIABLE_PREFIX;
pub use setting::{Fallback, Setting};
pub use table::SETTINGS;
pub use values::{log_filter, switch};

pub const HOME_VARIABLE: &str = "DRAGOMAN_HOME";
/// Letters by which a misspelt name differs from the right one.
const MISSPELT_MAX: usize = 2;

/// What all settings come to.
#[derive(Debug)]
pub struct Configuration {
    pub settings: Settings,
    pub log: LogSettings,
}

impl Configuration {
    fn new(home: PathBuf) -> Self {
        Self {
            settings: Settings::new(PathBuf::new(), home),
            log: LogSettings::default(),
        }
    }

    /// Where traces go.
    fn tracing(&mut self) -> &mut TracingSettings {
        &mut self.settings.engine.tracing
    }

    /// To try values out on.
    fn blank() -> Self {
        Self::new(PathBuf::new())
    }
}

/// Where a value came from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Default,
    /// A line of the file.
    File(usize),
    /// One of another agent's.
    AgentVariable(&'static str),
    Variable,
    Flag,
}

/// What was said of one setting, by the strongest who said anything.
#[derive(Debug)]
pub struct Given {
    pub setting: &'static Setting,
    pub source: Source,
    pub values: Vec<OsString>,
}

impl Given {
    /// Where that is, for people.
    pub fn place(&self) -> String {
        match self.source {
            Source::Default => "default".to_owned(),
            Source::File(line) => format!("config.toml, line {line}"),
            Source::AgentVariable(name) => name.to_owned(),
            Source::Variable => self.setting.variable(),
            Source::Flag => format!("--{}", self.setting.name),
        }
    }
}

/// A flag for every setting that may have one.
pub fn flags() -> impl Iterator<Item = clap::Arg> {
    SETTINGS.iter().filter_map(Setting::flag)
}

/// Variables that are nobody's, but nearly a setting's, and that one.
pub fn misspelt_variables() -> Vec<(String, String)> {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let near = |name: String| {
        let known = known.iter().map(String::as_str);
        let distances = known.map(|each| (strsim::damerau_levenshtein(&name, each), each));
        let (distance, nearest) = distances.min()?;
        let nearest = nearest.to_owned();
        (1..=MISSPELT_MAX)
            .contains(&distance)
            .then_some((name, nearest))
    };
    let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours = named.filter(|name| name.starts_with(VARIABLE_PREFIX) && name != HOME_VARIABLE);
    ours.filter_map(near).collect()
}

/// The data directory, and who named it.
pub fn home(flag: Option<PathBuf>) -> anyhow::Result<(PathBuf, Source)> {
    let variable = || std::env::var_os(HOME_VARIABLE).filter(|value| !value.is_empty());
    let (given, source) = match (flag, variable()) {
        (Some(home), _) => (home, Source::Flag),
        (None, Some(home)) => (PathBuf::from(home), Source::Variable),
        (None, None) => {
            let user = std::env::home_dir();
            let user = user.context("there is no home directory; name one with DRAGOMAN_HOME")?;
            (user.join(server::home::USUAL_NAME), Source::Default)
        }
    };
    let home = std::path::absolute(given).context("the data directory is not a path")?;
    Ok((home, source))
}

/// All that may say something of a setting.
pub struct Layers<'a> {
    flags: &'a ArgMatches,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    file: ConfigFile,
}

impl<'a> Layers<'a> {
    pub fn read(
        home: &Path,
        flags: &'a ArgMatches,
        variable: &'a dyn Fn(&str) -> Option<OsString>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            flags,
            variable,
            file: ConfigFile::read(home)?,
        })
    }

    /// What the strongest says of a setting.
    fn given(&self, setting: &'static Setting) -> Given {
        let (source, values) = self
            .by_flag(setting)
            .or_else(|| self.by_variable(setting))
            .or_else(|| self.by_agent_variable(setting))
            .or_else(|| self.by_file(setting))
            .unwrap_or_else(|| (Source::Default, by_default(setting)));
        Given {
            setting,
            source,
            values,
        }
    }

    fn by_flag(&self, setting: &Setting) -> Option<(Source, Vec<OsString>)> {
        // A command has no such flags; then nobody gave one.
        let values = self.flags.try_get_many::<OsString>(setting.name).ok()??;
        Some((Source::Flag, values.cloned().collect()))
    }

    fn by_variable(&self, setting: &Setting) -> Option<(Source, Vec<OsString>)> {
        let value = (self.variable)(&setting.variable()).filter(|value| !value.is_empty())?;
        let values = match (setting.is_list(), value.to_str()) {
            (true, Some(text)) => text.split(',').map(|each| each.trim().into()).collect(),
            (true, None) | (false, _) => vec![value],
        };
        Some((Source::Variable, values))
    }

    fn by_agent_variable(&self, setting: &Setting) -> Option<(Source, Vec<OsString>)> {
        let (name, value) = agent_variables::of_setting(setting.name, self.variable)?;
        Some((Source::AgentVariable(name), vec![value]))
    }

    fn by_file(&self, setting: &Setting) -> Option<(Source, Vec<OsString>)> {
        let entry = self.file.entry(setting)?;
        Some((Source::File(entry.line), entry.values.clone()))
    }

    /// What was said, and what it comes to.
    pub fn resolve(&self, home: &Path) -> anyhow::Result<(Configuration, Vec<Given>)> {
        let mut all = Configuration::new(home.to_path_buf());
        let mut said = Vec::new();
        for setting in SETTINGS {
            let given = self.given(setting);
            for value in &given.values {
                let applied = setting.apply(&mut all, value);
                applied.with_context(|| format!("{} cannot be used", given.place()))?;
            }
            said.push(given);
        }
        all.settings.engine.checks.rules = self.file.rules.clone();
        all.settings.agents = self.file.agents.clone();
        all.settings.engine.defaults = agent_variables::defaults(self.variable)?;
        let by_file = |given: &Given| {
            given.setting.name == table::MODEL && matches!(given.source, Source::File(_))
        };
        if said.iter().any(by_file) {
            // What the user's file says is weaker than what a project says.
            let engine = &mut all.settings.engine;
            engine.fallback_model = engine.default_model.take();
        }
        Ok((all, said))
    }
}

fn by_default(setting: &Setting) -> Vec<OsString> {
    match setting.fallback {
        Fallback::Value(value) => vec![value.into()],
        Fallback::Nothing(_) => Vec::new(),
    }
}

/// What the server is started with: as configured, with what has to be looked up in the file system.
pub fn complete(mut all: Configuration, said: &[Given]) -> anyhow::Result<Configuration> {
    let directory = &all.settings.engine.directory;
    all.settings.engine.directory = directory
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", directory.display()))?;
    for trusted in &mut all.settings.engine.checks.trusted {
        // One that is not there is nobody's workspace.
        if let Ok(real) = trusted.canonicalize() {
            *trusted = real;
        }
    }
    let source = |name| {
        said.iter()
            .find(|given| given.setting.name == name)
            .map(|given| given.source)
    };
    // Both say what the token is: the stronger place counts, and in the same place the file.
    let by_file = source(table::TOKEN_FILE) >= source(table::TOKEN);
    if let Some(path) = all.settings.token_file.as_deref().filter(|_| by_file) {
        all.settings.token = Some(Token::read(path)?);
    }
    if let Some(path) = &all.settings.langfuse_key_file {
        let key = token::read_private(path)
            .with_context(|| format!("cannot use the key file {}", path.display()))?;
        let key = key.trim().to_owned();
        all.settings.engine.tracing.langfuse.secret_key = Some(key.into());
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
