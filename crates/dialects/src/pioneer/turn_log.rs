//! `turn/items` and `turn/timeline`: what the log has of one turn, read where its index says it lies.

use std::collections::HashMap;

use vocabulary::{Call, Event, EventPage, IndexedTurn, Seq, Thread, TurnId};

use super::steps::{RequestStep, RunningRequest};
use super::wire::history::{ThreadHistoryEvent, TurnItemEvent};
use super::wire::timeline::{
    TimelineItem, TimelineLane, TimelineOrigin, TimelineOriginKind, TimelinePayload,
    TurnTimelineParams, TurnTimelineResponse,
};
use super::wire::turn::TurnItemsResponse;
use super::{Pioneer, history, respond, show};
use crate::Action;

const PAGE: u32 = 1_000;

/// In which of its two forms a turn is told.
#[derive(Clone, Copy)]
pub enum TurnForm {
    Items,
    Timeline(TimelineChoice),
}

/// What of a timeline is wanted.
#[derive(Clone, Copy)]
pub struct TimelineChoice {
    children: bool,
    /// Of each sub-agent.
    children_max: usize,
}

impl TimelineChoice {
    pub fn of(params: &TurnTimelineParams) -> Self {
        let children_max = params.max_child_items_per_task;
        Self {
            children: params.compose_tasks.unwrap_or(true),
            children_max: children_max.map_or(usize::MAX, |max| max as usize),
        }
    }

    fn keep(self, events: &mut Vec<ThreadHistoryEvent<'_>>) {
        let mut told: HashMap<String, usize> = HashMap::new();
        events.retain(|event| match (event.lane, event.child_of) {
            (TimelineLane::ChildAgent | TimelineLane::ChildTool, Some(parent)) => {
                let told = told.entry(parent.to_owned()).or_default();
                *told += 1;
                self.children && *told <= self.children_max
            }
            (_, _) => true,
        });
    }
}

/// A reading under way.
pub struct TurnLogReader {
    thread: Thread,
    turn: TurnId,
    form: TurnForm,
    /// Nothing while the turn runs.
    last: Option<Seq>,
    read_to: Seq,
    log: Vec<Event>,
}

impl TurnLogReader {
    pub fn new(thread: Thread, turn: &IndexedTurn, form: TurnForm) -> Self {
        Self {
            thread,
            turn: turn.turn.clone(),
            form,
            last: turn.ended.as_ref().map(|end| end.last_seq),
            read_to: Seq(turn.first_seq.0.saturating_sub(1)),
            log: Vec::new(),
        }
    }

    fn answer(&self, out: &mut Vec<Action>, running: &RunningRequest) {
        let card = &self.thread.card;
        let (workspace_id, turn_id) = (card.workspace.as_str(), self.turn.as_str());
        let thread_id = &*show::wire_id(card);
        let events = history::events(card, thread_id, &self.log);
        let mut events = history::items_of(events, turn_id);
        let last_sequence = events.last().map_or(0, |event| event.sequence);
        match self.form {
            TurnForm::Items => {
                let result = TurnItemsResponse {
                    thread_id,
                    workspace_id,
                    turn_id,
                    last_sequence,
                    events: events.into_iter().map(TurnItemEvent::from).collect(),
                };
                respond(out, &running.id, &result);
            }
            TurnForm::Timeline(choice) => {
                choice.keep(&mut events);
                let result = TurnTimelineResponse {
                    thread_id,
                    workspace_id,
                    turn_id,
                    last_sequence,
                    items: events.into_iter().map(timeline_item).collect(),
                };
                respond(out, &running.id, &result);
            }
        }
    }
}

fn timeline_item(event: ThreadHistoryEvent<'_>) -> TimelineItem<'_> {
    TimelineItem {
        id: format!("{}-{}", event.turn_id, event.sequence),
        origin: TimelineOrigin {
            kind: TimelineOriginKind::ParentTurn,
            origin_turn_item_id: event.child_of,
            origin_sequence: event.sequence,
            occurred_at: event.created_at,
            lane: event.lane,
        },
        payload: TimelinePayload::TurnItemEvent {
            event: event.into(),
        },
    }
}

impl Pioneer {
    pub(super) fn read_turn_log(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        read: TurnLogReader,
    ) {
        let call = Call::ReadEvents {
            thread: read.thread.card.id,
            after: read.read_to,
            limit: PAGE,
        };
        self.call(out, running, RequestStep::TurnLog(Box::new(read)), call);
    }

    pub(super) fn turn_log_page(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        mut read: TurnLogReader,
        page: EventPage,
    ) {
        let is_past = |seq: Seq| read.last.is_some_and(|last| seq > last);
        let mut is_over = !page.more;
        for event in page.events {
            if is_past(event.seq) {
                is_over = true;
                break;
            }
            read.read_to = event.seq;
            read.log.push(event);
        }
        match is_over || read.last.is_some_and(|last| read.read_to >= last) {
            true => read.answer(out, running),
            false => self.read_turn_log(out, running, read),
        }
    }
}
