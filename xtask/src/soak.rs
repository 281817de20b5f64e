//! `cargo xtask soak`: runs that are too long for every change.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::run::{cargo, succeed};

const KILLS: u64 = 200;
const MINUTES: u64 = 10;
const CLIENTS: u64 = 1;

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((what, rest)) if what == "crashes" => crashes(rest),
        Some((what, rest)) if what == "dialects" => dialects(rest),
        Some((what, _)) => bail!("there is no soak `{what}`; there are crashes and dialects"),
        None => bail!(
            "which soak? there are crashes and dialects: `cargo xtask soak crashes --kills 500`, \
             `cargo xtask soak dialects --minutes 10`"
        ),
    }
}

fn crashes(arguments: &[String]) -> anyhow::Result<()> {
    let given = numbers("crashes", arguments, &["--kills", "--seed"])?;
    let kills = given.get("--kills").copied().unwrap_or(KILLS);
    let seed = given.get("--seed").copied().unwrap_or_else(new_seed);
    println!("soak crashes: {kills} kills, seed {seed}");
    println!("the same again: cargo xtask soak crashes --kills {kills} --seed {seed}");
    succeed(
        long_test("crashes::nothing_acknowledged_is_lost")
            .env("DRAGOMAN_KILLS", kills.to_string())
            .env("DRAGOMAN_SEED", seed.to_string()),
    )
}

fn dialects(arguments: &[String]) -> anyhow::Result<()> {
    let known = ["--minutes", "--seed", "--clients", "--drop-one-in"];
    let given = numbers("dialects", arguments, &known)?;
    let minutes = given.get("--minutes").copied().unwrap_or(MINUTES);
    let clients = given.get("--clients").copied().unwrap_or(CLIENTS);
    let seed = given.get("--seed").copied().unwrap_or_else(new_seed);
    println!("soak dialects: {minutes} minutes, seed {seed}");
    println!("the same again: cargo xtask soak dialects --minutes {minutes} --seed {seed}");
    let mut test = long_test("soak::all_dialects_have_the_same");
    test.env("DRAGOMAN_SOAK_SECONDS", (minutes * 60).to_string())
        .env("DRAGOMAN_SOAK_CLIENTS", clients.to_string())
        .env("DRAGOMAN_SEED", seed.to_string());
    if let Some(one_in) = given.get("--drop-one-in") {
        println!("one frame in {one_in} is lost on purpose: findings are expected");
        test.env("DRAGOMAN_SOAK_DROP", one_in.to_string());
    }
    succeed(&mut test)
}

/// One of the tests of whole processes, told as it goes on.
fn long_test(name: &str) -> Command {
    let mut test = cargo(&["test", "--package", "cli", "--test", "it", "--"]);
    test.args(["--exact", name, "--nocapture"]);
    test
}

/// Options that are a word and a number each.
fn numbers<'a>(
    soak: &str,
    arguments: &'a [String],
    known: &[&str],
) -> anyhow::Result<BTreeMap<&'a str, u64>> {
    let mut given = BTreeMap::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !known.contains(&word.as_str()) {
            let known = known.join(", ");
            bail!("`soak {soak}` knows {known}, each with a number, not `{word}`");
        }
        let value = words
            .next()
            .with_context(|| format!("{word} needs a number"))?;
        let number = value
            .parse()
            .with_context(|| format!("{word} needs a number, not `{value}`"))?;
        given.insert(word.as_str(), number);
    }
    Ok(given)
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
        assert!(refused(&["earthquake"]).contains("there are crashes and dialects"));
        assert!(refused(&["crashes", "--kills"]).contains("--kills needs a number"));
        assert!(refused(&["crashes", "--kills", "many"]).contains("not `many`"));
        assert!(refused(&["crashes", "--deaths", "3"]).contains("--deaths"));
        assert!(refused(&["dialects", "--minutes", "long"]).contains("not `long`"));
        assert!(refused(&["dialects", "--kills", "3"]).contains("knows --minutes"));
    }
}
