//! The built-in catalog: what was written by hand, with the numbers that were gathered laid under it.

use std::sync::LazyLock;

use super::file::{File, NumbersFile, ProviderEntry};

/// Providers, how they are reached, and which of their models are offered.
static WRITTEN: &str = include_str!("../catalog.toml");
/// Limits, prices, efforts and ends of these models, made by `cargo xtask catalog`.
static NUMBERS: &str = include_str!("models.toml");

/// Parsed when it is first needed: a start must stay fast.
static FILE: LazyLock<File> = LazyLock::new(|| {
    // A test reads both, so they cannot be broken; an empty catalog would still let the server run.
    let numbers: NumbersFile = toml::from_str(NUMBERS).unwrap_or_default();
    let written = File::parse(WRITTEN).unwrap_or_default();
    with_numbers(written, &numbers.provider)
});

pub fn file() -> &'static File {
    &FILE
}

/// Whether it names this variable. Read from its text, so that a start need not parse it.
pub fn names(variable: &str) -> bool {
    WRITTEN.match_indices(variable).any(|(at, _)| {
        let before = WRITTEN[..at].ends_with(['"', '{', '|']);
        before && WRITTEN[at + variable.len()..].starts_with(['"', '}', '|', '='])
    })
}

/// The order is that of the written file, and what it says is stronger.
fn with_numbers(mut written: File, numbers: &[ProviderEntry]) -> File {
    for provider in &mut written.provider {
        let Some(known) = numbers.iter().find(|each| each.id == provider.id) else {
            continue;
        };
        for model in &mut provider.model {
            if let Some(known) = known.model.iter().find(|each| each.id == model.id) {
                let own = std::mem::replace(model, known.clone());
                model.lay_over(own);
            }
        }
    }
    written
}

#[cfg(test)]
pub fn parse() -> (File, NumbersFile) {
    let numbers = toml::from_str(NUMBERS).expect("the numbers");
    (File::parse(WRITTEN).expect("the catalog"), numbers)
}
