//! `dragoman auth`: sign in at a provider, see how it stands, sign out.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use providers::Models;
use providers::catalog::{Auth, Provider};
use providers::models::{Mode, Status};
use secrecy::SecretString;
use serde_json::json;

use super::{models_of, table};

const EXAMPLES: &str = "\
Examples:
  dragoman auth login openai                 asks for an API key and checks it
  dragoman auth login codex-cli              signs in with a ChatGPT account, in the browser
  dragoman auth login codex-cli --device     the same with a code, for a machine without a browser
  dragoman auth login anthropic --key-stdin < key.txt
  dragoman auth status
  dragoman auth logout openai

Keys are kept in auth/connections.json under the data directory, readable by you alone. A key in
the environment (OPENAI_API_KEY and the like) works too, and is not saved.";

/// A key longer than this is no key.
const KEY_BYTES_MAX: u64 = 16 << 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// Sign in at a provider
    #[command(after_help = EXAMPLES)]
    Login {
        /// Which one; without it, they are listed
        provider: Option<String>,
        /// Sign in with a code instead of a browser on this machine
        #[arg(long)]
        device: bool,
        /// Use an API key where a sign-in would be possible, too
        #[arg(long)]
        api_key: bool,
        /// Read the API key from standard input
        #[arg(long)]
        key_stdin: bool,
    },
    /// Show how it stands with every provider; asks each of them
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget what was saved for a provider
    Logout { provider: String },
}

pub async fn run(arguments: Arguments, home: &Path) -> anyhow::Result<()> {
    let models = models_of(home);
    match arguments.what {
        What::Login {
            provider,
            device,
            api_key,
            key_stdin,
        } => {
            let catalog = models.catalog();
            let entry = named(&catalog.providers, provider.as_deref())?;
            let oauth = oauth_method(entry, device);
            match oauth {
                Some(method) if !api_key && !key_stdin => browse(&models, entry, method).await?,
                Some(_) | None if device => {
                    bail!(
                        "{} has no sign-in with a code; leave --device away",
                        entry.name
                    )
                }
                Some(_) | None => enter_key(&models, entry, key_stdin).await?,
            }
            outcome(&models, &entry.id).await
        }
        What::Status { json } => status(&models, json).await,
        What::Logout { provider } => {
            match models.sign_out(&provider).await? {
                true => println!("Signed out of {provider}."),
                false => println!("Nothing was saved for {provider}."),
            }
            Ok(())
        }
    }
}

fn named<'a>(providers: &'a [Provider], id: Option<&str>) -> anyhow::Result<&'a Provider> {
    let can = || providers.iter().filter(|entry| !entry.auth.is_empty());
    let known = || {
        let ids: Vec<&str> = can().map(|entry| entry.id.as_str()).collect();
        ids.join(", ")
    };
    let Some(id) = id else {
        bail!("name a provider: {}", known());
    };
    can()
        .find(|entry| entry.id == id)
        .with_context(|| format!("there is no sign-in at {id:?}; there is one at {}", known()))
}

/// The way of signing in that was asked for, where the provider has one.
fn oauth_method(entry: &Provider, device: bool) -> Option<&str> {
    let mut ids = entry.auth.iter().filter_map(|method| match method {
        Auth::OAuth { id, .. } => Some(id.as_str()),
        Auth::ApiKey { .. } => None,
    });
    ids.find(|id| id.contains("device") == device)
}

/// Signs in by browser or code; ends when the provider says so, or with Ctrl-C.
async fn browse(models: &Models, entry: &Provider, method: &str) -> anyhow::Result<()> {
    let challenge = models.begin(&entry.id, method).await?;
    println!("{}", challenge.instructions);
    if let Some(url) = &challenge.url {
        println!("\n  {url}\n");
    }
    eprintln!("Waiting for you to finish there (Ctrl-C gives up) …");
    let signed_in = models.finish(&entry.id, method, None).await?;
    println!("{}", signed_in.message);
    Ok(())
}

async fn enter_key(models: &Models, entry: &Provider, stdin: bool) -> anyhow::Result<()> {
    let method = entry.auth.iter().find_map(|method| match method {
        Auth::ApiKey { id, .. } => Some(id.as_str()),
        Auth::OAuth { .. } => None,
    });
    let method = method.with_context(|| format!("{} takes no API key", entry.name))?;
    let key = match stdin || !std::io::stdin().is_terminal() {
        true => {
            let mut key = String::new();
            let mut input = std::io::stdin().lock().take(KEY_BYTES_MAX);
            input
                .read_to_string(&mut key)
                .context("cannot read the key from standard input")?;
            key
        }
        false => rpassword::prompt_password(format!("API key of {} (not shown): ", entry.name))
            .context("cannot read the key")?,
    };
    let key = key.trim();
    if key.is_empty() {
        bail!("no key was given; nothing was changed");
    }
    let key = SecretString::from(key.to_owned());
    let signed_in = models.set_key(&entry.id, method, key).await?;
    println!("{}", signed_in.message);
    Ok(())
}

/// Says whether the provider accepts what was saved.
async fn outcome(models: &Models, id: &str) -> anyhow::Result<()> {
    eprintln!("Checking it …");
    let statuses = models.statuses(true).await;
    let Some(status) = statuses.iter().find(|status| status.provider == id) else {
        return Ok(());
    };
    match status.verified {
        true => {
            println!("{} is connected. {}", status.provider, status.message);
            Ok(())
        }
        false => bail!(
            "it was saved, but {} did not accept it yet: {}",
            id,
            status.message
        ),
    }
}

async fn status(models: &Models, as_json: bool) -> anyhow::Result<()> {
    if !as_json {
        eprintln!("Asking the providers …");
    }
    let statuses = models.statuses(true).await;
    let choice = models.default_model().await;
    if as_json {
        let list: Vec<_> = statuses.iter().map(to_json).collect();
        let default = format!("{}/{}", choice.provider, choice.model);
        let all = json!({ "providers": list, "default": default, "why": choice.why });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let mut rows = vec![
        ["PROVIDER", "", "SIGNED IN BY", "DETAILS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for status in &statuses {
        rows.push(vec![
            status.provider.clone(),
            match (status.authorized, status.verified) {
                (_, true) => "works",
                (true, false) => "not accepted yet",
                (false, false) => "-",
            }
            .to_owned(),
            mode(status.mode).to_owned(),
            status.message.clone(),
        ]);
    }
    print!("{}", table::aligned(&rows));
    println!();
    println!(
        "New threads use {}/{}: {}",
        choice.provider, choice.model, choice.why
    );
    Ok(())
}

fn to_json(status: &Status) -> serde_json::Value {
    json!({
        "provider": status.provider,
        "authorized": status.authorized,
        "verified": status.verified,
        "mode": mode(status.mode),
        "account": status.account.as_ref().and_then(|account| account.email.clone()),
        "message": status.message,
        "savedKeys": status.masks,
    })
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Missing => "-",
        Mode::Error => "error",
        Mode::ApiKey => "api key",
        Mode::OAuth => "account",
        Mode::OAuthPending => "account (pending)",
    }
}
