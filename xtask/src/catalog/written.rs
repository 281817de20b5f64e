//! The part of the catalog that is written by hand: which models are offered.

use anyhow::Context;
use toml::{Table, Value};

/// A provider and the models it is offered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    pub id: String,
    pub models: Vec<String>,
}

pub fn read(text: &str) -> anyhow::Result<Vec<Offered>> {
    let file: Table = text.parse().context("the catalog cannot be read")?;
    Ok(list(&file, "provider").map(offered).collect())
}

pub fn offered(provider: &Table) -> Offered {
    Offered {
        id: text(provider, "id").to_owned(),
        models: list(provider, "model")
            .map(|model| text(model, "id").to_owned())
            .collect(),
    }
}

/// The tables below a name.
pub fn list<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = &'a Table> {
    let entries = table.get(name).and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_table)
}

pub fn text<'a>(table: &'a Table, name: &str) -> &'a str {
    table.get(name).and_then(Value::as_str).unwrap_or_default()
}
