//! `dragoman tokens`: secrets that let programs in, each for one member of one tenant.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use identity::{ApiToken, Directory, NewToken};
use serde_json::{Value, json};
use server::table::TONGUES;
use vocabulary::{Caller, Role, TenantId, Timestamp};

use super::checkpoints::words;
use super::members::parse_role;
use super::table::aligned;
use super::tenants::{explained, open};

const EXAMPLES: &str = "\
Examples:
  dragoman tokens                                    which tokens there are, and when each was last used
  dragoman tokens create --name phone                one for yourself; it is shown this once
  dragoman tokens create --tenant acme --member bob --role viewer --dialect diminuendo --expires 30d
  dragoman tokens revoke 3f9a1c0255d0e7b1            from now on it lets nobody in

A client sends it as `Authorization: Bearer TOKEN`, as ?token= where it can do no other, or on the socket
where its protocol says so. While there is a token, every client needs one, your own too. Open sockets of
a revoked token are closed and its running turns are cancelled, at once (docs/security.md).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TokensArguments {
    #[command(subcommand)]
    pub what: Option<TokensCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TokensCommand {
    /// Show which tokens there are (the default)
    List {
        /// Only those of this tenant
        #[arg(long, value_name = "ID")]
        tenant: Option<String>,
    },
    /// Make a token, and show it this once
    Create(CreateArguments),
    /// Take tokens back
    Revoke {
        #[arg(value_name = "TOKEN-ID", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct CreateArguments {
    /// Whose threads it opens
    #[arg(long, value_name = "ID", default_value = TenantId::LOCAL)]
    tenant: String,
    /// Whom it lets in [default in the tenant `local`: its owner]
    #[arg(long)]
    member: Option<String>,
    /// No more than this role: owner, admin, billing_admin, member or viewer [default: as the member]
    #[arg(long, value_parser = parse_role)]
    role: Option<Role>,
    /// Only for this dialect; may be given several times [default: all]
    #[arg(long = "dialect", value_name = "DIALECT")]
    dialects: Vec<String>,
    /// How long it is good: 12h, 30d [default: until it is revoked]
    #[arg(long, value_name = "AGE")]
    expires: Option<String>,
    /// What it is for
    #[arg(long, default_value = "")]
    name: String,
}

pub async fn run(arguments: TokensArguments, home: &Path) -> anyhow::Result<()> {
    let TokensArguments { what, json } = arguments;
    let directory = open(home, "tokens").await?;
    match what.unwrap_or(TokensCommand::List { tenant: None }) {
        TokensCommand::List { tenant } => list(&directory, tenant, json).await,
        TokensCommand::Create(arguments) => create(&directory, arguments, json).await,
        TokensCommand::Revoke { ids } => revoke(&directory, &ids, json).await,
    }
}

async fn create(
    directory: &Directory,
    arguments: CreateArguments,
    json: bool,
) -> anyhow::Result<()> {
    let tenant = TenantId::new(arguments.tenant.as_str());
    let lone = Caller::local();
    let member = match arguments.member {
        Some(member) => member,
        None if tenant == lone.tenant => lone.member,
        None => bail!(
            "say whom it lets in, with --member; `dragoman members --tenant {tenant}` lists them"
        ),
    };
    for dialect in &arguments.dialects {
        let names: Vec<_> = TONGUES.iter().map(|tongue| tongue.name).collect();
        if !names.contains(&dialect.as_str()) {
            bail!(
                "there is no dialect `{dialect}`; there are {}",
                names.join(", ")
            );
        }
    }
    let expires_at = arguments.expires.as_deref().map(end_of).transpose()?;
    let new = NewToken {
        name: arguments.name,
        member,
        role: arguments.role,
        dialects: arguments.dialects.into_iter().map(Into::into).collect(),
        expires_at,
    };
    let is_first = !directory.people().await.map_err(explained)?.has_tokens();
    let (token, secret) = directory
        .create_token(&tenant, new)
        .await
        .map_err(explained)?;
    if json {
        let mut made = for_programs(&tenant, &token, None);
        made["token"] = secret.reveal().into();
        return words::say_json(&made);
    }
    words::say(format!("{}\n", secret.reveal()))?;
    eprintln!(
        "Keep it now: it is not shown again. Its id is {}.",
        token.id
    );
    if is_first {
        eprintln!("From now on every client needs a token, your own too.");
    }
    Ok(())
}

fn end_of(age: &str) -> anyhow::Result<Timestamp> {
    let age = words::parse_age(age).context("--expires is not like 12h or 30d")?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = Timestamp(since.unwrap_or_default().as_millis() as i64);
    Ok(now.plus_millis(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)))
}

async fn revoke(directory: &Directory, ids: &[String], json: bool) -> anyhow::Result<()> {
    let people = directory.people().await.map_err(explained)?;
    let mut meant = Vec::new();
    for id in ids {
        let has = |tenant: &TenantId| people.tokens(tenant).any(|token| token.id == *id);
        let mut tenants = people.tenants().map(|tenant| &tenant.id);
        match tenants.find(|tenant| has(tenant)) {
            Some(tenant) => meant.push((tenant, id)),
            None => bail!("there is no token `{id}`; `dragoman tokens` lists them"),
        }
    }
    for (tenant, id) in &meant {
        directory
            .revoke_token(tenant, id)
            .await
            .map_err(explained)?;
    }
    match json {
        true => words::say_json(&json!({ "revoked": ids })),
        false => words::say(
            ids.iter()
                .map(|id| format!("revoked {id}\n"))
                .collect::<String>(),
        ),
    }
}

async fn list(directory: &Directory, only: Option<String>, json: bool) -> anyhow::Result<()> {
    let people = directory.people().await.map_err(explained)?;
    let only = only.map(TenantId::new);
    if let Some(tenant) = only.as_ref().filter(|id| people.tenant(id).is_none()) {
        bail!("there is no tenant `{tenant}`; `dragoman tenants` lists them");
    }
    let mut found = Vec::new();
    for tenant in people.tenants().map(|tenant| &tenant.id) {
        if only.as_ref().is_some_and(|only| only != tenant) {
            continue;
        }
        let uses = directory.last_uses(tenant).await.map_err(explained)?;
        let uses: HashMap<String, Timestamp> = uses.into_iter().collect();
        let mut tokens: Vec<&ApiToken> = people.tokens(tenant).collect();
        tokens.sort_by_key(|token| (token.created_at, token.id.as_str()));
        for token in tokens {
            found.push((tenant, token, uses.get(&token.id).copied()));
        }
    }
    if json {
        let all = found.iter();
        let all = all.map(|(tenant, token, used)| for_programs(tenant, token, *used));
        return words::say_json(&all.collect());
    }
    if found.is_empty() {
        return words::say("there is no token\n");
    }
    let heading = [
        "ID",
        "TENANT",
        "MEMBER",
        "ROLE",
        "DIALECTS",
        "EXPIRES",
        "LAST USED",
        "NAME",
    ];
    let rows = found
        .iter()
        .map(|(tenant, token, used)| row(tenant, token, *used));
    let heading = heading.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    words::say(aligned(&rows))
}

fn row(tenant: &TenantId, token: &ApiToken, used: Option<Timestamp>) -> Vec<String> {
    let time = |at: Option<Timestamp>| at.map_or("never".to_owned(), |at| words::when(at.millis()));
    vec![
        token.id.clone(),
        tenant.to_string(),
        token.member.clone(),
        token.role.map_or("as the member", Role::name).to_owned(),
        match token.dialects.is_empty() {
            true => "all".to_owned(),
            false => token.dialects.join(", "),
        },
        time(token.expires_at),
        time(used),
        token.name.clone(),
    ]
}

/// Never with the secret, which is not known any more.
fn for_programs(tenant: &TenantId, token: &ApiToken, used: Option<Timestamp>) -> Value {
    let time = |at: Timestamp| words::iso(at.millis());
    json!({
        "id": token.id,
        "tenant": tenant.as_str(),
        "member": token.member,
        "role": token.role.map(Role::name),
        "dialects": token.dialects,
        "name": token.name,
        "createdAt": time(token.created_at),
        "expiresAt": token.expires_at.map(time),
        "lastUsedAt": used.map(time),
    })
}
