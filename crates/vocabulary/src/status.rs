//! The seven states of a thread, as clients know them
//! (docs/protocols/diminuendo.md, "The seven states").

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Asleep: only kept.
    #[default]
    Inactive,
    Activating,
    /// Awake and at rest.
    Ready,
    Running,
    /// A turn waits for a person.
    Waiting,
    Deactivating,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a thread cannot go from {from:?} to {to:?}")]
pub struct IllegalTransition {
    pub from: Status,
    pub to: Status,
}

impl Status {
    pub const ALL: [Status; 7] = [
        Status::Inactive,
        Status::Activating,
        Status::Ready,
        Status::Running,
        Status::Waiting,
        Status::Deactivating,
        Status::Error,
    ];

    /// Whether a turn is under way.
    pub fn is_busy(self) -> bool {
        matches!(self, Status::Running | Status::Waiting)
    }

    /// Where a thread may go from here.
    pub fn next_states(self) -> &'static [Status] {
        match self {
            Status::Inactive => &[Status::Activating],
            Status::Activating => &[Status::Ready, Status::Error, Status::Inactive],
            Status::Ready => &[
                Status::Running,
                Status::Deactivating,
                Status::Inactive,
                Status::Error,
            ],
            Status::Running => &[
                Status::Ready,
                Status::Waiting,
                Status::Error,
                Status::Deactivating,
            ],
            Status::Waiting => &[
                Status::Running,
                Status::Ready,
                Status::Error,
                Status::Deactivating,
            ],
            Status::Deactivating => &[Status::Inactive, Status::Error],
            Status::Error => &[Status::Deactivating, Status::Inactive],
        }
    }

    pub fn to(self, to: Status) -> Result<Status, IllegalTransition> {
        if self.next_states().contains(&to) {
            Ok(to)
        } else {
            Err(IllegalTransition { from: self, to })
        }
    }

    /// The states passed through on the way to `to`, without `self`; empty when already there.
    /// A thread in error that is used again goes by way of `Inactive` and `Activating`.
    pub fn path_to(self, to: Status) -> Vec<Status> {
        let mut paths: Vec<Vec<Status>> = vec![vec![self]];
        let mut seen = vec![self];
        while !paths.is_empty() {
            let mut longer = Vec::new();
            for path in paths {
                let last = path[path.len() - 1];
                if last == to {
                    return path[1..].to_vec();
                }
                for &next in last.next_states() {
                    if !seen.contains(&next) {
                        seen.push(next);
                        longer.push([path.as_slice(), &[next]].concat());
                    }
                }
            }
            paths = longer;
        }
        Vec::new()
    }
}

/// Why a thread changed its state, for those who show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusReason {
    TurnStarted,
    TurnComplete,
    UserStopped,
    TurnFailed,
    /// The program that drove the turn is gone.
    AgentLost,
    AskOpened,
    AskClosed,
    Woken,
    Idle,
    ServerRestart,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are where a thread is, columns where it goes, both in the order of `ALL`.
    const ALLOWED: [&str; 7] = [
        // inactive, activating, ready, running, waiting, deactivating, error
        ".x.....", // inactive
        "x.x...x", // activating
        "x..x.xx", // ready
        "..x.xxx", // running
        "..xx.xx", // waiting
        "x.....x", // deactivating
        "x....x.", // error
    ];

    #[test]
    fn of_all_49_pairs_only_those_of_the_table_are_steps() {
        for (from, row) in Status::ALL.into_iter().zip(ALLOWED) {
            for (to, sign) in Status::ALL.into_iter().zip(row.chars()) {
                let expected = match sign {
                    'x' => Ok(to),
                    _ => Err(IllegalTransition { from, to }),
                };
                assert_eq!(from.to(to), expected);
                assert_eq!(from.path_to(to) == [to], sign == 'x', "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn only_inactive_can_be_activated() {
        let from: Vec<Status> = Status::ALL
            .into_iter()
            .filter(|from| from.to(Status::Activating).is_ok())
            .collect();
        assert_eq!(from, [Status::Inactive]);
    }

    #[test]
    fn a_failed_thread_comes_back_by_way_of_inactive() {
        assert_eq!(
            Status::Error.path_to(Status::Running),
            [
                Status::Inactive,
                Status::Activating,
                Status::Ready,
                Status::Running
            ]
        );
        assert_eq!(Status::Ready.path_to(Status::Ready), []);
    }

    #[test]
    fn every_state_can_reach_every_other_by_legal_steps() {
        for from in Status::ALL {
            for to in Status::ALL {
                let mut at = from;
                for step in from.path_to(to) {
                    at = at.to(step).expect("a path has legal steps only");
                }
                assert_eq!(at, to);
            }
        }
    }
}
