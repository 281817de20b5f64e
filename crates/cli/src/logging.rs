//! The program's own log: what is written, where to, and how.

mod rotation;

use std::io::stderr;
use std::path::PathBuf;

use anyhow::Context;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

use crate::config::log_filter;
use crate::screen;
use rotation::RotatingFile;

const LOG_VARIABLE: &str = "DRAGOMAN_LOG";

/// How a server logs.
#[derive(Debug)]
pub struct LogSettings {
    pub filter: Targets,
    pub format: LogFormat,
    /// Instead of standard error.
    pub file: Option<PathBuf>,
    /// A file that would grow beyond this becomes an old one.
    pub file_bytes_max: u64,
    /// Old files that are kept.
    pub old_files_max: u32,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object a line.
    Json,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            filter: Targets::new().with_default(LevelFilter::WARN),
            format: LogFormat::Text,
            file: None,
            file_bytes_max: 0,
            old_files_max: 0,
        }
    }
}

/// For a server.
pub fn start(settings: LogSettings) -> anyhow::Result<()> {
    let LogSettings { filter, format, .. } = settings;
    // It writes down what servers and tools say.
    let filter = filter.with_target("rmcp", LevelFilter::OFF);
    match settings.file {
        Some(path) => {
            let limits = (settings.file_bytes_max, settings.old_files_max);
            let file = RotatingFile::open(path, limits.0, limits.1)?;
            write_to(file, filter, format, false);
        }
        None => write_to(stderr, filter, format, screen::has_colours(&stderr())),
    }
    Ok(())
}

fn write_to<W>(writer: W, filter: Targets, format: LogFormat, colours: bool)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let filter = filter.and(filter_fn(holds_no_secret));
    let registry = tracing_subscriber::registry();
    match format {
        LogFormat::Text => registry
            .with(lines.with_ansi(colours).with_filter(filter))
            .init(),
        LogFormat::Json => registry
            .with(
                lines
                    .json()
                    .flatten_event(true)
                    .with_current_span(false)
                    .with_filter(filter),
            )
            .init(),
    }
}

/// Below this level the SDK of MCP tells what servers say, and codes and tokens of sign-ins. That is
/// written for nobody, whatever they ask for.
fn holds_no_secret(line: &Metadata<'_>) -> bool {
    let sdk = line.target() == "rmcp" || line.target().starts_with("rmcp::");
    !sdk || *line.level() <= Level::INFO
}

/// For a command that does its work and ends: what goes wrong is said where the command is typed.
pub fn start_for_command() -> anyhow::Result<()> {
    let mut settings = LogSettings::default();
    if let Ok(wish) = std::env::var(LOG_VARIABLE)
        && !wish.is_empty()
    {
        settings.filter =
            log_filter(&wish).with_context(|| format!("{LOG_VARIABLE} cannot be used"))?;
    }
    start(settings)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("unpoisoned").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_the_sdk_of_mcp_tells_in_detail_is_written_for_nobody() {
        let page = Page::default();
        let writer = page.clone();
        let lines = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
        let wanted = log_filter("trace,rmcp::transport::auth=trace").expect("a filter");
        let filter = wanted.and(filter_fn(holds_no_secret));
        let log = tracing_subscriber::registry().with(lines.with_filter(filter));
        tracing::subscriber::with_default(log, || {
            tracing::debug!(target: "rmcp::transport::auth", "exchanges code-1");
            tracing::trace!(target: "rmcp", "hears code-2");
            tracing::info!(target: "rmcp::service", "is connected");
            tracing::debug!(target: "engine", "is awake");
        });
        let written = page.0.lock().expect("unpoisoned").clone();
        let written = String::from_utf8(written).expect("text");
        assert!(!written.contains("code-"), "{written}");
        assert!(written.contains("is connected") && written.contains("is awake"));
    }
}
