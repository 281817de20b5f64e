//! `dragoman sessions export`: sessions as files, whole or to read.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use engine::transfer::{self, ToldTranscript, TransferError};
use serde_json::{Value, json};
use store::SharedStore;
use vocabulary::{Caller, Thread, ThreadId};

use super::files::{self, NewFile};
use super::markdown::MarkdownStyle;
use super::names::SessionNames;
use super::open;
use super::pieces::SessionPiece;
use crate::commands::checkpoints::words;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Ends of ids, whole ids, ids that clients gave, or `last`
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub sessions: Vec<String>,
    /// `json`: whole, to be imported again; `markdown`: to read
    #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
    pub format: ExportFormat,
    /// A file, or a directory for a file per session [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Every session that is not archived
    #[arg(long, conflicts_with = "sessions")]
    pub all: bool,
    /// With --all: archived ones, too
    #[arg(long, requires = "all")]
    pub archived: bool,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Json,
    Markdown,
}

impl ExportFormat {
    fn ending(self) -> &'static str {
        match self {
            Self::Json => "jsonl",
            Self::Markdown => "md",
        }
    }
}

pub async fn run(arguments: ExportArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    let store = open(home).await?;
    let names = SessionNames::read(&store, &Caller::local().tenant).await?;
    let chosen = choose(&arguments, &names)?;
    let Some(output) = &arguments.output else {
        return match chosen.as_slice() {
            [only] if !arguments.all => {
                to_standard_output(&store, only.card.id, arguments.format).await
            }
            [] | [_, ..] => {
                bail!("several sessions are written to a directory; name one with --output")
            }
        };
    };
    let one_file = match chosen.as_slice() {
        [_] if !arguments.all && !output.is_dir() => Some(output.clone()),
        [_] | [] | [_, ..] => None,
    };
    if one_file.is_none() {
        files::directory(output)?;
    }
    let mut written: Vec<Value> = Vec::new();
    for thread in &chosen {
        let id = thread.card.id;
        let named = || output.join(format!("{id}.{}", arguments.format.ending()));
        let place = one_file.clone().unwrap_or_else(named);
        let mut file = NewFile::create(&place, arguments.force)?;
        let out = file.output();
        write(&store, id, arguments.format, out)
            .await
            .with_context(|| format!("session {id} is not exported"))?;
        file.finish()?;
        written.push(json!({ "session": id.to_string(), "file": place }));
        if !json {
            words::say(format!("{}\n", words::path(&place)))?;
        }
    }
    match json {
        true => words::say_json(&json!({ "exported": written })),
        false => Ok(()),
    }
}

fn choose<'a>(
    arguments: &ExportArguments,
    names: &'a SessionNames,
) -> anyhow::Result<Vec<&'a Thread>> {
    if arguments.all {
        let wanted = |thread: &&Thread| arguments.archived || !thread.archived;
        return Ok(names.threads().iter().filter(wanted).collect());
    }
    names.find_all(&arguments.sessions)
}

async fn to_standard_output(
    store: &SharedStore,
    id: ThreadId,
    format: ExportFormat,
) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout());
    let written = write(store, id, format, &mut out).await;
    let written = match written {
        Ok(()) => out.flush().map_err(TransferError::Io),
        Err(error) => Err(error),
    };
    match written {
        // Who reads it has seen enough.
        Err(TransferError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => {
            // What is left in the buffer is for nobody.
            let _ = out.into_parts();
            Ok(())
        }
        written => Ok(written?),
    }
}

async fn write(
    store: &SharedStore,
    id: ThreadId,
    format: ExportFormat,
    out: &mut (dyn Write + Send),
) -> Result<(), TransferError> {
    match format {
        ExportFormat::Json => {
            if transfer::export(store, id, out).await?.is_open {
                eprintln!(
                    "dragoman: session {id} is in the middle of a turn; what comes later is not in the file"
                );
            }
        }
        ExportFormat::Markdown => {
            let kept = transfer::kept(store, id).await?;
            let style = MarkdownStyle::FILE;
            out.write_all(style.head(&kept).as_bytes())?;
            let mut transcript = ToldTranscript::new(store, &kept);
            while let Some(page) = transcript.next_page().await? {
                for piece in page.iter().filter_map(SessionPiece::of) {
                    out.write_all(style.piece(&piece).as_bytes())?;
                }
            }
        }
    }
    Ok(())
}
