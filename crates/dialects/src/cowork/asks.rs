//! Open asks: how a request id is spelled, and what this connection remembers of them.
//!
//! A blank answer is sent back together with the ask it was for, and an answer names a question by
//! its place, so a connection has to know the asks it told. Everything else about them is the engine's.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{Ask, AskFact, AskId, AskKind, Fact, OpenAsk, Question, RiskCode, ThreadFact};

use super::wire::ServerEvent;
use super::wire::conversation::{Approval as ApprovalEvent, ApprovalRiskCode, Ask as AskEvent};
use crate::Frame;
use crate::frame::AsText;
use crate::request_id::RequestId;

/// More than a thread has open at once; the oldest is forgotten first.
const OPEN_ASKS_MAX: usize = 64;

/// The asks this connection has told and that still wait.
#[derive(Debug, Default)]
pub struct OpenAsks {
    asks: BTreeMap<AskId, UnansweredAsk>,
}

#[derive(Debug)]
struct UnansweredAsk {
    ask: Ask,
    answered: BTreeSet<String>,
}

impl OpenAsks {
    pub fn remember(&mut self, open: &OpenAsk) {
        self.insert(open.ask.clone(), open.answers.keys().cloned().collect());
    }

    fn insert(&mut self, ask: Ask, answered: BTreeSet<String>) {
        self.asks.insert(ask.id, UnansweredAsk { ask, answered });
        while self.asks.len() > OPEN_ASKS_MAX {
            self.asks.pop_first();
        }
    }

    /// Follows what is told.
    pub fn follow(&mut self, fact: &Fact) {
        if let Fact::Ask {
            what: AskFact::Opened { ask, .. },
            ..
        } = fact
        {
            self.insert(ask.clone(), BTreeSet::new());
        } else if let Fact::Ask {
            what: AskFact::Progressed { ask, answers, .. },
            ..
        } = fact
        {
            if let Some(waiting) = self.asks.get_mut(ask) {
                waiting.answered.extend(answers.keys().cloned());
            }
        } else if let Fact::Ask {
            what: AskFact::Closed { ask, .. },
            ..
        } = fact
        {
            self.asks.remove(&ask.id);
        } else if let Fact::Thread(ThreadFact::Reset) = fact {
            self.asks.clear();
        }
    }

    /// The question an answer is for, if it still waits.
    pub fn question(&self, id: RequestId) -> Option<&Question> {
        let waiting = self.asks.get(&id.ask)?;
        let AskKind::Questions(questions) = &waiting.ask.kind else {
            return None;
        };
        let question = questions.get(usize::try_from(id.position).ok()?)?;
        (!waiting.answered.contains(&question.id)).then_some(question)
    }

    /// Whether this asks questions: an approval is no answer to those.
    pub fn asks_questions(&self, ask: AskId) -> bool {
        self.asks
            .get(&ask)
            .is_some_and(|waiting| matches!(waiting.ask.kind, AskKind::Questions(_)))
    }

    /// Questions first, then approvals, each as it waits now.
    pub fn replay(&self, session: &str, ids: &BTreeSet<AskId>) -> Vec<Frame> {
        let waiting = || ids.iter().filter_map(|id| self.asks.get(id));
        let questions = waiting().filter_map(|waiting| {
            let AskKind::Questions(questions) = &waiting.ask.kind else {
                return None;
            };
            let open = |question: &&Question| !waiting.answered.contains(&question.id);
            let (position, question) = (0..).zip(questions).find(|(_, q)| open(q))?;
            let ask = waiting.ask.id;
            Some(ask_frame(session, RequestId { ask, position }, question))
        });
        let approvals = waiting().filter_map(|waiting| approval_frame(session, &waiting.ask));
        questions.chain(approvals).collect()
    }
}

pub fn ask_frame(session: &str, id: RequestId, question: &Question) -> Frame {
    let options = question.options.iter().map(|option| option.label.as_str());
    ServerEvent::Ask(AskEvent {
        session_id: session,
        request_id: AsText(id),
        question: &question.question,
        options: options.collect(),
    })
    .frame()
}

/// `None` for an ask that is not an approval.
pub fn approval_frame(session: &str, ask: &Ask) -> Option<Frame> {
    let AskKind::Approval(approval) = &ask.kind else {
        return None;
    };
    let event = ServerEvent::Approval(ApprovalEvent {
        session_id: session,
        request_id: AsText(RequestId::first(ask.id)),
        command: approval.command_in_full(),
        reason: &approval.reason,
        dangerous: approval.dangerous,
        reason_code: reason_code(approval.risk),
    });
    Some(event.frame())
}

fn reason_code(risk: RiskCode) -> ApprovalRiskCode {
    match risk {
        RiskCode::SafeAutoApproved => ApprovalRiskCode::SafeAutoApproved,
        RiskCode::MatchesDangerousPattern => ApprovalRiskCode::MatchesDangerousPattern,
        RiskCode::ContainsShellControlOperator => ApprovalRiskCode::ContainsShellControlOperator,
        RiskCode::RequiresManualReview => ApprovalRiskCode::RequiresManualReview,
        RiskCode::FileReadCommandRequiresReview => ApprovalRiskCode::FileReadCommandRequiresReview,
        RiskCode::OutsideAllowedScope => ApprovalRiskCode::OutsideAllowedScope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_read_only_as_it_was_written() {
        for text in ["req-7", "req-7-2", "req-12-4"] {
            let id = RequestId::parse(text).expect("ours");
            assert_eq!(id.to_string(), text);
        }
        for text in [
            "", "req-", "req-x", "req-7-1", "req-7-0", "req-07", "req-+7", "7",
        ] {
            assert_eq!(RequestId::parse(text), None, "{text}");
        }
    }
}
