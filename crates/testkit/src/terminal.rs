//! A program in a terminal of its own, and a person before it: reads the screen, presses keys.
//!
//! Nothing here waits for time to pass: one waits for words on the screen.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long words may take to come up.
const LIMIT: Duration = Duration::from_secs(20);
const ROWS: u16 = 45;
const COLUMNS: u16 = 120;
const READ_BYTES: usize = 16 * 1024;

/// What terminals are asked by programs, and what they say.
const QUESTIONS: [(&[u8], &[u8]); 5] = [
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (b"\x1b[c", b"\x1b[?62;c"),
    (b"\x1b[?u", b"\x1b[?0u"),
];

/// A program that draws says so, and when it is done (the private mode 2026 of terminals).
const UPDATE: &[u8] = b"\x1b[?2026";
const UPDATE_BEGINS: u8 = b'h';

/// Keys that have no letter.
pub mod key {
    pub const ENTER: &str = "\r";
    pub const ESCAPE: &str = "\x1b";
    pub const DOWN: &str = "\x1b[B";
    pub const CONTROL_C: &str = "\x03";
    pub const BACK_TAB: &str = "\x1b[Z";
}

pub struct WatchedTerminal {
    child: Child,
    person: File,
    shown: Arc<Mutex<Shown>>,
    changes: watch::Receiver<u64>,
}

struct Shown {
    parser: vt100::Parser,
    /// What came last, as far as it may be a part of a mark.
    unread: Vec<u8>,
    /// Whether the program is drawing: what stands there meanwhile is nothing to read.
    is_drawing: bool,
    /// As it was drawn last.
    screen: String,
    /// How a line begins that tells of an error.
    mark: &'static str,
    errors: BTreeSet<String>,
}

impl WatchedTerminal {
    /// Lines that begin with `mark` are kept as errors, even when they are gone from the screen.
    pub fn start(mut command: Command, mark: &'static str) -> anyhow::Result<Self> {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&person)?;
        unlockpt(&person)?;
        let size = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&person, size)?;
        let name = ptsname(&person, Vec::new())?;
        let name = name.to_str().context("its name is text")?;
        let program = || File::options().read(true).write(true).open(name);
        command
            .stdin(Stdio::from(program()?))
            .stdout(Stdio::from(program()?))
            .stderr(Stdio::from(program()?))
            .kill_on_drop(true);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        // The command holds the program's end; only the program itself should.
        drop(command);
        let person = File::from(person);
        let shown = Arc::new(Mutex::new(Shown {
            parser: vt100::Parser::new(ROWS, COLUMNS, 0),
            unread: Vec::new(),
            is_drawing: false,
            screen: String::new(),
            mark,
            errors: BTreeSet::new(),
        }));
        let (changed, changes) = watch::channel(0);
        let (reader, kept) = (person.try_clone()?, Arc::clone(&shown));
        // It ends when the program's end of the terminal is closed.
        std::thread::spawn(move || follow(reader, &kept, &changed));
        Ok(Self {
            child,
            person,
            shown,
            changes,
        })
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        locked(&self.shown)
    }

    /// The screen as text.
    pub fn screen(&self) -> String {
        self.shown().screen.clone()
    }

    /// Lines of errors that were ever shown.
    pub fn errors(&self) -> Vec<String> {
        whole_lines(&self.shown().errors)
    }

    /// Waits until the screen is as it should be.
    pub async fn until(&mut self, what: &str, met: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let waiting = async {
            loop {
                self.changes.borrow_and_update();
                if met(&self.screen()) {
                    return Ok(());
                }
                if self.changes.changed().await.is_err() {
                    // The last words may have come with the end.
                    match met(&self.screen()) {
                        true => return Ok(()),
                        false => bail!("the program ended"),
                    }
                }
            }
        };
        let outcome = timeout(LIMIT, waiting).await;
        let why = match outcome {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(ended)) => ended.to_string(),
            Err(_) => format!("not within {LIMIT:?}"),
        };
        bail!("{what}: {why}; the screen:\n{}", self.screen())
    }

    /// Waits for words on the screen.
    pub async fn sees(&mut self, words: &str) -> anyhow::Result<()> {
        let what = format!("waiting for {words:?}");
        self.until(&what, |screen| screen.contains(words)).await
    }

    /// Waits until words are gone.
    pub async fn misses(&mut self, words: &str) -> anyhow::Result<()> {
        let what = format!("waiting until {words:?} is gone");
        self.until(&what, |screen| !screen.contains(words)).await
    }

    pub fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        self.person.write_all(keys.as_bytes())?;
        Ok(())
    }

    /// Puts a text in at once, as from the clipboard: letters that come fast look like that anyway.
    pub fn paste(&mut self, text: &str) -> anyhow::Result<()> {
        self.press(&format!("\x1b[200~{text}\x1b[201~"))
    }

    /// Waits for the program to end.
    pub async fn end(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = timeout(LIMIT, self.child.wait()).await;
        let why = || format!("still running; the screen:\n{}", self.screen());
        Ok(ended.with_context(why)??)
    }
}

/// Without those of which only the beginning was drawn when they were looked at first.
fn whole_lines(lines: &BTreeSet<String>) -> Vec<String> {
    // In their order the longer line follows its own beginning at once.
    let next = lines.iter().skip(1).map(Some).chain([None]);
    let pairs = lines.iter().zip(next);
    let whole = pairs.filter(|(line, next)| next.is_none_or(|next| !next.starts_with(*line)));
    whole.map(|(line, _)| line.clone()).collect()
}

fn locked(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

fn follow(mut terminal: File, shown: &Mutex<Shown>, changed: &watch::Sender<u64>) {
    let mut bytes = [0; READ_BYTES];
    // A terminal whose other end is closed ends with an error.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        let news = &bytes[..count];
        for (question, answer) in QUESTIONS {
            if news.windows(question.len()).any(|part| part == question) {
                let _ = terminal.write_all(answer);
            }
        }
        let is_new = locked(shown).heard(news);
        if is_new {
            changed.send_modify(|count| *count += 1);
        }
    }
}

impl Shown {
    /// Gives whether there is something new to look at.
    fn heard(&mut self, news: &[u8]) -> bool {
        self.unread.extend_from_slice(news);
        let mut is_new = false;
        loop {
            let unread = &self.unread;
            let begins = |part: &[u8]| part.starts_with(UPDATE) && part.len() > UPDATE.len();
            let marked = (0..unread.len()).find(|at| begins(&unread[*at..]));
            let end = match marked {
                Some(at) => at + UPDATE.len() + 1,
                // The beginning of a mark may have its end in the next piece.
                None => (0..unread.len())
                    .find(|at| UPDATE.starts_with(&unread[*at..]))
                    .unwrap_or(unread.len()),
            };
            let read: Vec<u8> = self.unread.drain(..end).collect();
            self.parser.process(&read);
            if marked.is_some() {
                self.is_drawing = read.last() == Some(&UPDATE_BEGINS);
            }
            if !self.is_drawing {
                self.look();
                is_new = true;
            }
            if marked.is_none() {
                return is_new;
            }
        }
    }

    fn look(&mut self) {
        let mark = self.mark;
        self.screen = self.parser.screen().contents();
        let errors = self.screen.lines().map(str::trim);
        let errors = errors.filter(|line| line.starts_with(mark));
        self.errors.extend(errors.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_line_of_which_a_part_was_seen_first_is_one_line() {
        let seen = ["!!", "!! no", "!! no way", "!! not", "!! other"];
        let seen = seen.map(str::to_owned).into();
        assert_eq!(whole_lines(&seen), ["!! no way", "!! not", "!! other"]);
    }

    #[tokio::test]
    async fn what_is_being_drawn_is_not_looked_at() -> anyhow::Result<()> {
        let script = concat!(
            "printf '\\033[?2026h!! half'; read go; ",
            "printf '\\033[2J\\033[H\\033[?20'; read go; printf '26lall'; read go",
        );
        let mut terminal = WatchedTerminal::start(shell(script), "!!")?;
        terminal.press("\n\n")?;
        terminal.sees("all").await?;
        assert_eq!(terminal.errors(), Vec::<String>::new());
        Ok(())
    }

    #[tokio::test]
    async fn words_are_seen_keys_are_heard_and_errors_are_remembered() -> anyhow::Result<()> {
        let script =
            "echo '!! no'; clear; printf 'name? '; read name; echo \"hello $name\"; exit 3";
        let mut command = shell(script);
        command.env("TERM", "xterm");
        let mut terminal = WatchedTerminal::start(command, "!!")?;
        terminal.sees("name?").await?;
        terminal.press("you\n")?;
        terminal.sees("hello you").await?;
        assert_eq!(terminal.end().await?.code(), Some(3));
        Ok(())
    }

    #[tokio::test]
    async fn a_program_that_ends_early_is_told_with_its_screen() -> anyhow::Result<()> {
        let mut terminal = WatchedTerminal::start(shell("echo short"), "!!")?;
        let error = terminal.sees("long").await.expect_err("it ended");
        assert!(format!("{error:#}").contains("short"), "{error:#}");
        assert_eq!(terminal.errors(), Vec::<String>::new());
        Ok(())
    }
}
