//! `dragoman members`: who is in a tenant, and as what.

use std::path::Path;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use identity::{MemberChange, People};
use serde_json::{Value, json};
use vocabulary::{Member, Role, TenantId};

use super::checkpoints::words;
use super::table::aligned;
use super::tenants::{explained, open, since};

const EXAMPLES: &str = "\
Examples:
  dragoman members --tenant acme                      who is in it
  dragoman members set bob --tenant acme              make somebody a plain member
  dragoman members set bob --tenant acme --role admin change a role; it counts at once
  dragoman members remove bob --tenant acme           take somebody out, with their tokens

Roles: owner (everything), admin (sessions and members), billing_admin (sessions and money), member
(sessions), viewer (reads). The last owner can be neither changed nor removed. Sockets that are open and
turns that run hear of a change at once (docs/security.md).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MembersArguments {
    #[command(subcommand)]
    pub what: Option<MembersCommand>,
    /// Whose members
    #[arg(long, value_name = "ID", global = true, default_value = TenantId::LOCAL)]
    pub tenant: String,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum MembersCommand {
    /// Show who is in it (the default)
    List,
    /// Add a member, or change one
    Set {
        /// A name of yours, or the id at who signs them in
        #[arg(value_name = "MEMBER")]
        id: String,
        /// owner, admin, billing_admin, member or viewer [default for a new one: member]
        #[arg(long, value_parser = parse_role)]
        role: Option<Role>,
        #[arg(long)]
        email: Option<String>,
        #[arg(long)]
        name: Option<String>,
    },
    /// Take a member out
    Remove {
        #[arg(value_name = "MEMBER")]
        id: String,
    },
}

pub(super) fn parse_role(name: &str) -> anyhow::Result<Role> {
    Role::parse(name).ok_or_else(|| {
        let names = Role::ALL.map(Role::name).join(", ");
        anyhow!("there is no role `{name}`; there are {names}")
    })
}

pub async fn run(arguments: MembersArguments, home: &Path) -> anyhow::Result<()> {
    let MembersArguments { what, tenant, json } = arguments;
    let (directory, tenant) = (open(home, "members").await?, TenantId::new(tenant));
    // Whoever may write to the home may do all of this.
    let by = Role::Owner;
    match what.unwrap_or(MembersCommand::List) {
        MembersCommand::List => {
            let people = directory.people().await.map_err(explained)?;
            told(&people, &tenant, json)
        }
        MembersCommand::Set {
            id,
            role,
            email,
            name,
        } => {
            let change = MemberChange { role, email, name };
            let set = directory.set_member(&tenant, &id, by, &change).await;
            let member = set.map_err(explained)?;
            match json {
                true => words::say_json(&for_programs(&member)),
                false => words::say(format!("{id} is {} in {tenant}\n", member.role.name())),
            }
        }
        MembersCommand::Remove { id } => {
            let removed = directory.remove_member(&tenant, &id, by).await;
            removed.map_err(explained)?;
            match json {
                true => words::say_json(&json!({ "removed": id })),
                false => words::say(format!("{id} is no member of {tenant} any more\n")),
            }
        }
    }
}

fn told(people: &People, tenant: &TenantId, json: bool) -> anyhow::Result<()> {
    if people.tenant(tenant).is_none() {
        bail!("there is no tenant `{tenant}`; `dragoman tenants` lists them");
    }
    if json {
        return words::say_json(&people.members(tenant).map(for_programs).collect());
    }
    let heading = ["MEMBER", "ROLE", "EMAIL", "NAME", "SINCE"].map(str::to_owned);
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows = people.members(tenant).map(|member| {
        vec![
            member.id.clone(),
            member.role.name().to_owned(),
            shown(&member.email),
            shown(&member.name),
            since(member.created_at.millis()),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec()).chain(rows).collect();
    words::say(aligned(&rows))
}

fn for_programs(member: &Member) -> Value {
    let time = |at: i64| (at > 0).then(|| words::iso(at));
    json!({
        "id": member.id,
        "role": member.role.name(),
        "email": member.email,
        "name": member.name,
        "createdAt": time(member.created_at.millis()),
        "updatedAt": time(member.updated_at.millis()),
    })
}
