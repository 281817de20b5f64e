//! Records: small things a tenant's library keeps beside its threads, by kind and id.
//!
//! A store does not look into them. They are read a kind at a time, together with the library's
//! revision, and written in batches that name the revision they were made from.

use bytes::Bytes;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    Workspace,
    Folder,
    /// Where a thread sits in the tree.
    Placement,
    /// A section of the list of threads, with who is in it.
    Section,
    /// What a person allowed for longer than once.
    Grant,
    /// Who has threads, members and tokens of its own; all of them under one tenant id.
    Tenant,
    Member,
    /// An API token; the hash of its secret.
    Token,
}

impl RecordKind {
    const ALL: [Self; 8] = [
        Self::Workspace,
        Self::Folder,
        Self::Placement,
        Self::Section,
        Self::Grant,
        Self::Tenant,
        Self::Member,
        Self::Token,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Under which name a store keeps it; never to be changed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RecordKind::Workspace => "workspace",
            RecordKind::Folder => "folder",
            RecordKind::Placement => "placement",
            RecordKind::Section => "section",
            RecordKind::Grant => "grant",
            RecordKind::Tenant => "tenant",
            RecordKind::Member => "member",
            RecordKind::Token => "token",
        }
    }
}

/// All records of one kind, in order of their ids, and the revision they were read at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Of the whole library; 0 before its first batch.
    pub revision: u64,
    pub records: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub id: String,
    pub value: Bytes,
}

/// Changes that are written together, from the revision of the library that they were made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordBatch {
    pub expected: u64,
    pub changes: Vec<RecordChange>,
}

/// One line of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordChange {
    pub kind: RecordKind,
    pub id: String,
    /// `None`: it is removed.
    pub value: Option<Bytes>,
}
