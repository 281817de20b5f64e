//! Every provider of the catalog, ready to be asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::key_ring::KeyRing;
use super::live::{self, Live};
use crate::accounts::Accounts;
use crate::catalog::book::{Book, Entry, Environment};
use crate::catalog::file::CATALOG_BYTES_MAX;
use crate::catalog::{Catalog, Reach};
use crate::remote::{Access, Policy, Remote};

pub struct Shelf {
    pub entries: Vec<Arc<Entry>>,
    pub trouble: Vec<String>,
    reached: BTreeMap<String, Arc<Reached>>,
    live: Mutex<BTreeMap<String, Live>>,
    snapshot: Mutex<Option<Arc<Catalog>>>,
    book: Book,
}

/// One provider over the network.
pub struct Reached {
    pub entry: Arc<Entry>,
    pub reach: Reach,
    pub key_ring: Arc<KeyRing>,
    pub remote: Remote,
    /// What was found when it was last asked whether it accepts us.
    pub check: Mutex<Option<Check>>,
    /// Asked once at a time.
    pub checking: tokio::sync::Mutex<()>,
}

/// What a provider said to the credential it was shown.
#[derive(Clone, Debug)]
pub struct Check {
    /// Of the credential and the address: another one makes this worthless.
    pub fingerprint: u64,
    pub at: Instant,
    pub at_ms: i64,
    pub finding: Finding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// How many models it listed, where it was asked for them.
    Accepted {
        models: Option<usize>,
    },
    /// In words for people.
    NotAccepted(String),
    Unknown(String),
}

impl Shelf {
    pub fn open(home: &Path, environment: &Environment, accounts: &Arc<Accounts>) -> Shelf {
        let (own, unread) = own_file(home);
        let mut book = Book::open(own.as_deref(), environment);
        book.trouble.extend(unread);
        let entries: Vec<_> = book.entries.iter().cloned().map(Arc::new).collect();
        let reached = entries.iter().filter_map(|entry| {
            let reached = Reached::new(accounts, entry)?;
            Some((entry.provider.id.clone(), Arc::new(reached)))
        });
        Shelf {
            reached: reached.collect(),
            trouble: book.trouble.clone(),
            live: Mutex::default(),
            snapshot: Mutex::default(),
            entries,
            book,
        }
    }

    /// Whether it has to be opened to know that all is well with it.
    pub fn may_be_in_trouble(home: &Path, environment: &Environment) -> bool {
        Book::heeds(environment) || own_path(home).symlink_metadata().is_ok()
    }

    pub fn entry(&self, id: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|each| each.provider.id == id)
    }

    pub fn reached(&self, id: &str) -> Option<&Arc<Reached>> {
        self.reached.get(id)
    }

    pub fn all_reached(&self) -> impl Iterator<Item = &Arc<Reached>> {
        self.entries
            .iter()
            .filter_map(|entry| self.reached(&entry.provider.id))
    }

    /// The catalog with everything that providers have listed so far.
    pub fn catalog(&self) -> Arc<Catalog> {
        let mut snapshot = self.snapshot.lock();
        let catalog = snapshot.get_or_insert_with(|| {
            let mut catalog = self.book.catalog();
            let live = self.live.lock();
            for provider in &mut catalog.providers {
                if let Some(listed) = live.get(&provider.id) {
                    live::lay_under(provider, listed);
                }
            }
            Arc::new(catalog)
        });
        Arc::clone(catalog)
    }

    pub fn learn(&self, provider: &str, listed: Live) {
        let mut live = self.live.lock();
        if live.get(provider) == Some(&listed) {
            return;
        }
        live.insert(provider.to_owned(), listed);
        drop(live);
        *self.snapshot.lock() = None;
    }
}

fn own_path(home: &Path) -> PathBuf {
    home.join("config").join("catalog.toml")
}

/// The person's own catalog, or why it could not be read.
fn own_file(home: &Path) -> (Option<String>, Option<String>) {
    use std::io::Read;

    let path = own_path(home);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (None, None),
        Err(error) => {
            return (
                None,
                Some(format!("{} is not used: {error}", path.display())),
            );
        }
    };
    let mut text = String::new();
    match file.take(CATALOG_BYTES_MAX + 1).read_to_string(&mut text) {
        Ok(bytes) if bytes as u64 <= CATALOG_BYTES_MAX => (Some(text), None),
        Ok(_) => (
            None,
            Some(format!("{} is not used: it is too long", path.display())),
        ),
        Err(error) => (
            None,
            Some(format!("{} is not used: {error}", path.display())),
        ),
    }
}

impl Reached {
    fn new(accounts: &Arc<Accounts>, entry: &Arc<Entry>) -> Option<Reached> {
        let reach = entry.provider.reach.clone()?;
        let accounts = Arc::clone(accounts);
        let key_ring = Arc::new(KeyRing::new(accounts, Arc::clone(entry), reach.clone()));
        let access: Arc<dyn Access> = Arc::clone(&key_ring) as _;
        let remote = Remote::new(&entry.provider, access, Policy::default())?;
        Some(Reached {
            entry: Arc::clone(entry),
            reach,
            key_ring,
            remote,
            check: Mutex::default(),
            checking: tokio::sync::Mutex::default(),
        })
    }
}
