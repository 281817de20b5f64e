//! What a thread knows of its checks from their last runs, and so what of a new run is worth saying.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use vocabulary::TurnId;

use super::{CheckEnd, CheckKind, CheckRule, Problem};

/// The most lines that a model reads of one run.
const LINES_MAX: usize = 20;
/// Runs in a row without improvement that a model is told of in one turn.
const ROUNDS_MAX: u32 = 3;
/// A check that takes too long so often in a row is not run again.
const TIMEOUTS_MAX: u32 = 2;

/// The checks of one thread, as they last ended.
#[derive(Debug, Default)]
pub struct CheckHistory {
    rules: HashMap<(CheckKind, String), RuleHistory>,
    /// The one that runs.
    turn: Option<TurnId>,
}

#[derive(Debug, Default)]
struct RuleHistory {
    /// What the model was last told of, and has not mended since; nothing where it passes.
    known: Vec<Problem>,
    timeouts: u32,
    is_left_out: bool,
    /// In this turn, without improvement.
    rounds: u32,
    turn: Option<TurnId>,
}

impl CheckHistory {
    /// What ends from now on ends in this turn.
    pub fn enter_turn(&mut self, turn: &TurnId) {
        self.turn = Some(turn.clone());
    }

    /// Whether a rule still runs in this thread.
    pub fn runs(&self, rule: &CheckRule) -> bool {
        let known = self.rules.get(&(rule.kind, rule.run.clone()));
        known.is_none_or(|known| !known.is_left_out)
    }

    /// Takes note of a run; gives what the model is told of it. `changed` are the files that were.
    pub fn ended(
        &mut self,
        rule: &CheckRule,
        end: &CheckEnd,
        changed: &[PathBuf],
    ) -> Option<String> {
        let known = self.rules.entry((rule.kind, rule.run.clone())).or_default();
        if known.turn != self.turn {
            known.turn.clone_from(&self.turn);
            known.rounds = 0;
        }
        if matches!(end, CheckEnd::Passed | CheckEnd::Failed { .. }) {
            known.timeouts = 0;
        }
        match end {
            CheckEnd::Passed => {
                known.rounds = 0;
                let failed = !std::mem::take(&mut known.known).is_empty();
                failed.then(|| format!("`{}` passes again.", rule.run))
            }
            CheckEnd::Failed {
                exit_code,
                problems,
            } => known.failed(rule, *exit_code, problems, changed),
            CheckEnd::TimedOut => Some(known.timed_out(rule)),
            CheckEnd::CouldNotRun => {
                known.is_left_out = true;
                None
            }
            CheckEnd::Cancelled => None,
        }
    }
}

impl RuleHistory {
    fn timed_out(&mut self, rule: &CheckRule) -> String {
        self.timeouts += 1;
        self.is_left_out = self.timeouts >= TIMEOUTS_MAX;
        let seconds = rule.timeout.as_secs();
        let more = match self.is_left_out {
            true => ", again; it is not run by itself any more in this thread",
            false => "; what it would have said is not known",
        };
        format!("`{}` was stopped after {seconds} s{more}.", rule.run)
    }

    fn failed(
        &mut self,
        rule: &CheckRule,
        exit_code: i32,
        problems: &[Problem],
        changed: &[PathBuf],
    ) -> Option<String> {
        let fewer = self.known.len().saturating_sub(problems.len());
        match fewer {
            0 => self.rounds += 1,
            _ => self.rounds = 0,
        }
        if self.rounds > ROUNDS_MAX {
            return None;
        }
        let known = std::mem::replace(&mut self.known, problems.to_vec());
        let run = &rule.run;
        let mut new = new_since(&known, problems);
        let mut text = match (new.is_empty(), known.is_empty(), fewer) {
            (true, _, 0) => format!("`{run}` still fails as before (exit {exit_code})."),
            (true, _, _) => format!(
                "`{run}` still fails (exit {exit_code}): {fewer} fewer, {} left.",
                problems.len()
            ),
            (false, true, _) => format!("`{run}` fails (exit {exit_code}):"),
            (false, false, _) => {
                format!("`{run}` fails (exit {exit_code}); new since its last run:")
            }
        };
        // What the last edit did comes first, and what fails before what only warns.
        new.sort_by_key(|problem| (problem.is_warning(), !is_in(problem, changed)));
        for problem in new.iter().take(LINES_MAX) {
            // Writing to a text cannot fail.
            let _ = write!(text, "\n{problem}");
        }
        if let more @ 1.. = new.len().saturating_sub(LINES_MAX) {
            let _ = write!(text, "\n[{more} more]");
        }
        if self.rounds == ROUNDS_MAX {
            text.push_str("\nThe check still fails; say so if you leave it.");
        }
        Some(text)
    }
}

fn is_in(problem: &Problem, changed: &[PathBuf]) -> bool {
    let path = problem.path.as_deref();
    path.is_some_and(|path| changed.iter().any(|file| file.as_os_str() == path))
}

/// Those that were not there before, where each earlier one stands for one of now.
fn new_since<'a>(before: &[Problem], now: &'a [Problem]) -> Vec<&'a Problem> {
    let mut left: Vec<&Problem> = before.iter().collect();
    let is_new = |problem: &&Problem| match left.iter().position(|old| old.is_same(problem)) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    now.iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> CheckRule {
        let text = "[[check]]\nfiles = '*.rs'\nrun = 'lint'\ntimeout = 7";
        super::super::in_workspace(text).expect("a rule").remove(0)
    }

    fn problem(place: &str, message: &str) -> Problem {
        let (path, line) = place.split_once(':').expect("a place");
        Problem {
            path: Some(path.to_owned()),
            line: line.parse().ok(),
            message: message.to_owned(),
        }
    }

    fn failed(problems: &[Problem]) -> CheckEnd {
        CheckEnd::Failed {
            exit_code: 1,
            problems: problems.to_vec(),
        }
    }

    struct Told(CheckHistory);

    impl Told {
        fn of(&mut self, end: &CheckEnd) -> Option<String> {
            self.0.ended(&rule(), end, &[PathBuf::from("b.rs")])
        }
    }

    #[test]
    fn nothing_is_said_of_a_check_that_passes_until_it_passes_again() {
        let mut told = Told(CheckHistory::default());
        assert_eq!(told.of(&CheckEnd::Passed), None);
        let broken = failed(&[problem("a.rs:1", "bad")]);
        let text = told.of(&broken);
        assert_eq!(text.as_deref(), Some("`lint` fails (exit 1):\na.rs:1: bad"));
        let again = told.of(&CheckEnd::Passed);
        assert_eq!(again.as_deref(), Some("`lint` passes again."));
        assert_eq!(told.of(&CheckEnd::Passed), None);
    }

    #[test]
    fn only_what_is_new_is_told_wherever_the_lines_moved() {
        let mut told = Told(CheckHistory::default());
        told.of(&failed(&[problem("a.rs:1", "bad")]));
        let moved = problem("a.rs:9", "bad");
        let now = [
            moved.clone(),
            problem("c.rs:2", "warning: hm"),
            problem("c.rs:1", "worse"),
            problem("b.rs:5", "worse"),
            problem("a.rs:12", "bad"),
        ];
        let text = told.of(&failed(&now)).expect("news");
        assert_eq!(
            text,
            "`lint` fails (exit 1); new since its last run:\n\
             b.rs:5: worse\nc.rs:1: worse\na.rs:12: bad\nc.rs:2: warning: hm"
        );
        let text = told.of(&failed(&[moved.clone(), moved])).expect("news");
        assert_eq!(text, "`lint` still fails (exit 1): 3 fewer, 2 left.");
    }

    #[test]
    fn many_problems_are_cut() {
        let mut told = Told(CheckHistory::default());
        let many: Vec<_> = (0..50)
            .map(|n| problem("a.rs:1", &format!("bad {n}")))
            .collect();
        let text = told.of(&failed(&many)).expect("news");
        assert_eq!(text.lines().count(), 1 + LINES_MAX + 1);
        assert!(text.ends_with("\na.rs:1: bad 19\n[30 more]"), "{text}");
    }

    #[test]
    fn three_rounds_without_improvement_are_enough_for_a_turn() {
        let mut told = Told(CheckHistory::default());
        told.0.enter_turn(&TurnId::new("1"));
        let broken = |n: usize| failed(&vec![problem("a.rs:1", "bad"); n]);
        assert!(told.of(&broken(4)).is_some());
        let same = told.of(&broken(4)).expect("the second round");
        assert_eq!(same, "`lint` still fails as before (exit 1).");
        let third = told.of(&broken(5)).expect("the third round");
        assert!(
            third.ends_with("\nThe check still fails; say so if you leave it."),
            "{third}"
        );
        assert_eq!(told.of(&broken(6)), None, "told often enough");
        let better = told.of(&broken(2)).expect("it improved");
        assert_eq!(better, "`lint` still fails (exit 1): 3 fewer, 2 left.");
        assert!(told.of(&broken(2)).is_some());
        told.0.enter_turn(&TurnId::new("2"));
        for _ in 0..ROUNDS_MAX {
            assert!(told.of(&broken(2)).is_some(), "a new turn");
        }
        assert_eq!(told.of(&broken(2)), None);
        let again = told.of(&CheckEnd::Passed);
        assert_eq!(again.as_deref(), Some("`lint` passes again."));
    }

    #[test]
    fn two_timeouts_in_a_row_are_the_last() {
        let mut told = Told(CheckHistory::default());
        let first = told.of(&CheckEnd::TimedOut).expect("told");
        assert_eq!(
            first,
            "`lint` was stopped after 7 s; what it would have said is not known."
        );
        told.of(&CheckEnd::Passed);
        told.of(&CheckEnd::TimedOut);
        assert!(told.0.runs(&rule()));
        let last = told.of(&CheckEnd::TimedOut).expect("told");
        assert!(last.contains("not run by itself any more"), "{last}");
        assert!(!told.0.runs(&rule()));
    }

    #[test]
    fn what_cannot_run_is_left_out_in_silence() {
        let mut told = Told(CheckHistory::default());
        assert_eq!(told.of(&CheckEnd::CouldNotRun), None);
        assert!(!told.0.runs(&rule()));
    }
}
