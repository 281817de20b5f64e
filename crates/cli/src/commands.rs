//! What `dragoman` can do besides serving: show models, sign in and out, check the sandbox, keep
//! house among sessions, checkpoints, grants, skills and trust, know tenants, members and tokens, show the settings,
//! run a terminal client.

use std::path::Path;
use std::sync::Arc;

use engine::TenantTerms;
use providers::Models;
use providers::models::{ModelChoice, ModelsOptions};
use providers::rehearsal::Rehearsal;
use vocabulary::TenantId;

use crate::screen::harmless;

pub mod auth;
pub mod checkpoints;
pub mod config;
mod consent;
pub mod doctor;
pub mod grants;
pub mod mcp;
pub mod members;
pub mod models;
pub mod sandbox;
pub mod sessions;
pub mod skills;
mod table;
pub mod tenants;
pub mod tokens;
pub mod trust;
pub mod tui;

/// The models of this machine's user, without a server.
fn models_of(home: &Path) -> Models {
    let mut options = ModelsOptions::of_process(home);
    options.scripted.push(Arc::new(Rehearsal::default()));
    let models = Models::open(options);
    for warning in models.warnings() {
        eprintln!("dragoman: {}", harmless(&warning));
    }
    models
}

/// The models of a tenant, with its own keys and those that it shares.
fn models_of_tenant(home: &Path, tenant: &TenantId) -> anyhow::Result<Models> {
    if tenant.is_local() {
        return Ok(models_of(home));
    }
    let terms = TenantTerms::read(home, tenant)?;
    let mut options = ModelsOptions::of_process(home);
    options.scripted.push(Arc::new(Rehearsal::default()));
    let own = TenantTerms::home(home, tenant);
    Ok(Models::open(options.of_tenant(own, terms.shared_keys)))
}

/// Which model new threads use, and why.
fn used(choice: &ModelChoice) -> String {
    let ModelChoice {
        provider,
        model,
        why,
    } = choice;
    harmless(&format!("New threads use {provider}/{model}: {why}"))
}
