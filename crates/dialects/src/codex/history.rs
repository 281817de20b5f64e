//! Turns and their items, rebuilt from the entries of the transcript.

use std::collections::HashMap;

use vocabulary::{
    Entry, Event, Fact, Growing, ItemFact, ItemId, LiveItem, RunningTurn, Seq, StepFact,
    ThreadCard, Timestamp, ToolCall, ToolEvent, ToolFact, ToolOutcome, TurnFact, TurnId,
    TurnOutcome, UserInput, reasoning_parts,
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
    stories
        .into_iter()
        .map(|story| story.told(endpoint, card, live))
        .collect()
}

/// One turn as far as the entries tell.
struct Story<'a> {
    turn: &'a TurnId,
    pieces: Vec<PlacedPiece<'a>>,
    results: HashMap<&'a ItemId, (&'a ToolOutcome, Option<u64>)>,
    started_at: Option<Timestamp>,
    end: Option<(&'a TurnOutcome, Timestamp)>,
}

struct PlacedPiece<'a> {
    /// Where it began: what was said while something was written stands behind it.
    began: Seq,
    /// The step that made it.
    step: u32,
    piece: Piece<'a>,
}

enum Piece<'a> {
    Said(&'a UserInput),
    /// Said while the turn ran: it stands before the first thing of the step that reads it.
    Steered(&'a UserInput),
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
            } => Self::find(stories, &tag.turn).add(seq, tag.step, Piece::Compacted(item)),
            Fact::Item {
                tag,
                item,
                what: ItemFact::Finished { body, began },
                ..
            } => {
                let piece = Piece::Written(item, body);
                Self::find(stories, &tag.turn).add(began.unwrap_or(seq), tag.step, piece);
            }
            Fact::Tool(ToolEvent { tag, call, what }) => {
                let story = Self::find(stories, &tag.turn);
                match what {
                    ToolFact::Planned { .. } => story.add(seq, tag.step, Piece::Called(call)),
                    ToolFact::Finished {
                        outcome,
                        duration_ms,
                    } => {
                        story.results.insert(&call.item, (outcome, *duration_ms));
                    }
                    ToolFact::Reached
                    | ToolFact::Started
                    | ToolFact::Wrote { .. }
                    | ToolFact::Interacted { .. }
                    | ToolFact::JobEnded { .. }
                    | ToolFact::Progressed { .. }
                    | ToolFact::TimedOut { .. }
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
                    story.add(seq, 0, Piece::Said(input));
                }
            }
            TurnFact::Steered {
                turn,
                input,
                after_step,
            } => Self::find(stories, turn).add(seq, *after_step, Piece::Steered(input)),
            TurnFact::Finished { turn, outcome, .. } => {
                Self::find(stories, turn).end = Some((outcome, at));
            }
            TurnFact::SteerPlaced { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. } => {}
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

    fn add(&mut self, began: Seq, step: u32, piece: Piece<'a>) {
        self.pieces.push(PlacedPiece { began, step, piece });
    }

    fn told(
        mut self,
        endpoint: Endpoint,
        card: &'a ThreadCard,
        running: Option<&'a RunningTurn>,
    ) -> Turn<'a> {
        let running = running.filter(|_| self.end.is_none());
        let live = running.map(|turn| turn.live.as_slice()).unwrap_or_default();
        let outcome = self.end.map(|(outcome, _)| outcome);
        let last = Seq(u64::MAX);
        for each in live {
            let began = each.began.unwrap_or(last);
            self.add(began, each.tag.step, Piece::Growing(each));
        }
        self.place_steers(running);
        let results = &self.results;
        let finished = self.pieces.iter().filter_map(|placed| match &placed.piece {
            Piece::Said(input) | Piece::Steered(input) => Some(items::said(input)),
            Piece::Written(_, body) if items::is_silent(body) => None,
            Piece::Written(item, body) => items::written(endpoint, item, body),
            Piece::Called(call) => items::called(endpoint, card, call, shown(results, live, call)),
            Piece::Compacted(item) => Some(items::compacted(item)),
            Piece::Growing(live) => growing(endpoint, live),
        });
        Turn {
            items: finished.collect(),
            items_view: ItemsView::Full,
            status: show::turn_status(endpoint, outcome),
            error: outcome.and_then(show::turn_error),
            started_at: self.started_at.map(Timestamp::seconds),
            completed_at: self.end.map(|(_, at)| at.seconds()),
            duration_ms: self
                .end
                .and_then(|(_, at)| show::duration_ms(self.started_at, at)),
            ..show::turn(endpoint, self.turn)
        }
    }

    /// Puts all in its order, and what was said meanwhile where it took effect: live it is told there
    /// too. What has no place yet is told when it has.
    fn place_steers(&mut self, running: Option<&RunningTurn>) {
        let unplaced = running.map(|turn| turn.unplaced.as_slice());
        let unplaced = unplaced.unwrap_or_default();
        let is_steer = |placed: &PlacedPiece<'_>| matches!(placed.piece, Piece::Steered(_));
        let pieces = std::mem::take(&mut self.pieces);
        let (steers, mut pieces): (Vec<_>, Vec<_>) = pieces.into_iter().partition(is_steer);
        pieces.sort_by_key(|placed| placed.began);
        let mut steers = steers.into_iter().peekable();
        let mut told = Vec::new();
        for piece in pieces {
            let is_read =
                |steer: &PlacedPiece<'_>| steer.began < piece.began && steer.step < piece.step;
            while let Some(steer) = steers.next_if(is_read) {
                told.push(steer);
            }
            told.push(piece);
        }
        told.extend(steers);
        told.retain(|placed| match placed.piece {
            Piece::Steered(input) => !unplaced.contains(&input.item),
            Piece::Said(_)
            | Piece::Written(..)
            | Piece::Called(_)
            | Piece::Compacted(_)
            | Piece::Growing(_) => true,
        });
        self.pieces = told;
    }
}

fn shown<'a>(
    results: &HashMap<&'a ItemId, (&'a ToolOutcome, Option<u64>)>,
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
        Some((outcome, duration_ms)) => CallProgress::Ended(outcome, *duration_ms),
        None => written().map_or(CallProgress::Running, CallProgress::Writing),
    }
}

/// What is being written right now, as far as it has come.
fn growing(endpoint: Endpoint, live: &Growing) -> Option<ThreadItem<'_>> {
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
            item,
            kind,
            text,
            breaks,
            ..
        } => {
            let parts = reasoning_parts(text, breaks);
            Some(items::reasoning(endpoint, item.as_str(), *kind, parts))
        }
        LiveItem::ToolInput { .. } | LiveItem::Output { .. } => None,
    }
}
