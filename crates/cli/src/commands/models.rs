//! `dragoman models`: which models there are, what they cost, which can be used.

mod line;

use std::path::Path;

use anyhow::bail;
use clap::Args;
use providers::Models;
use providers::catalog::{ProviderInfo, day};
use serde_json::Value;

use super::{models_of, table};
use crate::screen::harmless;
use line::{HEADING, ModelLine};

const EXAMPLES: &str = "\
Examples:
  dragoman models              models of the providers that can be used right now
  dragoman models --all        all that the catalog knows
  dragoman models openrouter   one provider's, fresh from its own list
  dragoman models --json       for programs

CONTEXT is what a model holds, and in brackets what it reads of that where the rest is for its
answer. $/M is dollars for a million tokens, in brackets for longer requests. The effort with a star
is the model's own; another is wished with --effort. SEES: whether it can be shown pictures. A
question mark: nobody said.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ModelsArguments {
    /// Only this provider's, with its live list
    pub provider: Option<String>,
    /// Those that cannot be used yet, too
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub async fn run(arguments: ModelsArguments, home: &Path) -> anyhow::Result<()> {
    let models = models_of(home);
    let choice = models.default_model().await;
    if let Some(id) = &arguments.provider {
        refresh(&models, id).await?;
    }
    let catalog = models.catalog();
    let shown: Vec<&ProviderInfo> = catalog
        .providers
        .iter()
        .filter(|entry| match &arguments.provider {
            Some(id) => entry.id == *id,
            None => arguments.all || models.connected(&entry.id),
        })
        .collect();
    let today = day(jiff::Timestamp::now().as_millisecond());
    let lines = shown.iter().flat_map(|provider| {
        let connected = models.connected(&provider.id);
        let named = provider.id == choice.provider;
        let choice = &choice.model;
        provider.models.iter().map(move |model| ModelLine {
            provider: &provider.id,
            model,
            connected,
            is_default: named && model.id == *choice,
            today,
        })
    });
    if arguments.json {
        let list: Vec<Value> = lines.map(|line| line.json()).collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    let heading = HEADING.map(str::to_owned).to_vec();
    let rows = lines.map(|line| line.row());
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    print!("{}", table::aligned(&rows));
    println!();
    println!("{}", super::used(&choice));
    if !arguments.all && arguments.provider.is_none() {
        println!("`dragoman models --all` shows what else could be connected.");
    }
    Ok(())
}

async fn refresh(models: &Models, id: &str) -> anyhow::Result<()> {
    let catalog = models.catalog();
    let Some(entry) = catalog.providers.iter().find(|entry| entry.id == id) else {
        let known: Vec<&str> = catalog
            .providers
            .iter()
            .map(|each| each.id.as_str())
            .collect();
        bail!(
            "there is no provider {id:?}; there are {}",
            known.join(", ")
        );
    };
    if models.connected(id) && entry.endpoint.is_some() {
        eprintln!("Asking {} for its models …", harmless(&entry.name));
        if let Err(error) = models.refresh(id).await {
            let error = harmless(&error.to_string());
            eprintln!("dragoman: {error}; showing what the catalog knows");
        }
    }
    Ok(())
}
