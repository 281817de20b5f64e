//! `dragoman config`: every setting, its value, and where that came from.

mod checks;
mod instructions;

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use tools::checks::{CheckRule, RuleOrigin};

use super::table;
use crate::config::{
    Fallback, Given, HOME_VARIABLE, Layers, SETTINGS, Setting, Source, file, switch,
};
use crate::screen::{CYAN, harmless, has_colours, painted};

const EXAMPLES: &str = "\
Examples:
  dragoman config                      every setting, its value, and where that came from
  dragoman config --port 0 --yolo      the same, were the server started with these flags (it takes
                                       every flag that is a setting)
  dragoman config --json               for programs
  dragoman config path                 where the file lies
  dragoman config example              a file with every setting in it, to begin with:
  dragoman config example > \"$(dragoman config path)\"

A flag counts before a variable, a variable before the file, the file before the default. Secrets are
never shown, only whether they are set (docs/configuration.md).";

/// Letters of a value that people are shown.
const VALUE_CHARS_MAX: usize = 60;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ConfigArguments {
    #[command(subcommand)]
    pub what: Option<ConfigCommand>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Say where the file lies
    Path,
    /// Print a file with every setting and its default, all of it commented out
    Example,
}

pub fn run(
    arguments: ConfigArguments,
    flags: &ArgMatches,
    home: &Path,
    named_by: Source,
) -> anyhow::Result<()> {
    match arguments.what {
        Some(ConfigCommand::Path) => println!("{}", file::path(home).display()),
        Some(ConfigCommand::Example) => print!("{}", example()),
        None => {
            // The flags stand behind the name of the command.
            let flags = flags.subcommand().map_or(flags, |(_, flags)| flags);
            let variable = |name: &str| std::env::var_os(name);
            let (all, said) = Layers::read(home, flags, &variable)?.resolve(home)?;
            let rules = checks::rules(&all.settings.engine)?;
            let files = instructions::files(&all.settings.engine.directory, home);
            match arguments.json {
                true => {
                    let mut told = to_json(home, &said, &rules);
                    told["instructions"] = json!(files);
                    println!("{}", serde_json::to_string_pretty(&told)?);
                }
                false => {
                    print!("{}", shown(home, named_by, &said, &rules));
                    print!("{}", instructions::in_words(&files));
                }
            }
        }
    }
    Ok(())
}

fn to_json(home: &Path, said: &[Given], rules: &[CheckRule]) -> Value {
    let settings = said.iter().map(|given| {
        let (source, line) = match given.source {
            Source::Default => ("default", None),
            Source::File(line) => ("file", Some(line)),
            Source::Variable | Source::AgentVariable(_) => ("variable", None),
            Source::Flag => ("flag", None),
        };
        let mut entry = json!({
            "name": given.setting.name,
            "variable": given.setting.variable(),
            "source": source,
        });
        match given.setting.is_secret() {
            true => entry["set"] = json!(!given.values.is_empty()),
            false => entry["value"] = value(given.setting, &given.values),
        }
        if let Some(line) = line {
            entry["line"] = json!(line);
        }
        entry
    });
    let file = file::path(home);
    json!({
        "home": home.to_string_lossy(),
        "file": file.to_string_lossy(),
        "fileExists": file.exists(),
        "settings": settings.collect::<Vec<_>>(),
        "checks": rules.iter().map(checks::to_json).collect::<Vec<_>>(),
    })
}

/// Text as it was written; a list where there may be several; null where there is none.
fn value(setting: &Setting, values: &[OsString]) -> Value {
    let mut texts = values.iter().map(|value| value.to_string_lossy());
    if setting.is_list() {
        return texts.collect();
    }
    match texts.next() {
        Some(text) if setting.is_switch() => json!(switch(&text).ok()),
        Some(text) => json!(text),
        None => Value::Null,
    }
}

fn shown(home: &Path, named_by: Source, said: &[Given], rules: &[CheckRule]) -> String {
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned).to_vec()];
    let home_from = match named_by {
        Source::Flag => "--home",
        Source::Variable | Source::AgentVariable(_) => HOME_VARIABLE,
        Source::File(_) | Source::Default => "default",
    };
    let home_shown = home.display().to_string();
    rows.push(vec!["home".to_owned(), home_shown, home_from.to_owned()]);
    let visible = |given: &&Given| !given.setting.is_hidden() || given.source != Source::Default;
    let said: Vec<&Given> = said.iter().filter(visible).collect();
    for given in &said {
        rows.push(vec![
            given.setting.name.to_owned(),
            in_words(given),
            given.place(),
        ]);
    }
    rows.extend(rules.iter().map(checks::row));
    let colours = has_colours(&std::io::stdout());
    let by_user = |rule: &CheckRule| matches!(rule.origin, RuleOrigin::User(_));
    let is_set = |row: usize| match row.checked_sub(2) {
        Some(at) => match said.get(at) {
            Some(given) => given.source != Source::Default,
            None => rules.get(at - said.len()).is_some_and(by_user),
        },
        None => row == 1 && named_by != Source::Default,
    };
    let mut text = String::new();
    for (row, line) in table::aligned(&rows).lines().enumerate() {
        let paint = if is_set(row) { CYAN } else { "" };
        text.push_str(&painted(line, paint, colours));
        text.push('\n');
    }
    let file = file::path(home);
    let there = if file.exists() {
        ""
    } else {
        " (not there yet)"
    };
    let file = harmless(&file.display().to_string());
    text.push_str(&format!("\nThe file is {file}{there}.\n"));
    text
}

fn in_words(given: &Given) -> String {
    if let (Fallback::Nothing(words), true) = (given.setting.fallback, given.values.is_empty()) {
        return format!("({words})");
    }
    if given.setting.is_secret() {
        return "(set, not shown)".to_owned();
    }
    if let ([value], true) = (&given.values[..], given.setting.is_switch()) {
        let is_on = switch(&value.to_string_lossy()).unwrap_or_default();
        return if is_on { "yes" } else { "no" }.to_owned();
    }
    let values: Vec<_> = given
        .values
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    let text = values.join(", ");
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A file that says nothing yet, and shows how everything is said.
fn example() -> String {
    let mut text = String::from(
        "# Settings of Dragoman; what is said here counts unless a flag or a variable says otherwise.\n\
         # `dragoman config` shows what it comes to. Take the # away from what you want to set.\n",
    );
    for setting in SETTINGS {
        if setting.is_secret() || setting.is_hidden() {
            continue;
        }
        let (help, line) = (setting.help, setting.example());
        text.push_str(&format!("\n# {help}\n# {line}\n"));
    }
    text.push_str(checks::EXAMPLE);
    text
}
