//! What clients want of skills.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use tools::skill::{self, SkillChangeError, SkillInstallError};
use tools::{OutsideAccess, Scope};
use vocabulary::{
    InspectedSkill, Notice, Refusal, Reply, Skill, SkillCall, SkillChange, SkillChangeKind,
    SkillFault, SkillReport, SkillTier, ThreadCard, Timestamp, Why,
};

use crate::Shared;
use crate::tenants::TenantOwn;
use crate::trust::{self, Trust};

pub async fn answer(shared: &Shared, card: &ThreadCard, call: SkillCall) -> Result<Reply, Refusal> {
    let scope = scope(shared, card);
    match call {
        SkillCall::CheckInstall => Ok(Reply::Done),
        SkillCall::Inspect => report(shared, card, None).await,
        SkillCall::Install(archive) => {
            let installed = blocking(move || skill::install(&scope, &archive)).await?;
            let change = installed.map_err(not_installed)?;
            changed(shared, card, &change);
            report(shared, card, Some(change)).await
        }
        SkillCall::List => blocking(move || listed(&scope)).await,
        SkillCall::Read { name } => {
            let read = blocking(move || skill::read(&scope, &name).ok_or(name)).await?;
            let read = read.map_err(|name| not_found(&name))?;
            Ok(Reply::SkillContent(Box::new(read)))
        }
        SkillCall::SetEnabled { name, enabled } => {
            let verb = if enabled { "enabled" } else { "disabled" };
            let (done, wanted) = (scope.clone(), name.clone());
            let set = blocking(move || skill::set_enabled(&done, &wanted, enabled)).await?;
            set.map_err(|error| refusal(error, &name, verb))?;
            changed(shared, card, &of(name, SkillChangeKind::Switched, None));
            blocking(move || listed(&scope)).await
        }
        SkillCall::Delete { name } => {
            let (done, wanted) = (scope.clone(), name.clone());
            let deleted = blocking(move || {
                let read = skill::read(&done, &wanted);
                let directory = read.and_then(|read| read.skill.path.parent().map(Path::to_owned));
                let before = directory.map(|directory| skill::fingerprint(&directory));
                skill::delete(&done, &wanted).map(|()| before)
            });
            let before = deleted.await?;
            let before = before.map_err(|error| refusal(error, &name, "deleted"))?;
            changed(
                shared,
                card,
                &of(name, SkillChangeKind::Uninstalled, before),
            );
            blocking(move || listed(&scope)).await
        }
    }
}

fn listed(scope: &Scope) -> Reply {
    Reply::Skills(skill::catalog(scope).skills)
}

/// Only global ones are changed through us.
fn of(name: String, what: SkillChangeKind, before: Option<String>) -> SkillChange {
    SkillChange {
        name,
        tier: SkillTier::Global,
        what,
        before,
        after: None,
    }
}

fn changed(shared: &Shared, card: &ThreadCard, change: &SkillChange) {
    let notice = Notice::SkillsChanged {
        version: shared.versions.skills_changed(),
        at: shared.now(),
        change: Box::new(change.clone()),
    };
    shared.notify(&card.tenant, notice);
}

async fn report(
    shared: &Shared,
    card: &ThreadCard,
    change: Option<SkillChange>,
) -> Result<Reply, Refusal> {
    let (scope, version) = (scope(shared, card), shared.versions.skills());
    let is_trusted = match trust::look(shared, card).await? {
        Trust::Trusted(_) | Trust::Nothing => true,
        Trust::Untrusted(_) | Trust::Unreadable => false,
    };
    let (skills, faults) = blocking(move || {
        let found = skill::catalog(&scope);
        let skills = found.skills.into_iter();
        let skills: Vec<InspectedSkill> = skills.map(|each| inspected(each, is_trusted)).collect();
        let faults = found.problems.into_iter().map(|problem| SkillFault {
            path: problem.path,
            problem: problem.problem,
        });
        (skills, faults.collect())
    })
    .await?;
    Ok(Reply::SkillReport(Box::new(SkillReport {
        version,
        at: shared.now(),
        skills,
        faults,
        change,
    })))
}

fn inspected(skill: Skill, is_trusted: bool) -> InspectedSkill {
    let directory = skill.path.parent().unwrap_or(&skill.path);
    let written = std::fs::metadata(&skill.path).and_then(|about| about.modified());
    let since = written
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    InspectedSkill {
        fingerprint: match skill.tier {
            // It lies nowhere, and is what it is with this server.
            SkillTier::BuiltIn => blake3::hash(skill.description.as_bytes())
                .to_hex()
                .to_string(),
            SkillTier::Project | SkillTier::Global | SkillTier::User => {
                skill::fingerprint(directory)
            }
        },
        changed_at: since.map(|since| Timestamp(since.as_millis() as i64)),
        trusted: skill.tier != SkillTier::Project || is_trusted,
        skill,
    }
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

fn not_installed(error: SkillInstallError) -> Refusal {
    let message = error.to_string();
    match error {
        SkillInstallError::Archive(_)
        | SkillInstallError::NoSkill
        | SkillInstallError::Skill(_)
        | SkillInstallError::OtherName { .. } => Refusal::invalid("source", message),
        SkillInstallError::NotFound(_) => Refusal::invalid("slug", message),
        SkillInstallError::Exists(_)
        | SkillInstallError::Changed(_)
        | SkillInstallError::Link(_)
        | SkillInstallError::NoPlace => Refusal::new(Why::Conflict, message),
        SkillInstallError::Failed { .. } => Refusal::new(Why::Storage, message),
    }
}

fn not_found(name: &str) -> Refusal {
    Refusal::invalid("skillName", format!("Skill \"{name}\" not found."))
}
