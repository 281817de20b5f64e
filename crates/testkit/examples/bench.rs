//! Measures the real server over real sockets and prints one table: `cargo xtask bench`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use testkit::bench::{Bench, NAMES, Size, Table, run};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let Arguments { bench, names, json } = arguments()?;
    let (mut table, all) = (Table::default(), names.len());
    let mut failed = Vec::new();
    bench.forget_binary()?;
    for (at, name) in names.iter().enumerate() {
        eprintln!("[{}/{all}] {name}", at + 1);
        let started = Instant::now();
        // The others are worth knowing all the same.
        if let Err(error) = run(name, &bench, &mut table).await {
            eprintln!("  FAILED: {error:#}");
            failed.push(name.as_str());
        }
        eprintln!("  took {:.1} s", started.elapsed().as_secs_f64());
    }
    table.print();
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&table.json())?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

struct Arguments {
    bench: Bench,
    names: Vec<String>,
    json: Option<PathBuf>,
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut words = std::env::args().skip(1);
    let binary = words
        .next()
        .context("which server? `cargo xtask bench` knows")?;
    let (mut size, mut json, mut names) = (Size::Full, None, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => size = Size::Quick,
            "--tiny" => size = Size::Tiny,
            "--json" => json = Some(words.next().context("--json needs a file")?.into()),
            name if NAMES.contains(&name) => names.push(word),
            unknown => bail!(
                "`bench` knows --quick, --tiny, --json FILE and {}, not `{unknown}`",
                NAMES.join(", ")
            ),
        }
    }
    if names.is_empty() {
        names = NAMES.map(str::to_owned).to_vec();
    }
    let binary = binary.into();
    Ok(Arguments {
        bench: Bench { binary, size },
        names,
        json,
    })
}
