//! What was done, what was found, and where the frames of it are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::player::Player;
use super::voice::Deed;

/// As many lines of two views as a screen shows.
const LINES_SHOWN: usize = 8;
const LINE_CHARS_SHOWN: usize = 300;

/// The rows of the closing table.
const ROWS: [&str; 28] = [
    "rounds",
    "threads",
    "messages",
    "accepted",
    "sent again by the same id",
    "steers",
    "cancels",
    "asks",
    "answers",
    "answers too late",
    "titles",
    "histories read while it runs",
    "small questions",
    "joined again, same socket",
    "session_close",
    "archived, unarchived",
    "resets",
    "threads made and deleted",
    "said and hung up",
    "slow readers",
    "reconnects",
    "SIGKILL",
    "SIGTERM",
    "commands checked",
    "comparisons",
    "frames heard",
    "frames dropped on purpose",
    "findings",
];

/// How often each thing of the table happened.
#[derive(Clone, Debug, Default)]
pub struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    pub fn add(&mut self, what: &'static str, count: usize) {
        debug_assert!(ROWS.contains(&what), "no row for {what}");
        *self.0.entry(what).or_default() += count;
    }

    pub fn get(&self, what: &str) -> usize {
        self.0.get(what).copied().unwrap_or_default()
    }

    pub fn merge(&mut self, other: &Counts) {
        for (what, count) in &other.0 {
            self.add(what, *count);
        }
    }

    pub fn did(&mut self, deed: &Deed) {
        let what = match deed {
            Deed::Say(_) => "messages",
            Deed::SayAgain => "sent again by the same id",
            Deed::Steer(_) => "steers",
            Deed::Cancel => "cancels",
            Deed::Answer { .. } => "answers",
            Deed::Title(_) => "titles",
            Deed::Read | Deed::Page(_) => "histories read while it runs",
            Deed::List | Deed::Look(_) => "small questions",
            Deed::Rejoin | Deed::Resume => "joined again, same socket",
            Deed::Close => "session_close",
            Deed::Reset => "resets",
            Deed::Throwaway => "threads made and deleted",
            Deed::Archive | Deed::Unarchive => "archived, unarchived",
        };
        self.add(what, 1);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for what in ROWS {
            writeln!(out, "| {what:<28} | {:>9} |", self.get(what))?;
        }
        Ok(())
    }
}

/// Something that must not be.
pub struct Finding {
    pub who: String,
    pub what: String,
    /// Two views that should be equal, and are not.
    pub views: Option<(Vec<String>, Vec<String>)>,
}

impl Finding {
    pub fn new(who: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            who: who.into(),
            what: what.into(),
            views: None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.who, shortened(&self.what))?;
        let Some((left, right)) = &self.views else {
            return Ok(());
        };
        let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        writeln!(out, "  {same} lines are equal, then")?;
        for (sign, lines) in [('-', left), ('+', right)] {
            for line in lines.iter().skip(same).take(LINES_SHOWN) {
                writeln!(out, "  {sign} {}", shortened(line))?;
            }
        }
        Ok(())
    }
}

fn shortened(line: &str) -> String {
    match line.chars().count() > LINE_CHARS_SHOWN {
        false => line.to_owned(),
        true => line.chars().take(LINE_CHARS_SHOWN).chain(['…']).collect(),
    }
}

/// Writes what was said on every connection, and the server's log; gives the folder.
pub fn keep_frames(place: &str, players: &[Player], log: &str) -> anyhow::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("soak")
        .join(place);
    std::fs::create_dir_all(&folder)?;
    for player in players {
        let frames = player.frames.join("\n");
        std::fs::write(folder.join(format!("{}.frames", player.name)), frames)?;
    }
    std::fs::write(folder.join("server.log"), log)?;
    Ok(folder)
}
