//! What a setting is: its one name, and where its value goes.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction};

use super::{Configuration, values};

/// What environment variables begin with.
pub const VARIABLE_PREFIX: &str = "DRAGOMAN_";

/// One setting. Its flag, its variable and its key in the file are all made from its name.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub short: Option<char>,
    /// What stands for the value in help texts.
    pub value: &'static str,
    pub help: &'static str,
    pub heading: Option<&'static str>,
    pub fallback: Fallback,
    /// What an example sets it to; the fallback if it is empty.
    pub sample: &'static str,
    pub kind: SettingKind,
    pub places: SettingPlaces,
}

/// What holds where nobody says anything.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// This value, as anybody would write it.
    Value(&'static str),
    /// No value; what that means, for people.
    Nothing(&'static str),
}

/// How a value is written, and where it goes.
#[derive(Debug)]
pub enum SettingKind {
    Switch(fn(&mut Configuration, bool)),
    Text(fn(&mut Configuration, &str) -> anyhow::Result<()>),
    /// One of these words, each with what it means.
    Choice(
        &'static [(&'static str, &'static str)],
        fn(&mut Configuration, &str) -> anyhow::Result<()>,
    ),
    /// Each value is added to those before it.
    List(fn(&mut Configuration, &str) -> anyhow::Result<()>),
    Path(fn(&mut Configuration, PathBuf)),
}

/// Where a value may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingPlaces {
    Everywhere,
    /// Everywhere, but help texts are silent about it: it is for tests.
    Quietly,
    /// A secret: flags are seen by every user of the machine, and files are copied.
    VariableOnly,
}

impl Setting {
    pub fn variable(&self) -> String {
        let name = self.name.to_ascii_uppercase().replace('-', "_");
        format!("{VARIABLE_PREFIX}{name}")
    }

    pub fn is_secret(&self) -> bool {
        self.places == SettingPlaces::VariableOnly
    }

    pub fn is_hidden(&self) -> bool {
        self.places == SettingPlaces::Quietly
    }

    pub fn is_switch(&self) -> bool {
        matches!(self.kind, SettingKind::Switch(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.kind, SettingKind::List(_))
    }

    /// A line of the file, as an example.
    pub fn example(&self) -> String {
        let value = match (self.sample, self.fallback) {
            ("", Fallback::Value(value)) => value,
            (sample, Fallback::Value(_) | Fallback::Nothing(_)) => sample,
        };
        let value = match &self.kind {
            SettingKind::Switch(_) => value.to_owned(),
            SettingKind::Text(_) if value.parse::<f64>().is_ok() => value.to_owned(),
            SettingKind::Text(_) | SettingKind::Choice(..) | SettingKind::Path(_) => {
                format!("{value:?}")
            }
            SettingKind::List(_) => format!("[{value:?}]"),
        };
        format!("{} = {value}", self.name)
    }

    /// Puts a value where it belongs.
    pub fn apply(&self, target: &mut Configuration, value: &OsStr) -> anyhow::Result<()> {
        let text = || {
            let shown = value.to_string_lossy();
            value
                .to_str()
                .with_context(|| format!("`{shown}` is not text in UTF-8"))
        };
        match &self.kind {
            SettingKind::Switch(set) => set(target, values::switch(text()?)?),
            SettingKind::Text(set) | SettingKind::List(set) => set(target, text()?)?,
            SettingKind::Choice(words, set) => {
                let text = text()?;
                if !words.iter().any(|(word, _)| *word == text) {
                    bail!(
                        "`{text}` is none of {}",
                        values::listed(words.iter().map(|(word, _)| *word))
                    );
                }
                set(target, text)?;
            }
            SettingKind::Path(set) => set(target, PathBuf::from(value)),
        }
        Ok(())
    }

    /// Its flag, if it has one.
    pub fn flag(&'static self) -> Option<Arg> {
        if self.is_secret() {
            return None;
        }
        let help = match self.fallback {
            Fallback::Value("false") | Fallback::Nothing(_) => self.help.to_owned(),
            Fallback::Value(value) => format!("{} [default: {value}]", self.help),
        };
        let mut arg = Arg::new(self.name)
            .long(self.name)
            .value_name(self.value)
            .help(help)
            .hide(self.is_hidden());
        if let Some(short) = self.short {
            arg = arg.short(short);
        }
        if let Some(heading) = self.heading {
            arg = arg.help_heading(heading);
        }
        Some(match &self.kind {
            // `--yolo=no` takes back what a file or a variable says.
            SettingKind::Switch(_) => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("yes")
                .value_parser(self.checked()),
            SettingKind::Text(_) => arg.value_parser(self.checked()),
            SettingKind::List(_) => arg.action(ArgAction::Append).value_parser(self.checked()),
            SettingKind::Choice(words, _) => {
                let words = words
                    .iter()
                    .map(|(word, help)| PossibleValue::new(*word).help(*help));
                arg.value_parser(PossibleValuesParser::new(words).map(OsString::from))
            }
            SettingKind::Path(_) => arg.value_parser(ValueParser::os_string()),
        })
    }

    /// Tries a value out, so that a wrong one is said where the flag stands.
    fn checked(&'static self) -> ValueParser {
        ValueParser::from(move |text: &str| -> anyhow::Result<OsString> {
            let value = OsString::from(text);
            self.apply(&mut Configuration::blank(), &value)?;
            Ok(value)
        })
    }
}
