//! Measures grep and glob over 20,000 files beside the `rg` program, and read within a file of 1 GB.
//!
//! `cargo run --release -p tools --example search_bench`; without `rg` only our own times are shown.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vocabulary::{OutputStream, PlanStep, Question, ToolOutput};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::{Failure, Host, QuestionAnswer, Sandbox, Scope, ToolCx, Toolbox};

const FILES: usize = 20_000;
const RUNS: usize = 9;
const LARGE_LINES: usize = 10_000_000;
const LARGE_LINE: usize = 100;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let tree = directory.path().join("tree");
    make_tree(&tree)?;
    println!("{FILES} files, median of {RUNS} runs, page cache warm");
    println!("{:42} {:>9} {:>9} {:>6}", "", "ours", "rg", "ratio");
    let searches: [(&str, Value, &[&str]); 7] = [
        (
            "grep",
            json!({"pattern": "needle_[0-9]{5}"}),
            &["-n", "--no-heading", "needle_[0-9]{5}"],
        ),
        (
            "grep",
            json!({"pattern": "nowhere"}),
            &["-n", "--no-heading", "nowhere"],
        ),
        (
            "grep",
            json!({"pattern": "NEEDLE_\\w+7\\b", "caseSensitive": false, "include": "*.rs"}),
            &["-n", "--no-heading", "-i", "-g", "*.rs", "NEEDLE_\\w+7\\b"],
        ),
        (
            "grep",
            json!({"pattern": "needle_1", "context": 2}),
            &["-n", "--no-heading", "-C", "2", "needle_1"],
        ),
        (
            "glob",
            json!({"pattern": "**/*.rs"}),
            &["--files", "--no-ignore", "-g", "**/*.rs"],
        ),
        (
            "glob",
            json!({"pattern": "**/*_7.rs"}),
            &["--files", "--no-ignore", "-g", "**/*_7.rs"],
        ),
        // rg sorts only on request; the tool always does.
        (
            "glob",
            json!({"pattern": "**/*.rs"}),
            &[
                "--files",
                "--no-ignore",
                "--sortr",
                "modified",
                "-g",
                "**/*.rs",
            ],
        ),
    ];
    for (tool, input, arguments) in searches {
        let (ours, theirs) = compare(&tree, tool, &input, arguments).await?;
        let label = format!("{tool} {}", input["pattern"]);
        match theirs {
            Some(theirs) => println!(
                "{label:42} {:7.1}ms {:7.1}ms {:6.2}",
                millis(ours),
                millis(theirs),
                millis(ours) / millis(theirs)
            ),
            None => println!("{label:42} {:7.1}ms", millis(ours)),
        }
    }
    large(directory.path()).await
}

fn make_tree(tree: &Path) -> Outcome<()> {
    for n in 0..FILES {
        let directory = tree.join(format!("crate_{}/src_{}", n % 50, n % 400));
        std::fs::create_dir_all(&directory)?;
        let ending = ["rs", "ts", "md", "txt"][n % 4];
        let mut text = String::new();
        for line in 0..60 + n % 120 {
            text.push_str(&format!(
                "    let value_{line} = compute({n}, \"text {line}\"); // why\n"
            ));
        }
        if n % 50 == 0 {
            text.push_str(&format!("fn needle_{n:05}() {{}}\n"));
        }
        std::fs::write(
            directory.join(format!("file_{n}_{}.{ending}", n % 10)),
            text,
        )?;
    }
    Ok(())
}

/// Both in turn, so that what else the machine does weighs on both.
async fn compare(
    tree: &Path,
    tool: &str,
    input: &Value,
    arguments: &[&str],
) -> Outcome<(Duration, Option<Duration>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        run(tree, tool, input.clone()).await?;
        ours.push(start.elapsed());
        let start = Instant::now();
        let mut command = Command::new("rg");
        command.args(arguments).arg(tree).stdout(Stdio::piped());
        if command.output().is_ok() {
            theirs.push(start.elapsed());
        }
    }
    Ok((median(ours), (!theirs.is_empty()).then(|| median(theirs))))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

async fn large(directory: &Path) -> Outcome<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(directory.join("large"))?);
    for n in 0..LARGE_LINES {
        writeln!(file, "{n:0width$}", width = LARGE_LINE - 1)?;
    }
    file.flush()?;
    let before = peak_kb();
    let start = Instant::now();
    let input = json!({"filePath": "large", "offset": LARGE_LINES / 2});
    let text = run(directory, "read", input).await?;
    println!(
        "read 2,000 lines from the middle of {} MB: {:.0} ms, {} lines, peak memory {} KB before, {} KB after",
        LARGE_LINES * LARGE_LINE / 1_000_000,
        millis(start.elapsed()),
        text.lines().count(),
        before,
        peak_kb()
    );
    Ok(())
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    number.unwrap_or_default()
}

async fn run(directory: &Path, tool: &str, input: Value) -> Outcome<String> {
    let cx = ToolCx {
        trusted: tools::Trusted::default(),
        scope: Scope {
            directory: PathBuf::from(directory),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
        },
        cancel: CancellationToken::new(),
        host: Arc::new(Nobody),
        sandbox: Arc::new(Sandbox::nothing()),
        seen: Arc::default(),
        jobs: Arc::default(),
        web: Arc::default(),
    };
    let tool = Toolbox::builtin().get(tool).ok_or("no such tool")?;
    match tool.run(&cx, input).await {
        Ok(ToolOutput::Text(text)) => Ok(text),
        other => Err(format!("{other:?}").into()),
    }
}

/// These tools need nothing of the agent.
struct Nobody;

#[async_trait]
impl Host for Nobody {
    async fn output(&self, _: OutputStream, _: String) {}

    async fn ask(&self, _: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        None
    }

    async fn set_plan(&self, _: Vec<PlanStep>) {}

    async fn spawn(&self, _: tools::SpawnRequest) -> Result<String, Failure> {
        Err(Failure::Error("there is no agent".to_owned()))
    }
}
