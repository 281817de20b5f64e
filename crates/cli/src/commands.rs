//! What `dragoman` can do besides serving: show models, sign in and out, check the sandbox, keep
//! house among sessions, checkpoints, grants, skills and trust, show the settings.

use std::path::Path;
use std::sync::Arc;

use providers::Models;
use providers::models::{ModelChoice, ModelsOptions};
use providers::rehearsal::Rehearsal;

use crate::screen::harmless;

pub mod auth;
pub mod checkpoints;
pub mod config;
pub mod doctor;
pub mod grants;
pub mod mcp;
pub mod models;
pub mod sandbox;
pub mod sessions;
pub mod skills;
mod table;
pub mod tenants;
pub mod trust;

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

/// Which model new threads use, and why.
fn used(choice: &ModelChoice) -> String {
    let ModelChoice {
        provider,
        model,
        why,
    } = choice;
    harmless(&format!("New threads use {provider}/{model}: {why}"))
}
