//! `cargo xtask fuzz`: any bytes into every dialect, parser and wire format, until something breaks.

mod seeds;

use anyhow::{Context, bail};

use crate::run::{cargo, succeed, works};

/// The programs in `fuzz/fuzz_targets`.
const TARGETS: [&str; 14] = [
    "cowork",
    "cowork1",
    "diminuendo",
    "zane",
    "codex",
    "pioneer",
    "rehearsal",
    "decode",
    "shell",
    "policy",
    "front",
    "origin",
    "pictures",
    "mcp_config",
];
const SECONDS: u64 = 60;

#[derive(Debug, PartialEq, Eq)]
struct Wish {
    targets: Vec<String>,
    seconds: u64,
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let wish = read(arguments)?;
    if !works(&mut cargo(&["fuzz", "--version"])) {
        println!("installing cargo-fuzz");
        succeed(&mut cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    for target in &wish.targets {
        println!("== fuzz {target}: {} s", wish.seconds);
        seeds::plant(target)?;
        let time = format!("-max_total_time={}", wish.seconds);
        succeed(
            cargo(&[
                "fuzz",
                "run",
                target,
                "--",
                &time,
                "-timeout=10",
                "-max_len=65536",
            ])
            // The sanitizer's flags are for nightly compilers; this one knows them too.
            .env("RUSTC_BOOTSTRAP", "1"),
        )
        .with_context(|| format!("{target}: what broke it lies in fuzz/artifacts/{target}"))?;
    }
    Ok(())
}

fn read(arguments: &[String]) -> anyhow::Result<Wish> {
    let mut wish = Wish {
        targets: Vec::new(),
        seconds: SECONDS,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let value = words.next().context("--seconds needs a number")?;
            wish.seconds = value
                .parse()
                .with_context(|| format!("--seconds needs a number, not `{value}`"))?;
        } else if TARGETS.contains(&word.as_str()) {
            wish.targets.push(word.clone());
        } else {
            bail!(
                "there is no target `{word}`; there are {}",
                TARGETS.join(", ")
            );
        }
    }
    if wish.targets.is_empty() {
        wish.targets = TARGETS.map(str::to_owned).to_vec();
    }
    Ok(wish)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn wrong_words_are_refused_before_anything_runs() {
        let refused = |list: &[&str]| read(&words(list)).expect_err("refused").to_string();
        assert!(refused(&["klingon"]).contains("there are cowork"));
        assert!(refused(&["--seconds"]).contains("needs a number"));
        assert!(refused(&["--seconds", "many"]).contains("not `many`"));
    }

    #[test]
    fn without_a_target_all_are_meant() {
        let wish = read(&words(&["--seconds", "5"])).expect("a wish");
        assert_eq!((wish.targets.len(), wish.seconds), (TARGETS.len(), 5));
    }
}
