//! Reading a thread: pages of its transcript and of its log, never the whole.

mod entries;

use std::sync::Arc;

use store::LoadedThread;
use tokio::sync::oneshot;
use vocabulary::{
    Entry, Event, EventPage, Fact, IndexedTurn, MessagePage, Refusal, Reply, SandboxInForce, Seq,
    ThreadCard, ThreadId, ThreadView, ToolCall, TurnPage, TurnSelection,
};

use super::permissions;
use crate::limits::{EVENTS_PER_READ_MAX, MESSAGES_PER_READ_MAX, TURNS_PER_READ_MAX};
use crate::session::state::ThreadState;
use crate::session::{Mail, Outcome, Replied, SessionView, Transcript, storage};
use crate::{Shared, codec};

/// A thread as one who joins sees it; one that sleeps is not woken for it.
pub async fn look(
    shared: &Arc<Shared>,
    thread: ThreadId,
    recent: u32,
) -> Result<ThreadView, Refusal> {
    let seen = match shared.registry.get(thread) {
        None => {
            let (loaded, state) = load(shared, thread).await?;
            asleep(&loaded, state)
        }
        Some(_) => awake(shared, thread).await?,
    };
    complete(shared, seen, recent).await
}

/// What its session sees; one that sleeps is woken.
async fn awake(shared: &Arc<Shared>, thread: ThreadId) -> Result<SessionView, Refusal> {
    let looking = shared.registry.reach(shared, thread, |handle| {
        let (reply, answer) = oneshot::channel();
        async move {
            handle
                .mail
                .send(Box::new(Mail::Look { reply }))
                .await
                .ok()?;
            answer.await.ok()
        }
    });
    looking.await
}

async fn load(
    shared: &Arc<Shared>,
    thread: ThreadId,
) -> Result<(LoadedThread, ThreadState), Refusal> {
    let loaded = shared.store.load(thread).await.map_err(storage)?;
    let loaded = loaded.ok_or_else(|| Refusal::unknown_thread(thread))?;
    let state = ThreadState::read(&loaded)?;
    Ok((loaded, state))
}

/// What the store has of a thread that no session of ours runs.
fn asleep(loaded: &LoadedThread, mut state: ThreadState) -> SessionView {
    state.thread.status = super::asleep(state.thread.status);
    SessionView {
        turn_from: None,
        calls: Vec::new(),
        from_ordinal: state.history_from,
        view: ThreadView {
            thread: state.thread,
            head: loaded.last_seq,
            turn: None,
            asks: state.asks,
            plan: state.plan,
            plan_turn: state.plan_turn,
            recent: Vec::new(),
            woken: false,
            kept: true,
            listeners: 0,
            sandbox: SandboxInForce::default(),
            effort: None,
        },
    }
}

/// Adds what the store has, what happened in the running turn and the newest messages, what holds
/// commands here, and how hard the model thinks.
pub async fn complete(
    shared: &Arc<Shared>,
    seen: SessionView,
    recent: u32,
) -> Result<ThreadView, Refusal> {
    let (card, settings) = (&seen.view.thread.card, &seen.view.thread.settings);
    let own = shared.own(&card.tenant);
    let mut view = ThreadView {
        sandbox: permissions::in_force_for(shared, &own, settings).await,
        effort: shared.effort_in_force(&card.tenant, settings),
        ..seen.view
    };
    let thread = view.thread.card.id;
    if let (Some(turn), Some(from)) = (&mut view.turn, seen.turn_from) {
        turn.events = events_between(shared, thread, Seq(from.0 - 1), view.head).await?;
    }
    if recent > 0 {
        view.recent = recent_entries(shared, &view, seen.from_ordinal, recent).await?;
    }
    let running = view.turn.iter_mut().flat_map(|turn| &mut turn.events);
    let recent = view.recent.iter_mut().map(|entry| &mut entry.event);
    running
        .chain(recent)
        .for_each(|event| show_waiting(event, &seen.calls));
    Ok(view)
}

/// A call that has not ended is shown as those saw it who were there: with what it would make of files as
/// they are. The log has only what it was called with.
fn show_waiting(event: &mut Event, calls: &[Arc<ToolCall>]) {
    if let Fact::Tool(tool) = &mut event.fact
        && let Some(shown) = calls.iter().find(|call| call.item == tool.call.item)
    {
        tool.call = Arc::clone(shown);
    }
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
    let mut entries = entries::of_messages(shared, thread, from_ordinal, messages).await?;
    entries.retain(|entry| entry.event.seq <= view.head);
    Ok(entries)
}

/// Where a thread's transcript lies, once everything recorded so far is on disk. One that sleeps is
/// not woken for it.
pub async fn locate(shared: &Arc<Shared>, thread: ThreadId) -> Result<Transcript, Refusal> {
    if shared.registry.get(thread).is_none() {
        let (loaded, state) = load(shared, thread).await?;
        return Ok(Transcript {
            from_ordinal: state.history_from,
            message_count: state.thread.message_count,
            head: loaded.last_seq,
            untold: state.untold(),
        });
    }
    shared
        .registry
        .reach(shared, thread, |handle| {
            let (reply, answer) = oneshot::channel();
            async move {
                handle
                    .mail
                    .send(Box::new(Mail::Locate { reply }))
                    .await
                    .ok()?;
                answer.await.ok()
            }
        })
        .await
}

pub async fn read_messages(
    shared: &Arc<Shared>,
    thread: ThreadId,
    offset: u64,
    limit: u64,
) -> Outcome {
    let transcript = locate(shared, thread).await?;
    let total = transcript.message_count;
    let upto = offset.saturating_add(limit.min(MESSAGES_PER_READ_MAX));
    let mut entries = match offset < total {
        false => Vec::new(),
        true => entries::of_messages(shared, thread, transcript.from_ordinal, offset..upto).await?,
    };
    entries.retain(|entry| entry.event.seq <= transcript.head);
    let page = MessagePage {
        entries,
        total,
        offset,
        limit,
    };
    Ok(Replied::new(transcript.head, Reply::Messages(page)))
}

pub async fn read_turns(
    shared: &Arc<Shared>,
    thread: ThreadId,
    selection: &TurnSelection,
    limit: u32,
    with_entries: bool,
) -> Outcome {
    let seen = match shared.registry.get(thread) {
        None => match load(shared, thread).await? {
            // An older version left it without an index, which is made when it wakes.
            (_, state) if state.turn_count.is_none() => awake(shared, thread).await?,
            (loaded, state) => asleep(&loaded, state),
        },
        Some(_) => awake(shared, thread).await?,
    };
    let (view, from) = (seen.view, seen.from_ordinal);
    let limit = limit.clamp(1, TURNS_PER_READ_MAX);
    // One more than wanted tells whether there are more.
    let turns = shared.store.turns(thread, from, selection, limit + 1);
    let mut turns = turns.await.map_err(storage)?;
    let full = turns.len() > limit as usize;
    as_of(&mut turns, view.head);
    let more = match selection {
        // What started since then was at the front.
        TurnSelection::Newest | TurnSelection::Before(_) => full,
        TurnSelection::Oldest | TurnSelection::After(_) | TurnSelection::One(_) => {
            turns.len() > limit as usize
        }
    };
    turns.truncate(limit as usize);
    let mut entries = match with_entries {
        true => entries::of_turns(shared, thread, &turns).await?,
        false => Vec::new(),
    };
    entries.retain(|entry| entry.event.seq <= view.head);
    let head = view.head;
    let page = TurnPage {
        view,
        turns,
        entries,
        more,
    };
    Ok(Replied::new(head, Reply::Turns(Box::new(page))))
}

/// Turns as they were when the log ended at `head`.
fn as_of(turns: &mut Vec<IndexedTurn>, head: Seq) {
    turns.retain(|turn| turn.first_seq <= head);
    for turn in turns {
        turn.ended.take_if(|ended| ended.last_seq > head);
    }
}

pub async fn read_events(
    shared: &Arc<Shared>,
    card: ThreadCard,
    after: Seq,
    limit: u32,
) -> Outcome {
    let Transcript { head, untold, .. } = locate(shared, card.id).await?;
    let limit = limit.clamp(1, EVENTS_PER_READ_MAX);
    let (mut events, mut after) = (Vec::new(), after.max(untold.reset_at));
    // What is told to nobody takes no room in a page.
    let more = loop {
        let wanted = limit - events.len() as u32;
        let rows = shared.store.events(card.id, after, wanted).await;
        let mut rows = rows.map_err(storage)?;
        rows.retain(|row| row.seq <= head);
        let full = rows.len() as u32 == wanted;
        after = rows.last().map_or(after, |last| last.seq);
        let read = decode(shared, card.id, &rows).await?;
        events.extend(read.into_iter().filter(|event| untold.tells(event)));
        if !full || events.len() as u32 == limit {
            break full;
        }
    };
    events_reply(card, head, events, more)
}

pub async fn read_events_before(
    shared: &Arc<Shared>,
    card: ThreadCard,
    upto: Seq,
    limit: u32,
) -> Outcome {
    let Transcript { head, untold, .. } = locate(shared, card.id).await?;
    let limit = limit.clamp(1, EVENTS_PER_READ_MAX);
    let (mut pages, mut count, mut upto) = (Vec::new(), 0, upto.min(head));
    let more = loop {
        let wanted = limit - count;
        let rows = shared.store.events_before(card.id, upto, wanted);
        let mut rows = rows.await.map_err(storage)?;
        rows.retain(|row| row.seq > untold.reset_at);
        let full = rows.len() as u32 == wanted;
        upto = rows.first().map_or(upto, |first| Seq(first.seq.0 - 1));
        let read = decode(shared, card.id, &rows).await?;
        let told: Vec<_> = read.into_iter().filter(|it| untold.tells(it)).collect();
        count += told.len() as u32;
        pages.push(told);
        if !full || count == limit {
            break full;
        }
    };
    pages.reverse();
    events_reply(card, head, pages.concat(), more)
}

fn events_reply(
    card: ThreadCard,
    head: Seq,
    events: Vec<vocabulary::Event>,
    more: bool,
) -> Outcome {
    let page = EventPage {
        card: Box::new(card),
        events,
        more,
    };
    Ok(Replied::new(head, Reply::Events(page)))
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
                break;
            }
            events.push(codec::decode(stored)?);
        }
        let past = page.last().is_some_and(|last| last.seq > upto);
        if !full || past {
            break;
        }
    }
    let mut whole: Vec<_> = events.iter_mut().collect();
    codec::complete(&shared.store, thread, &mut whole).await?;
    Ok(events)
}

async fn decode(
    shared: &Arc<Shared>,
    thread: ThreadId,
    rows: &[store::StoredEvent],
) -> Result<Vec<vocabulary::Event>, Refusal> {
    let decoded = rows.iter().map(codec::decode);
    let mut events = decoded.collect::<Result<Vec<_>, Refusal>>()?;
    let mut whole: Vec<_> = events.iter_mut().collect();
    codec::complete(&shared.store, thread, &mut whole).await?;
    Ok(events)
}
