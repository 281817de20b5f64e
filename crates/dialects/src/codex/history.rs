//! Turns and their items, rebuilt from the entries of the transcript.

use std::collections::HashMap;

use vocabulary::{
    Entry, Event, Fact, Growing, ItemFact, ItemId, LiveItem, RunningTurn, Seq, StepFact,
    ThreadCard, Timestamp, ToolCall, ToolEvent, ToolFact, ToolOutcome, TurnFact, TurnId,
    TurnOutcome, UserInput,
};

use super::tell::items::{self, CallProgress};
use super::wire::item::ThreadItem;
use super::wire::thread::{ItemsView, Turn};
use super::{Endpoint, show};

/// All turns of the entries, oldest first. `live` is what runs and is not in them yet.
pub fn turns<'a>(
    endpoint: Endpoint,
    card: &'a ThreadCard,
    entries: &'a [Entry],
    live: Option<&'a RunningTurn>,
) -> Vec<Turn<'a>> {
    let mut stories: Vec<Story<'a>> = Vec::new();
    for entry in entries {
        Story::of(&mut stories, &entry.event);
    }
    let outputs = live.map(|turn| turn.live.as_slice()).unwrap_or_default();
    stories
        .into_iter()
        .map(|story| story.told(endpoint, card, outputs))
        .collect()
}

/// One turn as far as the entries tell.
struct Story<'a> {
    turn: &'a TurnId,
    /// Each with the place where it began: what was said while something was written stands behind it.
    pieces: Vec<(Seq, Piece<'a>)>,
    results: HashMap<&'a ItemId, &'a ToolOutcome>,
    started_at: Option<Timestamp>,
    end: Option<(&'a TurnOutcome, Timestamp)>,
}

enum Piece<'a> {
    Said(&'a UserInput),
    Written(&'a ItemId, &'a vocabulary::Item),
    Called(&'a ToolCall),
    Compacted(&'a ItemId),
    Growing(&'a Growing),
}

impl<'a> Story<'a> {
    fn of(stories: &mut Vec<Self>, event: &'a Event) {
        let seq = event.seq;
        match &event.fact {
            Fact::Turn(what) => Self::of_turn(stories, what, event),
            Fact::Step {
                tag,
                what: StepFact::Compacted { item, .. },
            } => Self::find(stories, &tag.turn)
                .pieces
                .push((seq, Piece::Compacted(item))),
            Fact::Item {
                tag,
                item,
                what: ItemFact::Finished { body, began },
                ..
            } => Self::find(stories, &tag.turn)
                .pieces
                .push((began.unwrap_or(seq), Piece::Written(item, body))),
            Fact::Tool(ToolEvent { tag, call, what }) => {
                let story = Self::find(stories, &tag.turn);
                match what {
                    ToolFact::Planned { .. } => story.pieces.push((seq, Piece::Called(call))),
                    ToolFact::Finished { outcome } => {
                        story.results.insert(&call.item, outcome);
                    }
                    ToolFact::Reached
                    | ToolFact::Started
                    | ToolFact::Wrote { .. }
                    | ToolFact::Interacted { .. }
                    | ToolFact::Progressed { .. }
                    | ToolFact::Exited { .. } => {}
                }
            }
            Fact::Step { .. }
            | Fact::Item { .. }
            | Fact::Thread(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }

    fn of_turn(stories: &mut Vec<Self>, what: &'a TurnFact, event: &Event) {
        let (seq, at) = (event.seq, event.at);
        match what {
            TurnFact::Started {
                turn, cause, input, ..
            } => {
                let story = Self::find(stories, turn);
                story.started_at = Some(at);
                if cause.is_said() {
                    story.pieces.push((seq, Piece::Said(input)));
                }
            }
            TurnFact::Steered { turn, input, .. } => {
                let story = Self::find(stories, turn);
                story.pieces.push((seq, Piece::Said(input)));
            }
            TurnFact::Finished { turn, outcome, .. } => {
                Self::find(stories, turn).end = Some((outcome, at));
            }
            TurnFact::PlanChanged { .. } | TurnFact::UsageAdded { .. } => {}
        }
    }

    /// Entries of a turn stand together, so it is the last one or a new one.
    fn find<'s>(stories: &'s mut Vec<Self>, turn: &'a TurnId) -> &'s mut Self {
        let at = match stories.last() {
            Some(last) if last.turn == turn => stories.len() - 1,
            Some(_) | None => {
                stories.push(Self {
                    turn,
                    pieces: Vec::new(),
                    results: HashMap::new(),
                    started_at: None,
                    end: None,
                });
                stories.len() - 1
            }
        };
        &mut stories[at]
    }

    fn told(mut self, endpoint: Endpoint, card: &'a ThreadCard, live: &'a [Growing]) -> Turn<'a> {
        let live = match self.end {
            Some(_) => &[],
            None => live,
        };
        let outcome = self.end.map(|(outcome, _)| outcome);
        let last = Seq(u64::MAX);
        let written = live
            .iter()
            .map(|each| (each.began.unwrap_or(last), Piece::Growing(each)));
        self.pieces.extend(written);
        self.pieces.sort_by_key(|(began, _)| *began);
        let results = &self.results;
        let finished = self.pieces.iter().filter_map(|(_, piece)| match piece {
            Piece::Said(input) => Some(items::said(input)),
            Piece::Written(_, body) if items::is_silent(body) => None,
            Piece::Written(item, body) => items::written(item, body),
            Piece::Called(call) => items::called(endpoint, card, call, shown(results, live, call)),
            Piece::Compacted(item) => Some(items::compacted(item)),
            Piece::Growing(live) => growing(live),
        });
        Turn {
            items: finished.collect(),
            items_view: ItemsView::Full,
            status: show::turn_status(endpoint, outcome),
            error: outcome.and_then(show::turn_error),
            started_at: self.started_at.map(Timestamp::seconds),
            completed_at: self.end.map(|(_, at)| at.seconds()),
            ..show::turn(endpoint, self.turn)
        }
    }
}

fn shown<'a>(
    results: &HashMap<&'a ItemId, &'a ToolOutcome>,
    live: &'a [Growing],
    call: &ToolCall,
) -> CallProgress<'a> {
    let written = || {
        live.iter().find_map(|each| match &each.item {
            LiveItem::Output { call: known, text } if known.item == call.item => {
                Some(text.as_str())
            }
            LiveItem::Output { .. }
            | LiveItem::Text { .. }
            | LiveItem::Plan { .. }
            | LiveItem::Reasoning { .. }
            | LiveItem::ToolInput { .. } => None,
        })
    };
    match results.get(&call.item) {
        Some(outcome) => CallProgress::Ended(outcome),
        None => written().map_or(CallProgress::Running, CallProgress::Writing),
    }
}

/// What is being written right now, as far as it has come.
fn growing(live: &Growing) -> Option<ThreadItem<'_>> {
    match &live.item {
        LiveItem::Text { item, text, .. } => Some(ThreadItem::AgentMessage {
            id: item.as_str(),
            text,
        }),
        LiveItem::Plan { item, text, .. } => Some(ThreadItem::Plan {
            id: item.as_str(),
            text,
        }),
        LiveItem::Reasoning {
            item, kind, text, ..
        } => Some(items::reasoning(item.as_str(), *kind, text)),
        LiveItem::ToolInput { .. } | LiveItem::Output { .. } => None,
    }
}
