//! What the words of choices mean; the table has checked that they are among those it lists.

use engine::{CheckChoice, CheckpointSetting, SandboxSetting};
use tools::sandbox::Mode;
use vocabulary::{Approvals, Verbosity};

use super::Configuration;
use crate::logging::LogFormat;

pub fn approvals(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.approvals = Some(match text {
        "ask" => Approvals::Ask,
        "never" => Approvals::Never,
        "on-failure" => Approvals::OnFailure,
        // tidy: wildcard, because the words were checked against the table.
        _ => Approvals::Auto,
    });
    Ok(())
}

pub fn effort(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.effort = Some(text.to_owned());
    Ok(())
}

pub fn verbosity(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.verbosity = Verbosity::named(text);
    Ok(())
}

pub fn sandbox(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    let network = false;
    let only = |mode| SandboxSetting::Only { mode, network };
    all.settings.engine.sandbox = match text {
        "bubblewrap" => only(Mode::Bubblewrap),
        "landlock" => only(Mode::Landlock),
        "off" => SandboxSetting::Nothing,
        // tidy: wildcard, because the words were checked against the table.
        _ => SandboxSetting::Best { network },
    };
    Ok(())
}

pub fn network(all: &mut Configuration, on: bool) {
    match &mut all.settings.engine.sandbox {
        SandboxSetting::Best { network } | SandboxSetting::Only { network, .. } => *network = on,
        SandboxSetting::Nothing => {}
    }
}

pub fn checkpoints(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.checkpoints = match text {
        "off" => CheckpointSetting::Off,
        // tidy: wildcard, because the words were checked against the table.
        _ => CheckpointSetting::default(),
    };
    Ok(())
}

pub fn checks(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.checks.choice = match text {
        "configured" => CheckChoice::Configured,
        "off" => CheckChoice::Off,
        // tidy: wildcard, because the words were checked against the table.
        _ => CheckChoice::Auto,
    };
    Ok(())
}

pub fn log_format(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.log.format = match text {
        "json" => LogFormat::Json,
        // tidy: wildcard, because the words were checked against the table.
        _ => LogFormat::Text,
    };
    Ok(())
}
