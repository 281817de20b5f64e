//! Sections: named parts of a tenant's list of threads, in an order of their own.
//!
//! A section's record has the threads in it, in their order, so that every change is one batch of records and
//! a thread's own log says nothing of where a list has it. Folders are another noun: they lie in one
//! workspace and in each other, and have no order.

mod listing;
mod showing;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::{RecordChange, RecordKind};
use vocabulary::{
    Caller, FieldChange, LibraryReply, PINNED_SECTION, Refusal, Reply, Section, SectionAppearance,
    SectionCall, SectionId, SectionPlace, TenantId, ThreadId, Timestamp,
};

pub use listing::list;
pub use showing::SectionedThreads;

use super::owned;
use super::records::{self, Library, RecordPlan};
use crate::Shared;
use crate::limits::{
    APPEARANCE_CHARS_MAX, NAME_CHARS_MAX, SECTION_THREADS_MAX, SECTIONED_THREADS_MAX, SECTIONS_MAX,
};

const KINDS: &[RecordKind] = &[RecordKind::Section];
const PINNED_NAME: &str = "Pinned";

/// A section as its record has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptSection {
    pub section: Section,
    /// In their order. One that was deleted while a process died may still be among them.
    #[serde(default)]
    pub threads: Vec<SectionedThread>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionedThread {
    pub thread: ThreadId,
    pub entered_at: Timestamp,
}

impl KeptSection {
    /// What it has its place in lists by.
    pub fn age(&self) -> (Timestamp, &SectionId) {
        (self.section.created_at, &self.section.id)
    }

    fn pinned() -> Self {
        Self {
            section: Section {
                id: SectionId::new(PINNED_SECTION),
                name: PINNED_NAME.to_owned(),
                appearance: None,
                // Before all others.
                created_at: Timestamp(0),
            },
            threads: Vec::new(),
        }
    }

    fn is_pinned(&self) -> bool {
        self.section.id.as_str() == PINNED_SECTION
    }

    pub fn place(&self, thread: ThreadId) -> Option<usize> {
        self.threads.iter().position(|each| each.thread == thread)
    }

    pub fn put(&self) -> Result<RecordChange, Refusal> {
        records::put(RecordKind::Section, &record_id(&self.section.id), self)
    }
}

/// Not the bare id, which could be taken for a thread's by a version that does not know this kind.
fn record_id(section: &SectionId) -> String {
    format!("section-{section}")
}

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    call: SectionCall,
) -> Result<Reply, Refusal> {
    match call {
        SectionCall::List => {
            let sections = read(shared, &caller.tenant).await?.into_iter();
            let sections = sections.map(|kept| kept.section).collect();
            Ok(LibraryReply::Sections(sections).into())
        }
        SectionCall::Create { name, appearance } => {
            create(shared, caller, checked_name(&name)?, checked(appearance)?).await
        }
        SectionCall::Update {
            section,
            name,
            appearance,
        } => {
            let appearance = match appearance {
                FieldChange::Stays => FieldChange::Stays,
                FieldChange::Set(given) => FieldChange::Set(checked(given)?),
            };
            update(shared, caller, &section, checked_name(&name)?, appearance).await
        }
        SectionCall::Delete { section } => delete(shared, caller, &section).await,
        SectionCall::Move { thread, to } => {
            let card = owned(shared, caller, thread).await?;
            if card.ephemeral {
                let message = "an ephemeral thread is in no list, and so in no section";
                return Err(Refusal::invalid("thread", message));
            }
            move_thread(shared, caller, thread, to).await
        }
    }
}

/// All of them, the pinned one first.
async fn read(shared: &Shared, tenant: &TenantId) -> Result<Vec<KeptSection>, Refusal> {
    let library = records::read(shared, tenant, KINDS).await?;
    Ok(with_pinned(library.sections))
}

fn with_pinned(mut sections: Vec<KeptSection>) -> Vec<KeptSection> {
    if !sections.iter().any(KeptSection::is_pinned) {
        sections.insert(0, KeptSection::pinned());
    }
    sections
}

fn checked_name(name: &str) -> Result<String, Refusal> {
    let name = name.trim();
    match name.chars().count() {
        1..=NAME_CHARS_MAX => Ok(name.to_owned()),
        _ => {
            let message = format!("a section's name has 1 to {NAME_CHARS_MAX} characters");
            Err(Refusal::invalid("name", message))
        }
    }
}

fn checked(appearance: Option<SectionAppearance>) -> Result<Option<SectionAppearance>, Refusal> {
    let words = appearance.iter();
    let mut words = words.flat_map(|it| it.color.iter().chain(&it.icon));
    if words.any(|word| word.chars().count() > APPEARANCE_CHARS_MAX) {
        let message = format!("color and icon have at most {APPEARANCE_CHARS_MAX} characters");
        return Err(Refusal::invalid("appearance", message));
    }
    Ok(appearance)
}

async fn create(
    shared: &Shared,
    caller: &Caller,
    name: String,
    appearance: Option<SectionAppearance>,
) -> Result<Reply, Refusal> {
    let section = Section {
        id: SectionId::new(shared.new_id().to_string()),
        name,
        appearance,
        created_at: shared.now(),
    };
    change(shared, caller, |library| {
        if library.sections.len() >= SECTIONS_MAX {
            let message = format!("there are {SECTIONS_MAX} sections already");
            return Err(Refusal::invalid("name", message));
        }
        let kept = KeptSection {
            section: section.clone(),
            threads: Vec::new(),
        };
        Ok(RecordPlan {
            changes: vec![kept.put()?],
            outcome: LibraryReply::Section(kept.section).into(),
        })
    })
    .await
}

async fn update(
    shared: &Shared,
    caller: &Caller,
    section: &SectionId,
    name: String,
    appearance: FieldChange<SectionAppearance>,
) -> Result<Reply, Refusal> {
    change(shared, caller, |library| {
        let mut kept = own(library, section, "renamed")?.clone();
        kept.section.name.clone_from(&name);
        appearance.apply(&mut kept.section.appearance);
        Ok(RecordPlan {
            changes: vec![kept.put()?],
            outcome: LibraryReply::Section(kept.section).into(),
        })
    })
    .await
}

async fn delete(shared: &Shared, caller: &Caller, section: &SectionId) -> Result<Reply, Refusal> {
    change(shared, caller, |library| {
        own(library, section, "deleted")?;
        let gone = RecordChange {
            kind: RecordKind::Section,
            id: record_id(section),
            value: None,
        };
        Ok(RecordPlan {
            changes: vec![gone],
            outcome: LibraryReply::Deleted(true).into(),
        })
    })
    .await
}

/// One that a person made; the built-in one stays as it is.
fn own<'a>(
    library: &'a Library,
    section: &SectionId,
    what: &str,
) -> Result<&'a KeptSection, Refusal> {
    if section.as_str() == PINNED_SECTION {
        let message = format!("the built-in pinned section cannot be {what}");
        return Err(Refusal::invalid("section", message));
    }
    let mut sections = library.sections.iter();
    let found = sections.find(|kept| kept.section.id == *section);
    found.ok_or_else(|| unknown(section))
}

fn unknown(section: &SectionId) -> Refusal {
    let section: String = section.as_str().chars().take(NAME_CHARS_MAX).collect();
    Refusal::invalid("section", format!("there is no section {section}"))
}

async fn move_thread(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    to: Option<SectionPlace>,
) -> Result<Reply, Refusal> {
    for is_last in [false, true] {
        if move_once(shared, caller, thread, to.as_ref()).await? {
            return Ok(LibraryReply::Moved.into());
        }
        if let Some(to) = to.as_ref().filter(|_| !is_last) {
            // It may be full of threads that are gone.
            forget_gone(shared, caller, &to.section).await?;
        }
    }
    let message = format!(
        "there are {SECTION_THREADS_MAX} threads in this section already, or \
         {SECTIONED_THREADS_MAX} in all of them"
    );
    Err(Refusal::invalid("section", message))
}

/// `false`: there is no room.
async fn move_once(
    shared: &Shared,
    caller: &Caller,
    thread: ThreadId,
    to: Option<&SectionPlace>,
) -> Result<bool, Refusal> {
    let at = shared.now();
    change(shared, caller, |library| {
        let before = with_pinned(library.sections.clone());
        let mut after = before.clone();
        let left = take_out(&mut after, thread);
        if let Some(to) = to {
            // Who only moves within a section has been there since it came.
            let left = left.filter(|(section, _)| *section == to.section);
            let entered_at = left.map_or(at, |(_, entered_at)| entered_at);
            if !insert(&mut after, to, SectionedThread { thread, entered_at })? {
                return Ok(RecordPlan {
                    changes: Vec::new(),
                    outcome: false,
                });
            }
        }
        let changed = after.iter().zip(&before).filter(|(new, old)| new != old);
        let changes = changed.map(|(new, _)| new.put());
        Ok(RecordPlan {
            changes: changes.collect::<Result<_, _>>()?,
            outcome: true,
        })
    })
    .await
}

/// Out of whichever it is in; gives that, and since when it was there.
fn take_out(sections: &mut [KeptSection], thread: ThreadId) -> Option<(SectionId, Timestamp)> {
    sections.iter_mut().find_map(|kept| {
        let place = kept.place(thread)?;
        let left = kept.threads.remove(place);
        Some((kept.section.id.clone(), left.entered_at))
    })
}

/// `false`: there is no room.
fn insert(
    sections: &mut [KeptSection],
    to: &SectionPlace,
    thread: SectionedThread,
) -> Result<bool, Refusal> {
    let all: usize = sections.iter().map(|kept| kept.threads.len()).sum();
    let mut known = sections.iter_mut();
    let Some(kept) = known.find(|kept| kept.section.id == to.section) else {
        return Err(unknown(&to.section));
    };
    if kept.threads.len() >= SECTION_THREADS_MAX || all >= SECTIONED_THREADS_MAX {
        return Ok(false);
    }
    let place = match to.before {
        None => kept.threads.len(),
        Some(before) if before == thread.thread => {
            let message = "a thread cannot be moved before itself";
            return Err(Refusal::invalid("before", message));
        }
        Some(before) => kept.place(before).ok_or_else(|| {
            let message = format!("thread {before} is not in section {}", to.section);
            Refusal::invalid("before", message)
        })?,
    };
    kept.threads.insert(place, thread);
    Ok(true)
}

/// Takes threads out of a section that are not there any more.
async fn forget_gone(
    shared: &Arc<Shared>,
    caller: &Caller,
    section: &SectionId,
) -> Result<(), Refusal> {
    let sections = read(shared, &caller.tenant).await?;
    let mut sections = sections.into_iter();
    let Some(kept) = sections.find(|kept| kept.section.id == *section) else {
        return Ok(());
    };
    let mut gone = BTreeSet::new();
    for SectionedThread { thread, .. } in kept.threads {
        if !super::is_there(shared, thread).await? {
            gone.insert(thread);
        }
    }
    take_out_all(shared, &caller.tenant, &gone).await
}

/// A thread is gone: it is in no section any more.
pub async fn forget(shared: &Shared, tenant: &TenantId, thread: ThreadId) -> Result<(), Refusal> {
    take_out_all(shared, tenant, &[thread].into()).await
}

async fn take_out_all(
    shared: &Shared,
    tenant: &TenantId,
    gone: &BTreeSet<ThreadId>,
) -> Result<(), Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    records::change(shared, tenant, KINDS, |library| {
        let is_gone = |each: &SectionedThread| gone.contains(&each.thread);
        let mut changes = Vec::new();
        for kept in &library.sections {
            if kept.threads.iter().any(is_gone) {
                let mut kept = kept.clone();
                kept.threads.retain(|each| !is_gone(each));
                changes.push(kept.put()?);
            }
        }
        Ok(RecordPlan {
            changes,
            outcome: (),
        })
    })
    .await
}

async fn change<T>(
    shared: &Shared,
    caller: &Caller,
    plan: impl FnMut(&Library) -> Result<RecordPlan<T>, Refusal>,
) -> Result<T, Refusal> {
    let _one_at_a_time = shared.library.lock().await;
    records::change(shared, &caller.tenant, KINDS, plan).await
}
