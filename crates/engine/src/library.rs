//! The library: lists, creation, deletion and reading of threads; calls for one thread go to its session.

mod folders;
mod keeping;
mod records;
mod workspaces;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use uuid::Uuid;
use vocabulary::{
    AuthMethod, Call, Caller, Catalog, CatalogProvider, DEFAULT_WORKSPACE, Entry, McpFile,
    McpLayer, McpSnapshot, NewThread, ProviderStatus, Refusal, Reply, Seq, Status, Thread,
    ThreadCard, ThreadId, ThreadQuery, ThreadSettings, ThreadView, Title, TitleSource, Why,
    WorkspaceId,
};

use crate::limits::{
    CLIENT_ID_CHARS_MAX, ENTRIES_PER_READ_MAX, EVENTS_PER_READ_MAX, MESSAGES_PER_READ_MAX,
    STEPS_DEFAULT,
};
use crate::session::{Mail, Outcome, Replied, Transcript, storage, waking};
use crate::{Listener, Shared, Wish, codec, now};

/// Answers a call that the caller is allowed to make.
pub async fn answer(shared: &Arc<Shared>, caller: &Caller, call: Call) -> Outcome {
    let reply = match call {
        Call::ListThreads(query) => list(shared, caller, &query).await,
        Call::CreateThread(new) => create(shared, caller, new).await,
        Call::GetThread { thread } => return get(shared, caller, thread).await,
        Call::DeleteThread {
            thread,
            even_if_open,
        } => {
            return delete(shared, caller, thread, even_if_open).await;
        }
        Call::ReadMessages {
            thread,
            offset,
            limit,
        } => {
            owned(shared, caller, thread).await?;
            read_messages(shared, thread, offset, limit).await
        }
        Call::ReadEvents {
            thread,
            after,
            limit,
        } => {
            let card = owned(shared, caller, thread).await?;
            read_events(shared, card, after, limit).await
        }
        Call::ReadEventsBefore {
            thread,
            upto,
            limit,
        } => {
            let card = owned(shared, caller, thread).await?;
            read_events_before(shared, card, upto, limit).await
        }
        Call::Library(call) => keeping::answer(shared, caller, call).await,
        Call::GetCatalog => Ok(Reply::Catalog(Box::new(catalog(shared)))),
        Call::GetProviderStatus => Ok(Reply::ProviderStatus(provider_status(shared))),
        Call::ListTools => Ok(Reply::Tools(tool_names(shared))),
        Call::GetMcpServers { thread } => {
            let card = owned(shared, caller, thread).await?;
            Ok(Reply::McpServers(mcp_files(shared, &card).await))
        }
        Call::GetCheckpoints { thread } => {
            owned(shared, caller, thread).await?;
            let message = "checkpoints are not available in this build yet";
            Err(Refusal::new(Why::NotAvailable, message))
        }
        call @ (Call::ChangeThread { .. }
        | Call::StartTurn(_)
        | Call::CancelTurn { .. }
        | Call::AnswerAsk { .. }
        | Call::ResetThread { .. }
        | Call::CloseThread { .. }) => return to_session(shared, caller, call).await,
    };
    reply.map(|reply| Replied {
        reply,
        as_of: Seq::ZERO,
    })
}

async fn to_session(shared: &Arc<Shared>, caller: &Caller, call: Call) -> Outcome {
    let Some(thread) = call.thread() else {
        return Err(Refusal::new(Why::Internal, "this call names no thread"));
    };
    owned(shared, caller, thread).await?;
    shared
        .registry
        .reach(shared, thread, |handle| {
            let (reply, answer) = oneshot::channel();
            let mail = Mail::Call {
                call: Box::new(call.clone()),
                reply,
            };
            async move {
                handle.mail.send(mail).await.ok()?;
                answer.await.ok()
            }
        })
        .await?
}

pub async fn attach(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    wish: Wish,
) -> Result<(ThreadView, Listener), Refusal> {
    let Wish {
        audience,
        from,
        recent,
    } = wish;
    owned(shared, caller, thread).await?;
    let attached = shared
        .registry
        .reach(shared, thread, |handle| {
            let (reply, answer) = oneshot::channel();
            async move {
                handle
                    .mail
                    .send(Mail::Attach {
                        audience,
                        from,
                        reply,
                    })
                    .await
                    .ok()?;
                answer.await.ok()
            }
        })
        .await??;
    let mut view = attached.view;
    if let (Some(turn), Some(from)) = (&mut view.turn, attached.turn_from) {
        turn.events = events_between(shared, thread, Seq(from.0 - 1), view.head).await?;
    }
    if recent > 0 {
        view.recent = recent_entries(shared, &view, attached.from_ordinal, recent).await?;
    }
    Ok((view, attached.listener))
}

/// The newest messages of a view, up to its head.
async fn recent_entries(
    shared: &Arc<Shared>,
    view: &ThreadView,
    from_ordinal: u64,
    recent: u32,
) -> Result<Vec<Entry>, Refusal> {
    let count = view.thread.message_count;
    let messages = count.saturating_sub(u64::from(recent))..count;
    let thread = view.thread.card.id;
    let mut entries = read_entries(shared, thread, from_ordinal, messages).await?;
    entries.retain(|entry| entry.event.seq <= view.head);
    Ok(entries)
}

async fn read_entries(
    shared: &Arc<Shared>,
    thread: ThreadId,
    from_ordinal: u64,
    messages: std::ops::Range<u64>,
) -> Result<Vec<Entry>, Refusal> {
    let read = shared
        .store
        .entries(thread, from_ordinal, messages, ENTRIES_PER_READ_MAX);
    let rows = read.await.map_err(storage)?;
    rows.iter()
        .map(|(row, stored)| {
            let event = codec::decode(stored)?;
            Ok(Entry {
                ordinal: row.ordinal,
                message: row.message,
                event,
            })
        })
        .collect()
}

/// A thread of this caller's tenant; anybody else's does not exist for them.
async fn owned(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
) -> Result<ThreadCard, Refusal> {
    let card = match shared.registry.get(thread) {
        Some(handle) => Some((*handle.card).clone()),
        None => shared
            .store
            .thread(thread)
            .await
            .map_err(storage)?
            .map(|thread| thread.card),
    };
    card.filter(|card| card.tenant == caller.tenant)
        .ok_or_else(|| Refusal::unknown_thread(thread))
}

async fn list(
    shared: &Arc<Shared>,
    caller: &Caller,
    query: &ThreadQuery,
) -> Result<Reply, Refusal> {
    let mut page = shared
        .store
        .threads(&caller.tenant, query)
        .await
        .map_err(storage)?;
    for thread in &mut page.threads {
        thread.status = status(shared, thread);
    }
    Ok(Reply::Threads {
        threads: page.threads,
        next: page.next,
    })
}

/// From its session where it is awake: a thread that is not kept is nowhere else.
async fn get(shared: &Arc<Shared>, caller: &Caller, thread: ThreadId) -> Outcome {
    if shared.registry.get(thread).is_some() {
        return to_session(shared, caller, Call::GetThread { thread }).await;
    }
    let kept = shared.store.thread(thread).await.map_err(storage)?;
    let mut kept = kept
        .filter(|kept| kept.card.tenant == caller.tenant)
        .ok_or_else(|| Refusal::unknown_thread(thread))?;
    kept.status = asleep(kept.status);
    Ok(Replied {
        reply: Reply::Thread(Box::new(kept)),
        as_of: Seq::ZERO,
    })
}

fn status(shared: &Shared, thread: &Thread) -> Status {
    match shared.registry.get(thread.card.id) {
        Some(handle) => *handle.status.borrow(),
        None => asleep(thread.status),
    }
}

/// The state of a thread that no process has awake.
fn asleep(status: Status) -> Status {
    match status {
        Status::Waiting | Status::Error => status,
        Status::Inactive
        | Status::Activating
        | Status::Ready
        | Status::Running
        | Status::Deactivating => Status::Inactive,
    }
}

async fn create(shared: &Arc<Shared>, caller: &Caller, new: NewThread) -> Result<Reply, Refusal> {
    if let Some(client_id) = &new.client_id {
        if client_id.is_empty() || client_id.chars().count() > CLIENT_ID_CHARS_MAX {
            let message = format!("an id has 1 to {CLIENT_ID_CHARS_MAX} characters");
            return Err(Refusal::invalid("id", message));
        }
        let known = shared
            .store
            .thread_by_client_id(&caller.tenant, client_id)
            .await;
        if let Some(thread) = known.map_err(storage)? {
            let thread = shared.store.thread(thread).await.map_err(storage)?;
            return thread
                .map(|thread| Reply::Thread(Box::new(thread)))
                .ok_or_else(|| Refusal::new(Why::UnknownThread, "this thread was just deleted"));
        }
    }
    let keep = new.keep;
    let directory = match &new.directory {
        Some(directory) => directory.clone(),
        None => workspaces::directory(shared, caller, new.workspace.as_ref()).await?,
    };
    let thread = newborn(shared, caller, directory, new);
    let handle = waking::born(shared, thread.clone(), keep).await?;
    let id = thread.card.id;
    shared.registry.insert(handle);
    if keep {
        // Acknowledged means on disk.
        locate(shared, id).await?;
    }
    Ok(Reply::Thread(Box::new(thread)))
}

fn newborn(shared: &Shared, caller: &Caller, directory: PathBuf, new: NewThread) -> Thread {
    let config = &shared.config;
    let (at, changes) = (now(), new.changes);
    Thread {
        card: ThreadCard {
            id: ThreadId(Uuid::now_v7()),
            tenant: caller.tenant.clone(),
            workspace: new
                .workspace
                .unwrap_or_else(|| WorkspaceId::new(DEFAULT_WORKSPACE)),
            directory,
            client_id: new.client_id,
            created_at: at,
        },
        title: new.title.map_or_else(Title::default, |text| Title {
            text,
            source: TitleSource::Manual,
            model: None,
        }),
        settings: ThreadSettings {
            model: changes
                .model
                .unwrap_or_else(|| config.default_model.clone()),
            auto_approve: changes.auto_approve.unwrap_or(config.auto_approve),
            tools: changes.tools.unwrap_or(true),
            max_steps: changes.max_steps.unwrap_or(STEPS_DEFAULT),
            sub_agent_model: changes.sub_agent_model.unwrap_or_default(),
            observability: changes.observability.unwrap_or(true),
            mcp: changes.mcp.unwrap_or(true),
        },
        status: Status::Inactive,
        archived: false,
        updated_at: at,
        active_at: None,
        message_count: 0,
        preview: String::new(),
        labels: new.labels,
    }
}

async fn delete(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    even_if_open: bool,
) -> Outcome {
    let card = owned(shared, caller, thread).await?;
    if shared.registry.get(thread).is_some() {
        return to_session(
            shared,
            caller,
            Call::DeleteThread {
                thread,
                even_if_open,
            },
        )
        .await;
    }
    let lease = shared.store.acquire(thread).await.map_err(storage)?;
    if !shared.store.delete(lease).await.map_err(storage)? {
        return Err(Refusal::unknown_thread(thread));
    }
    shared.thread_removed(&card);
    Ok(Replied {
        reply: Reply::Done,
        as_of: Seq::ZERO,
    })
}

/// Where a thread's transcript lies, once everything recorded so far is on disk.
async fn locate(shared: &Arc<Shared>, thread: ThreadId) -> Result<Transcript, Refusal> {
    shared
        .registry
        .reach(shared, thread, |handle| {
            let (reply, answer) = oneshot::channel();
            async move {
                handle.mail.send(Mail::Locate { reply }).await.ok()?;
                answer.await.ok()
            }
        })
        .await
}

async fn read_messages(
    shared: &Arc<Shared>,
    thread: ThreadId,
    offset: u64,
    limit: u64,
) -> Result<Reply, Refusal> {
    let transcript = locate(shared, thread).await?;
    let upto = offset.saturating_add(limit.min(MESSAGES_PER_READ_MAX));
    let entries = match offset < transcript.message_count {
        false => Vec::new(),
        true => read_entries(shared, thread, transcript.from_ordinal, offset..upto).await?,
    };
    Ok(Reply::Messages {
        entries,
        total: transcript.message_count,
        offset,
        limit,
    })
}

async fn read_events(
    shared: &Arc<Shared>,
    card: ThreadCard,
    after: Seq,
    limit: u32,
) -> Result<Reply, Refusal> {
    let limit = limit.clamp(1, EVENTS_PER_READ_MAX);
    let rows = shared
        .store
        .events(card.id, after, limit)
        .await
        .map_err(storage)?;
    let more = rows.len() as u32 == limit;
    let events = rows.iter().map(codec::decode).collect::<Result<_, _>>()?;
    Ok(Reply::Events {
        card: Box::new(card),
        events,
        more,
    })
}

async fn read_events_before(
    shared: &Arc<Shared>,
    card: ThreadCard,
    upto: Seq,
    limit: u32,
) -> Result<Reply, Refusal> {
    let limit = limit.clamp(1, EVENTS_PER_READ_MAX);
    let read = shared.store.events_before(card.id, upto, limit);
    let rows = read.await.map_err(storage)?;
    let more = rows.len() as u32 == limit;
    let events = rows.iter().map(codec::decode).collect::<Result<_, _>>()?;
    Ok(Reply::Events {
        card: Box::new(card),
        events,
        more,
    })
}

async fn events_between(
    shared: &Arc<Shared>,
    thread: ThreadId,
    after: Seq,
    upto: Seq,
) -> Result<Vec<vocabulary::Event>, Refusal> {
    let mut events: Vec<vocabulary::Event> = Vec::new();
    loop {
        let after = events.last().map_or(after, |event| event.seq);
        let page = shared
            .store
            .events(thread, after, EVENTS_PER_READ_MAX)
            .await;
        let page = page.map_err(storage)?;
        let full = page.len() as u32 == EVENTS_PER_READ_MAX;
        for stored in &page {
            if stored.seq > upto {
                return Ok(events);
            }
            events.push(codec::decode(stored)?);
        }
        if !full {
            return Ok(events);
        }
    }
}

fn catalog(shared: &Shared) -> Catalog {
    let providers = providers::catalog::PROVIDERS
        .iter()
        .map(|entry| CatalogProvider {
            id: entry.id.to_owned(),
            name: entry.name.to_owned(),
            models: entry.models.iter().map(|&model| model.to_owned()).collect(),
            default_model: entry.models[0].to_owned(),
            auth_methods: entry.auth.iter().map(auth_method).collect(),
            connected: shared.providers.contains_key(entry.id),
        });
    Catalog {
        providers: providers.collect(),
        default: shared.config.default_model.clone(),
    }
}

fn auth_method(method: &providers::catalog::Auth) -> AuthMethod {
    match *method {
        providers::catalog::Auth::ApiKey { id, label } => AuthMethod::ApiKey {
            id: id.to_owned(),
            label: label.to_owned(),
        },
        providers::catalog::Auth::OAuth { id, label } => AuthMethod::OAuth {
            id: id.to_owned(),
            label: label.to_owned(),
        },
    }
}

fn provider_status(shared: &Shared) -> Vec<ProviderStatus> {
    let checked_at = now();
    let status = |entry: &providers::catalog::Entry| {
        let connected = shared.providers.contains_key(entry.id);
        ProviderStatus {
            provider: entry.id.to_owned(),
            authorized: connected,
            verified: connected,
            message: match connected {
                true => "Connected.".to_owned(),
                false => "Not connected.".to_owned(),
            },
            checked_at,
        }
    };
    providers::catalog::PROVIDERS.iter().map(status).collect()
}

fn tool_names(shared: &Shared) -> Vec<(String, String)> {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let named =
        |tool: &Arc<dyn tools::Tool>| (tool.name().to_owned(), first_line(tool.description()));
    shared.tools.list().iter().map(named).collect()
}

/// Looks where MCP servers would be configured. Reading them is a later capability.
async fn mcp_files(shared: &Shared, card: &ThreadCard) -> McpSnapshot {
    let home = &shared.config.home;
    let user = home.parent().unwrap_or(home);
    let layers = [
        (
            McpLayer::Workspace,
            card.directory.join(".cowork/mcp-servers.json"),
        ),
        (McpLayer::User, home.join("config/mcp-servers.json")),
        (
            McpLayer::System,
            std::path::PathBuf::from("/etc/dragoman/mcp-servers.json"),
        ),
        (
            McpLayer::WorkspaceLegacy,
            card.directory.join(".agent/mcp-servers.json"),
        ),
        (McpLayer::UserLegacy, user.join(".agent/mcp-servers.json")),
    ];
    let mut files = Vec::with_capacity(layers.len());
    for (layer, path) in layers {
        let exists = tokio::fs::try_exists(&path).await.unwrap_or(false);
        files.push(McpFile {
            layer,
            path,
            exists,
        });
    }
    McpSnapshot { files }
}
