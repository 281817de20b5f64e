//! The program's own log: what is written, where to, and how.

use std::io::stderr;

use anyhow::Context;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::config::log_filter;
use crate::screen;

const LOG_VARIABLE: &str = "DRAGOMAN_LOG";

/// How a server logs.
#[derive(Debug)]
pub struct LogSettings {
    pub filter: Targets,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            filter: Targets::new().with_default(LevelFilter::WARN),
        }
    }
}

/// For a server.
pub fn start(settings: LogSettings) -> anyhow::Result<()> {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(screen::has_colours(&stderr()));
    tracing_subscriber::registry()
        .with(lines.with_filter(settings.filter))
        .init();
    Ok(())
}

/// For a command that does its work and ends: what goes wrong is said where the command is typed.
pub fn start_for_command() -> anyhow::Result<()> {
    let mut settings = LogSettings::default();
    if let Ok(wish) = std::env::var(LOG_VARIABLE) {
        settings.filter =
            log_filter(&wish).with_context(|| format!("{LOG_VARIABLE} cannot be used"))?;
    }
    start(settings)
}
