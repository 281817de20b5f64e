//! What an event of a file must be to enter a log. A file may be anybody's: what our own programs never
//! write is refused before it is folded.

use std::path::{Component, Path};

use vocabulary::{
    AskFact, Event, Fact, Image, NoteFact, StepFact, TenantId, Thread, ThreadCard, ThreadFact,
    TurnFact, Usage, UserInput, WorkspaceDirectory,
};

use super::place::LibraryPlace;
use crate::library::remains;
use crate::session::state::ThreadState;

/// The largest number that every client can read.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;
/// From 1970 to the year 9999.
const TIMES: std::ops::RangeInclusive<i64> = 0..=253_402_300_799_999;
/// More than anybody spends, and few enough to be added up.
const SPENT_MAX: u64 = 1 << 48;

/// A thread as the file's first line and its first event name it.
pub fn thread(
    thread: &Thread,
    tenant: &TenantId,
    place: &LibraryPlace,
    home: &Path,
) -> Result<(), String> {
    let card = &thread.card;
    if card.ephemeral {
        return Err("an ephemeral session cannot be imported".to_owned());
    }
    if thread.section.is_some() {
        return Err("`thread.section` is not kept with a session; see `place`".to_owned());
    }
    path("thread.card.directory", &card.directory, card, home)?;
    for folder in card.folders.iter().flat_map(|folders| folders.all()) {
        path("thread.card.folders", folder, card, home)?;
    }
    if let Some(workspace) = &place.workspace
        && let WorkspaceDirectory::Given(directory) = &workspace.directory
    {
        path("place.workspace.directory", directory, card, home)?;
    }
    if card.tenant != *tenant {
        return Err(format!(
            "the session belongs to tenant `{}`, not to `{tenant}`; --as-new makes a copy of it here",
            card.tenant
        ));
    }
    place.check(card)
}

/// Where a session works must be said in full, and be none of our own places but a workspace.
fn path(field: &str, path: &Path, card: &ThreadCard, home: &Path) -> Result<(), String> {
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(plain) {
        return Err(format!("`{field}` must be an absolute path without `..`"));
    }
    let others = home.join(tools::path::TENANTS);
    let is_anothers =
        path.starts_with(others) && !path.starts_with(remains::of_tenant(home, &card.tenant));
    let is_workspace = tools::path::is_workspace_within(home, path) && !is_anothers;
    match path.starts_with(home) && !is_workspace {
        true => Err(format!("`{field}` lies in the data directory")),
        false => Ok(()),
    }
}

/// One event, after all that were before it.
pub fn event(event: &Event, state: &ThreadState) -> Result<(), String> {
    if event.seq.0 > NUMBER_MAX {
        return Err(format!("`seq` is above {NUMBER_MAX}"));
    }
    if !TIMES.contains(&event.at.millis()) {
        return Err("`at` is no time in milliseconds since 1970".to_owned());
    }
    if event.fact == Fact::Note(NoteFact::Unknown) {
        let message =
            "this program does not understand this event; a newer one may have written it";
        return Err(message.to_owned());
    }
    if !event.fact.durable() {
        return Err("an event of this kind is in no log".to_owned());
    }
    match &event.fact {
        Fact::Thread(what) => of_thread(event, what, state),
        Fact::Turn(what) => of_turn(what),
        Fact::Step { what, .. } => of_step(what, state),
        Fact::Ask { what, .. } => of_ask(what),
        Fact::Item { .. } | Fact::Tool(_) | Fact::Files(_) | Fact::Note(_) => Ok(()),
    }
}

fn of_thread(event: &Event, what: &ThreadFact, state: &ThreadState) -> Result<(), String> {
    match what {
        ThreadFact::Created { .. } => Err("a session is created only once".to_owned()),
        ThreadFact::Reverted { point } => {
            let turns = state.turn_count.unwrap_or_default();
            let is_past = point.seq < event.seq
                && point.entry <= state.next_ordinal
                && (1..=turns).contains(&point.number)
                && point.message_count <= state.thread.message_count
                && point.context_tokens <= SPENT_MAX
                && state.turn.is_none();
            match is_past {
                true => Ok(()),
                false => Err("it takes back turns that are not there".to_owned()),
            }
        }
        ThreadFact::Titled { .. }
        | ThreadFact::SettingsChanged { .. }
        | ThreadFact::Archived { .. }
        | ThreadFact::Labelled { .. }
        | ThreadFact::Reset
        | ThreadFact::StatusChanged { .. }
        | ThreadFact::Closed => Ok(()),
    }
}

fn of_turn(what: &TurnFact) -> Result<(), String> {
    match what {
        TurnFact::Started { input, .. } | TurnFact::Steered { input, .. } => of_input(input),
        TurnFact::UsageAdded { usage, .. } => of_usage(usage),
        TurnFact::Finished { .. } | TurnFact::PlanChanged { .. } | TurnFact::SteerPlaced { .. } => {
            Ok(())
        }
    }
}

/// A file that an event names would be read here, whoever wrote its name.
fn of_input(input: &UserInput) -> Result<(), String> {
    let is_path = |image: &Image| matches!(image, Image::Path(_));
    match input.images.iter().any(is_path) {
        true => Err("a picture is in the log itself, never a path".to_owned()),
        false => Ok(()),
    }
}

fn of_step(what: &StepFact, state: &ThreadState) -> Result<(), String> {
    match what {
        StepFact::Finished { usage, .. } => of_usage(usage),
        StepFact::Compacted { kept, .. } => {
            let steps = kept.as_ref().and_then(|kept| kept.steps);
            let last = |entry: u64| entry <= state.next_ordinal;
            match steps.is_none_or(|steps| last(steps.entry) && last(steps.turn_entry)) {
                true => Ok(()),
                false => Err("its summary keeps steps that are not there".to_owned()),
            }
        }
        StepFact::Started
        | StepFact::Delayed { .. }
        | StepFact::Retried { .. }
        | StepFact::LimitReached { .. }
        | StepFact::CompactionStarted
        | StepFact::Failed { .. }
        | StepFact::Pruned { .. }
        | StepFact::Informed { .. }
        | StepFact::Cited { .. }
        | StepFact::RawReceived { .. } => Ok(()),
    }
}

fn of_usage(usage: &Usage) -> Result<(), String> {
    let Usage {
        input_tokens,
        output_tokens,
        cached_tokens,
        reasoning_tokens,
        cost_micro_dollars,
    } = usage;
    let numbers = [input_tokens, output_tokens, cached_tokens, reasoning_tokens];
    let mut numbers = numbers.into_iter().chain(cost_micro_dollars);
    match numbers.all(|number| *number <= SPENT_MAX) {
        true => Ok(()),
        false => Err("more was spent than anybody can".to_owned()),
    }
}

fn of_ask(what: &AskFact) -> Result<(), String> {
    let ask = match what {
        AskFact::Opened { ask } | AskFact::Closed { ask, .. } => ask.id,
        AskFact::Progressed { ask, .. } => *ask,
    };
    match ask.0 <= NUMBER_MAX {
        true => Ok(()),
        false => Err(format!("the number of an ask is above {NUMBER_MAX}")),
    }
}
