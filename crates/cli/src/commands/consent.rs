//! Asks a person before something is done that cannot be undone.

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::Context;

/// Whether there is a person to ask.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks; only a yes is one.
pub async fn agreed(question: &str) -> anyhow::Result<bool> {
    eprint!("{question} [y/N] ");
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        read.context("cannot read the answer")
            .map(|_| is_yes(&line))
    });
    tokio::select! {
        answer = answer => answer.context("the question was interrupted")?,
        heard = tokio::signal::ctrl_c() => {
            heard.context("cannot hear Ctrl-C")?;
            eprintln!();
            Ok(false)
        }
    }
}

fn is_yes(answer: &str) -> bool {
    let answer = answer.trim();
    answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        let answers = ["y\n", " YES \n", "n\n", "\n", "", "yesterday\n"];
        assert_eq!(
            answers.map(is_yes),
            [true, true, false, false, false, false]
        );
    }
}
