//! `dragoman tenants set`: what a tenant is given of the server, and what it may do.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use engine::TenantTerms;
use serde_json::json;
use vocabulary::{Approvals, TenantId};

use super::{check_known, open};
use crate::commands::checkpoints::words;
use crate::config::values::micro_dollars;

const EXAMPLES: &str = "\
Examples:
  dragoman tenants set acme                          what holds for it now
  dragoman tenants set acme --directory /srv/acme    its threads run there, and its clients choose in it
  dragoman tenants set acme --no-directory           each session has a directory of its own
  dragoman tenants set acme --shared-keys true       it uses the server's keys where it has none
  dragoman tenants set acme --turn-cost 0.50         what its turns may cost that say nothing themselves

A server that runs on the same data directory goes by it at once. Keys of a tenant's own are saved with
`dragoman auth --tenant acme login PROVIDER`, its rules are in tenants/acme/config/policy.toml under the
data directory (docs/tenants.md).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SetArguments {
    /// The tenant; `local` is the server's own user, who needs none of this
    #[arg(value_name = "TENANT")]
    pub tenant: String,
    /// Where its threads run, and what its clients may name
    #[arg(long, value_name = "DIR", group = "place")]
    pub directory: Option<PathBuf>,
    /// Each session gets a directory of its own
    #[arg(long, group = "place")]
    pub no_directory: bool,
    /// Whether keys of the server are used where it has none
    #[arg(long, value_name = "true|false")]
    pub shared_keys: Option<bool>,
    /// Whether its commands may leave the sandbox after one of its people said yes, or run where there is
    /// none, and whether it may use external agents
    #[arg(long, value_name = "true|false")]
    pub full_access: Option<bool>,
    /// When its new threads ask: ask, auto, on-failure or never
    #[arg(long, value_name = "MODE", value_parser = approvals)]
    pub approvals: Option<Approvals>,
    /// The most a turn of its may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = micro_dollars)]
    pub turn_cost: Option<u64>,
    /// The most a thread of its may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = micro_dollars)]
    pub thread_cost: Option<u64>,
}

fn approvals(text: &str) -> Result<Approvals, String> {
    match text {
        "ask" => Ok(Approvals::Ask),
        "auto" => Ok(Approvals::Auto),
        "never" => Ok(Approvals::Never),
        "on-failure" => Ok(Approvals::OnFailure),
        _ => Err("write ask, auto, on-failure or never".to_owned()),
    }
}

pub async fn run(arguments: SetArguments, json: bool, home: &Path) -> anyhow::Result<()> {
    let tenant = TenantId::new(arguments.tenant.as_str());
    ensure!(
        !tenant.is_local(),
        "`local` is the server's own user: its settings are the server's (docs/configuration.md)"
    );
    check_known(&open(home, "tenants").await?, &tenant).await?;
    set(&tenant, arguments, json, home)
}

fn set(tenant: &TenantId, arguments: SetArguments, json: bool, home: &Path) -> anyhow::Result<()> {
    let before = TenantTerms::read(home, tenant)?;
    let terms = changed(before.clone(), &arguments);
    if terms != before {
        terms.write(home, tenant)?;
    }
    match json {
        true => words::say_json(&json!({
            "tenant": tenant.as_str(),
            "directory": terms.directory,
            "sharedKeys": terms.shared_keys,
            "fullAccess": terms.full_access,
            "approvals": terms.approvals,
            "budgets": terms.budgets,
        })),
        false => words::say(for_people(tenant, &terms)),
    }
}

fn changed(mut terms: TenantTerms, wanted: &SetArguments) -> TenantTerms {
    if wanted.no_directory {
        terms.directory = None;
    }
    terms.directory = wanted.directory.clone().or(terms.directory);
    terms.shared_keys = wanted.shared_keys.unwrap_or(terms.shared_keys);
    terms.full_access = wanted.full_access.unwrap_or(terms.full_access);
    terms.approvals = wanted.approvals.or(terms.approvals);
    let budgets = &mut terms.budgets;
    budgets.turn_micro_dollars = wanted.turn_cost.or(budgets.turn_micro_dollars);
    budgets.thread_micro_dollars = wanted.thread_cost.or(budgets.thread_micro_dollars);
    terms
}

fn for_people(tenant: &TenantId, terms: &TenantTerms) -> String {
    let directory = match &terms.directory {
        Some(directory) => directory.display().to_string(),
        None => "one for each session, in the data directory".to_owned(),
    };
    let keys = match terms.shared_keys {
        true => "its own, else the server's",
        false => "its own",
    };
    let sandbox = match terms.full_access {
        true => "may be left when one of its people says yes",
        false => "always; without one, no command runs",
    };
    format!("{tenant}\n  directory  {directory}\n  keys       {keys}\n  sandbox    {sandbox}\n")
}

#[cfg(test)]
mod tests {
    use identity::MemberChange;

    use super::*;

    fn wanted() -> SetArguments {
        SetArguments {
            tenant: "acme".to_owned(),
            directory: None,
            no_directory: false,
            shared_keys: None,
            full_access: None,
            approvals: None,
            turn_cost: None,
            thread_cost: None,
        }
    }

    #[tokio::test]
    async fn what_is_not_named_stays_and_what_is_wrong_changes_nothing() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (home, own) = (scratch.path().join("home"), scratch.path().join("own"));
        for path in [&home, &own] {
            std::fs::create_dir(path).expect("made");
        }
        let tenant = TenantId::new("acme");
        let set = |wanted| run(wanted, true, &home);
        let known = MemberChange::default();
        let directory = open(&home, "tenants").await.expect("opened");
        let made = directory.create_tenant("acme", "Acme", "alice", &known);
        made.await.expect("made");
        let first = SetArguments {
            directory: Some(own.clone()),
            shared_keys: Some(true),
            ..wanted()
        };
        set(first).await.expect("set");
        let second = SetArguments {
            turn_cost: Some(500_000),
            ..wanted()
        };
        set(second).await.expect("set");
        let terms = TenantTerms::read(&home, &tenant).expect("read");
        assert_eq!(terms.directory, Some(own));
        assert!(terms.shared_keys && !terms.full_access);
        assert_eq!(terms.budgets.turn_micro_dollars, Some(500_000));
        let in_data = SetArguments {
            directory: Some(home.join("tenants")),
            ..wanted()
        };
        assert!(set(in_data).await.is_err());
        for name in ["local", "../acme", "Acme", "acne", ""] {
            let tenant = name.to_owned();
            let set = set(SetArguments { tenant, ..wanted() });
            assert!(set.await.is_err(), "{name}");
        }
        assert_eq!(TenantTerms::read(&home, &tenant).expect("read"), terms);
    }
}
