//! The terms of a tenant: what the operator gives it and allows it, in a file of its own, and its rules
//! in another.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tools::policy::Policy;
use vocabulary::{Approvals, Budgets, TenantId};

/// In the tenant's part of the data directory.
const FILE: &str = "config/tenant.toml";
const POLICY: &str = "config/policy.toml";
/// A longer file is no such file.
const BYTES_MAX: u64 = 256 << 10;

/// What a tenant is given beyond a place of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TenantTerms {
    /// Where its threads run and what its clients may name; without one each session has a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Whether keys of the server are used where it has none.
    pub shared_keys: bool,
    /// Whether its commands may leave the sandbox after a person of its own said yes, or run where there
    /// is none, and whether it may use programs of the server's user as agents.
    pub full_access: bool,
    /// When its new threads ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Approvals>,
    pub budgets: Budgets,
}

/// Why terms cannot be read or written, for people.
#[derive(Debug, Error)]
pub enum TermsError {
    #[error("{path} cannot be used: {what}; mend it, or write it anew with `dragoman tenants set`")]
    Broken { path: String, what: String },
    #[error("{0} is not a tenant's id: 1 to 64 of a-z, 0-9, _ and -, and no _ or - in front")]
    Id(String),
    #[error("{0}")]
    Directory(String),
}

impl TenantTerms {
    /// Where the data of a tenant lies.
    pub fn home(home: &Path, tenant: &TenantId) -> PathBuf {
        // No tenant's name.
        let name = if tenant.is_plain() {
            tenant.as_str()
        } else {
            "~"
        };
        home.join(tools::path::TENANTS).join(name)
    }

    /// As the operator wrote them; the usual ones where there is no file.
    pub fn read(home: &Path, tenant: &TenantId) -> Result<Self, TermsError> {
        if !tenant.is_plain() {
            return Err(TermsError::Id(tenant.to_string()));
        }
        let path = Self::home(home, tenant).join(FILE);
        Ok(parsed(&path)?.unwrap_or_default())
    }

    /// Writes them for a tenant. A directory must be there, and nobody else's.
    pub fn write(&self, home: &Path, tenant: &TenantId) -> Result<(), TermsError> {
        if !tenant.is_plain() || tenant.is_local() {
            return Err(TermsError::Id(tenant.to_string()));
        }
        self.check_directory(home, tenant)?;
        let path = Self::home(home, tenant).join(FILE);
        let broken = |what: String| TermsError::Broken {
            path: path.display().to_string(),
            what,
        };
        let text = toml::to_string(self).map_err(|error| broken(error.to_string()))?;
        replace(&path, &text).map_err(|error| broken(error.to_string()))
    }

    fn check_directory(&self, home: &Path, tenant: &TenantId) -> Result<(), TermsError> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let refuse = |why: &str| {
            let message = format!("{} {why}", directory.display());
            Err(TermsError::Directory(message))
        };
        let Ok(real) = directory.canonicalize() else {
            return refuse("is not there; make it first");
        };
        if !real.is_dir() || !directory.is_absolute() {
            return refuse("is not a directory with an absolute path");
        }
        let overlaps = |other: &Path| {
            let other = other.canonicalize();
            other.is_ok_and(|other| real.starts_with(&other) || other.starts_with(&real))
        };
        if overlaps(home) {
            return refuse("holds the server's data, or lies in it; name another");
        }
        for (other, terms) in all(home) {
            let taken = terms.directory.as_deref().is_some_and(overlaps);
            if other != *tenant && taken {
                return refuse(&format!("overlaps with the directory of tenant {other}"));
            }
        }
        Ok(())
    }
}

/// The terms of all tenants that have some.
fn all(home: &Path) -> Vec<(TenantId, TenantTerms)> {
    let entries = std::fs::read_dir(home.join(tools::path::TENANTS));
    let names = entries.into_iter().flatten().flatten();
    let tenants = names.filter_map(|entry| {
        let tenant = TenantId::new(entry.file_name().to_str()?);
        let terms = TenantTerms::read(home, &tenant).ok()?;
        Some((tenant, terms))
    });
    tenants.collect()
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, TermsError> {
    let broken = |what: String| TermsError::Broken {
        path: path.display().to_string(),
        what,
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(error.to_string())),
        Ok(meta) if !meta.is_file() || meta.len() > BYTES_MAX => {
            return Err(broken("it is not a small file".to_owned()));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
    // Where it is wrong, not what it says.
    let read = toml::from_str(&text).map_err(|error| broken(error.message().to_owned()));
    read.map(Some)
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;

    let directory = path.parent().unwrap_or(path);
    let mut make = std::fs::DirBuilder::new();
    make.recursive(true).mode(0o700).create(directory)?;
    let new = path.with_extension("toml.new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

/// What the files of a tenant say, and why nothing works for it where they cannot be used: going on
/// without them could allow what they forbid. The server's rules hold for all.
pub fn read(
    home: &Path,
    tenant: &TenantId,
    servers: &Policy,
) -> (TenantTerms, Policy, Option<String>) {
    let read = || {
        if !tenant.is_plain() {
            return Err(TermsError::Id(tenant.to_string()));
        }
        let terms = parsed(&home.join(FILE))?.unwrap_or_default();
        let own: Policy = parsed(&home.join(POLICY))?.unwrap_or_default();
        Ok((terms, servers.clone().and(own)))
    };
    match read() {
        Ok((terms, policy)) => (terms, policy, None),
        Err(error) => {
            tracing::warn!(%tenant, "the tenant is shut out: {error}");
            let words = "your tenant cannot be served, because what the operator wrote about it cannot \
                         be read; ask them to look into the server's log";
            (
                TenantTerms::default(),
                servers.clone(),
                Some(words.to_owned()),
            )
        }
    }
}

/// What makes us read the files again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermsStamp([Option<FileMark>; 2]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileMark {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl TermsStamp {
    pub fn of(home: &Path) -> Self {
        let mark = |meta: Metadata| FileMark {
            inode: meta.ino(),
            bytes: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        };
        let of = |name| std::fs::metadata(home.join(name)).ok().map(mark);
        Self([of(FILE), of(POLICY)])
    }
}
