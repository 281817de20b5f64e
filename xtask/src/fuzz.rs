//! `cargo xtask fuzz`: any bytes into every dialect, the script parser and the wire formats, until
//! something breaks.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::run::{cargo, root, succeed, works};

/// The programs in `fuzz/fuzz_targets`.
const TARGETS: [&str; 8] = [
    "cowork",
    "cowork1",
    "diminuendo",
    "zane",
    "codex",
    "pioneer",
    "rehearsal",
    "decode",
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
        plant(target)?;
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

/// Starts from what clients really say: the transcripts, and the scenarios' scripts.
fn plant(target: &str) -> anyhow::Result<()> {
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    if target == "decode" {
        return plant_captures(&corpus);
    }
    let name = match target {
        "rehearsal" => "scenario.toml".to_owned(),
        dialect => format!("{dialect}.transcript"),
    };
    let scenarios = root().join("scenarios");
    for scenario in fs::read_dir(&scenarios).context("cannot list the scenarios")? {
        let scenario = scenario?.path();
        let seed = scenario.join(&name);
        if seed.is_file() {
            let text = fs::read_to_string(&seed)?;
            fs::write(corpus.join(stem(&scenario)), sown(target, &text))?;
        }
    }
    Ok(())
}

/// Starts from what model servers really say.
fn plant_captures(corpus: &Path) -> anyhow::Result<()> {
    let captures = root().join("crates/providers/fixtures/sse");
    for folder in fs::read_dir(&captures).context("cannot list the captured streams")? {
        let folder = folder?.path();
        for capture in fs::read_dir(&folder)? {
            let capture = capture?.path();
            if capture.extension().is_some_and(|ending| ending == "http") {
                let name = format!("{}-{}", stem(&folder), stem(&capture));
                fs::copy(&capture, corpus.join(name))?;
            }
        }
    }
    Ok(())
}

/// What of a file is worth trying: what clients say, or the script.
fn sown(target: &str, text: &str) -> String {
    if target == "rehearsal" {
        let script = text.split("\"\"\"").nth(1);
        return script.unwrap_or_default().to_owned();
    }
    let said = text.lines().filter(|line| line.starts_with("> "));
    said.map(|line| format!("{line}\n")).collect()
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    format!("seed-{}", name.to_string_lossy())
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

    #[test]
    fn seeds_are_what_clients_said_or_the_script() {
        assert_eq!(sown("cowork", "# a\n> {}\n< {}\n"), "> {}\n");
        let scenario = "about = \"x\"\nscript = \"\"\"\nturn\n\"\"\"\n";
        assert_eq!(sown("rehearsal", scenario), "\nturn\n");
    }
}
