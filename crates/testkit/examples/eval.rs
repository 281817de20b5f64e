//! Gives small real tasks to a model behind the real server: `cargo xtask eval`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use testkit::eval::{self, EvalPlan, SCRIPTED};

const USAGE: &str = "eval BINARY TASKS --model PROVIDER/MODEL [--task NAME]… [--runs N] [--at-once N] \
                     [--approve] [--json FILE]";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let (plan, json) = arguments()?;
    let report = eval::run(plan).await?;
    print!("{}", report.table());
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(match report.solved() == report.results.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn arguments() -> anyhow::Result<(EvalPlan, Option<PathBuf>)> {
    let mut words = std::env::args().skip(1);
    let binary = words.next().context(USAGE)?;
    let tasks = words.next().context(USAGE)?;
    let (mut model, mut names, mut json) = (None, Vec::new(), None);
    let (mut runs, mut at_once, mut approve) = (1, 4, false);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} what? {USAGE}"))
        };
        match word.as_str() {
            "--model" => model = Some(value()?),
            "--task" => names.push(value()?),
            "--runs" => runs = value()?.parse().context("--runs takes a number")?,
            "--at-once" => at_once = value()?.parse().context("--at-once takes a number")?,
            "--approve" => approve = true,
            "--json" => json = Some(PathBuf::from(value()?)),
            other => bail!("`{other}` is not known; {USAGE}"),
        }
    }
    let model = model.context("which model? --model PROVIDER/MODEL, or --model scripted")?;
    let plan = EvalPlan {
        binary: PathBuf::from(binary).canonicalize()?,
        approve: approve || model == SCRIPTED,
        model,
        tasks: eval::load(tasks.as_ref(), &names)?,
        runs,
        at_once,
    };
    Ok((plan, json))
}
