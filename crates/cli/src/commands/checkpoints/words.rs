//! How sizes, times and paths are written and read, and what an error means for a person.

use std::io::{ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use checkpoints::{Error, LeftOutReason, Millis};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use crate::screen::{BOLD, CYAN, GREEN, PLAIN, RED};
use crate::screen::{harmless, has_colours};

/// Whether what is printed may have colours.
pub fn colours() -> bool {
    has_colours(&std::io::stdout())
}

/// Prints. A reader that has seen enough is fine.
pub fn say(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    let written = output
        .write_all(text.as_ref())
        .and_then(|()| output.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

pub fn say_json(value: &serde_json::Value) -> anyhow::Result<()> {
    say(format!("{}\n", serde_json::to_string_pretty(value)?))
}

pub fn id(number: u64) -> String {
    vocabulary::CheckpointId(number).to_string()
}

/// As programs read it.
pub fn iso(at: Millis) -> String {
    vocabulary::Timestamp(at).iso()
}

/// As people read it: in their own time.
pub fn when(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(at) => {
            let here = at.to_zoned(TimeZone::system());
            here.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => "?".to_owned(),
    }
}

pub fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64;
    let mut unit = "B";
    for next in units {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{bytes} B"),
        unit => format!("{amount:.1} {unit}"),
    }
}

/// `1 file`, `2 files`.
pub fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// A path on one line, without anything that a terminal would obey.
pub fn path(path: &Path) -> String {
    harmless(&path.to_string_lossy())
}

/// A path as a shell takes it.
pub fn shell(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%,:=".contains(letter);
    match text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", harmless(&text.replace('\'', "'\\''"))),
    }
}

pub fn why(why: LeftOutReason) -> &'static str {
    match why {
        LeftOutReason::TooLarge => "too large a file",
        LeftOutReason::TooMuch => "too much with all the others",
        LeftOutReason::Unreadable => "cannot be read",
        LeftOutReason::Special => "a pipe, socket or device",
        LeftOutReason::Mounted => "another file system",
    }
}

/// For programs.
pub fn why_word(why: LeftOutReason) -> &'static str {
    match why {
        LeftOutReason::TooLarge => "too_large",
        LeftOutReason::TooMuch => "too_much",
        LeftOutReason::Unreadable => "unreadable",
        LeftOutReason::Special => "special",
        LeftOutReason::Mounted => "mounted",
    }
}

/// A path as a person names it in a directory `below` the workspace, from the workspace on.
pub fn inside(workspace: &Path, below: &Path, given: &Path) -> anyhow::Result<PathBuf> {
    let path = match given.strip_prefix(workspace) {
        Ok(inside) => inside.to_owned(),
        Err(_) => below.join(given),
    };
    let mut inside = PathBuf::new();
    for component in path.components() {
        let is_in = match component {
            Component::Normal(name) => {
                inside.push(name);
                true
            }
            Component::CurDir => true,
            Component::ParentDir => inside.pop(),
            Component::RootDir | Component::Prefix(_) => false,
        };
        if !is_in {
            bail!(
                "{} does not lie in {}; name it from there on",
                self::path(given),
                self::path(workspace)
            );
        }
    }
    if inside.as_os_str().is_empty() {
        bail!("name a file or directory in {}", self::path(workspace));
    }
    Ok(inside)
}

/// `90s`, `30m`, `12h`, `7d`, `4w`.
pub fn parse_age(text: &str) -> anyhow::Result<Duration> {
    let seconds = || {
        let unit = text.chars().last()?;
        let each: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 24 * 3_600,
            'w' => 7 * 24 * 3_600,
            // tidy: wildcard, because there are no other units.
            _ => return None,
        };
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(each)
    };
    seconds()
        .map(Duration::from_secs)
        .ok_or_else(|| anyhow!("`{text}` is not an age; write it like 12h, 7d or 4w"))
}

/// `800`, `500M`, `2G`, `2GB`, `2GiB`: all by 1024.
pub fn parse_size(text: &str) -> anyhow::Result<u64> {
    let bytes = || {
        let upper = text.to_ascii_uppercase();
        let short = upper.strip_suffix("IB").or(upper.strip_suffix('B'));
        let short = short.unwrap_or(&upper);
        let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
        let unit = units
            .iter()
            .find_map(|(unit, bits)| Some((short.strip_suffix(*unit)?, *bits)));
        let (number, bits) = unit.unwrap_or((short, 0));
        number.parse::<u64>().ok()?.checked_mul(1 << bits)
    };
    bytes().ok_or_else(|| anyhow!("`{text}` is not a size; write it like 500M or 2G"))
}

/// Says what to do about it, where the vault's own words do not.
pub fn explained(error: anyhow::Error) -> anyhow::Error {
    let said = match error.downcast_ref::<Error>() {
        Some(Error::TurnRunning) => {
            "a turn is changing files in this workspace, so nothing was restored; wait until it is \
             over, or stop it, and try again"
                .to_owned()
        }
        Some(Error::Cancelled) => "stopped before it was done".to_owned(),
        Some(Error::UnknownPath(path)) => format!(
            "nothing is kept of {}: it was never there, is no file, is ignored or left out \
             (`dragoman checkpoints` lists what is left out)",
            self::path(path)
        ),
        Some(Error::Damaged(what)) => {
            format!("damaged: {what}; `dragoman checkpoints verify` tells all that is damaged")
        }
        Some(Error::Full) => {
            "the disk is full; `dragoman checkpoints prune` gives some of it back \
                              (see --help)"
                .to_owned()
        }
        Some(
            Error::Busy(_)
            | Error::NotBegun
            | Error::TooManyFiles(_)
            | Error::NotAProject(_)
            | Error::Workspace(_)
            | Error::UnknownCheckpoint(_)
            | Error::BadPath(_)
            | Error::Newer(_)
            | Error::Io(_)
            | Error::Database(_),
        )
        | None => return error,
    };
    anyhow!(said)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sizes_are_written_and_read() {
        let written = [0, 1023, 1024, 1536, 5 << 20, 8 << 30, 3 << 40].map(size);
        let expected = [
            "0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "8.0 GiB", "3.0 TiB",
        ];
        assert_eq!(written, expected);
        let read = ["0", "12b", "3K", "500M", "2g", "2GB", "2GiB"].map(|s| parse_size(s).unwrap());
        let two = 2 << 30;
        assert_eq!(read, [0, 12, 3 << 10, 500 << 20, two, two, two]);
        for wrong in ["", "G", "1.5G", "-1", "2X", "99999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_are_read() {
        let read = ["90s", "2m", "1h", "7d", "2w"].map(|s| parse_age(s).unwrap().as_secs());
        assert_eq!(read, [90, 120, 3_600, 604_800, 1_209_600]);
        for wrong in ["", "d", "7", "7y", "-1d", "1.5d", "7é"] {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_is_named_from_where_a_person_is() {
        let named = |below: &str, path: &str| {
            inside(Path::new("/w"), Path::new(below), Path::new(path)).ok()
        };
        let inner = || Some(PathBuf::from("a/b"));
        for path in ["a/b", "./a/b/", "/w/a/b", "x/../a/b"] {
            assert_eq!(named("", path), inner(), "{path}");
        }
        for path in ["b", "./b", "../a/b", "/w/a/b"] {
            assert_eq!(named("a", path), inner(), "{path}");
        }
        for path in ["/x/a", "../a", "a/../../b", ".", "/w"] {
            assert_eq!(named("", path), None, "{path}");
        }
        assert_eq!(named("a", "../../b"), None);
        assert_eq!(named("a", "."), Some(PathBuf::from("a")));
    }

    #[test]
    fn nothing_that_is_shown_commands_a_terminal() {
        assert_eq!(path(Path::new("a\n\x1b[2Jb")), "a\\n\\u{1b}[2Jb");
        assert_eq!(shell(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
