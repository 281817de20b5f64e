//! Grants: what a person allowed for longer than once. Their only home is the store, where every
//! process on it sees the same; nothing here remembers them, so what is revoked is gone at once.

use std::path::Path;

use store::{Record, RecordChange, RecordKind, SharedStore, StoreError};
use vocabulary::{
    Answer, Approval, Caller, Grant, GrantScope, Person, Refusal, TenantId, ThreadCard, ThreadId,
    Timestamp, TurnId, Why,
};

use crate::limits::{GRANT_WORDS_MAX, GRANTS_ALL_MAX, GRANTS_MAX, LIBRARY_TRIES_MAX};
use crate::session::storage;
use crate::turn::Turn;

mod older;

const ID_CHARS: usize = 32;

/// All grants of a store.
#[derive(Clone)]
pub struct Grants {
    store: SharedStore,
}

/// Whether a person allowed calls with this key before, in the turn, its thread or its workspace.
/// Asked of the store each time; a store that does not answer allows nothing.
pub async fn covers(turn: &Turn, key: &str) -> bool {
    let grants = &turn.shared.grants;
    let covered = grants.cover(&turn.card, &turn.id, key).await;
    covered.unwrap_or_else(|error| {
        tracing::warn!(%error, "grants could not be read");
        false
    })
}

/// What this answer to an approval allows for longer than once.
pub fn given(
    card: &ThreadCard,
    turn: &TurnId,
    approval: &Approval,
    answer: &Answer,
    by: &Caller,
    at: Timestamp,
) -> Option<Grant> {
    let Answer::Approval(answer) = answer else {
        return None;
    };
    let longest = match (answer.grants(), approval.remembered) {
        (None | Some(GrantScope::Turn), Some(least)) if answer.is_yes() => Some(least),
        (given, _) => given,
    };
    let (scope, key) = longest.zip(approval.key.clone())?;
    let by = Some(Person::from(by));
    Some(named(Grant {
        id: String::new(),
        what: words(&approval.command),
        key,
        scope,
        thread: Some(card.id),
        turn: (scope == GrantScope::Turn).then(|| turn.clone()),
        directory: card.directory.clone(),
        by,
        at,
    }))
}

impl Grants {
    pub fn new(store: SharedStore) -> Self {
        Self { store }
    }

    async fn cover(&self, card: &ThreadCard, turn: &TurnId, key: &str) -> Result<bool, Refusal> {
        self.take_over(&card.tenant).await?;
        let scopes = [GrantScope::Turn, GrantScope::Session, GrantScope::Workspace];
        let id = |scope| id_of(scope, Some(card.id), Some(turn), &card.directory, key);
        let ids = scopes.map(id);
        let found = self
            .store
            .records_named(&card.tenant, RecordKind::Grant, &ids);
        let found = found.await.map_err(storage)?;
        // The name is only where it lies: what it says itself counts.
        let fits = |grant: Grant| grant.key == key && holds_in(&grant, card, turn);
        Ok(found.iter().filter_map(read).any(fits))
    }

    /// Keeps a grant; on disk when it returns. Where there are too many, the oldest go.
    pub(crate) async fn add(&self, tenant: &TenantId, grant: &Grant) -> Result<(), Refusal> {
        let added = put(grant)?;
        self.change(tenant, |known| {
            let others = |other: &&Grant| other.id != grant.id;
            let alike = |other: &&Grant| other.scope == grant.scope && same_place(other, grant);
            let others: Vec<&Grant> = known.iter().filter(others).collect();
            let here: Vec<&Grant> = others.iter().copied().filter(alike).collect();
            let mut changes = removals(here.len().saturating_sub(GRANTS_MAX - 1), &here);
            let too_many = others.len().saturating_sub(GRANTS_ALL_MAX - 1);
            changes.extend(removals(too_many, &others));
            changes.push(added.clone());
            changes
        })
        .await
    }

    /// All grants of a tenant, the oldest first.
    pub async fn all(&self, tenant: &TenantId) -> Result<Vec<Grant>, Refusal> {
        self.take_over(tenant).await?;
        Ok(self.read(tenant).await?.1)
    }

    /// Those that hold in a thread, or did in one of its turns.
    pub(crate) async fn of_thread(&self, card: &ThreadCard) -> Result<Vec<Grant>, Refusal> {
        let mut grants = self.all(&card.tenant).await?;
        grants.retain(|grant| belongs(grant, card));
        Ok(grants)
    }

    /// Those that hold in all turns of a thread, as they are kept.
    pub(crate) async fn standing(&self, card: &ThreadCard) -> Result<Vec<Grant>, Refusal> {
        let (_, mut grants) = self.read(&card.tenant).await?;
        grants.retain(|grant| grant.scope != GrantScope::Turn && belongs(grant, card));
        Ok(grants)
    }

    /// Takes grants back by their names. From when it returns nothing is covered by them, anywhere.
    pub async fn revoke(&self, tenant: &TenantId, ids: &[String]) -> Result<(), Refusal> {
        self.remove(tenant, |grant| ids.contains(&grant.id)).await
    }

    /// Takes back what was allowed in these words, in this scope of a thread.
    pub(crate) async fn revoke_words(
        &self,
        card: &ThreadCard,
        what: &str,
        scope: GrantScope,
    ) -> Result<(), Refusal> {
        self.take_over(&card.tenant).await?;
        let what = words(what);
        let meant = |grant: &Grant| grant.scope == scope && grant.what == what;
        self.remove(&card.tenant, |grant| meant(grant) && belongs(grant, card))
            .await
    }

    /// Lets go of what was allowed for a turn that is over.
    pub(crate) async fn turn_ended(&self, card: &ThreadCard, turn: &TurnId) {
        let over = |grant: &Grant| {
            grant.scope == GrantScope::Turn
                && grant.thread == Some(card.id)
                && grant.turn.as_ref() == Some(turn)
        };
        if let Err(error) = self.remove(&card.tenant, over).await {
            tracing::warn!(%error, "grants of a turn that is over are still listed");
        }
    }

    /// Lets go of what was allowed in a thread that is gone.
    pub(crate) async fn thread_deleted(&self, tenant: &TenantId, thread: ThreadId) {
        let gone =
            |grant: &Grant| grant.scope != GrantScope::Workspace && grant.thread == Some(thread);
        if let Err(error) = self.remove(tenant, gone).await {
            tracing::warn!(%error, "grants of a thread that is gone are still listed");
        }
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        which: impl Fn(&Grant) -> bool,
    ) -> Result<(), Refusal> {
        self.change(tenant, |known| {
            let meant: Vec<&Grant> = known.iter().filter(|grant| which(grant)).collect();
            removals(meant.len(), &meant)
        })
        .await
    }

    /// Changes what is kept; `plan` is asked again, with a fresh picture, when others were quicker.
    async fn change(
        &self,
        tenant: &TenantId,
        plan: impl Fn(&[Grant]) -> Vec<RecordChange>,
    ) -> Result<(), Refusal> {
        for _ in 0..LIBRARY_TRIES_MAX {
            let (revision, known) = self.read(tenant).await?;
            let changes = plan(&known);
            if changes.is_empty() {
                return Ok(());
            }
            match self.store.write_records(tenant, revision, changes).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Outdated { .. }) => {}
                Err(error) => return Err(storage(error)),
            }
        }
        let message = "others change the library all the time; try again";
        Err(Refusal::new(Why::Storage, message))
    }

    /// The grants, the oldest first, and the revision they were read at.
    async fn read(&self, tenant: &TenantId) -> Result<(u64, Vec<Grant>), Refusal> {
        let read = self.store.records(tenant, RecordKind::Grant).await;
        let read = read.map_err(storage)?;
        let mut grants: Vec<Grant> = read.records.iter().filter_map(self::read).collect();
        grants.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Ok((read.revision, grants))
    }
}

/// A grant as it is kept. One that cannot be read allows nothing.
fn read(record: &Record) -> Option<Grant> {
    let grant: Grant = serde_json::from_slice(&record.value).ok()?;
    (grant.id == record.id && !grant.key.is_empty()).then_some(grant)
}

fn put(grant: &Grant) -> Result<RecordChange, Refusal> {
    let value = serde_json::to_vec(grant).map_err(|error| {
        Refusal::new(Why::Internal, format!("a grant cannot be written: {error}"))
    })?;
    Ok(RecordChange {
        kind: RecordKind::Grant,
        id: grant.id.clone(),
        value: Some(value.into()),
    })
}

/// Removes the first so many.
fn removals(count: usize, grants: &[&Grant]) -> Vec<RecordChange> {
    let remove = |grant: &&Grant| RecordChange {
        kind: RecordKind::Grant,
        id: grant.id.clone(),
        value: None,
    };
    grants.iter().take(count).map(remove).collect()
}

/// Whether it is listed with a thread.
fn belongs(grant: &Grant, card: &ThreadCard) -> bool {
    match grant.scope {
        GrantScope::Turn | GrantScope::Session => grant.thread == Some(card.id),
        GrantScope::Workspace => grant.directory == card.directory,
    }
}

fn holds_in(grant: &Grant, card: &ThreadCard, turn: &TurnId) -> bool {
    let in_turn = grant.scope != GrantScope::Turn || grant.turn.as_ref() == Some(turn);
    belongs(grant, card) && in_turn
}

/// Whether two of one scope hold in the same turn, thread or workspace.
fn same_place(one: &Grant, other: &Grant) -> bool {
    match one.scope {
        GrantScope::Turn | GrantScope::Session => one.thread == other.thread,
        GrantScope::Workspace => one.directory == other.directory,
    }
}

/// The name of a grant: made of what it covers and where it holds, so that the same one is kept once
/// and found without a search.
fn id_of(
    scope: GrantScope,
    thread: Option<ThreadId>,
    turn: Option<&TurnId>,
    directory: &Path,
    key: &str,
) -> String {
    let thread = thread.map(|thread| thread.to_string()).unwrap_or_default();
    let turn = turn.map_or("", TurnId::as_str);
    let place = match scope {
        GrantScope::Turn => ["turn", &thread, turn],
        GrantScope::Session => ["thread", &thread, ""],
        GrantScope::Workspace => ["workspace", &directory.to_string_lossy(), ""],
    };
    let mut hasher = blake3::Hasher::new();
    for part in place.into_iter().chain([key]) {
        // With its length before it, so that no two read the same.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..ID_CHARS].to_owned()
}

fn named(mut grant: Grant) -> Grant {
    let (thread, turn) = (grant.thread, grant.turn.as_ref());
    grant.id = id_of(grant.scope, thread, turn, &grant.directory, &grant.key);
    grant
}

/// A long text is cut: the key says exactly what is covered.
fn words(what: &str) -> String {
    match what.char_indices().nth(GRANT_WORDS_MAX) {
        Some((end, _)) => format!("{}…", &what[..end]),
        None => what.to_owned(),
    }
}
