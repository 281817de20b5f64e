//! Conversations that another program kept, taken in as threads.

mod facts;

use std::path::PathBuf;

use bytes::Bytes;
use serde_json::Value;
use store::{Batch, SharedStore, StoredEvent};
use vocabulary::{
    Approvals, DEFAULT_WORKSPACE, Event, ModelRef, PlanStep, Refusal, Seq, Status, TenantId,
    Thread, ThreadCard, ThreadId, ThreadSettings, Timestamp, Title, Why, WorkspaceId,
};

use crate::limits::{CLIENT_ID_CHARS_MAX, HIGH_WATER_AHEAD, STEPS_DEFAULT};
use crate::session::state::ThreadState;
use crate::session::storage;
use crate::{Clock, codec};

/// What another program kept of one conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignThread {
    /// As that program calls it: a UUID stays its id here.
    pub id: String,
    pub title: Title,
    pub directory: PathBuf,
    pub model: ModelRef,
    pub mcp: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub messages: Vec<ForeignMessage>,
    pub plan: Vec<PlanStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ForeignMessage {
    User(String),
    Assistant(Vec<ForeignBlock>),
    Results(Vec<ForeignResult>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ForeignBlock {
    Text(String),
    Reasoning(String),
    Call {
        call_id: String,
        name: String,
        input: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignResult {
    pub call_id: String,
    pub output: String,
    pub is_error: bool,
}

/// What became of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    Taken(ThreadId),
    /// It is here already, or was and is deleted.
    Known,
}

/// Under which name it is remembered that a conversation was taken in.
fn mark(id: &str) -> String {
    format!("imported/{id}")
}

/// Whether a conversation of this id was taken in before.
pub async fn is_imported(
    store: &SharedStore,
    tenant: &TenantId,
    id: &str,
) -> Result<bool, Refusal> {
    if store
        .setting(tenant, &mark(id))
        .await
        .map_err(storage)?
        .is_some()
    {
        return Ok(true);
    }
    Ok(match ThreadId::parse(id) {
        Some(id) => {
            store.thread(id).await.map_err(storage)?.is_some()
                || store.is_deleted(id).await.map_err(storage)?
        }
        None => {
            let known = store.thread_by_client_id(tenant, id).await;
            known.map_err(storage)?.is_some()
        }
    })
}

/// Takes a conversation in, once: whatever becomes of the thread, it is not taken in again.
pub async fn import(
    store: &SharedStore,
    tenant: &TenantId,
    clock: &dyn Clock,
    foreign: &ForeignThread,
) -> Result<ImportOutcome, Refusal> {
    if foreign.id.is_empty() || foreign.id.chars().count() > CLIENT_ID_CHARS_MAX {
        let message = format!("an id has 1 to {CLIENT_ID_CHARS_MAX} characters");
        return Err(Refusal::invalid("id", message));
    }
    if is_imported(store, tenant, &foreign.id).await? {
        return Ok(ImportOutcome::Known);
    }
    let id = ThreadId::parse(&foreign.id).unwrap_or_else(|| ThreadId(clock.new_id()));
    let batch = batch(tenant, clock, id, foreign)?;
    let lease = store.acquire(id).await.map_err(storage)?;
    let appended = store.append(lease, Seq::ZERO, batch).await;
    // Somebody may want it at once.
    store.release(lease).await.map_err(storage)?;
    appended.map_err(storage)?;
    let at = foreign.updated_at.millis().to_string();
    let marked = store.set_setting(tenant, &mark(&foreign.id), &at).await;
    marked.map_err(storage)?;
    Ok(ImportOutcome::Taken(id))
}

/// The whole log of the thread, with its rows.
fn batch(
    tenant: &TenantId,
    clock: &dyn Clock,
    id: ThreadId,
    foreign: &ForeignThread,
) -> Result<Batch, Refusal> {
    let thread = thread(tenant, id, foreign);
    let mut state = ThreadState::new(thread.clone());
    let mut batch = Batch::default();
    let mut seq = Seq::ZERO;
    for (at, fact) in facts::of(thread, clock, foreign) {
        seq = seq.next();
        let (by, at) = (None, at);
        let event = Event { seq, at, by, fact };
        let rows = state.apply(&event);
        batch.entries.extend(rows.entry);
        batch.turns.extend(rows.turn);
        let payload = codec::encode(&event)?;
        batch.events.push(StoredEvent { seq, at, payload });
    }
    state.thread.updated_at = foreign.updated_at;
    let row = serde_json::to_vec(&state).map_err(|error| {
        Refusal::new(Why::Internal, format!("state cannot be written: {error}"))
    })?;
    batch.state = Bytes::from(row);
    batch.thread = Some(state.thread);
    batch.high_water = Seq(seq.0 + HIGH_WATER_AHEAD);
    Ok(batch)
}

fn thread(tenant: &TenantId, id: ThreadId, foreign: &ForeignThread) -> Thread {
    let is_named = ThreadId::parse(&foreign.id).is_none();
    Thread {
        card: ThreadCard {
            id,
            tenant: tenant.clone(),
            workspace: WorkspaceId::new(DEFAULT_WORKSPACE),
            directory: foreign.directory.clone(),
            client_id: is_named.then(|| foreign.id.clone()),
            created_at: foreign.created_at,
            folders: None,
            forked_from: None,
            ephemeral: false,
        },
        title: Title {
            text: tools::shown::title(&foreign.title.text),
            ..foreign.title.clone()
        },
        settings: ThreadSettings {
            model: foreign.model.clone(),
            auto_approve: false,
            approvals: Approvals::Ask,
            network: false,
            sandbox: Default::default(),
            mode: Default::default(),
            agent: None,
            max_steps: STEPS_DEFAULT,
            sub_agent_model: String::new(),
            observability: true,
            mcp: foreign.mcp,
            effort: None,
            verbosity: None,
            summary: None,
            budgets: Default::default(),
            instructions: None,
            git: None,
            assignment: None,
        },
        status: Status::Inactive,
        archived: false,
        updated_at: foreign.updated_at,
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: Default::default(),
        section: None,
    }
}
