//! How facts lie in the store: JSON with a version, written once and read back as it is.
//!
//! Logs live longer than programs. What an older version wrote is read in its own words ([`first`]);
//! what a newer one wrote and this one does not know is passed over, never fatal.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{SharedStore, StoredEvent};
use tools::Toolbox;
use vocabulary::{
    Event, Fact, ItemId, NoteFact, Person, Refusal, Seq, Subject, ThreadId, ToolCall, ToolEvent,
    ToolFact, Why,
};

mod first;
#[cfg(test)]
mod tests;

/// The version that is written. Larger ones come from newer programs.
const VERSION: u32 = 2;
/// How every version but the first begins.
const VERSION_FIELD: &[u8] = b"{\"v\":";
/// How many events are read at a time to find a call.
const LOOK_BACK_PAGE: u32 = 200;

/// What older logs and previews are explained by.
static TOOLS: LazyLock<Toolbox> = LazyLock::new(Toolbox::builtin);

#[derive(Serialize)]
struct Kept<'a> {
    v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Person>,
    fact: &'a Fact,
}

#[derive(Deserialize)]
struct DecodedEvent {
    #[serde(default)]
    by: Option<Arc<Person>>,
    fact: Fact,
}

pub fn encode(event: &Event) -> Result<Bytes, Refusal> {
    let kept = Kept {
        v: VERSION,
        by: event.by.as_deref(),
        fact: &event.fact,
    };
    serde_json::to_vec(&kept)
        .map(Bytes::from)
        .map_err(|error| Refusal::new(Why::Internal, format!("a fact cannot be written: {error}")))
}

pub fn decode(stored: &StoredEvent) -> Result<Event, Refusal> {
    let found = match stored.payload.starts_with(VERSION_FIELD) {
        true => serde_json::from_slice(&stored.payload),
        false => first::read(&stored.payload).map(|fact| DecodedEvent { by: None, fact }),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) if error.is_data() => unknown(stored, &error),
        Err(error) => {
            let message = format!("event {} of the log cannot be read: {error}", stored.seq);
            return Err(Refusal::new(Why::Storage, message));
        }
    };
    Ok(Event {
        seq: stored.seq,
        at: stored.at,
        by: found.by,
        fact: with_preview(found.fact),
    })
}

/// Whole JSON with something in it that this version has no word for. The error's own words may be what
/// somebody said, so that they are not logged.
fn unknown(stored: &StoredEvent, error: &serde_json::Error) -> DecodedEvent {
    let (seq, column) = (stored.seq, error.column());
    match written_by(stored) > VERSION {
        true => tracing::debug!(%seq, "an event of a newer version is passed over"),
        false => tracing::warn!(%seq, column, "an event cannot be understood, and is passed over"),
    }
    DecodedEvent {
        by: None,
        fact: Fact::Note(NoteFact::Unknown),
    }
}

/// The version that wrote an event.
fn written_by(stored: &StoredEvent) -> u32 {
    #[derive(Deserialize)]
    struct WrittenVersion {
        v: u32,
    }
    serde_json::from_slice::<WrittenVersion>(&stored.payload).map_or(1, |found| found.v)
}

/// The log keeps what a call was called with, not what that would do.
fn with_preview(mut fact: Fact) -> Fact {
    if let Fact::Tool(ToolEvent {
        call,
        what: ToolFact::Planned { .. },
        ..
    }) = &mut fact
        && let (Subject::Files(_), Some(tool)) = (&call.subject, TOOLS.get(&call.name))
    {
        let subject = tool.subject(&call.input);
        Arc::make_mut(call).subject = subject;
    }
    fact
}

/// Gives events that only refer to a call the whole of it: from the page itself, or from before it.
pub async fn complete(
    store: &SharedStore,
    thread: ThreadId,
    events: &mut [&mut Event],
) -> Result<(), Refusal> {
    let mut calls = HashMap::new();
    let missing = fill(&mut calls, events);
    let Some(first) = missing else { return Ok(()) };
    look_back(store, thread, first, &mut calls).await?;
    fill(&mut calls, events);
    Ok(())
}

type CallsByItem = HashMap<ItemId, Option<Arc<ToolCall>>>;

/// Fills in what is known; gives the place of the first event whose call is not.
fn fill(calls: &mut CallsByItem, events: &mut [&mut Event]) -> Option<Seq> {
    let mut missing = None;
    for event in events {
        let Fact::Tool(ToolEvent { call, what, .. }) = &mut event.fact else {
            continue;
        };
        if let ToolFact::Planned { .. } = what {
            calls.insert(call.item.clone(), Some(Arc::clone(call)));
            continue;
        }
        match calls.get(&call.item) {
            Some(Some(whole)) => *call = Arc::clone(whole),
            Some(None) => {}
            None => {
                calls.insert(call.item.clone(), None);
                missing = missing.or(Some(event.seq));
            }
        }
    }
    missing
}

/// Reads back until every call is known. All calls of a turn are planned within it, so the search
/// ends there at the latest.
async fn look_back(
    store: &SharedStore,
    thread: ThreadId,
    from: Seq,
    calls: &mut CallsByItem,
) -> Result<(), Refusal> {
    let mut upto = from;
    while upto > Seq::ZERO && calls.values().any(Option::is_none) {
        let page = store
            .events_before(thread, Seq(upto.0 - 1), LOOK_BACK_PAGE)
            .await
            .map_err(|error| Refusal::new(Why::Storage, error.to_string()))?;
        let Some(oldest) = page.first() else { break };
        upto = oldest.seq;
        let mut began = false;
        for stored in &page {
            let event = decode(stored)?;
            began |= matches!(event.fact, Fact::Turn(vocabulary::TurnFact::Started { .. }));
            if let Fact::Tool(ToolEvent {
                call,
                what: ToolFact::Planned { .. },
                ..
            }) = event.fact
                && let Some(wanted @ None) = calls.get_mut(&call.item)
            {
                *wanted = Some(call);
            }
        }
        if began {
            break;
        }
    }
    Ok(())
}
