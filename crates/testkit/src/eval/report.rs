//! What came of an evaluation: a table for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::EvalTask;

#[derive(Debug, Serialize)]
pub struct EvalReport {
    pub model: String,
    pub results: Vec<TaskResult>,
}

/// One run of one task.
#[derive(Debug, Default, Serialize)]
pub struct TaskResult {
    pub task: String,
    pub kind: String,
    /// What is not as it should be; none where the task is solved.
    pub faults: Vec<String>,
    pub steps: u32,
    /// By tool.
    pub failed_calls: BTreeMap<String, u32>,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// None where a price is not known.
    pub cost_micro_dollars: Option<u64>,
    /// How often a person was asked.
    pub questions: u32,
    pub seconds: f64,
}

impl TaskResult {
    pub fn not_run(task: &EvalTask, why: &str) -> Self {
        Self {
            task: task.name.clone(),
            kind: task.file.kind.clone(),
            faults: vec![why.to_owned()],
            ..Self::default()
        }
    }

    pub fn is_solved(&self) -> bool {
        self.faults.is_empty()
    }
}

impl EvalReport {
    pub fn solved(&self) -> usize {
        self.results.iter().filter(|each| each.is_solved()).count()
    }

    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<26} {:<9} {:<7} {:>5} {:>9} {:>7} {:>8} {:>6} {:>7}  failed calls\n",
            "task", "kind", "", "steps", "input", "output", "cost", "asked", "seconds"
        );
        for each in &self.results {
            let verdict = if each.is_solved() { "solved" } else { "NOT" };
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "{:<26} {:<9} {verdict:<7} {:>5} {:>9} {:>7} {:>8} {:>6} {:>7.1}  {}",
                each.task,
                each.kind,
                each.steps,
                each.input_tokens,
                each.output_tokens,
                dollars(each.cost_micro_dollars),
                each.questions,
                each.seconds,
                counted(&each.failed_calls)
            );
            for fault in &each.faults {
                let _ = writeln!(text, "    {}", fault.replace('\n', "\n    "));
            }
        }
        text + &self.sums()
    }

    fn sums(&self) -> String {
        let all = &self.results;
        let sum = |of: fn(&TaskResult) -> u64| all.iter().map(of).sum::<u64>();
        let cost: Option<u64> = all.iter().map(|each| each.cost_micro_dollars).sum();
        let mut failed = BTreeMap::new();
        for (tool, times) in all.iter().flat_map(|each| &each.failed_calls) {
            *failed.entry(tool.clone()).or_default() += times;
        }
        format!(
            "{}: {} of {} solved, {} steps, {} tokens read ({} cached), {} written, {}, asked {} times, \
             failed calls: {}\n",
            self.model,
            self.solved(),
            all.len(),
            sum(|each| each.steps.into()),
            sum(|each| each.input_tokens),
            sum(|each| each.cached_tokens),
            sum(|each| each.output_tokens),
            dollars(cost),
            sum(|each| each.questions.into()),
            counted(&failed)
        )
    }
}

fn dollars(micro: Option<u64>) -> String {
    micro.map_or("?".to_owned(), |micro| {
        format!("${:.3}", micro as f64 / 1e6)
    })
}

fn counted(calls: &BTreeMap<String, u32>) -> String {
    if calls.is_empty() {
        return "none".to_owned();
    }
    let each = calls.iter().map(|(tool, times)| format!("{tool} {times}"));
    each.collect::<Vec<_>>().join(", ")
}
