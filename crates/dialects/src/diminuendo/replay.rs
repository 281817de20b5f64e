//! What a client is told again when it joins, so that replayed events and gaps cover every number
//! once.
//!
//! The engine gives the holes that ephemeral events left. Durable events that have no numbered
//! frame in this protocol fall into the holes around them, which this joins to one gap each.

use vocabulary::{AskFact, AskKind, Event, Fact, OpenAsk, Seq, ThreadFact, ThreadView, TurnFact};

use super::send;
use super::states::ToldState;
use super::tell::{At, Spelled, spell};
use super::wire::ServerEvent;
use crate::{Action, Ending, Heard};

/// One joined session, as far as its replay goes.
pub struct Replay {
    session: String,
    /// What cannot be told, not told yet: after the first, up to the second.
    hole: Option<(Seq, Seq)>,
    /// What waited for an answer at the moment of joining and has not been told yet.
    open: Vec<OpenAsk>,
    joining: bool,
    /// Whether it wakes up for who joins, which is news of the time after the replay.
    wakes: bool,
    state: ToldState,
}

impl Replay {
    pub fn new(session: String, view: &ThreadView) -> Self {
        Self {
            session,
            hole: None,
            open: view.asks.clone(),
            joining: true,
            wakes: false,
            state: ToldState::of(view),
        }
    }

    pub fn hear(&mut self, out: &mut Vec<Action>, what: Heard<'_>) {
        match what {
            Heard::Live(event) => {
                self.tell_hole(out);
                match event.fact {
                    Fact::Thread(ThreadFact::StatusChanged { status, reason }) => {
                        self.state.follow(out, &self.session, status, reason);
                    }
                    // tidy: wildcard, because everything else is told as it is.
                    _ => out.push(Action::Shared),
                }
            }
            Heard::Gap { after, to } => self.miss(after, to),
            Heard::Replay(event) => self.replayed(out, event),
            Heard::CaughtUp { head } => self.caught_up(out, head),
            // The connection sees to it.
            Heard::Ended(_) => {}
        }
    }

    /// The end of the replay: all open asks that it had not told are told now, then how it wakes up.
    pub fn caught_up(&mut self, out: &mut Vec<Action>, head: Seq) {
        self.tell_hole(out);
        self.joining = false;
        let session_id = self.session.as_str();
        send(
            out,
            &ServerEvent::ReplayComplete {
                session_id,
                last_seq: head.0,
            },
        );
        for open in self.open.drain(..) {
            let at = At {
                session_id: &self.session,
                seq: open.seq.0,
                ts: open.at.millis(),
                user_id: None,
            };
            send(out, &at.asked(&open.ask).into_event());
        }
        if std::mem::take(&mut self.wakes) {
            self.state.wake(out, &self.session);
        }
    }

    /// A session that slept wakes up for who joins it.
    pub fn wake(&mut self) {
        self.wakes = true;
    }

    /// Nothing more comes from the session.
    pub fn end(&mut self, out: &mut Vec<Action>, ending: Ending) {
        self.state.end(out, &self.session, ending);
    }

    /// The session as it is after a change of its settings.
    pub fn fence(&mut self, out: &mut Vec<Action>, view: &ThreadView) {
        self.state.fence(out, &self.session, view);
    }

    fn replayed(&mut self, out: &mut Vec<Action>, event: &Event) {
        // Who joins has the state from its snapshot; who was too slow missed it.
        let missed = (!self.joining).then_some(&event.fact);
        let begins = missed.filter(|fact| matches!(fact, Fact::Turn(TurnFact::Started { .. })));
        if let Some(fact) = begins {
            self.state.infer(out, &self.session, fact);
        }
        self.tell_again(out, event);
        if let Some(fact) = missed {
            self.state.infer(out, &self.session, fact);
        }
    }

    fn tell_again(&mut self, out: &mut Vec<Action>, event: &Event) {
        match spell(&self.session, event) {
            Some(Spelled::Numbered(_)) => {
                self.tell_hole(out);
                self.forget_open(&event.fact);
                out.push(Action::Shared);
            }
            Some(Spelled::Unnumbered(_)) | None => {
                self.miss(Seq(event.seq.0.saturating_sub(1)), event.seq);
                if self.still_asks(&event.fact) {
                    out.push(Action::Shared);
                }
            }
        }
    }

    /// Of what has no number only questions are told again, and only those that wait: nothing in
    /// this protocol would say that they were answered.
    fn still_asks(&mut self, fact: &Fact) -> bool {
        let Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } = fact
        else {
            return false;
        };
        let is_question = matches!(ask.kind, AskKind::Questions(_));
        is_question && (self.forget_open(fact) || !self.joining)
    }

    /// Whether it was open, and now is told.
    fn forget_open(&mut self, fact: &Fact) -> bool {
        let Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } = fact
        else {
            return false;
        };
        let before = self.open.len();
        self.open.retain(|open| open.ask.id != ask.id);
        self.open.len() < before
    }

    fn miss(&mut self, after: Seq, to: Seq) {
        match &mut self.hole {
            Some((_, end)) => *end = to,
            None => self.hole = Some((after, to)),
        }
    }

    fn tell_hole(&mut self, out: &mut Vec<Action>) {
        if let Some((after, to)) = self.hole.take() {
            let gap = ServerEvent::Gap {
                session_id: &self.session,
                from_seq: after.0,
                to_seq: to.0,
            };
            send(out, &gap);
        }
    }
}
