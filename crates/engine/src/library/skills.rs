//! What clients want of skills.

use std::path::{Path, PathBuf};

use tools::skill::{self, SkillChangeError};
use tools::{OutsideAccess, Scope};
use vocabulary::{Refusal, Reply, SkillCall, ThreadCard, Why};

use crate::Shared;
use crate::tenants::TenantOwn;

pub async fn answer(shared: &Shared, card: &ThreadCard, call: SkillCall) -> Result<Reply, Refusal> {
    let scope = scope(shared, card);
    blocking(move || work(&scope, call)).await?
}

fn work(scope: &Scope, call: SkillCall) -> Result<Reply, Refusal> {
    match call {
        SkillCall::List => {}
        SkillCall::Read { name } => {
            let read = skill::read(scope, &name);
            let read = read.ok_or_else(|| not_found(&name))?;
            return Ok(Reply::SkillContent(Box::new(read)));
        }
        SkillCall::SetEnabled { name, enabled } => {
            let verb = if enabled { "enabled" } else { "disabled" };
            let changed = skill::set_enabled(scope, &name, enabled);
            changed.map_err(|error| refusal(error, &name, verb))?;
        }
        SkillCall::Delete { name } => {
            let deleted = skill::delete(scope, &name);
            deleted.map_err(|error| refusal(error, &name, "deleted"))?;
        }
    }
    Ok(Reply::Skills(skill::catalog(scope).skills))
}

/// Where skills and commands are looked for. Nothing of the workspace is trusted yet.
pub fn scope(shared: &Shared, card: &ThreadCard) -> Scope {
    let own = shared.own(&card.tenant);
    scope_of(shared, &own, &card.directory, card.folders_outside())
}

/// The same of a directory, with others that are open as well.
pub fn scope_of(shared: &Shared, own: &TenantOwn, directory: &Path, extra: Vec<PathBuf>) -> Scope {
    Scope {
        directory: directory.to_owned(),
        extra,
        skills: own.skills.clone(),
        trusted: false,
        read_only: true,
        private: shared.config.private.clone(),
        outside: OutsideAccess {
            home: None,
            ..own.outside()
        },
        spill: None,
    }
}

/// Does what reads files.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refusal::new(Why::Internal, "the files could not be looked at"))
}

fn refusal(error: SkillChangeError, name: &str, verb: &str) -> Refusal {
    match error {
        SkillChangeError::NotFound | SkillChangeError::Name => not_found(name),
        SkillChangeError::NotGlobal => {
            let message = format!("Only global skills can be {verb} in v1.");
            Refusal::invalid("skillName", message)
        }
        SkillChangeError::InTheWay(_) => {
            let message = format!("Skill \"{name}\" cannot be {verb}: {error}");
            Refusal::invalid("skillName", message)
        }
        SkillChangeError::Failed { .. } => {
            let message = format!("Skill \"{name}\" cannot be {verb}: {error}");
            Refusal::new(Why::Storage, message)
        }
    }
}

fn not_found(name: &str) -> Refusal {
    Refusal::invalid("skillName", format!("Skill \"{name}\" not found."))
}
