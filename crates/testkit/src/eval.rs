//! Small real tasks for a model behind the whole server: a repository, a prompt, a check.
//!
//! A task whose model is `scripted` is solved by its own script of calls, so that tasks and harness
//! are tested without a key; `docs/eval.md` is for people.

mod attempt;
mod report;
mod task;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use attempt::Attempt;
pub use report::{EvalReport, TaskResult};
pub use task::EvalTask;
use workspace::TaskWorkspace;

/// The model that plays the script of a task.
pub const SCRIPTED: &str = "scripted";

/// What is run, and how.
#[derive(Clone, Debug)]
pub struct EvalPlan {
    /// The server.
    pub binary: PathBuf,
    /// `PROVIDER/MODEL`, or `scripted`.
    pub model: String,
    pub tasks: Vec<EvalTask>,
    /// How often each.
    pub runs: u32,
    /// How many at once.
    pub at_once: usize,
    /// Whether the person at the other end says yes to what the server asks for.
    pub approve: bool,
}

/// Runs them all; a task that could not be run counts as not solved, with the reason.
pub async fn run(plan: EvalPlan) -> anyhow::Result<EvalReport> {
    let plan = Arc::new(plan);
    let places = Arc::new(Semaphore::new(plan.at_once.max(1)));
    let mut running = JoinSet::new();
    for run in 0..plan.runs {
        for (at, task) in plan.tasks.iter().enumerate() {
            let (plan, places, task) = (Arc::clone(&plan), Arc::clone(&places), task.clone());
            running.spawn(async move {
                let _place = places.acquire_owned().await?;
                let started = Instant::now();
                let mut result = match run_task(&plan, &task).await {
                    Ok(result) => result,
                    Err(error) => TaskResult::not_run(&task, &format!("{error:#}")),
                };
                result.seconds = started.elapsed().as_secs_f64();
                anyhow::Ok(((run, at), result))
            });
        }
    }
    let mut results = Vec::new();
    while let Some(joined) = running.join_next().await {
        results.push(joined??);
    }
    results.sort_by_key(|(place, _)| *place);
    Ok(EvalReport {
        model: plan.model.clone(),
        results: results.into_iter().map(|(_, result)| result).collect(),
    })
}

async fn run_task(plan: &EvalPlan, task: &EvalTask) -> anyhow::Result<TaskResult> {
    let workspace = TaskWorkspace::prepare(task).await?;
    let is_scripted = plan.model == SCRIPTED;
    if is_scripted {
        let before = workspace.faults("").await?;
        ensure!(
            !before.is_empty(),
            "the check passes before anything is done"
        );
    }
    let attempt = Attempt::make(plan, task, &workspace).await?;
    let mut faults = workspace.faults(&attempt.last_message).await?;
    faults.extend(attempt.ended_badly());
    Ok(attempt.into_result(task, faults))
}

/// All tasks of the folder, by name; only these where some are named.
pub fn load(folder: &std::path::Path, names: &[String]) -> anyhow::Result<Vec<EvalTask>> {
    let mut tasks = Vec::new();
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            tasks.push(EvalTask::load(&path)?);
        }
    }
    tasks.sort_by(|one, other| one.name.cmp(&other.name));
    for name in names {
        let there = tasks.iter().any(|task| task.name == *name);
        ensure!(there, "there is no task {name:?} in {}", folder.display());
    }
    tasks.retain(|task| names.is_empty() || names.contains(&task.name));
    Ok(tasks)
}
