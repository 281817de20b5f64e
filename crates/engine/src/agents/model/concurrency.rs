//! Which calls of one answer are made at the same time, and which of them wait for others.

use std::path::Path;

use tokio::sync::{Semaphore, watch};
use tools::spawn_agent::disjoint;
use tools::{Judgement, SPAWN_AGENT, SpawnRequest};
use vocabulary::{Approvals, Subject};

use crate::limits::{PARALLEL_CALLS_MAX, SUB_AGENTS_AT_ONCE_MAX};
use crate::turn::{DueCall, Turn, offer, tooling};

/// What a call does to others that are made at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CallAccess {
    /// It changes nothing.
    Reads,
    /// A sub-agent that changes nothing.
    ReadingAgent,
    /// A sub-agent that may change these files, or any where it names none.
    WritingAgent(Vec<String>),
    /// Anything else: it is made alone, in its order.
    Alone,
}

/// The calls that are made at the same time, as far as they do not wait for each other.
pub struct CallBatch {
    calls: Vec<CallAccess>,
    waits_for: Vec<Vec<usize>>,
    ended: watch::Sender<Vec<bool>>,
    reads: Semaphore,
    agents: Semaphore,
}

impl CallBatch {
    /// The first calls that can be made together; at least one.
    pub fn first_of(turn: &Turn, calls: &[DueCall]) -> Self {
        let accesses = calls.iter().map(|due| access(turn, due));
        let together = together(accesses);
        Self::new(&turn.card.directory, together)
    }

    fn new(workspace: &Path, calls: Vec<CallAccess>) -> Self {
        let waits_for = (0..calls.len()).map(|at| {
            let earlier = calls[..at].iter().enumerate();
            let conflicting =
                earlier.filter(|(_, other)| must_not_meet(workspace, &calls[at], other));
            conflicting.map(|(other, _)| other).collect()
        });
        Self {
            waits_for: waits_for.collect(),
            ended: watch::Sender::new(vec![false; calls.len()]),
            calls,
            reads: Semaphore::new(PARALLEL_CALLS_MAX),
            agents: Semaphore::new(SUB_AGENTS_AT_ONCE_MAX),
        }
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Makes the call at this place once those before it that it must not meet have ended and there
    /// is room.
    pub async fn run<T>(&self, at: usize, making: impl Future<Output = T>) -> T {
        let mut ended = self.ended.subscribe();
        let earlier = &self.waits_for[at];
        let free = |ended: &Vec<bool>| earlier.iter().all(|other| ended[*other]);
        // Neither is ever closed while the batch is there, so nothing is waited for in vain.
        let _ = ended.wait_for(free).await;
        let room = match self.calls[at] {
            CallAccess::Reads | CallAccess::Alone => &self.reads,
            CallAccess::ReadingAgent | CallAccess::WritingAgent(_) => &self.agents,
        };
        let room = room.acquire().await;
        let made = making.await;
        drop(room);
        self.ended.send_modify(|ended| ended[at] = true);
        made
    }
}

fn together(accesses: impl Iterator<Item = CallAccess>) -> Vec<CallAccess> {
    let mut calls = Vec::new();
    for access in accesses {
        let alone = access == CallAccess::Alone;
        if alone && !calls.is_empty() {
            break;
        }
        calls.push(access);
        if alone {
            break;
        }
    }
    calls
}

fn must_not_meet(workspace: &Path, one: &CallAccess, other: &CallAccess) -> bool {
    match (one, other) {
        (CallAccess::WritingAgent(one), CallAccess::WritingAgent(other)) => {
            !disjoint(workspace, one, other)
        }
        (CallAccess::WritingAgent(_), CallAccess::Reads)
        | (CallAccess::Reads, CallAccess::WritingAgent(_)) => true,
        (CallAccess::Alone, _) | (_, CallAccess::Alone) => true,
        (CallAccess::ReadingAgent, _) | (_, CallAccess::ReadingAgent) => false,
        (CallAccess::Reads, CallAccess::Reads) => false,
    }
}

fn access(turn: &Turn, due: &DueCall) -> CallAccess {
    let call = &due.call;
    let Some(tool) = offer::find(turn, call.agent.as_deref(), &call.name) else {
        return CallAccess::Reads;
    };
    if tool.name() == SPAWN_AGENT {
        return match SpawnRequest::parse(&call.input) {
            Ok(request) if only_reads(turn, &request) => CallAccess::ReadingAgent,
            Ok(request) => CallAccess::WritingAgent(request.files),
            // It says what is wrong, and that is all.
            Err(_) => CallAccess::ReadingAgent,
        };
    }
    let judgement = tool.judge(&tooling::scope(turn), &call.input);
    let reads = match &call.subject {
        Subject::Command { line, .. } => {
            let asks_for_all = {
                let settings = &turn.permits.borrow().settings;
                settings.approvals == Approvals::Ask && !settings.auto_approve
            };
            // Where a person is asked for each, they are better asked in order.
            (judgement == Judgement::Allow || !asks_for_all) && tools::risk::only_reads(line)
        }
        Subject::Files(_)
        | Subject::Web { .. }
        | Subject::Search { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => {
            let effects = tool.effects();
            !effects.leave_traces() && effects.reads && judgement == Judgement::Allow
        }
    };
    match reads {
        true => CallAccess::Reads,
        false => CallAccess::Alone,
    }
}

/// One that goes on is of the kind that it was.
fn only_reads(turn: &Turn, request: &SpawnRequest) -> bool {
    match &request.resume {
        Some(id) => turn.sub_agents.only_reads(id).unwrap_or(true),
        None => request.kind.only_reads(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(files: &[&str]) -> CallAccess {
        CallAccess::WritingAgent(files.iter().map(|&file| file.to_owned()).collect())
    }

    #[test]
    fn calls_wait_for_those_they_must_not_meet() {
        use CallAccess::{Alone, ReadingAgent, Reads};
        let waits = |calls: Vec<CallAccess>| CallBatch::new(Path::new("/w"), calls).waits_for;
        assert_eq!(waits(vec![Reads, Reads, ReadingAgent]), [[0; 0]; 3]);
        assert_eq!(
            waits(vec![agent(&[]), ReadingAgent, agent(&["a"]), Reads]),
            [vec![], vec![], vec![0], vec![0, 2]]
        );
        assert_eq!(
            waits(vec![agent(&["a"]), agent(&["b"]), agent(&["b/c"])]),
            [vec![], vec![], vec![1]]
        );
        let batch = |calls: &[CallAccess]| together(calls.iter().cloned()).len();
        assert_eq!(batch(&[Reads, Reads, Alone, Reads]), 2);
        assert_eq!(batch(&[Alone, Reads]), 1);
        assert_eq!(batch(&[agent(&[]), agent(&[]), Reads, ReadingAgent]), 4);
    }
}
