//! Asks: opened by a turn, answered by anyone, closed once.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;
use vocabulary::{
    Answer, ApprovalAnswer, Ask, AskFact, AskId, AskKind, Attendance, Closing, Fact, ItemId,
    NoteFact, OpenAsk, Question, Refusal, Status, StatusReason, StreamTag, Why,
};

use super::Session;
use super::outbox::Outbox;
use super::state::ThreadState;
use crate::Shared;
use crate::counts::OpenAskCount;
use crate::limits::UNHEARD_ASK_WAIT;
use crate::{push, telemetry};

/// What a model is told where nobody can be asked.
const NOBODY_TO_ASK: &str = "not done: a person would have to answer first, and no client is \
    connected that could ask one. Do without it, or tell the user what you need and why.";

/// Closed asks remembered, to tell "too late" from "never heard of".
const CLOSED_ASKS_MAX: usize = 64;

/// What a session knows of asks beside those that are open.
pub struct Asking {
    /// Turns that wait for an answer.
    pub waiters: HashMap<AskId, oneshot::Sender<Closing>>,
    /// Asks of this turn that were answered before the turn came to wait for them.
    pub early: HashMap<ItemId, (AskKind, Closing)>,
    closed: VecDeque<AskId>,
    /// Whether something may have been allowed for this turn only.
    pub turn_grants: bool,
    /// How many are open, for the metrics of the whole server.
    pub open: OpenAskCount,
    /// When the last ask was opened.
    asked_at: Instant,
    /// When who listens last changed in a way that may leave nobody to answer.
    pub unattended_since: Instant,
    /// Whether somebody may come back to answer where nobody listens at all: not if the turn was started
    /// among those who cannot, and nobody who can has come since.
    awaits_answerer: bool,
}

impl Asking {
    /// A turn that goes on may have grants from before.
    pub fn new(shared: &Arc<Shared>, state: &ThreadState) -> Self {
        let turn_grants = state.turn.is_some();
        Self {
            open: OpenAskCount::new(shared, state.asks.len()),
            waiters: HashMap::new(),
            early: HashMap::new(),
            closed: VecDeque::new(),
            turn_grants,
            asked_at: Instant::now(),
            unattended_since: Instant::now(),
            awaits_answerer: true,
        }
    }

    /// Somebody came to listen.
    pub fn heard_by(&mut self, attendance: Attendance) {
        self.awaits_answerer |= attendance.answers;
        if !attendance.answers {
            self.unattended_since = Instant::now();
        }
    }

    /// A turn begins to run among those who listen now.
    pub fn turn_runs(&mut self, outbox: &Outbox) {
        self.awaits_answerer = outbox.answers().unwrap_or(true);
    }
}

impl Session {
    /// Opens an ask for a turn, or joins the one that is open for the same call.
    pub(super) fn open_ask(
        &mut self,
        tag: StreamTag,
        ask: Ask,
        reply: oneshot::Sender<Closing>,
    ) -> Result<(), Refusal> {
        if let Some((asked, closing)) = self.asking.early.remove(&ask.call.item)
            && same_matter(&asked, &ask.kind)
        {
            let _ = reply.send(closing);
            return Ok(());
        }
        if self.turn.as_ref().is_some_and(|turn| turn.cancelled) {
            let _ = reply.send(Closing::Cancelled);
            return Ok(());
        }
        let open = self.state.asks.iter();
        let mut open = open.filter(|open| open.ask.call.item == ask.call.item);
        match open.next().cloned() {
            Some(open) if same_matter(&open.ask.kind, &ask.kind) => {
                self.asking.waiters.insert(open.ask.id, reply);
                return Ok(());
            }
            // Left open by another process, about something that is not so any more.
            Some(open) => {
                let why = "what it was about has changed".to_owned();
                self.close_ask(open, Closing::Lost { why })?;
                self.asking.early.remove(&ask.call.item);
            }
            None => {}
        }
        if !self.reaches_somebody() {
            let why = NOBODY_TO_ASK.to_owned();
            let _ = reply.send(Closing::Lost { why });
            return Ok(());
        }
        self.asking.waiters.insert(ask.id, reply);
        self.asking.asked_at = Instant::now();
        telemetry::ask_opened(self.card.id, &ask);
        let matter = push::matter(&ask);
        self.record(Fact::Ask {
            tag,
            what: AskFact::Opened { ask },
        })?;
        let (shared, card) = (Arc::clone(&self.shared), self.card.clone());
        self.recorder.after_commit(move |committed| {
            if committed.is_ok() {
                push::tell(&shared, &card, matter);
            }
        });
        self.tell_status(Status::Waiting, StatusReason::AskOpened)
    }

    /// Takes a person's answer.
    pub(super) fn answer(&mut self, id: AskId, answer: Answer) -> Result<(), Refusal> {
        let Some(open) = self
            .state
            .asks
            .iter()
            .find(|open| open.ask.id == id)
            .cloned()
        else {
            return Err(self.no_such_ask(id));
        };
        let cancels = answer == Answer::Approval(ApprovalAnswer::DenyAndCancel);
        match judge(&open, answer)? {
            AnswerEffect::Closed(answer) => self.close_ask(open, Closing::Answered(answer))?,
            AnswerEffect::Progressed {
                answers,
                next,
                position,
            } => {
                let tag = open.tag.clone();
                self.record(Fact::Ask {
                    tag,
                    what: AskFact::Progressed {
                        ask: id,
                        answers,
                        next,
                        position,
                    },
                })?;
            }
        }
        if cancels { self.cancel_turn() } else { Ok(()) }
    }

    fn no_such_ask(&self, id: AskId) -> Refusal {
        if self.asking.closed.contains(&id) {
            already_answered(id)
        } else {
            Refusal::new(Why::UnknownAsk, format!("there is no open ask {id}"))
        }
    }

    pub(super) fn close_all_asks(&mut self, closing: Closing) -> Result<(), Refusal> {
        for open in self.state.asks.clone() {
            self.close_ask(open, closing.clone())?;
        }
        Ok(())
    }

    /// Whether an ask comes before a person: one who listens, or, where nobody does, one who may come back.
    pub(super) fn reaches_somebody(&self) -> bool {
        let answers = self.recorder.outbox.answers();
        answers.unwrap_or(self.asking.awaits_answerer)
    }

    /// When open asks end because nobody is there to answer them: as the operator wishes, and soon where
    /// those who do listen cannot answer. Who only lost their connection has time to come back.
    pub(super) fn unattended_until(&self) -> Option<Instant> {
        let own = self.shared.config.ask_timeout;
        let timeout = match (self.recorder.outbox.listeners(), self.reaches_somebody()) {
            (0, true) => own,
            (_, false) => Some(own.map_or(UNHEARD_ASK_WAIT, |own| own.min(UNHEARD_ASK_WAIT))),
            (_, true) => None,
        };
        let since = self.asking.unattended_since.max(self.asking.asked_at);
        let timeout = timeout.filter(|_| !self.state.asks.is_empty());
        timeout.map(|timeout| since + timeout)
    }

    /// Ends every open ask: with words where nobody who listens can answer, else with no, and says why.
    pub(super) fn answer_for_nobody(&mut self) -> Result<(), Refusal> {
        let unheard = !self.reaches_somebody();
        for open in self.state.asks.clone() {
            if unheard {
                let why = NOBODY_TO_ASK.to_owned();
                self.close_ask(open, Closing::Lost { why })?;
                continue;
            }
            let line = format!(
                "[policy] nobody was there to answer {}, so the answer is no",
                open.ask.call.name
            );
            self.record(Fact::Note(NoteFact::Logged { line }))?;
            self.answer(open.ask.id, Answer::Dismissed)?;
        }
        Ok(())
    }

    /// Nobody is left to hear the answers to these.
    pub(super) fn close_asks_of_sub_agents(&mut self, why: &str) -> Result<(), Refusal> {
        let orphans = self
            .state
            .asks
            .iter()
            .filter(|open| open.ask.call.agent.is_some());
        for open in orphans.cloned().collect::<Vec<_>>() {
            let why = why.to_owned();
            self.close_ask(open, Closing::Lost { why })?;
        }
        Ok(())
    }

    fn close_ask(&mut self, open: OpenAsk, closing: Closing) -> Result<(), Refusal> {
        let OpenAsk { ask, tag, .. } = open;
        telemetry::ask_closed(self.card.id, &ask, &closing);
        let (id, item, kind) = (ask.id, ask.call.item.clone(), ask.kind.clone());
        self.record(Fact::Ask {
            tag,
            what: AskFact::Closed {
                ask,
                closing: closing.clone(),
            },
        })?;
        self.tell_status(self.state.thread.status, StatusReason::AskClosed)?;
        self.asking.closed.push_back(id);
        if self.asking.closed.len() > CLOSED_ASKS_MAX {
            self.asking.closed.pop_front();
        }
        match self.asking.waiters.remove(&id) {
            // The turn goes on once the answer is on disk.
            Some(waiter) => self.recorder.after_commit(move |committed| {
                if committed.is_ok() {
                    let _ = waiter.send(closing);
                }
            }),
            None => {
                self.asking.early.insert(item, (kind, closing));
            }
        }
        Ok(())
    }
}

fn already_answered(id: AskId) -> Refusal {
    Refusal::new(
        Why::AlreadyAnswered,
        format!("ask {id} was answered already"),
    )
}

enum AnswerEffect {
    Closed(Answer),
    Progressed {
        answers: BTreeMap<String, Vec<String>>,
        next: Option<Question>,
        position: u32,
    },
}

/// Whether a person who answers the one has answered the other: they read the same words, and what is
/// asked for exactly is the same, as far as an older version has said it.
fn same_matter(asked: &AskKind, now: &AskKind) -> bool {
    match (asked, now) {
        (AskKind::Approval(asked), AskKind::Approval(now)) => {
            asked.command == now.command && (asked.key.is_none() || asked.key == now.key)
        }
        (AskKind::Questions(asked), AskKind::Questions(now)) => asked == now,
        (AskKind::Approval(_), AskKind::Questions(_))
        | (AskKind::Questions(_), AskKind::Approval(_)) => false,
    }
}

/// What an answer does to an open ask.
fn judge(open: &OpenAsk, answer: Answer) -> Result<AnswerEffect, Refusal> {
    match (&open.ask.kind, answer) {
        (AskKind::Approval(_), answer @ Answer::Approval(_)) => Ok(AnswerEffect::Closed(answer)),
        (AskKind::Approval(_), Answer::Dismissed) => {
            Ok(AnswerEffect::Closed(Answer::Approval(ApprovalAnswer::Deny)))
        }
        (AskKind::Approval(_), Answer::Questions(_)) => Err(Refusal::invalid(
            "answer",
            "this is an approval: answer yes or no",
        )),
        (AskKind::Questions(_), Answer::Approval(_)) => Err(Refusal::invalid(
            "answer",
            "this is a question: answer with text",
        )),
        (AskKind::Questions(questions), Answer::Dismissed) => {
            let mut answers = open.answers.clone();
            for question in questions {
                answers.entry(question.id.clone()).or_default();
            }
            Ok(AnswerEffect::Closed(Answer::Questions(answers)))
        }
        (AskKind::Questions(questions), Answer::Questions(given)) => {
            judge_questions(open, questions, given)
        }
    }
}

fn judge_questions(
    open: &OpenAsk,
    questions: &[Question],
    mut given: BTreeMap<String, Vec<String>>,
) -> Result<AnswerEffect, Refusal> {
    let known = |id: &String| questions.iter().any(|question| question.id == *id);
    if let Some(unknown) = given.keys().find(|id| !known(id)) {
        return Err(Refusal::invalid(
            "answers",
            format!("there is no question {unknown:?} here"),
        ));
    }
    // The first answer to a question stands, whoever gave it.
    let offered = given.len();
    given.retain(|id, _| !open.answers.contains_key(id));
    if given.is_empty() && offered > 0 {
        return Err(already_answered(open.ask.id));
    }
    if given.is_empty() || given.values().flatten().any(|text| text.trim().is_empty()) {
        return Err(Refusal::new(
            Why::BlankAnswer,
            "Ask response cannot be empty. Reply with text or [skipped] to skip.",
        ));
    }
    let asked = |answers: &BTreeMap<String, Vec<String>>| {
        let mut numbered = questions.iter().zip(0..);
        numbered.find(|(each, _)| !answers.contains_key(&each.id))
    };
    let before = asked(&open.answers).map(|(_, position)| position);
    let mut answers = open.answers.clone();
    answers.extend(given);
    Ok(match asked(&answers) {
        Some((next, position)) => AnswerEffect::Progressed {
            // Whoever answers out of order does not make the others be asked again.
            next: (before != Some(position)).then(|| next.clone()),
            position,
            answers,
        },
        None => AnswerEffect::Closed(Answer::Questions(answers)),
    })
}
