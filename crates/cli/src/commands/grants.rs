//! `dragoman grants`: what was allowed for longer than once, and how to take it back.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use engine::Grants;
use serde_json::{Value, json};
use server::database;
use vocabulary::{Caller, Grant, GrantScope, TenantId};

use super::checkpoints::words;

const EXAMPLES: &str = "\
Examples:
  dragoman grants                      what is allowed without asking, by whom, since when
  dragoman grants list --dir .         only in this directory
  dragoman grants list --json          with whole ids, for programs
  dragoman grants revoke 3f9a1c02      take one back; the beginning of its id is enough
  dragoman grants revoke --all --dir . take back all of this directory

A grant covers one tool with one exact input: the key says which. Servers on the same data directory
may run meanwhile: what is revoked is asked for again from that moment on (docs/security.md).";

/// Shorter beginnings of an id are too easily another's.
const PREFIX_CHARS_MIN: usize = 4;
/// As much of an id as people are shown.
const SHORT_CHARS: usize = 8;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GrantsArguments {
    #[command(subcommand)]
    pub what: Option<GrantsCommand>,
    /// Only those of threads in this directory
    #[arg(short, long, value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    /// Show what is allowed without asking (the default)
    List,
    /// Take grants back
    Revoke {
        /// Ids, or beginnings of ids
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All of them
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

pub async fn run(arguments: GrantsArguments, home: &Path) -> anyhow::Result<()> {
    let GrantsArguments { what, dir, json } = arguments;
    let dir = dir.as_deref().map(whole).transpose()?;
    let Some(kept) = HomeGrants::open(home).await? else {
        return match what {
            Some(GrantsCommand::Revoke { ids, .. }) if !ids.is_empty() => bail!(NOTHING),
            Some(GrantsCommand::Revoke { .. }) => told_revoked(&[], json),
            Some(GrantsCommand::List) | None => told(&[], json),
        };
    };
    let mut known = kept.grants.all(&kept.tenant).await?;
    known.retain(|grant| dir.as_ref().is_none_or(|dir| grant.directory == *dir));
    match what.unwrap_or(GrantsCommand::List) {
        GrantsCommand::List => told(&known, json),
        GrantsCommand::Revoke { ids, all } => {
            let meant: Vec<Grant> = match all {
                true => known,
                false => chosen(&known, &ids)?,
            };
            let ids: Vec<String> = meant.iter().map(|grant| grant.id.clone()).collect();
            kept.grants.revoke(&kept.tenant, &ids).await?;
            told_revoked(&meant, json)
        }
    }
}

const NOTHING: &str = "nothing is allowed for longer than once";

/// The grants of a home.
struct HomeGrants {
    grants: Grants,
    tenant: TenantId,
}

impl HomeGrants {
    /// `None`: nothing was ever kept there, and nothing is made for a look.
    async fn open(home: &Path) -> anyhow::Result<Option<Self>> {
        let home = home.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let label = format!("process {}, dragoman grants", std::process::id());
            database::existing(&home)
                .map(|_| database::open(&home, &label))
                .transpose()
        });
        let store = opening.await.context("the look was cut off")??;
        Ok(store.map(|store| Self {
            grants: Grants::new(store),
            tenant: Caller::local().tenant,
        }))
    }
}

fn whole(dir: &Path) -> anyhow::Result<PathBuf> {
    dir.canonicalize()
        .with_context(|| format!("cannot use the directory {}", words::path(dir)))
}

/// The grants that a person names, each by the beginning of its id.
fn chosen(known: &[Grant], ids: &[String]) -> anyhow::Result<Vec<Grant>> {
    let mut chosen: Vec<Grant> = Vec::new();
    for id in ids {
        ensure!(
            id.len() >= PREFIX_CHARS_MIN,
            "`{id}` is too short; give at least {PREFIX_CHARS_MIN} characters of the id"
        );
        let fits: Vec<&Grant> = known
            .iter()
            .filter(|grant| grant.id.starts_with(id.as_str()))
            .collect();
        match fits.as_slice() {
            [] => bail!("there is no grant `{id}`; `dragoman grants` lists them"),
            [grant] => chosen.push((*grant).clone()),
            several => bail!(
                "`{id}` is the beginning of {}; give more of the id",
                several
                    .iter()
                    .map(|grant| &*grant.id)
                    .collect::<Vec<_>>()
                    .join(" and ")
            ),
        }
    }
    Ok(chosen)
}

fn told(grants: &[Grant], json: bool) -> anyhow::Result<()> {
    if json {
        return words::say_json(&grants.iter().map(for_programs).collect());
    }
    match grants.is_empty() {
        true => words::say(format!("{NOTHING}\n")),
        false => words::say(grants.iter().map(for_people).collect::<String>()),
    }
}

fn told_revoked(grants: &[Grant], json: bool) -> anyhow::Result<()> {
    if json {
        let revoked: Vec<Value> = grants.iter().map(for_programs).collect();
        return words::say_json(&json!({ "revoked": revoked }));
    }
    let line = |grant: &Grant| format!("revoked {}  {}\n", short(grant), shown(&grant.what));
    match grants.is_empty() {
        true => words::say(format!("{NOTHING}\n")),
        false => words::say(grants.iter().map(line).collect::<String>()),
    }
}

/// Three lines: which one, what it covers in words, what it covers exactly.
fn for_people(grant: &Grant) -> String {
    let thread = grant.thread.map(|thread| thread.to_string());
    let place = match (grant.scope, thread) {
        (GrantScope::Workspace, _) | (_, None) => String::new(),
        (GrantScope::Turn | GrantScope::Session, Some(thread)) => format!(" {thread}"),
    };
    let by = grant
        .by
        .as_ref()
        .map_or("unknown".to_owned(), ToString::to_string);
    format!(
        "{}  {}{place} in {}, given {} by {}\n    {}\n    key {}\n",
        short(grant),
        word(grant.scope),
        words::path(&grant.directory),
        words::when(grant.at.0),
        shown(&by),
        shown(&grant.what),
        shown(&grant.key),
    )
}

fn for_programs(grant: &Grant) -> Value {
    json!({
        "id": grant.id,
        "what": grant.what,
        "key": grant.key,
        "scope": word(grant.scope),
        "directory": grant.directory,
        "thread": grant.thread.map(|thread| thread.to_string()),
        "turn": grant.turn.as_ref().map(|turn| turn.as_str()),
        "by": grant.by.as_ref().map(|by| &by.member),
        "via": grant.by.as_ref().and_then(|by| by.via.as_ref()),
        "at": words::iso(grant.at.0),
    })
}

fn word(scope: GrantScope) -> &'static str {
    match scope {
        GrantScope::Turn => "turn",
        GrantScope::Session => "thread",
        GrantScope::Workspace => "workspace",
    }
}

fn short(grant: &Grant) -> &str {
    grant.id.get(..SHORT_CHARS).unwrap_or(&grant.id)
}

fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    tools::shown::line(text)
}
