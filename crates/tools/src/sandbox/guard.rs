//! Holds protected paths as they are over one command: recorded before it, put back after it.
//!
//! Where mounts hold a path, this only confirms it; where they cannot (Landlock; what does not exist
//! yet), this is what keeps a command from leaving something that another program runs. A journal of
//! the record lies with the server's data, so that a server that was killed puts it back when it starts
//! again.

mod journal;
mod told;

use std::collections::BTreeSet;
use std::io::Result;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::nested::{self, Nested};
use super::placeholder::Placeholder;
use super::places::{self, Places};
use super::record::{Extent, RecordedPath, Room};
use super::taken::CallDirectory;
use crate::folders::GUARDED;
use crate::git::{self, Repository};
use crate::held::Place;
use crate::protected::{self, Missing};
use journal::Journal;
use told::GuardReport;

pub use journal::recover;

const TAKEN: &str = "taken";

/// Commands that run in one workspace at the same time share what was there before the first of them:
/// what one of them has done already must not be taken for what was there before another.
static RUNNING: Mutex<Vec<Weak<RootRecord>>> = Mutex::new(Vec::new());

/// What keeps protected paths as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Mounts keep a command from what they can hold: what changes there is not its doing.
    Mounts,
    /// Everything is put back.
    PuttingBack,
}

/// What is held of all places that one command may write.
#[derive(Debug)]
pub struct Guard {
    records: Vec<Arc<RootRecord>>,
    before: Vec<Below>,
    /// The sandbox's own files.
    own: PathBuf,
    hidden: Vec<PathBuf>,
}

#[derive(Debug)]
struct RootRecord {
    root: PathBuf,
    items: Mutex<Vec<RecordedPath>>,
    journal: Journal,
    /// Something could not be put back: the journal stays.
    failed: AtomicBool,
}

/// What lies deeper in a root.
#[derive(Debug)]
struct Below {
    root: PathBuf,
    nested: Nested,
    /// Repositories that git enters from the one at the root.
    links: BTreeSet<PathBuf>,
}

impl Below {
    fn look(root: &Path, hidden: &[PathBuf]) -> Below {
        let links = Repository::at(root).and_then(|repository| repository.gitlinks());
        // An index can be made up.
        let plain = |link: &String| {
            let mut parts = Path::new(link).components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let links = links.unwrap_or_default().into_iter().filter(plain);
        let mut below = Below {
            root: root.to_owned(),
            nested: nested::look(root, hidden),
            links: links.map(|link| root.join(link)).collect(),
        };
        // Wherever they lie.
        let entered = below.links.iter();
        let entered = entered.filter(|link| places::is_there(&link.join(".git")));
        below.nested.repositories.extend(entered.cloned());
        below
    }
}

impl Guard {
    /// Records all that is protected. `own` is where the sandbox's own files lie.
    pub fn hold(places: &Places, own: &Path, by: By) -> Result<Guard> {
        let look = |root: &PathBuf| Below::look(root, &places.hidden);
        let before: Vec<Below> = places.writable.iter().map(look).collect();
        let mut running = running();
        let mut records = Vec::new();
        for below in &before {
            let mut others = running.iter().filter_map(Weak::upgrade);
            let record = match others.find(|other| other.root == below.root) {
                Some(shared) => shared,
                None => {
                    let made = Arc::new(RootRecord::make(below, places, own, by, &running)?);
                    running.push(Arc::downgrade(&made));
                    made
                }
            };
            records.push(record);
        }
        Ok(Guard {
            records,
            before,
            own: own.to_owned(),
            hidden: places.hidden.clone(),
        })
    }

    /// What is protected deeper in the places.
    pub fn nested(&self) -> impl Iterator<Item = PathBuf> {
        self.before.iter().flat_map(|below| {
            let repositories = below.nested.repositories.iter();
            let of_git = repositories.flat_map(|top| git_items(top, Extent::Deeper));
            let of_git = of_git.filter(|(_, extent)| *extent == Extent::Deeper);
            let protected = below.nested.protected.iter().cloned();
            protected.chain(of_git.map(|(path, _)| path))
        })
    }

    /// Puts back what changed, and tells people and models of it.
    pub fn finish(&self) -> Vec<String> {
        let mut told = GuardReport::default();
        let mut taken = CallDirectory::below(&self.own.join(TAKEN));
        for record in &self.records {
            record.put_back(&mut taken, &mut told);
        }
        for before in &self.before {
            let after = Below::look(&before.root, &self.hidden);
            appeared(before, &after, &mut taken, &mut told);
        }
        told.into_notes(taken.directory())
    }
}

/// Looks at what is new deeper in a root. It may be what was wanted, so it stays and is told; but a
/// repository that makes git run something is none any more.
fn appeared(before: &Below, after: &Below, taken: &mut CallDirectory, told: &mut GuardReport) {
    let root = &before.root;
    for link in after.links.difference(&before.links) {
        told.appeared(
            root,
            link,
            "is now a repository of its own in the index: git enters it",
        );
    }
    let repositories = &after.nested.repositories;
    for top in repositories.difference(&before.nested.repositories) {
        // Where not all could be looked through, what is found now may have been there before.
        let is_new = before.nested.is_all || after.links.contains(top);
        if !is_new {
            continue;
        }
        let Some(why) = git::endangers(top) else {
            told.appeared(root, top, "is a new git repository");
            continue;
        };
        let entry = top.join(".git");
        match Place::find(&entry).and_then(|place| taken.take(&entry, &place)) {
            Ok(()) => told.taken(root, &entry, &why),
            Err(error) => told.failed(root, &entry, &error),
        }
    }
    if before.nested.is_all {
        let protected = &after.nested.protected;
        for path in protected.difference(&before.nested.protected) {
            told.appeared(root, path, "is new");
        }
    }
}

impl RootRecord {
    fn make(
        below: &Below,
        places: &Places,
        own: &Path,
        by: By,
        running: &[Weak<RootRecord>],
    ) -> Result<RootRecord> {
        let mut items = Vec::new();
        let mut room = Room::for_records();
        let of_others = Journal::of_others(own);
        for (path, extent) in wanted(below, &places.hidden, by) {
            let mut running = running.iter().filter_map(Weak::upgrade);
            let known = running
                .find_map(|other| other.item(&path, extent))
                .or_else(|| find(&of_others, &path, extent));
            // What cannot be recorded was asked for before; see `cannot_hold`.
            let item =
                known.map_or_else(|| RecordedPath::record(&path, extent, &mut room).ok(), Some);
            items.extend(item);
        }
        Ok(RootRecord {
            root: below.root.clone(),
            journal: Journal::write(own, &items)?,
            items: Mutex::new(items),
            failed: AtomicBool::new(false),
        })
    }

    fn items(&self) -> MutexGuard<'_, Vec<RecordedPath>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn item(&self, path: &Path, extent: Extent) -> Option<RecordedPath> {
        find(&self.items(), path, extent)
    }

    fn put_back(&self, taken: &mut CallDirectory, told: &mut GuardReport) {
        for item in self.items().iter() {
            match item.put_back(taken) {
                Ok(changes) => told.put_back(&self.root, changes),
                Err(error) => {
                    self.failed.store(true, Ordering::Relaxed);
                    told.failed(&self.root, &item.path, &error);
                }
            }
        }
    }
}

fn find(items: &[RecordedPath], path: &Path, extent: Extent) -> Option<RecordedPath> {
    // The same is recorded of both.
    let of = |extent| match extent {
        Extent::Deeper => Extent::Whole,
        Extent::Whole | Extent::GitSettings | Extent::Way | Extent::Repository | Extent::Held => {
            extent
        }
    };
    let mut items = items.iter();
    let found = items.find(|item| item.path == path && of(item.extent) == of(extent));
    let mut item = found?.clone();
    item.extent = extent;
    Some(item)
}

impl Drop for RootRecord {
    fn drop(&mut self) {
        if !self.failed.load(Ordering::Relaxed) {
            self.journal.remove();
        }
    }
}

fn running() -> MutexGuard<'static, Vec<Weak<RootRecord>>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.retain(|record| record.strong_count() > 0);
    running
}

/// A tool of the agent changed a file itself, as it was allowed to: that stays.
pub fn accept(path: &Path) {
    let running: Vec<Arc<RootRecord>> = running().iter().filter_map(Weak::upgrade).collect();
    for record in running {
        let mut items = record.items();
        let mut touched = false;
        for item in items.iter_mut().filter(|item| path.starts_with(&item.path)) {
            item.accept();
            touched = true;
        }
        if touched && let Err(error) = record.journal.rewrite(&items) {
            tracing::warn!(%error, "the journal of protected paths could not be written");
        }
    }
}

/// What of the places cannot be recorded, so not be put back; for people.
pub fn cannot_hold(places: &Places) -> Option<String> {
    places.writable.iter().find_map(|root| {
        let below = Below::look(root, &places.hidden);
        let mut room = Room::for_records();
        wanted(&below, &places.hidden, By::PuttingBack)
            .into_iter()
            .find_map(|(path, extent)| {
                let error = RecordedPath::record(&path, extent, &mut room).err()?;
                Some(format!("{}: {error}", path.display()))
            })
    })
}

/// Where the repository at `top` takes settings and hooks from, to that extent.
fn git_items(top: &Path, extent: Extent) -> Vec<(PathBuf, Extent)> {
    let git = top.join(".git");
    match git.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {
            let settings = ["hooks", "config", "config.worktree", "commondir"];
            let others = ["worktrees", "modules"];
            let settings = settings.map(|name| (git.join(name), extent));
            let others = others.map(|name| (git.join(name), Extent::GitSettings));
            settings.into_iter().chain(others).collect()
        }
        Ok(_) => vec![(git, extent)],
        Err(_) => vec![(git, Extent::Repository)],
    }
}

/// All protected paths of a root, those first that others lie in.
fn wanted(below: &Below, hidden: &[PathBuf], by: By) -> Vec<(PathBuf, Extent)> {
    let root = &below.root;
    let mut whole: Vec<PathBuf> = GUARDED.iter().map(|name| root.join(name)).collect();
    whole.extend(
        protected::entries()
            .iter()
            .map(|entry| root.join(entry.path)),
    );
    let named = git::named_places(root).into_iter();
    whole.extend(named.filter(|place| place.starts_with(root) && place != root));
    let mut items = git_items(root, Extent::Whole);
    let repositories = below.nested.repositories.iter();
    items.extend(repositories.flat_map(|top| git_items(top, Extent::Deeper)));
    let deeper = below.nested.protected.iter().cloned();
    items.extend(deeper.map(|path| (path, Extent::Deeper)));
    items.extend(whole.into_iter().map(|path| (path, Extent::Whole)));
    let mut ways: Vec<PathBuf> = items
        .iter()
        .flat_map(|(path, _)| path.ancestors().skip(1))
        .filter(|way| way.starts_with(root))
        .map(Path::to_owned)
        .collect();
    ways.sort();
    ways.dedup();
    let ways = ways.into_iter().map(|way| (way, Extent::Way));
    let items = items.into_iter().filter_map(|(path, extent)| match by {
        By::PuttingBack => Some((path, extent)),
        By::Mounts => Some((path.clone(), beside_mounts(root, &path, extent)?)),
    });
    let mut all: Vec<(PathBuf, Extent)> = ways.chain(items).collect();
    // The workspace may itself lie in a hidden place, which does not hide what is in it.
    let within = hidden
        .iter()
        .filter(|hidden| hidden.starts_with(&below.root));
    let within: Vec<&PathBuf> = within.collect();
    all.retain(|(path, _)| !within.iter().any(|hidden| path.starts_with(hidden)));
    all
}

/// To which extent a path must be put back although mounts hold what they can; `None`: not at all.
fn beside_mounts(root: &Path, path: &Path, extent: Extent) -> Option<Extent> {
    let is_held = path.starts_with(root.join(".git"))
        || GUARDED.iter().any(|name| path == root.join(name))
        || protected::entries()
            .iter()
            .any(|entry| entry.missing == Missing::Hold && path == root.join(entry.path));
    match (extent, path.symlink_metadata()) {
        // A mount deeper in the workspace goes with the directory that it is in.
        (Extent::Deeper | Extent::Way | Extent::Held, _) => Some(extent),
        // What a link leads to is mounted, not the link.
        (_, Ok(meta)) if meta.is_symlink() => Some(extent),
        (_, Ok(_)) if Placeholder::is_one(path) && is_held => Some(Extent::Held),
        (_, Ok(_)) if !Placeholder::is_one(path) => None,
        (_, Err(_)) if is_held => Some(Extent::Held),
        (_, Ok(_) | Err(_)) => Some(extent),
    }
}

#[cfg(test)]
mod tests;
