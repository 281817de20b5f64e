//! `dragoman tenants`: who shares this server, and what each may spend.

use std::path::Path;

use clap::{Args, Subcommand};

pub mod credit;
pub mod set;

#[derive(Debug, Args)]
pub struct TenantsArguments {
    #[command(subcommand)]
    pub what: TenantsCommand,
}

#[derive(Debug, Subcommand)]
pub enum TenantsCommand {
    /// See what a tenant may still spend, and change it
    Credit(credit::CreditArguments),
    /// See what a tenant is given of the server and may do, and change it
    Set(set::SetArguments),
}

pub async fn run(arguments: TenantsArguments, home: &Path) -> anyhow::Result<()> {
    match arguments.what {
        TenantsCommand::Credit(arguments) => credit::run(arguments, home).await,
        TenantsCommand::Set(arguments) => set::run(arguments, home),
    }
}
