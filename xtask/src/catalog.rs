//! `cargo xtask catalog`: gathers what package registries say of the models we offer, and writes it
//! into the catalog.
//!
//! Only ids, numbers and dates are taken. Which models are offered is written by hand, in
//! `catalog.toml`; what is gathered goes into `models.toml` beside it, which is checked in, so that
//! nothing but this command needs the network.

mod check;
mod facts;
mod fetch;
mod read;
mod render;
mod sources;
mod written;

use std::fs;

use anyhow::{Context, bail};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use crate::run::root;
pub use check::check;
use facts::Facts;
use written::Offered;

const HELP: &str = "\
cargo xtask catalog            gather the numbers of all offered models anew, and write them
cargo xtask catalog --check    only look whether they are whole and how old they are; no network

Gathering needs npm, python3 with pip, and tar. It says what the sources do not agree on and what
they do not know, and which models their makers have besides. Where they differ the smaller limit
and the dearer price are taken, so that a request fits and a budget is kept. To offer another
model, write its id and name into crates/providers/src/catalog.toml first:

    [[provider.model]]
    id = \"gpt-6-luna\"
    name = \"GPT-6 Luna\"
";

pub const WRITTEN: &str = "crates/providers/src/catalog.toml";
pub const NUMBERS: &str = "crates/providers/src/catalog/models.toml";

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => gather(),
        ["--check"] => check::run(),
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        [unknown, ..] => bail!("`catalog` takes `--check` or nothing, not `{unknown}`"),
    }
}

fn gather() -> anyhow::Result<()> {
    let offered = written::read(&text_of(WRITTEN)?)?;
    let folder = root().join("target/catalog");
    let packages = fetch::all(&folder)?;
    let library = sources::Library::read(&packages)?;
    let (mut numbers, mut remarks) = (Vec::new(), Vec::new());
    for provider in offered
        .iter()
        .filter(|each| sources::Library::knows(&each.id))
    {
        let models = gathered(provider, &library, &mut remarks);
        numbers.push((provider.id.clone(), models));
        let others = library.others(&provider.id, &provider.models);
        if !others.is_empty() {
            remarks.push(format!("{} also has {}", provider.id, others.join(", ")));
        }
    }
    let today = today().to_string();
    let text = render::file(&today, &library.versions, &numbers);
    fs::write(root().join(NUMBERS), text).with_context(|| format!("cannot write {NUMBERS}"))?;
    for remark in &remarks {
        println!("{remark}");
    }
    println!("{NUMBERS} is of {today} now; read the diff before you commit");
    check::run()
}

/// What is known of the models of one provider.
fn gathered(
    provider: &Offered,
    library: &sources::Library,
    remarks: &mut Vec<String>,
) -> Vec<(String, Facts)> {
    let mut models = Vec::new();
    for id in &provider.models {
        let known = library.look_up(&provider.id, id);
        if known.is_empty() {
            remarks.push(format!("{}/{id}: no source knows it", provider.id));
            continue;
        }
        let merged = facts::merge(&known);
        let differ = merged.differing.iter();
        remarks.extend(differ.map(|what| format!("{}/{id}: {what}", provider.id)));
        models.push((id.clone(), merged.facts));
    }
    models
}

/// In Greenwich.
fn today() -> Date {
    Offset::UTC.to_datetime(Timestamp::now()).date()
}

fn text_of(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}
