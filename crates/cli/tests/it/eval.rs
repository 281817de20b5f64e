//! The tasks of `cargo xtask eval`, each solved by its own script: what is measured with a model is
//! tested without one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use testkit::eval::{self, EvalPlan, SCRIPTED};

/// What the system prompt demands and a check can see.
const RULES: [&str; 7] = [
    "commit",
    "data",
    "dirty",
    "finish",
    "question",
    "unrelated",
    "verify",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../eval/tasks")
}

/// Fails before it, too, where a check passes although nothing was done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_solved_by_its_script_and_by_nothing_less() -> anyhow::Result<()> {
    let plan = EvalPlan {
        binary: crate::DRAGOMAN.into(),
        model: SCRIPTED.to_owned(),
        tasks: eval::load(&folder(), &[])?,
        runs: 1,
        at_once: 6,
        approve: true,
    };
    let report = eval::run(plan).await?;
    let failed: Vec<_> = report
        .results
        .iter()
        .filter(|each| !each.is_solved())
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let worked = |each: &&eval::TaskResult| each.steps > 1 && each.output_tokens > 0;
    assert_eq!(
        report.results.iter().filter(worked).count(),
        report.results.len()
    );
    Ok(())
}

#[test]
fn every_rule_has_a_task() -> anyhow::Result<()> {
    let tasks = eval::load(&folder(), &[])?;
    assert!(tasks.len() >= 30, "{} tasks", tasks.len());
    let rules: BTreeSet<&str> = tasks
        .iter()
        .flat_map(|task| task.file.rules.iter().map(String::as_str))
        .collect();
    assert_eq!(rules, BTreeSet::from(RULES));
    Ok(())
}

/// A task of its own, whose script does what the task forbids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_task_forbids_is_seen() -> anyhow::Result<()> {
    let tasks = tempfile::tempdir()?;
    let task = tasks.path().join("forbidden");
    std::fs::create_dir_all(task.join("repo"))?;
    let files = [
        (
            "task.toml",
            "about = \"Shows what is seen\"\nkind = \"fix\"\nprompt = \"Change a.txt.\"\n\
             may_change = [\"a.txt\"]\nanswer = [\"done\"]\nnever = [\"committed\"]\n",
        ),
        ("repo/a.txt", "one\n"),
        ("repo/b.txt", "two\n"),
        ("check.sh", "grep -q three a.txt\ngrep -q one a.txt\n"),
        (
            "solution.rehearsal",
            "turn\n  call bash {\"command\": \"echo three > a.txt; echo three > b.txt; git add a.txt; \
             git -c user.name=A -c user.email=a@example.org commit -q -m x\"}\nnext\n  say I committed it.\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(task.join(name), text)?;
    }
    let plan = EvalPlan {
        binary: crate::DRAGOMAN.into(),
        model: SCRIPTED.to_owned(),
        tasks: eval::load(tasks.path(), &[])?,
        runs: 1,
        at_once: 1,
        approve: true,
    };
    let report = eval::run(plan).await?;
    assert_eq!(
        report.results[0].faults,
        [
            "the last message does not say \"done\"",
            "the last message says \"committed\"",
            "b.txt was changed",
            "something was committed, or the branch changed",
            "a script ended with exit status: 1: ",
        ]
    );
    Ok(())
}
