//! What children said they would do and have done, written before and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[derive(Default)]
pub struct Journal {
    pub pending: BTreeSet<u64>,
    /// The tree of each checkpoint.
    pub done: BTreeMap<u64, u64>,
    pub restoring: Option<(u64, u64)>,
}

impl Journal {
    pub fn read(home: &Path) -> Self {
        // One that was killed at once has not begun any.
        let text = fs::read_to_string(home.join("journal")).unwrap_or_default();
        let mut journal = Self::default();
        // A line without its end was cut by the kill.
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap();
            let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
            journal.restoring = None;
            match (word, &numbers[..]) {
                ("pending", [seed]) => {
                    journal.pending.insert(*seed);
                }
                ("done", [number, seed]) => {
                    journal.done.insert(*number, *seed);
                }
                // It was too old as a whole; numbers begin anew.
                ("forgotten", []) => journal.done.clear(),
                ("restoring", [from, to]) => {
                    journal.pending.insert(*from);
                    journal.restoring = Some((*from, *to));
                }
                _ => panic!("{line}"),
            }
        }
        journal
    }

    pub fn done_since(&self, told: u64) -> Vec<u64> {
        let after = told + 1;
        self.done
            .range(after..)
            .map(|(number, _)| *number)
            .collect()
    }
}
