//! What the words of choices mean; the table has checked that they are among those it lists.

use engine::{CheckpointSetting, Fence};
use tools::sandbox::Mode;
use vocabulary::Approvals;

use super::Configuration;
use crate::logging::LogFormat;

pub fn approvals(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.settings.engine.approvals = Some(match text {
        "ask" => Approvals::Ask,
        "never" => Approvals::Never,
        // tidy: wildcard, because the words were checked against the table.
        _ => Approvals::Auto,
    });
    Ok(())
}

pub fn sandbox(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    let network = false;
    let only = |mode| Fence::Only { mode, network };
    all.settings.engine.sandbox = match text {
        "bubblewrap" => only(Mode::Bubblewrap),
        "landlock" => only(Mode::Landlock),
        "off" => Fence::Nothing,
        // tidy: wildcard, because the words were checked against the table.
        _ => Fence::Best { network },
    };
    Ok(())
}

pub fn network(all: &mut Configuration, on: bool) {
    match &mut all.settings.engine.sandbox {
        Fence::Best { network } | Fence::Only { network, .. } => *network = on,
        Fence::Nothing => {}
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

pub fn log_format(all: &mut Configuration, text: &str) -> anyhow::Result<()> {
    all.log.format = match text {
        "json" => LogFormat::Json,
        // tidy: wildcard, because the words were checked against the table.
        _ => LogFormat::Text,
    };
    Ok(())
}
