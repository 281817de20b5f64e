//! `dragoman checkpoints`: what is kept of a workspace's files, and how to get it back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use checkpoints::{RetentionPolicy, SnapshotLimits, Vault};
use clap::{Args, Subcommand};
use engine::VaultPlace;
use server::database;
use vocabulary::ThreadId;

mod choice;
mod diff;
mod history;
mod list;
mod prune;
mod restore;
mod vaults;
mod verify;
pub(crate) mod words;
mod work;

use choice::{Side, Target};

const EXAMPLES: &str = "\
Examples:
  dragoman checkpoints                      what is kept of this directory, thread by thread
  dragoman checkpoints list --all           of which directories anything is kept, and how much
  dragoman checkpoints diff                 what the last turn changed
  dragoman checkpoints diff original        what the thread changed in all
  dragoman checkpoints diff now             what changed since the last checkpoint
  dragoman checkpoints restore cp-0003      put all files back; shows which and asks first
  dragoman checkpoints restore original --path src/main.rs --yes
  dragoman checkpoints history src/main.rs  the versions of a file
  dragoman checkpoints show src/main.rs@2   one of them, on standard output
  dragoman checkpoints verify               read all that is kept, and tell what is damaged
  dragoman checkpoints prune --age 7d       let go of what is older, and give the disk back

Each thread counts its checkpoints by itself: --thread names one by the beginning of its id, and
without it the one that changed a file last is meant. In a directory of a workspace that workspace is
meant, and paths begin where you are. docs/checkpoints.md says what is kept, and what a restore
touches.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckpointsArguments {
    #[command(subcommand)]
    pub what: Option<CheckpointsCommand>,
    /// The directory that threads work in
    #[arg(short, long, value_name = "DIR", default_value = ".", global = true)]
    pub dir: PathBuf,
    /// The thread, by the beginning of its id (default: the one that changed a file last)
    #[arg(long, value_name = "PREFIX", global = true)]
    pub thread: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum CheckpointsCommand {
    /// Show the checkpoints of a directory, thread by thread (the default)
    List {
        /// All directories of which anything is kept
        #[arg(long)]
        all: bool,
    },
    /// Show how the files differ between two checkpoints
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// A checkpoint, `original`, or `now` (default: the one before the last)
        #[arg(value_parser = choice::side)]
        from: Option<Side>,
        /// The same (default: the last)
        #[arg(value_parser = choice::side)]
        to: Option<Side>,
    },
    /// Put files back as they were
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore {
        /// A checkpoint, or `original`
        #[arg(value_name = "ID", value_parser = choice::target)]
        to: Target,
        /// Only this file or directory
        #[arg(long, value_name = "PATH")]
        path: Option<PathBuf>,
        /// Show what it would touch, and do nothing
        #[arg(long, conflicts_with = "yes")]
        preview: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Show the versions of a file
    History {
        /// The file
        path: PathBuf,
    },
    /// Print a version of a file
    Show {
        /// The file, and which version; the last one without a number
        #[arg(value_name = "PATH@N", value_parser = history::version())]
        version: history::NamedVersion,
    },
    /// Read all that is kept and compare it with what was stored; ends with 1 if any is damaged
    Verify {
        /// What is kept of all directories
        #[arg(long)]
        all: bool,
    },
    /// Let go of what is too old or too much, and give the disk back
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune {
        /// What is older goes, like 12h, 7d, 4w (default: 30d)
        #[arg(long, value_parser = words::parse_age)]
        age: Option<std::time::Duration>,
        /// Checkpoints that may stay of each thread; the oldest automatic ones go first
        /// (default: 200)
        #[arg(long, value_name = "N")]
        count: Option<u64>,
        /// How much may stay on disk, like 500M, 2G (default: 8G)
        #[arg(long, value_parser = words::parse_size)]
        size: Option<u64>,
    },
    /// Let go of one checkpoint
    Delete {
        #[arg(value_name = "ID", value_parser = choice::number)]
        number: u64,
    },
}

const DIFF_EXAMPLES: &str = "\
Examples:
  dragoman checkpoints diff                    from the checkpoint before the last to the last
  dragoman checkpoints diff cp-0002            from that one to the last
  dragoman checkpoints diff original cp-0002
  dragoman checkpoints diff now                from the last to the files as they are now
  dragoman checkpoints diff > last-turn.patch  for `git apply`";

const RESTORE_EXAMPLES: &str = "\
Examples:
  dragoman checkpoints restore cp-0003 --preview         what it would touch
  dragoman checkpoints restore cp-0003                   shows that, and asks
  dragoman checkpoints restore original --path src --yes

The files as they are become a checkpoint first; its id is told, and restoring that undoes it all.
What is ignored or left out is not touched. While a turn runs nothing is restored.";

const PRUNE_EXAMPLES: &str = "\
Examples:
  dragoman checkpoints prune               by the rules that the server keeps to as well
  dragoman checkpoints prune --age 7d --size 2G
  dragoman checkpoints prune --count 20";

pub async fn run(arguments: CheckpointsArguments, home: &Path) -> anyhow::Result<()> {
    perform(arguments, home).await.map_err(words::explained)
}

async fn perform(arguments: CheckpointsArguments, home: &Path) -> anyhow::Result<()> {
    let CheckpointsArguments {
        what,
        dir,
        thread,
        json,
    } = arguments;
    match what.unwrap_or(CheckpointsCommand::List { all: false }) {
        CheckpointsCommand::List { all: true } => list::all(home, json).await,
        CheckpointsCommand::Verify { all: true } => verify::all(home, json).await,
        CheckpointsCommand::Verify { all: false } => {
            verify::one(place(&dir, home).await?.0, json).await
        }
        CheckpointsCommand::List { all: false } => {
            list::one(VaultCx::open(&dir, home, thread, json).await?).await
        }
        CheckpointsCommand::Diff { from, to } => {
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            diff::run(cx, from, to).await
        }
        CheckpointsCommand::Restore {
            to,
            path,
            preview,
            yes,
        } => {
            let consent = restore::Consent::new(preview, yes, json)?;
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            restore::run(cx, to, path, consent).await
        }
        CheckpointsCommand::History { path } => {
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            history::list(cx, path).await
        }
        CheckpointsCommand::Show { version } => {
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            history::show(cx, version).await
        }
        CheckpointsCommand::Prune { age, count, size } => {
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            let usual = rules().1;
            let policy = RetentionPolicy {
                age: age.unwrap_or(usual.age),
                count: count.unwrap_or(usual.count),
                bytes: size.unwrap_or(usual.bytes),
            };
            prune::run(cx, policy).await
        }
        CheckpointsCommand::Delete { number } => {
            let cx = VaultCx::open(&dir, home, thread, json).await?;
            prune::delete(cx, number).await
        }
    }
}

/// What a server on this home keeps to.
fn rules() -> (SnapshotLimits, RetentionPolicy) {
    match engine::CheckpointSetting::default() {
        engine::CheckpointSetting::On { limits, policy } => (limits, policy),
        engine::CheckpointSetting::Off => Default::default(),
    }
}

/// What a person works with: the vault of a directory, and how they asked.
pub struct VaultCx {
    vault: Arc<Vault>,
    /// The titles of threads, by their ids.
    titles: HashMap<String, String>,
    /// The beginning of a thread's id.
    thread: Option<String>,
    /// From the workspace on, the directory where the person is.
    below: PathBuf,
    json: bool,
}

impl VaultCx {
    async fn open(
        dir: &Path,
        home: &Path,
        thread: Option<String>,
        json: bool,
    ) -> anyhow::Result<Self> {
        let (place, below) = place(dir, home).await?;
        let home = home.to_owned();
        work::quiet(move || {
            let vault = place.open()?;
            Ok(Self {
                titles: titles(&home, &vault),
                vault: Arc::new(vault),
                thread,
                below,
                json,
            })
        })
        .await
    }

    /// A path as a person names it where they are, from the workspace on.
    fn inside(&self, given: &Path) -> anyhow::Result<PathBuf> {
        words::inside(self.vault.workspace(), &self.below, given)
    }
}

/// What threads are called. Without a database that can be read they have no titles here.
fn titles(home: &Path, vault: &Vault) -> HashMap<String, String> {
    let ids = vault.threads().unwrap_or_default();
    let ids: Vec<ThreadId> = ids.iter().filter_map(|id| ThreadId::parse(id)).collect();
    let found = database::existing(home).map(|path| store::sqlite::titles(&path, &ids));
    let titles = found.and_then(Result::ok).unwrap_or_default();
    let titles = titles.into_iter().filter(|(_, title)| !title.is_empty());
    titles.map(|(id, title)| (id.to_string(), title)).collect()
}

/// Where what is kept of a directory lies, and the directory from the workspace on: of the directory
/// itself, or of the nearest one above of which anything is kept. An error if there is nothing.
async fn place(dir: &Path, home: &Path) -> anyhow::Result<(VaultPlace, PathBuf)> {
    let (dir, home) = (dir.to_owned(), home.to_owned());
    work::quiet(move || {
        let directory = dir
            .canonicalize()
            .with_context(|| format!("cannot use the directory {}", words::path(&dir)))?;
        for workspace in directory.ancestors() {
            let place = VaultPlace::new(&home, tools::folders::OWN.as_ref(), workspace, rules().0);
            if place.is_taken() {
                let below = directory.strip_prefix(workspace).unwrap_or(Path::new(""));
                return Ok((place, below.to_owned()));
            }
        }
        let shown = words::path(&directory);
        bail!("no checkpoints of {shown} yet; they are made when a thread works there");
    })
    .await
}
