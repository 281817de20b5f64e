//! The built-in catalog: what was written by hand, with the numbers that were gathered laid under it.

use std::sync::LazyLock;

use super::file::{File, NumbersFile, ProviderEntry};
use super::merged::Environment;

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

/// Whether it names a variable that is set. Its text is walked once, so that a start need neither
/// parse it nor search it for each variable there is.
pub fn names_one_of(environment: &Environment) -> bool {
    let in_variable = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
    WRITTEN
        .as_bytes()
        .split(|byte| !in_variable(byte))
        .filter(|word| word.first().is_some_and(u8::is_ascii_uppercase) && word.contains(&b'_'))
        .filter_map(|word| std::str::from_utf8(word).ok())
        .any(|word| environment.contains_key(word))
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
