//! `dragoman sandbox`: what keeps commands in on this machine.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use tools::Sandbox;
use tools::sandbox::Mode;
use tools::sandbox::probe::{self, Finding};

use crate::screen::{GREEN, RED, YELLOW, has_colours, painted};

const EXAMPLES: &str = "\
Examples:
  dragoman sandbox check           makes every attempt to break out of our own tests
  dragoman sandbox check --json    the same, for programs

It ends with 0 if a sandbox holds, and with 1 otherwise.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SandboxArguments {
    #[command(subcommand)]
    pub what: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Try what holds on this machine
    #[command(after_help = EXAMPLES)]
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(arguments: SandboxArguments) -> anyhow::Result<()> {
    let SandboxCommand::Check { json } = arguments.what;
    // It starts processes and waits for them.
    let report = tokio::task::spawn_blocking(look).await??;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&report.to_json())?),
        false => report.print(),
    }
    match report.holds() {
        true => Ok(()),
        false => bail!("nothing holds commands as it should"),
    }
}

struct SandboxReport {
    sandbox: Sandbox,
    /// Modes that would have been better, and why they do not work.
    missed: Vec<(Mode, &'static str)>,
    findings: Vec<Finding>,
}

fn look() -> anyhow::Result<SandboxReport> {
    let launcher = std::env::current_exe().context("cannot find this program")?;
    let sandbox = Sandbox::detect();
    let better = Mode::ALL
        .into_iter()
        .take_while(|mode| *mode != sandbox.mode());
    let missed = better.filter_map(|mode| {
        let why = probe::why_not(&Sandbox::with_mode(mode, &launcher))?;
        Some((mode, why))
    });
    Ok(SandboxReport {
        missed: missed.collect(),
        findings: probe::check(&sandbox).context("cannot try the sandbox")?,
        sandbox,
    })
}

impl SandboxReport {
    fn holds(&self) -> bool {
        let kept = self
            .findings
            .iter()
            .all(|finding| finding.holds || !finding.promised);
        self.sandbox.mode() != Mode::Nothing && kept
    }

    fn to_json(&self) -> serde_json::Value {
        let missed = self
            .missed
            .iter()
            .map(|(mode, why)| json!({ "mode": mode, "why": why }));
        json!({
            "mode": self.sandbox.mode(),
            "holds": self.holds(),
            "notice": self.sandbox.notice(),
            "notices": self.sandbox.notices(),
            "missed": missed.collect::<Vec<_>>(),
            "limits": self.sandbox.limits(),
            "findings": self.findings,
        })
    }

    fn print(&self) {
        let colours = has_colours(&std::io::stdout());
        for (mode, why) in &self.missed {
            println!("{}: does not work: {why}", mode.name());
        }
        println!(
            "{}: in use\n\nWhat a command tried",
            self.sandbox.mode().name()
        );
        for finding in &self.findings {
            let (paint, word) = match (finding.missing, finding.holds, finding.promised) {
                (Some(program), _, _) => (YELLOW, format!("was not tried: no {program} here")),
                (None, true, _) => (GREEN, "was stopped".to_owned()),
                (None, false, true) => (RED, "GOT THROUGH".to_owned()),
                (None, false, false) => (YELLOW, "got through".to_owned()),
            };
            println!("  {:<56} {}", finding.what, painted(&word, paint, colours));
        }
        for notice in self.sandbox.notices() {
            println!("\n{notice}");
        }
    }
}
