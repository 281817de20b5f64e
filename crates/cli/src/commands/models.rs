//! `dragoman models`: which models there are, what they cost, which can be used.

use std::path::Path;

use anyhow::bail;
use clap::Args;
use providers::Models;
use providers::catalog::{Model, ProviderInfo};
use serde_json::{Value, json};

use super::{models_of, table};
use crate::screen::harmless;

const EXAMPLES: &str = "\
Examples:
  dragoman models              models of the providers that can be used right now
  dragoman models --all        all that the catalog knows
  dragoman models openrouter   one provider's, fresh from its own list
  dragoman models --json       for programs";

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
    let is_default = |entry: &ProviderInfo, model: &Model| {
        entry.id == choice.provider && model.id == choice.model
    };
    if arguments.json {
        let list: Vec<Value> = shown
            .iter()
            .flat_map(|entry| entry.models.iter().map(move |model| (entry, model)))
            .map(|(entry, model)| {
                let connected = models.connected(&entry.id);
                json!({
                    "provider": entry.id,
                    "model": model.id,
                    "name": model.name,
                    "connected": connected,
                    "default": is_default(entry, model),
                    "context": model.context,
                    "output": model.output,
                    "inputMicroDollarsPerMillion": model.price.as_ref().map(|price| price.input),
                    "outputMicroDollarsPerMillion": model.price.as_ref().map(|price| price.output),
                    "efforts": model.efforts,
                    "vision": model.vision,
                    "tools": model.tools,
                    "offered": model.offered,
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    let mut rows = vec![heading()];
    for entry in &shown {
        for model in &entry.models {
            let connected = models.connected(&entry.id);
            let mark = match (is_default(entry, model), connected, model.offered) {
                (true, _, _) => "default",
                (false, true, Some(false)) => "not offered by the provider",
                (false, true, Some(true) | None) => "",
                (false, false, _) => "not connected",
            };
            rows.push(row(entry, model, mark));
        }
    }
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

fn heading() -> Vec<String> {
    let names = [
        "MODEL", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT", "SEES", "",
    ];
    names.map(str::to_owned).to_vec()
}

fn row(entry: &ProviderInfo, model: &Model, mark: &str) -> Vec<String> {
    let price = |price: Option<u64>| price.map_or("?".to_owned(), dollars);
    vec![
        format!("{}/{}", entry.id, model.id),
        model.context.map_or("?".to_owned(), tokens),
        model.output.map_or("?".to_owned(), tokens),
        price(model.price.as_ref().map(|price| price.input)),
        price(model.price.as_ref().map(|price| price.output)),
        match model.vision {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        }
        .to_owned(),
        mark.to_owned(),
    ]
}

fn tokens(count: u64) -> String {
    match count {
        1_000_000.. => format!("{:.1}M", count as f64 / 1_000_000.0),
        1_000.. => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}

fn dollars(micro: u64) -> String {
    format!("{:.2}", micro as f64 / 1_000_000.0)
}
