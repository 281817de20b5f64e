//! Whether the catalog is whole and how old it is; needs no network.

use anyhow::{Context, bail};
use jiff::ToSpan;
use jiff::civil::Date;
use toml::Table;

use super::written::{self, Offered, list, text};
use super::{NUMBERS, WRITTEN, text_of, today};

/// Numbers that are older are worth gathering again.
const WEEKS_MAX: i64 = 26;
const DOCUMENT: &str = "docs/models.md";

/// What is wrong, and what will be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CatalogState {
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
}

/// The texts that are compared.
struct Texts<'a> {
    written: &'a str,
    numbers: &'a str,
    document: &'a str,
}

pub fn run() -> anyhow::Result<()> {
    let state = check()?;
    for warning in &state.warnings {
        println!("warning: {warning}");
    }
    if !state.errors.is_empty() {
        bail!("{}", state.errors.join("\n"));
    }
    println!("the catalog is whole");
    Ok(())
}

/// Of the tree as it is, today.
pub fn check() -> anyhow::Result<CatalogState> {
    let (written, numbers) = (text_of(WRITTEN)?, text_of(NUMBERS)?);
    let texts = Texts {
        written: &written,
        numbers: &numbers,
        document: &text_of(DOCUMENT)?,
    };
    state(&texts, today())
}

fn state(texts: &Texts<'_>, today: Date) -> anyhow::Result<CatalogState> {
    let offered = written::read(texts.written)?;
    let numbers: Table = texts
        .numbers
        .parse()
        .context("the numbers cannot be read")?;
    let date: Date = text(&numbers, "date")
        .parse()
        .context("the numbers have no date")?;
    let mut state = CatalogState::default();
    if date.checked_add(WEEKS_MAX.weeks())? < today {
        state.warnings.push(format!(
            "{NUMBERS} is of {date}: gather it again with `cargo xtask catalog`"
        ));
    }
    for provider in list(&numbers, "provider") {
        leftovers(provider, &offered, &mut state);
        for model in list(provider, "model") {
            retirement(provider, model, (date, today), &mut state);
        }
    }
    for provider in &offered {
        if !texts.document.contains(&format!("| `{}` |", provider.id)) {
            let what = format!(
                "{DOCUMENT}: the table lacks a row of the provider {}",
                provider.id
            );
            state.errors.push(what);
        }
    }
    Ok(state)
}

/// Numbers of models that are not offered.
fn leftovers(numbers: &Table, offered: &[Offered], state: &mut CatalogState) {
    let id = text(numbers, "id");
    let known = offered.iter().find(|each| each.id == id);
    for model in written::offered(numbers).models {
        if known.is_none_or(|known| !known.models.contains(&model)) {
            state.errors.push(format!(
                "{NUMBERS}: {id}/{model} is not offered: run `cargo xtask catalog`"
            ));
        }
    }
}

/// `days`: when the numbers were gathered, and today.
fn retirement(provider: &Table, model: &Table, days: (Date, Date), state: &mut CatalogState) {
    let Ok(end) = text(model, "retires").parse::<Date>() else {
        return;
    };
    let what = format!(
        "{WRITTEN}: {}/{} retired on {end}: take it out, and say under `retired` what takes its place",
        text(provider, "id"),
        text(model, "id"),
    );
    match days {
        (gathered, _) if end <= gathered => state.errors.push(what),
        (_, today) if end <= today => state.warnings.push(what),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const MODELS: &str = "[[provider]]\nid = \"p\"\n[[provider.model]]\nid = \"m\"\n";

    fn found(written: &str, numbers: &str, today: Date) -> CatalogState {
        let numbers = format!("date = \"2026-11-16\"\n{numbers}");
        let texts = Texts {
            written,
            numbers: &numbers,
            document: "| provider |\n| `p` | |\n",
        };
        state(&texts, today).expect("texts that can be read")
    }

    #[test]
    fn a_whole_catalog_has_nothing_to_be_said_of_it_until_it_is_old() {
        let fine = CatalogState::default();
        assert_eq!(found(MODELS, MODELS, date(2026, 11, 16)), fine);
        assert_eq!(found(MODELS, MODELS, date(2027, 5, 17)), fine);
        let old = found(MODELS, MODELS, date(2027, 5, 18));
        assert_eq!((old.warnings.len(), old.errors.len()), (1, 0));
    }

    #[test]
    fn what_is_not_offered_or_not_documented_is_found() {
        let other = MODELS.replace("\"m\"", "\"other\"");
        let state = found(MODELS, &other, date(2026, 11, 16));
        assert!(
            state.errors[0].contains("p/other is not offered"),
            "{state:?}"
        );
        let other = MODELS.replace("\"p\"", "\"q\"");
        let state = found(&other, "", date(2026, 11, 16));
        assert!(state.errors[0].contains("lacks a row of the provider q"));
    }

    #[test]
    fn a_model_that_was_gone_when_it_was_gathered_is_an_error() {
        let ends = |day: &str| format!("{MODELS}retires = \"{day}\"\n");
        let count = |day: &str, today| {
            let state = found(MODELS, &ends(day), today);
            (state.errors.len(), state.warnings.len())
        };
        assert_eq!(count("2026-11-16", date(2026, 11, 16)), (1, 0));
        assert_eq!(count("2026-11-17", date(2026, 11, 16)), (0, 0));
        assert_eq!(count("2026-11-17", date(2026, 11, 17)), (0, 1));
    }
}
