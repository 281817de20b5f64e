//! Reads a tool's input field by field, so that a refusal names the field and what was expected.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use vocabulary::Subject;

use crate::Failure;

/// How much of a wrong value a refusal shows.
const SHOWN_CHARS_MAX: usize = 60;

/// A text of the input; empty where there is none.
pub(crate) fn text_of<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The subject of a tool that reads what this field names; without it, the whole workspace.
pub(crate) fn file_subject(input: &Value, name: &str) -> Subject {
    match text_of(input, name) {
        "" => Subject::Files(Vec::new()),
        path => Subject::file(path),
    }
}

/// The fields of one JSON object within a tool's input.
pub(crate) struct Fields<'a> {
    tool: &'static str,
    /// Where the object lies in the input: empty, or like `todos[2].`.
    within: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub fn of(tool: &'static str, input: &'a Value) -> Result<Fields<'a>, Failure> {
        match input {
            Value::Object(map) => Ok(Fields {
                tool,
                within: String::new(),
                map,
            }),
            other => Err(Failure::Error(format!(
                "{tool}: the input must be an object, got {}",
                show(other)
            ))),
        }
    }

    /// The refusal of a field.
    pub fn refuse(&self, name: &str, expected: impl std::fmt::Display) -> Failure {
        let got = match self.map.get(name) {
            Some(value) => show(value),
            None => "nothing".to_owned(),
        };
        Failure::Error(format!(
            "{}: \"{}{name}\" must be {expected}, got {got}",
            self.tool, self.within
        ))
    }

    /// The field's value; `null` counts as absent, as models write it so.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text of at most so many characters; it may be empty.
    pub fn text(&self, name: &str, chars_max: usize) -> Result<&'a str, Failure> {
        match self.get(name) {
            Some(Value::String(text)) => {
                let chars = text.chars().count();
                if chars > chars_max {
                    return Err(Failure::Error(format!(
                        "{}: \"{}{name}\" must be a text of at most {chars_max} characters, got {chars}",
                        self.tool, self.within
                    )));
                }
                Ok(text)
            }
            _ => Err(self.refuse(name, "a text")),
        }
    }

    /// A text with something in it.
    pub fn filled_text(&self, name: &str, chars_max: usize) -> Result<&'a str, Failure> {
        let text = self.text(name, chars_max)?;
        if text.trim().is_empty() {
            return Err(self.refuse(name, "a text that is not empty"));
        }
        Ok(text)
    }

    pub fn optional_text(&self, name: &str, chars_max: usize) -> Result<Option<&'a str>, Failure> {
        self.get(name)
            .map(|_| self.text(name, chars_max))
            .transpose()
    }

    pub fn optional_flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        self.get(name)
            .map(|value| {
                value
                    .as_bool()
                    .ok_or_else(|| self.refuse(name, "true or false"))
            })
            .transpose()
    }

    pub fn optional_whole(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Failure> {
        let expected = || {
            let (from, to) = (range.start(), range.end());
            self.refuse(name, format!("a whole number from {from} to {to}"))
        };
        self.get(name)
            .map(|value| {
                whole(value)
                    .filter(|n| range.contains(n))
                    .ok_or_else(expected)
            })
            .transpose()
    }

    /// A whole number that may be negative.
    pub fn optional_integer(
        &self,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Failure> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        // As with `whole`: `-2.0` is one.
        let exact = |number: &f64| number.fract() == 0.0 && number.abs() <= 9e15;
        let from_float = || value.as_f64().filter(exact).map(|number| number as i64);
        let number = value.as_i64().or_else(from_float);
        let number = number.filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let (from, to) = (range.start(), range.end());
            self.refuse(name, format!("a whole number from {from} to {to}"))
        })
    }

    /// A list of between so many values.
    pub fn list(&self, name: &str, count: RangeInclusive<usize>) -> Result<&'a [Value], Failure> {
        match self.get(name) {
            Some(Value::Array(values)) if count.contains(&values.len()) => Ok(values),
            Some(Value::Array(values)) => Err(Failure::Error(format!(
                "{}: \"{}{name}\" must have {} to {} entries, got {}",
                self.tool,
                self.within,
                count.start(),
                count.end(),
                values.len()
            ))),
            _ => Err(self.refuse(name, "a list")),
        }
    }

    /// The fields of entry `index` of the list `name`.
    pub fn entry(&self, name: &str, index: usize, value: &'a Value) -> Result<Fields<'a>, Failure> {
        let place = format!("{}{name}[{index}]", self.within);
        match value {
            Value::Object(map) => Ok(Fields {
                tool: self.tool,
                within: format!("{place}."),
                map,
            }),
            other => Err(Failure::Error(format!(
                "{}: \"{place}\" must be an object, got {}",
                self.tool,
                show(other)
            ))),
        }
    }
}

/// A whole number; `2.0` is one, as some models write numbers so.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        let fits = number.fract() == 0.0 && (0.0..=9e15).contains(&number);
        fits.then_some(number as u64)
    })
}

fn show(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Runs file work where it may block.
pub(crate) async fn blocking<T, F>(tool: &str, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Failure> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Failure::Error(format!("{tool}: stopped early: {error}"))))
}
