//! `dragoman doctor`: whether everything is as it should be, and what to do where it is not.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use engine::{Clock, SystemClock};
use serde_json::{Value, json};
use server::{database, repair};
use store::sqlite::{self, DatabasePresence};
use tools::Sandbox;
use tools::sandbox::Mode;

use super::checkpoints::words;
use crate::screen::{GREEN, RED, YELLOW, harmless, painted};

const EXAMPLES: &str = "\
Examples:
  dragoman doctor                  looks at the data directory, the database, the sandbox, the disk
  dragoman doctor --json           the same for programs
  dragoman doctor --repair         saves what can be read of a damaged database into a new one

Nothing is changed by looking. A repair needs all servers on the data directory to be stopped; the damaged
file is kept beside the new one. It ends with 0 if nothing is wrong, and with 1 otherwise.";

/// With less room than this nothing can be kept, and with less than that it soon will be so.
const DISK_BYTES_MIN: u64 = 64 << 20;
const DISK_BYTES_LOW: u64 = 1 << 30;
/// Files that only their owner may read.
const SECRETS: [&str; 3] = [
    "auth/connections.json",
    "auth/mcp-credentials.json",
    "session-ids.key",
];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArguments {
    /// Save what can be read of a damaged database into a new one
    #[arg(long)]
    pub repair: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Ok,
    Warn,
    Fail,
}

impl Health {
    fn word(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Warn => "warn",
            Health::Fail => "fail",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Health::Ok => GREEN,
            Health::Warn => YELLOW,
            Health::Fail => RED,
        }
    }
}

/// One thing that was looked at.
struct DoctorFinding {
    name: &'static str,
    health: Health,
    /// How it is, and what to do where that is not well.
    words: String,
}

impl DoctorFinding {
    fn new(name: &'static str, health: Health, words: impl Into<String>) -> Self {
        Self {
            name,
            health,
            words: words.into(),
        }
    }
}

pub async fn run(arguments: DoctorArguments, home: &Path) -> anyhow::Result<()> {
    if arguments.repair {
        return mend(home, arguments.json).await;
    }
    let home = home.to_owned();
    let looking = tokio::task::spawn_blocking(move || look(&home)).await;
    let checks = looking.context("the look was cut off")?;
    let failed = checks.iter().filter(|check| check.health == Health::Fail);
    let failed = failed.count();
    match arguments.json {
        true => words::say_json(&for_programs(&checks))?,
        false => words::say(for_people(&checks))?,
    }
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} of {} checks failed", checks.len()),
    }
}

fn for_programs(checks: &[DoctorFinding]) -> Value {
    let is_well = checks.iter().all(|check| check.health != Health::Fail);
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "name": check.name, "status": check.health.word(), "message": check.words }))
        .collect();
    json!({ "ok": is_well, "checks": checks })
}

fn for_people(checks: &[DoctorFinding]) -> String {
    let line = |check: &DoctorFinding| {
        let health = format!("{:<4}", check.health.word());
        let health = painted(&health, check.health.colour(), words::colours());
        format!("{health}  {:<10}  {}\n", check.name, harmless(&check.words))
    };
    checks.iter().map(line).collect()
}

fn look(home: &Path) -> Vec<DoctorFinding> {
    let mut checks = vec![data_directory(home)];
    checks.extend(databases(home));
    checks.extend(secrets(home));
    checks.push(servers(home));
    checks.push(disk(home));
    checks.push(sandbox());
    checks
}

fn data_directory(home: &Path) -> DoctorFinding {
    let (name, shown) = ("home", home.display());
    let found = match std::fs::metadata(home) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => {
            let words = format!("{shown} is no directory; choose another with --home");
            return DoctorFinding::new(name, Health::Fail, words);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let words = format!("{shown} is not there yet; the first start makes it");
            return DoctorFinding::new(name, Health::Ok, words);
        }
        Err(error) => {
            let words = format!("cannot look at {shown} ({error}); choose another with --home");
            return DoctorFinding::new(name, Health::Fail, words);
        }
    };
    let mode = found.mode() & 0o777;
    let is_mine = found.uid() == rustix::process::geteuid().as_raw();
    match (is_mine, mode & 0o077) {
        (false, _) => {
            let words = format!("{shown} belongs to another user; choose another with --home");
            DoctorFinding::new(name, Health::Fail, words)
        }
        (true, 0) => DoctorFinding::new(name, Health::Ok, format!("{shown}, yours alone")),
        (true, _) => {
            let words = format!(
                "{shown} is open to other users (mode {mode:03o}): run `chmod 700 {shown}`"
            );
            DoctorFinding::new(name, Health::Warn, words)
        }
    }
}

fn databases(home: &Path) -> Vec<DoctorFinding> {
    let mut checks = Vec::new();
    let foreign = home.join("sessions.db");
    if let Ok(DatabasePresence::Other(what)) = sqlite::find(&foreign) {
        let path = foreign.display();
        let words = format!(
            "{path} belongs to another program (it is {what}) and is left alone; \
             `dragoman sessions import --from {path}` takes its sessions over"
        );
        checks.push(DoctorFinding::new("foreign", Health::Ok, words));
    }
    checks.push(match database::damaged_place(home) {
        Some(path) => database_file(&path),
        None => DoctorFinding::new(
            "database",
            Health::Ok,
            "there is none yet; the first session makes it",
        ),
    });
    checks
}

fn database_file(path: &Path) -> DoctorFinding {
    let (name, shown) = ("database", path.display());
    let repair = "stop all servers, copy the data directory, then run `dragoman doctor --repair`";
    if let Ok(DatabasePresence::Lost(what)) = sqlite::find(path) {
        let words = format!("{shown}: {what}; {repair}");
        return DoctorFinding::new(name, Health::Fail, words);
    }
    let report = match sqlite::inspect(path) {
        Ok(report) => report,
        Err(error) => {
            let words = format!("{shown} cannot be read ({error}); {repair}");
            return DoctorFinding::new(name, Health::Fail, words);
        }
    };
    if let Some(first) = report.problems.first() {
        let count = report.problems.len();
        let words = format!("{shown} is damaged ({count} problems, the first: {first}); {repair}");
        return DoctorFinding::new(name, Health::Fail, words);
    }
    if report.shape > report.known_shape {
        let words = format!(
            "{shown} was written by a newer version (shape {}, this one knows {}); use that one",
            report.shape, report.known_shape
        );
        return DoctorFinding::new(name, Health::Fail, words);
    }
    let threads = words::count(report.threads, "session", "sessions");
    DoctorFinding::new(
        name,
        Health::Ok,
        format!(
            "{shown}: {threads}, nothing wrong with it{}",
            indexing(&report)
        ),
    )
}

/// How far what older versions kept can be searched, while that is not all.
fn indexing(report: &sqlite::DatabaseReport) -> String {
    match report.indexing {
        None => String::new(),
        Some(progress) => format!(
            "; the search index has {} of {} events, a running server builds it",
            progress.done, progress.total
        ),
    }
}

fn secrets(home: &Path) -> Vec<DoctorFinding> {
    let files = SECRETS.iter().map(|name| home.join(name));
    let found = files.filter_map(|file| {
        let mode = std::fs::metadata(&file).ok()?.mode() & 0o777;
        let shown = file.display();
        Some(match mode & 0o077 {
            0 => DoctorFinding::new("secret", Health::Ok, format!("{shown}, yours alone")),
            _ => {
                let words = format!(
                    "other users may read {shown} (mode {mode:03o}): run `chmod 600 {shown}`"
                );
                DoctorFinding::new("secret", Health::Fail, words)
            }
        })
    });
    found.collect()
}

fn servers(home: &Path) -> DoctorFinding {
    let words = match sqlite::is_in_use(home) {
        true => "a process has the database open now",
        false => "no process has the database open",
    };
    DoctorFinding::new("servers", Health::Ok, words)
}

fn disk(home: &Path) -> DoctorFinding {
    let place = home
        .ancestors()
        .find(|place| place.exists())
        .unwrap_or(home);
    let free = match rustix::fs::statvfs(place) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => {
            let words = format!("cannot see how full the disk is ({error})");
            return DoctorFinding::new("disk", Health::Warn, words);
        }
    };
    let room = format!("{} free", words::size(free));
    match free {
        0..DISK_BYTES_MIN => {
            let words = format!(
                "{room}: nothing can be kept; make room, or choose another place with --home"
            );
            DoctorFinding::new("disk", Health::Fail, words)
        }
        DISK_BYTES_MIN..DISK_BYTES_LOW => {
            DoctorFinding::new("disk", Health::Warn, format!("{room}: make room soon"))
        }
        _ => DoctorFinding::new("disk", Health::Ok, room),
    }
}

fn sandbox() -> DoctorFinding {
    let mode = Sandbox::detect().mode();
    match mode {
        Mode::Nothing => {
            let words =
                "nothing keeps commands in on this machine; `dragoman sandbox check` says why";
            DoctorFinding::new("sandbox", Health::Warn, words)
        }
        Mode::Bubblewrap | Mode::Landlock => {
            let words = format!("{}; `dragoman sandbox check` tries it", mode.name());
            DoctorFinding::new("sandbox", Health::Ok, words)
        }
    }
}

async fn mend(home: &Path, json: bool) -> anyhow::Result<()> {
    let done = repair::repair(home, SystemClock.now()).await?;
    if json {
        return words::say_json(&json!({
            "sessions": done.threads, "events": done.events, "eventsLost": done.events_lost,
            "sessionsLost": done.threads_lost, "keptAside": done.kept_aside,
        }));
    }
    let sessions = words::count(done.threads as u64, "session", "sessions");
    let mut text = format!("Saved {sessions} with {} events.\n", done.events);
    if done.events_lost > 0 || done.threads_lost > 0 {
        text.push_str(&format!(
            "Lost: {} events, and the whole of {}.\n",
            done.events_lost,
            words::count(done.threads_lost as u64, "session", "sessions")
        ));
    }
    text.push_str(&format!(
        "The damaged file is kept as {}.\n",
        words::path(&done.kept_aside)
    ));
    words::say(text)
}
