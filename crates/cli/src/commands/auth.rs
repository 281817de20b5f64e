//! `dragoman auth`: sign in at a provider, see how it stands, sign out.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use providers::catalog::ProviderInfo;
use providers::{ErrorKind, Models};
use secrecy::SecretString;
use serde_json::json;
use vocabulary::{AuthMethod, AuthMode, ProviderStatus, TenantId};

use super::{models_of, models_of_tenant, table};
use crate::screen::harmless;

const EXAMPLES: &str = "\
Examples:
  dragoman auth login openai                 asks for an API key and checks it
  dragoman auth login codex-cli              signs in with a ChatGPT account, in the browser
  dragoman auth login codex-cli --device     the same with a code, for a machine without a browser
  dragoman auth login anthropic --key-stdin < key.txt
  dragoman auth status
  dragoman auth logout openai
  dragoman auth --tenant acme login openai   a key for the threads of tenant acme alone

Keys are kept in auth/connections.json under the data directory, readable by you alone. A key in
the environment (OPENAI_API_KEY and the like) works too, and is not saved.";

/// A key longer than this is no key.
const KEY_BYTES_MAX: u64 = 16 << 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AuthArguments {
    /// For this tenant, and not for the server's own user
    #[arg(long, value_name = "TENANT", global = true)]
    pub tenant: Option<String>,
    #[command(subcommand)]
    pub what: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
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

pub async fn run(arguments: AuthArguments, home: &Path) -> anyhow::Result<()> {
    let models = match &arguments.tenant {
        Some(tenant) => models_of_tenant(home, &TenantId::new(tenant.as_str()))?,
        None => models_of(home),
    };
    match arguments.what {
        AuthCommand::Login {
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
                Some(_) | None => {
                    if needs_no_key(entry) && !api_key && !key_stdin {
                        return no_key_needed(&models, entry).await;
                    }
                    enter_key(&models, entry, key_stdin).await?;
                }
            }
            outcome(&models, entry).await
        }
        AuthCommand::Status { json } => status(&models, json).await,
        AuthCommand::Logout { provider } => {
            match models.sign_out(&provider).await? {
                true => println!("Signed out of {}.", harmless(&provider)),
                false => println!("Nothing was saved for {}.", harmless(&provider)),
            }
            Ok(())
        }
    }
}

fn named<'a>(providers: &'a [ProviderInfo], id: Option<&str>) -> anyhow::Result<&'a ProviderInfo> {
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
fn oauth_method(entry: &ProviderInfo, device: bool) -> Option<&str> {
    let mut ids = entry.auth.iter().filter_map(|method| match method {
        AuthMethod::OAuth { id, .. } => Some(id.as_str()),
        AuthMethod::ApiKey { .. } => None,
    });
    ids.find(|id| id.contains("device") == device)
}

/// Signs in by browser or code; ends when the provider says so, or with Ctrl-C.
async fn browse(models: &Models, entry: &ProviderInfo, method: &str) -> anyhow::Result<()> {
    let challenge = models.begin(&entry.id, method).await?;
    println!("{}", harmless(&challenge.instructions));
    if let Some(url) = &challenge.url {
        println!("\n  {}\n", harmless(url));
    }
    let mut pasted = match challenge.needs_code || std::io::stdin().is_terminal() {
        true => pasted_lines(),
        false => tokio::sync::mpsc::channel(1).1,
    };
    eprintln!("Waiting for you to finish there (Ctrl-C gives up) …");
    let mut reading = true;
    let signed_in = loop {
        tokio::select! {
            signed_in = models.finish(&entry.id, method, None), if !challenge.needs_code => {
                break signed_in?;
            }
            line = pasted.recv(), if reading => match line {
                Some(line) => match models.finish(&entry.id, method, Some(&line)).await {
                    Ok(signed_in) => break signed_in,
                    Err(error) => eprintln!("{}. Try again:", harmless(&error.to_string())),
                },
                None => reading = false,
            },
            else => bail!("no address was pasted; nothing was changed"),
        }
    };
    println!("{}", harmless(&signed_in.message));
    Ok(())
}

/// What a person pastes, line by line. Not on the runtime, whose end would wait for the next line.
pub fn pasted_lines() -> tokio::sync::mpsc::Receiver<String> {
    let (lines, pasted) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if !line.trim().is_empty() && lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    pasted
}

/// Whether its server usually runs on this machine, and lets everybody in.
fn needs_no_key(entry: &ProviderInfo) -> bool {
    entry
        .endpoint
        .as_ref()
        .is_some_and(|endpoint| endpoint.keyless)
}

async fn no_key_needed(models: &Models, entry: &ProviderInfo) -> anyhow::Result<()> {
    let name = harmless(&entry.name);
    println!("{name} needs no key. If your server wants one, add --api-key.");
    match models.obstacle(&entry.id).await {
        None => println!(
            "It is running; `dragoman models {}` shows its models.",
            entry.id
        ),
        Some(obstacle) => println!("{}", harmless(obstacle.words())),
    }
    Ok(())
}

async fn enter_key(models: &Models, entry: &ProviderInfo, stdin: bool) -> anyhow::Result<()> {
    let method = entry.auth.iter().find_map(|method| match method {
        AuthMethod::ApiKey { id, .. } => Some(id.as_str()),
        AuthMethod::OAuth { .. } => None,
    });
    let method = method.with_context(|| format!("{} takes no API key", entry.name))?;
    let key = SecretString::from(entered_key(&entry.name, stdin)?);
    let signed_in = models.set_key(&entry.id, method, key).await?;
    println!("{}", harmless(&signed_in.message));
    Ok(())
}

/// A key from standard input, or from a person who types it unseen.
pub fn entered_key(of: &str, stdin: bool) -> anyhow::Result<String> {
    let key = match stdin || !std::io::stdin().is_terminal() {
        true => {
            let mut key = String::new();
            let mut input = std::io::stdin().lock().take(KEY_BYTES_MAX);
            input
                .read_to_string(&mut key)
                .context("cannot read the key from standard input")?;
            key
        }
        false => rpassword::prompt_password(format!("API key of {of} (not shown): "))
            .context("cannot read the key")?,
    };
    let key = key.trim();
    if key.is_empty() {
        bail!("no key was given; nothing was changed");
    }
    Ok(key.to_owned())
}

/// Says whether the provider accepts what was saved. One that could not be asked has refused nothing.
async fn outcome(models: &Models, entry: &ProviderInfo) -> anyhow::Result<()> {
    if entry.endpoint.is_none() {
        return Ok(());
    }
    eprintln!("Checking it …");
    let name = harmless(&entry.name);
    match models.refresh(&entry.id).await {
        Ok(0) => println!("{name} is connected."),
        Ok(1) => println!("{name} is connected: 1 model."),
        Ok(count) => println!("{name} is connected: {count} models."),
        Err(error) if error.kind == ErrorKind::Auth => bail!(
            "it was saved, but {name} does not accept it: {}",
            error.message
        ),
        Err(error) => println!(
            "It was saved, but could not be checked: {}. It will be used as it is; `dragoman auth \
             status` checks it again.",
            harmless(&error.message)
        ),
    }
    Ok(())
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
                (true, false) => "not verified",
                (false, false) => "-",
            }
            .to_owned(),
            mode(status.mode).to_owned(),
            status.message.clone(),
        ]);
    }
    print!("{}", table::aligned(&rows));
    println!();
    println!("{}", super::used(&choice));
    Ok(())
}

fn to_json(status: &ProviderStatus) -> serde_json::Value {
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

fn mode(mode: AuthMode) -> &'static str {
    match mode {
        AuthMode::Missing => "-",
        AuthMode::Error => "error",
        AuthMode::ApiKey => "api key",
        AuthMode::OAuth => "account",
        AuthMode::OAuthPending => "account (pending)",
    }
}
