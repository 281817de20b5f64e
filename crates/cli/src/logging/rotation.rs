//! A log file that does not grow for ever: when it is full it becomes an old one, and of those only
//! the newest are kept.
//!
//! `a.log` is written; `a.log.1` is the newest old one, `a.log.2` the one before it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tracing_subscriber::fmt::MakeWriter;

pub struct RotatingFile(Mutex<Rotation>);

struct Rotation {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    old_max: u32,
}

impl RotatingFile {
    /// What is there already stays, and is added to.
    pub fn open(path: PathBuf, bytes_max: u64, old_max: u32) -> anyhow::Result<Self> {
        let opened = open(&path).with_context(|| {
            format!(
                "cannot write the log file {}; choose another with --log-file",
                path.display()
            )
        });
        let (file, bytes) = opened?;
        Ok(Self(Mutex::new(Rotation {
            path,
            file,
            bytes,
            bytes_max,
            old_max,
        })))
    }
}

/// The file, and how long it is.
fn open(path: &Path) -> io::Result<(File, u64)> {
    // It says who works on what; that is nobody else's business.
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

impl Rotation {
    fn rotate(&mut self) -> io::Result<()> {
        // Another server that writes to the same file may have been faster, or a person moved it:
        // then there is a new one already, and nothing to move away.
        if self.is_still_there() {
            self.shift()?;
        }
        (self.file, self.bytes) = open(&self.path)?;
        Ok(())
    }

    fn is_still_there(&self) -> bool {
        match (self.file.metadata(), std::fs::metadata(&self.path)) {
            (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
            (Err(_), _) | (_, Err(_)) => false,
        }
    }

    /// Every file becomes one older; the oldest is overwritten.
    fn shift(&self) -> io::Result<()> {
        if self.old_max == 0 {
            return std::fs::remove_file(&self.path);
        }
        for age in (1..self.old_max).rev() {
            match std::fs::rename(self.old(age), self.old(age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        std::fs::rename(&self.path, self.old(1))
    }

    fn old(&self, age: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{age}"));
        PathBuf::from(name)
    }
}

/// One line at a time, so that no line is torn.
pub struct LogLine<'a>(MutexGuard<'a, Rotation>);

impl Write for LogLine<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let rotation = &mut *self.0;
        let length = text.len() as u64;
        if rotation.bytes > 0 && rotation.bytes + length > rotation.bytes_max {
            // What cannot be moved away grows on, and is tried again when as much was added.
            if rotation.rotate().is_err() {
                rotation.bytes = 0;
            }
        }
        rotation.file.write_all(text)?;
        rotation.bytes += length;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file.flush()
    }
}

impl<'a> MakeWriter<'a> for RotatingFile {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Writes these lines; tells what the files hold, the newest first.
    fn written(folder: &Path, lines: &[&str], bytes_max: u64, old_max: u32) -> Vec<String> {
        let path = folder.join("a.log");
        let log = RotatingFile::open(path.clone(), bytes_max, old_max).expect("opened");
        for line in lines {
            log.make_writer()
                .write_all(line.as_bytes())
                .expect("written");
        }
        let names = ["a.log", "a.log.1", "a.log.2", "a.log.3"].map(|name| folder.join(name));
        let texts = names.iter().map(std::fs::read_to_string);
        texts.map_while(Result::ok).collect()
    }

    #[test]
    fn a_full_file_becomes_an_old_one_and_the_oldest_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let lines = ["one\n", "two\n", "three\n", "four\n", "five\n"];
        let held = written(folder.path(), &lines, 9, 2);
        assert_eq!(held, ["five\n", "four\n", "three\n"]);
        let mode = std::fs::metadata(folder.path().join("a.log")).expect("there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_was_there_counts_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(written(folder.path(), &["one\n"], 9, 2), ["one\n"]);
        assert_eq!(written(folder.path(), &["two\n"], 9, 2), ["one\ntwo\n"]);
        let held = written(folder.path(), &["three\n"], 9, 2);
        assert_eq!(held, ["three\n", "one\ntwo\n"]);
    }

    #[test]
    fn a_line_longer_than_a_file_is_written_whole_and_none_is_kept_where_none_may_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = written(folder.path(), &["one\n", "a very long line\n"], 9, 0);
        assert_eq!(held, ["a very long line\n"]);
    }

    #[test]
    fn two_that_write_to_one_file_do_not_move_each_others_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.log");
        let open = || RotatingFile::open(path.clone(), 9, 3).expect("opened");
        let (one, other) = (open(), open());
        let write = |log: &RotatingFile, text: &str| {
            log.make_writer()
                .write_all(text.as_bytes())
                .expect("written");
        };
        write(&one, "12345678\n");
        write(&other, "a\n");
        write(&one, "b\n");
        write(&other, "cdefghij\n");
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(text("a.log.1").as_deref(), Some("12345678\na\n"));
        assert_eq!(text("a.log").as_deref(), Some("b\ncdefghij\n"));
        assert_eq!(text("a.log.2"), None);
    }
}
