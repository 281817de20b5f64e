//! Parts of tests that run in a process of their own: this binary again, with one ignored test.

use std::path::{Path, PathBuf};
use std::process::Command;

const HOME: &str = "CHECKPOINTS_TEST_HOME";
const WORD: &str = "CHECKPOINTS_TEST_WORD";

/// The arguments and the environment that make this binary run only this ignored test.
pub fn child(test: &str, home: &Path, word: &str) -> Command {
    through(&[], test, home, word)
}

/// The same, started by another program that takes a command as its last arguments.
pub fn through(starter: &[&str], test: &str, home: &Path, word: &str) -> Command {
    let binary = std::env::current_exe().unwrap();
    let mut command = match starter {
        [] => Command::new(&binary),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(&binary);
            command
        }
    };
    prepare(&mut command, test, home, word);
    command
}

/// For a command that is this binary already.
pub fn prepare<'a>(
    command: &'a mut Command,
    test: &str,
    home: &Path,
    word: &str,
) -> &'a mut Command {
    command
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(HOME, home)
        .env(WORD, word)
}

/// What the parent said, or nothing when a person runs all ignored tests.
pub fn order() -> Option<(PathBuf, String)> {
    let home = std::env::var_os(HOME)?;
    Some((home.into(), std::env::var(WORD).unwrap()))
}

/// Whether this program is there and does what is asked; a part that needs it is left out otherwise.
pub fn available(words: &[&str]) -> bool {
    let done = Command::new(words[0]).args(&words[1..]).output();
    let works = done.is_ok_and(|output| output.status.success());
    if !works {
        println!("left out: `{}` does not work here", words.join(" "));
    }
    works
}

/// Runs it to its end; what it said is shown if it failed.
#[track_caller]
pub fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}:\n{said}\n{complained}",
        output.status
    );
    assert!(said.contains("1 passed"), "it ran no test:\n{said}");
}
