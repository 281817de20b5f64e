//! `dragoman tenants`: who has threads, members and tokens of its own on this server, and what each may spend.

use std::path::Path;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use identity::{Directory, IdentityError, MemberChange, People, Tenant};
use serde_json::{Value, json};
use server::database;
use store::SharedStore;
use vocabulary::TenantId;

use super::checkpoints::words;
use super::table::aligned;

pub mod credit;
mod delete;
pub mod set;

const EXAMPLES: &str = "\
Examples:
  dragoman tenants                                which tenants there are
  dragoman tenants create acme --owner alice      make one, with its first owner
  dragoman tenants create acme --name 'Acme Inc.' --owner alice --email alice@acme.example
  dragoman tenants delete acme                    shut it: its members and tokens are gone at once
  dragoman tenants delete acme --data             erase its threads, keys and files, too

Nothing of a tenant is visible to another. `local` is the tenant of this server's own user, and always
there. Servers on the same data directory may run meanwhile: a change counts at once (docs/security.md).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TenantsArguments {
    #[command(subcommand)]
    pub what: Option<TenantsCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TenantsCommand {
    /// Show which tenants there are (the default)
    List,
    /// Make a tenant, with its first owner
    Create {
        /// 1 to 64 of a-z, 0-9, _ and -
        #[arg(value_name = "ID")]
        id: String,
        /// Who owns it: a name of yours, or the id at who signs them in
        #[arg(long, value_name = "MEMBER")]
        owner: String,
        /// What people call it [default: its id]
        #[arg(long)]
        name: Option<String>,
        /// The owner's email
        #[arg(long)]
        email: Option<String>,
    },
    /// See what a tenant may still spend, and change it
    Credit(credit::CreditArguments),
    /// See what a tenant is given of the server and may do, and change it
    Set(set::SetArguments),
    /// Shut a tenant for good; its id is not given again
    Delete {
        #[arg(value_name = "ID")]
        id: String,
        /// Erase its threads, keys, settings and files as well, now or after it was shut
        #[arg(long)]
        data: bool,
    },
}

pub async fn run(arguments: TenantsArguments, home: &Path) -> anyhow::Result<()> {
    let TenantsArguments { what, json } = arguments;
    match what.unwrap_or(TenantsCommand::List) {
        TenantsCommand::Credit(arguments) => credit::run(arguments, json, home).await,
        TenantsCommand::Set(arguments) => set::run(arguments, json, home).await,
        TenantsCommand::List => {
            let directory = open(home, "tenants").await?;
            let people = directory.people().await.map_err(explained)?;
            told(&people, json)
        }
        TenantsCommand::Create {
            id,
            owner,
            name,
            email,
        } => {
            let name = name.unwrap_or_else(|| id.clone());
            let about = MemberChange {
                email,
                ..MemberChange::default()
            };
            let directory = open(home, "tenants").await?;
            let made = directory.create_tenant(&id, &name, &owner, &about).await;
            let tenant = made.map_err(explained)?;
            match json {
                true => words::say_json(&for_programs(&tenant, 1)),
                false => words::say(format!(
                    "tenant {id} is there, and {owner} owns it. Let programs in with \
                     `dragoman tokens create --tenant {id} --member {owner}`\n"
                )),
            }
        }
        TenantsCommand::Delete { id, data } => delete::run(&id, data, json, home).await,
    }
}

/// Who is who on a home. What is changed here, servers on the same home hear at once.
pub(super) async fn open(home: &Path, command: &str) -> anyhow::Result<Directory> {
    Ok(Directory::new(open_store(home, command).await?))
}

async fn open_store(home: &Path, command: &str) -> anyhow::Result<SharedStore> {
    let label = format!("process {}, dragoman {command}", std::process::id());
    let home = home.to_owned();
    let opening = tokio::task::spawn_blocking(move || {
        server::home::prepare(&home)?;
        database::open(&home, &label)
    });
    opening.await.context("the look was cut off")?
}

/// Refuses a tenant that is not there: a slip of the pen would set something for nobody.
async fn check_known(directory: &Directory, tenant: &TenantId) -> anyhow::Result<()> {
    let people = directory.people().await.map_err(explained)?;
    match people.tenants().any(|known| known.id == *tenant) {
        true => Ok(()),
        false => Err(explained(IdentityError::UnknownTenant(tenant.to_string()))),
    }
}

/// An error with what to do about it.
pub(super) fn explained(error: IdentityError) -> anyhow::Error {
    let advice = match &error {
        IdentityError::UnknownTenant(_) => "; `dragoman tenants` lists them",
        IdentityError::UnknownMember(_) => "; `dragoman members` lists them, and `set` adds one",
        IdentityError::UnknownToken(_) => "; `dragoman tokens` lists them",
        IdentityError::Invalid { .. }
        | IdentityError::TenantTaken(_)
        | IdentityError::LastOwner(_)
        | IdentityError::Beyond { .. }
        | IdentityError::Permanent(_)
        | IdentityError::Busy
        | IdentityError::Broken(_)
        | IdentityError::Store(_) => "",
    };
    anyhow!("{error}{advice}")
}

fn told(people: &People, json: bool) -> anyhow::Result<()> {
    let counted = |tenant: &Tenant| people.members(&tenant.id).count();
    if json {
        let all = people.tenants();
        let all = all.map(|tenant| for_programs(tenant, counted(tenant)));
        return words::say_json(&all.collect());
    }
    let heading = ["TENANT", "NAME", "MEMBERS", "SINCE"].map(str::to_owned);
    let rows = people.tenants().map(|tenant| {
        vec![
            tenant.id.to_string(),
            tenant.name.clone(),
            counted(tenant).to_string(),
            since(tenant.created_at.millis()),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec()).chain(rows).collect();
    words::say(aligned(&rows))
}

/// What was not made by anybody has no time.
pub(super) fn since(millis: i64) -> String {
    match millis {
        0 => "-".to_owned(),
        millis => words::when(millis),
    }
}

fn for_programs(tenant: &Tenant, members: usize) -> Value {
    let at = tenant.created_at.millis();
    json!({
        "id": tenant.id.as_str(),
        "name": tenant.name,
        "members": members,
        "createdAt": (at > 0).then(|| words::iso(at)),
    })
}
