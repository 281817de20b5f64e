//! `config/config.toml` under the data directory: its keys are the names of the settings.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use engine::AgentSettings;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use tools::checks::{CheckKind, CheckRule, RuleOrigin, read_rules};

use super::setting::{Setting, SettingKind};
use super::{Configuration, SETTINGS, agents, values};

/// The settings of sign-in may stand in a table of this name, without it in front.
const AUTH: &str = "auth";
/// The most bytes it may have.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the file says of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSetting {
    pub line: usize,
    pub values: Vec<OsString>,
}

/// The settings that a file names, each known and each with a value that can be used.
#[derive(Debug, Default)]
pub struct ConfigFile {
    settings: HashMap<&'static str, FileSetting>,
    /// What runs after edits; only a file can say it.
    pub rules: Vec<CheckRule>,
    /// External agents, by their names; likewise.
    pub agents: BTreeMap<String, AgentSettings>,
}

/// Where the file of a data directory lies.
pub fn path(home: &Path) -> PathBuf {
    home.join("config/config.toml")
}

impl ConfigFile {
    /// Without a file nothing is set by it. One that cannot be used stops the start: whoever wrote
    /// it relies on it.
    pub fn read(home: &Path) -> anyhow::Result<Self> {
        let path = path(home);
        let shown = path.display();
        let size = match std::fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        if size > FILE_BYTES_MAX {
            bail!("{shown} is too large: it has {size} bytes, and may have {FILE_BYTES_MAX}");
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        Self::parse(&text).map_err(|(line, what)| anyhow!("{shown}, line {line}: {what}"))
    }

    pub fn entry(&self, setting: &Setting) -> Option<&FileSetting> {
        self.settings.get(setting.name)
    }

    /// The line at fault, and what is wrong with it.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (line_of(text, at), error.message().to_owned())
        })?;
        let mut file = Self::default();
        for (key, value) in table.get_ref() {
            let line = line_of(text, key.span().start);
            if let Some(kind) = rules_of(key.get_ref()) {
                let origin = |at: usize| RuleOrigin::User(line_of(text, at));
                let rules = read_rules(kind, value, &origin)
                    .map_err(|error| (line_of(text, error.at), error.message))?;
                file.rules.extend(rules);
                continue;
            }
            if key.get_ref() == agents::KEY {
                file.agents = agents::read(value)
                    .map_err(|error| (line_of(text, error.at), error.message))?;
                continue;
            }
            if let (AUTH, DeValue::Table(auth)) = (key.get_ref().as_ref(), value.get_ref()) {
                for (key, value) in auth {
                    let name = format!("{AUTH}-{}", key.get_ref());
                    file.set(&name, value, line_of(text, key.span().start))?;
                }
                continue;
            }
            file.set(key.get_ref(), value, line)?;
        }
        Ok(file)
    }

    fn set(
        &mut self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) -> Result<(), (usize, String)> {
        let setting = known(name).map_err(|error| (line, error.to_string()))?;
        let wrong = |error: anyhow::Error| (line, format!("`{}`: {error:#}", setting.name));
        let values = written(setting, value).map_err(wrong)?;
        // Also where a flag says otherwise: a mistake shows at once, not when the flag goes.
        let mut scratch = Configuration::blank();
        for value in &values {
            setting.apply(&mut scratch, value).map_err(wrong)?;
        }
        let entry = FileSetting { line, values };
        if self.settings.insert(setting.name, entry).is_some() {
            return Err((line, format!("`{}` is set twice", setting.name)));
        }
        Ok(())
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// Which rules stand under this key, if it is no setting.
fn rules_of(key: &str) -> Option<CheckKind> {
    CheckKind::ALL.into_iter().find(|kind| kind.key() == key)
}

fn known(key: &str) -> anyhow::Result<&'static Setting> {
    let found = SETTINGS.iter().find(|setting| setting.name == key);
    if let Some(setting) = found.filter(|setting| !setting.is_secret()) {
        return Ok(setting);
    }
    if let Some(secret) = found {
        bail!(
            "a secret does not belong here: set {}, or name a file that only you may read with \
             `{}-file`",
            secret.variable(),
            secret.name
        );
    }
    if key == "home" {
        bail!(
            "this file lies in the data directory, so it cannot say where that is: use --home or DRAGOMAN_HOME"
        );
    }
    let visible = SETTINGS
        .iter()
        .filter(|setting| !setting.is_secret() && !setting.is_hidden());
    let names = visible.map(|setting| setting.name);
    let tables = CheckKind::ALL.map(CheckKind::key).into_iter();
    let names: Vec<&str> = names.chain(tables).chain([agents::KEY]).collect();
    match values::nearest(key, names.iter().copied()) {
        Some(nearest) => bail!("unknown setting `{key}`; did you mean `{nearest}`?"),
        None => bail!("unknown setting `{key}`; known are {}", names.join(", ")),
    }
}

/// A value as it would be written elsewhere.
fn written(setting: &Setting, value: &Spanned<DeValue<'_>>) -> anyhow::Result<Vec<OsString>> {
    let value = value.get_ref();
    let expected = match setting.kind {
        SettingKind::Switch(_) => "true or false",
        SettingKind::Text(_) => "a text or a number",
        SettingKind::Choice(..) | SettingKind::Path(_) => "a text",
        SettingKind::List(_) => "a list of texts like [\"a\", \"b\"]",
    };
    let otherwise = || anyhow!("expected {expected}, found {}", article(value.type_str()));
    let one = match (&setting.kind, value) {
        (SettingKind::Switch(_), DeValue::Boolean(on)) => on.to_string().into(),
        (SettingKind::Text(_), DeValue::Integer(number)) if number.radix() == 10 => {
            number.as_str().replace('_', "").into()
        }
        (SettingKind::Text(_), DeValue::Float(number)) => number.as_str().replace('_', "").into(),
        (SettingKind::Text(_) | SettingKind::Choice(..), DeValue::String(text)) => {
            text.as_ref().into()
        }
        (SettingKind::Path(_), DeValue::String(text)) => absolute(text)?.into(),
        (SettingKind::List(_), DeValue::Array(entries)) => {
            let text = |entry: &Spanned<DeValue<'_>>| match entry.get_ref() {
                DeValue::String(text) => Ok(text.as_ref().into()),
                other => Err(anyhow!(
                    "expected {expected}, found {} in it",
                    article(other.type_str())
                )),
            };
            return entries.iter().map(text).collect();
        }
        _ => return Err(otherwise()),
    };
    Ok(vec![one])
}

/// A path means the same wherever the server is started.
pub fn absolute(text: &str) -> anyhow::Result<PathBuf> {
    if let Some(rest) = text.strip_prefix("~/") {
        let user = std::env::home_dir().context("there is no home directory for `~`")?;
        return Ok(user.join(rest));
    }
    let path = PathBuf::from(text);
    match path.is_absolute() {
        true => Ok(path),
        false => bail!("`{text}` depends on where the server is started; begin it with / or ~/"),
    }
}

fn article(kind: &str) -> String {
    match kind.starts_with(['a', 'i']) {
        true => format!("an {kind}"),
        false => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let (line, what) = ConfigFile::parse(text).expect_err("a broken file");
        format!("line {line}: {what}")
    }

    #[test]
    fn an_unknown_setting_is_named_with_its_line_and_the_nearest_one() {
        assert_eq!(
            error("port = 1\n\nmodle = \"a/b\"\n"),
            "line 3: unknown setting `modle`; did you mean `model`?"
        );
        let far = error("frobnicate = true\n");
        assert!(
            far.starts_with("line 1: unknown setting `frobnicate`; known are dir, port"),
            "{far}"
        );
        assert!(
            !far.contains("raw-parts") && !far.contains("token,"),
            "{far}"
        );
    }

    #[test]
    fn a_wrong_value_is_named_with_what_was_expected() {
        for (text, expected) in [
            (
                "\nport = true",
                "line 2: `port`: expected a text or a number, found a boolean",
            ),
            ("port = 70000", "line 1: `port`: `70000` is not a port"),
            (
                "yolo = \"yes\"",
                "line 1: `yolo`: expected true or false, found a string",
            ),
            (
                "listen = \"zane=1\"",
                "line 1: `listen`: expected a list of texts",
            ),
            (
                "listen = [1]",
                "line 1: `listen`: expected a list of texts like [\"a\", \"b\"], found an integer in it",
            ),
            (
                "approvals = \"maybe\"",
                "line 1: `approvals`: `maybe` is none of ask, auto, on-failure or never",
            ),
            ("dir = \"work\"", "line 1: `dir`: `work` depends on where"),
            (
                "turn-cost = \"much\"",
                "line 1: `turn-cost`: `much` is not an amount",
            ),
            ("port = 1\nport = 2", "line 2: duplicate key"),
            ("port = ", "line 1: "),
        ] {
            let error = error(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_settings_of_sign_in_may_stand_in_a_table() {
        let text = "port = 1\n[auth]\nissuer = \"https://login.example\"\nprovision = false\n";
        let file = ConfigFile::parse(text).expect("a good file");
        assert_eq!(file.settings["auth-issuer"].line, 3);
        assert_eq!(file.settings["auth-provision"].values, ["false"]);
        for (line, expected) in [
            (
                "issuer = 1.5",
                "line 2: `auth-issuer`: `1.5` is no web address",
            ),
            (
                "jwks-url = 'http://login.example'",
                "line 2: `auth-jwks-url`: `http://login.example` must begin with https://",
            ),
            (
                "isuer = 'https://login.example'",
                "line 2: unknown setting `auth-isuer`; did you mean `auth-issuer`?",
            ),
            (
                "tenant-claim = ''",
                "line 2: `auth-tenant-claim`: give 1 to",
            ),
        ] {
            let error = error(&format!("[auth]\n{line}\n"));
            assert!(error.starts_with(expected), "{error}");
        }
        let twice = "auth-audience = 'a'\n[auth]\naudience = 'b'\n";
        assert!(error(twice).ends_with("`auth-audience` is set twice"));
    }

    #[test]
    fn rules_for_edits_are_read_with_their_lines() {
        let text = "port = 1\n\n[[check]]\nfiles = \"*.rs\"\nrun = \"cargo check\"\n";
        let file = ConfigFile::parse(text).expect("a good file");
        let [rule] = &file.rules[..] else {
            panic!("{:?}", file.rules)
        };
        assert_eq!(rule.origin, RuleOrigin::User(3));
        assert_eq!((rule.kind, &*rule.run), (CheckKind::Check, "cargo check"));
        assert_eq!(
            error(&format!("{text}timeout = \"5s\"\n")),
            "line 6: `check.timeout`: give 1 to 600 seconds"
        );
        assert_eq!(
            error("[[chek]]\nrun = 'x'"),
            "line 1: unknown setting `chek`; did you mean `check`?"
        );
    }

    #[test]
    fn a_secret_in_it_is_refused_and_not_repeated() {
        let error = error("token = \"planted-token-0123456789\"");
        assert!(
            error.contains("set DRAGOMAN_TOKEN, or name a file"),
            "{error}"
        );
        assert!(
            error.contains("`token-file`") && !error.contains("planted"),
            "{error}"
        );
    }

    #[test]
    fn values_are_read_as_they_would_be_written_elsewhere() {
        let text = "turn-tokens = 200_000\nturn-cost = 0.50\nallow-private = [\"a:1\", \"b\"]\nyolo = true\n";
        let file = ConfigFile::parse(text).expect("a good file");
        let entry = |name: &str| file.settings[name].clone();
        assert_eq!(entry("turn-tokens").values, ["200000"]);
        assert_eq!(entry("turn-cost").values, ["0.50"]);
        assert_eq!(entry("allow-private").values, ["a:1", "b"]);
        assert_eq!(
            entry("yolo"),
            FileSetting {
                line: 4,
                values: vec!["true".into()]
            }
        );
    }
}
