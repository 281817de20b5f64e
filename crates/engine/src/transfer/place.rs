//! Where the library has a thread: its workspace, its folder, its section. None of it is in its log.

use serde::{Deserialize, Serialize};
use store::{RecordBatch, RecordChange, RecordKind, SharedStore};
use vocabulary::{
    DEFAULT_WORKSPACE, Folder, PINNED_SECTION, Placement, Section, Thread, ThreadCard, ThreadId,
    Timestamp, Workspace,
};

use super::TransferError;
use crate::library::records::{self, Library};
use crate::library::sections::{KeptSection, SectionedThread};
use crate::limits::{
    CLIENT_ID_CHARS_MAX, FOLDERS_MAX, NAME_CHARS_MAX, SECTION_THREADS_MAX, SECTIONED_THREADS_MAX,
    SECTIONS_MAX, WORKSPACES_MAX,
};

const KINDS: &[RecordKind] = &[
    RecordKind::Workspace,
    RecordKind::Folder,
    RecordKind::Placement,
    RecordKind::Section,
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryPlace {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// The folders it lies in, the outermost first; nothing where it was never put anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<Folder>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<PlaceInSection>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceInSection {
    pub section: Section,
    pub entered_at: Timestamp,
    /// Who stands behind it; nobody at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ThreadId>,
}

impl LibraryPlace {
    pub async fn read(store: &SharedStore, card: &ThreadCard) -> Result<Self, TransferError> {
        let library = records::read_from(store, &card.tenant, KINDS).await?;
        let mut workspaces = library.workspaces.iter();
        let workspace = workspaces.find(|each| each.id == card.workspace).cloned();
        let mut placed = library.placements.iter();
        let placed = placed.find(|each| each.thread == card.id);
        let folders = placed.map(|placed| chain(&library, placed.folder.as_deref()));
        let section = library.sections.iter().find_map(|kept| {
            let place = kept.place(card.id)?;
            Some(PlaceInSection {
                section: kept.section.clone(),
                entered_at: kept.threads[place].entered_at,
                before: kept.threads.get(place + 1).map(|next| next.thread),
            })
        });
        Ok(Self {
            workspace,
            folders,
            section,
        })
    }

    /// That a file says what can be so.
    pub fn check(&self, card: &ThreadCard) -> Result<(), String> {
        if let Some(workspace) = &self.workspace {
            if workspace.id != card.workspace {
                return Err("`place.workspace` is another one than the thread's".to_owned());
            }
            check_words(workspace.id.as_str(), &workspace.name)?;
        }
        let mut parent: Option<&str> = None;
        for folder in self.folders.iter().flatten() {
            if folder.workspace != card.workspace || folder.parent.as_deref() != parent {
                return Err("`place.folders` do not lie in each other".to_owned());
            }
            check_words(&folder.id, &folder.name)?;
            parent = Some(&folder.id);
        }
        match &self.section {
            Some(place) => check_words(place.section.id.as_str(), &place.section.name),
            None => Ok(()),
        }
    }

    /// What the library is to have for a thread that comes. What is there already stays as it is.
    pub async fn plan(
        &self,
        store: &SharedStore,
        thread: &Thread,
    ) -> Result<RecordBatch, TransferError> {
        let card = &thread.card;
        let library = records::read_from(store, &card.tenant, KINDS).await?;
        let mut changes = Vec::new();
        self.plan_workspace(&library, &mut changes)?;
        self.plan_folders(&library, card, &mut changes)?;
        self.plan_section(&library, card.id, &mut changes)?;
        Ok(RecordBatch {
            expected: library.revision(),
            changes,
        })
    }

    /// The workspace of who names none is made by the server, in a directory of its own.
    fn plan_workspace(
        &self,
        library: &Library,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), TransferError> {
        let Some(workspace) = &self.workspace else {
            return Ok(());
        };
        let is_known = library.workspaces.iter().any(|it| it.id == workspace.id);
        if is_known || workspace.id.as_str() == DEFAULT_WORKSPACE {
            return Ok(());
        }
        if library.workspaces.len() >= WORKSPACES_MAX {
            return Err(full("workspaces", WORKSPACES_MAX));
        }
        let mut workspace = workspace.clone();
        workspace.is_current = false;
        let id = workspace.id.as_str();
        changes.push(records::put(RecordKind::Workspace, id, &workspace)?);
        Ok(())
    }

    fn plan_folders(
        &self,
        library: &Library,
        card: &ThreadCard,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), TransferError> {
        let Some(folders) = &self.folders else {
            return Ok(());
        };
        for folder in folders {
            match library.folders.iter().find(|it| it.id == folder.id) {
                Some(known) if known.workspace == card.workspace => {}
                Some(_) => {
                    let message = format!("folder {} is there, in another workspace", folder.id);
                    return Err(TransferError::Refused(message));
                }
                None => changes.push(records::put(RecordKind::Folder, &folder.id, folder)?),
            }
        }
        if library.folders.len() + changes.len() > FOLDERS_MAX {
            return Err(full("folders", FOLDERS_MAX));
        }
        let placement = Placement {
            thread: card.id,
            workspace: card.workspace.clone(),
            folder: folders.last().map(|folder| folder.id.clone()),
        };
        let id = card.id.to_string();
        changes.push(records::put(RecordKind::Placement, &id, &placement)?);
        Ok(())
    }

    fn plan_section(
        &self,
        library: &Library,
        thread: ThreadId,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), TransferError> {
        let Some(place) = &self.section else {
            return Ok(());
        };
        let known = library.sections.iter();
        let known = known.clone().find(|it| it.section.id == place.section.id);
        let is_pinned = place.section.id.as_str() == PINNED_SECTION;
        if known.is_none() && !is_pinned && library.sections.len() >= SECTIONS_MAX {
            return Err(full("sections", SECTIONS_MAX));
        }
        let mut kept = known.cloned().unwrap_or_else(|| KeptSection {
            section: place.section.clone(),
            threads: Vec::new(),
        });
        let all: usize = library.sections.iter().map(|it| it.threads.len()).sum();
        if kept.threads.len() >= SECTION_THREADS_MAX || all >= SECTIONED_THREADS_MAX {
            // It is in no section then, as one that a person took out.
            return Ok(());
        }
        kept.threads.retain(|it| it.thread != thread);
        let before = place.before.and_then(|next| kept.place(next));
        let entered_at = place.entered_at;
        let entering = SectionedThread { thread, entered_at };
        kept.threads
            .insert(before.unwrap_or(kept.threads.len()), entering);
        changes.push(kept.put()?);
        Ok(())
    }
}

/// The folders that one lies in, itself included, the outermost first.
fn chain(library: &Library, folder: Option<&str>) -> Vec<Folder> {
    let named = |id: &str| library.folders.iter().find(|each| each.id == id);
    let up = std::iter::successors(folder.and_then(named), |inner| {
        inner.parent.as_deref().and_then(named)
    });
    // No deeper than there are folders, even if a circle had come about.
    let mut chain: Vec<Folder> = up.take(library.folders.len()).cloned().collect();
    chain.reverse();
    chain
}

fn check_words(id: &str, name: &str) -> Result<(), String> {
    let fits = |text: &str, most: usize| (1..=most).contains(&text.chars().count());
    match fits(id, CLIENT_ID_CHARS_MAX) && fits(name, NAME_CHARS_MAX) {
        true => Ok(()),
        false => Err(format!(
            "`place`: an id has 1 to {CLIENT_ID_CHARS_MAX} characters, a name 1 to {NAME_CHARS_MAX}"
        )),
    }
}

fn full(what: &str, most: usize) -> TransferError {
    TransferError::Refused(format!("there are {most} {what} already"))
}
