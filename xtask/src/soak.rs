//! `cargo xtask soak`: runs that are too long for every change.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::run::{cargo, succeed};

const KILLS: u64 = 200;

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((what, rest)) if what == "crashes" => crashes(rest),
        Some((what, _)) => bail!("there is no soak `{what}`; there is crashes"),
        None => bail!("which soak? there is crashes: `cargo xtask soak crashes --kills 500`"),
    }
}

fn crashes(arguments: &[String]) -> anyhow::Result<()> {
    let mut kills = KILLS;
    let mut seed = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || -> anyhow::Result<u64> {
            let value = words
                .next()
                .with_context(|| format!("{word} needs a number"))?;
            value
                .parse()
                .with_context(|| format!("{word} needs a number, not `{value}`"))
        };
        match word.as_str() {
            "--kills" => kills = number()?,
            "--seed" => seed = Some(number()?),
            unknown => bail!("`soak crashes` knows --kills N and --seed S, not `{unknown}`"),
        }
    }
    let seed = seed.unwrap_or_else(new_seed);
    println!("soak crashes: {kills} kills, seed {seed}");
    println!("the same again: cargo xtask soak crashes --kills {kills} --seed {seed}");
    let test = "crashes::nothing_acknowledged_is_lost";
    succeed(
        cargo(&["test", "--package", "cli", "--test", "it", "--"])
            .args(["--exact", test, "--nocapture"])
            .env("DRAGOMAN_KILLS", kills.to_string())
            .env("DRAGOMAN_SEED", seed.to_string()),
    )
}

/// A soak should look somewhere new each time; the seed is printed, so a failure can be repeated.
fn new_seed() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        run(&words).expect_err("refused").to_string()
    }

    #[test]
    fn wrong_words_are_refused_before_anything_runs() {
        assert!(refused(&["earthquake"]).contains("there is crashes"));
        assert!(refused(&["crashes", "--kills"]).contains("--kills needs a number"));
        assert!(refused(&["crashes", "--kills", "many"]).contains("not `many`"));
        assert!(refused(&["crashes", "--deaths", "3"]).contains("--deaths"));
    }
}
