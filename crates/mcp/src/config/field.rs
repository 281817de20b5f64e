//! One value of `mcp-servers.json` and where it stands: an error names the field and never the value.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::FILE;

pub const RETRIES_MAX: u32 = 100;
/// How much of somebody's own name for a variable or header an error repeats.
const NAME_SHOWN_CHARS_MAX: usize = 60;

/// A value and where it stands, for the words of an error.
pub struct Field<'a> {
    pub value: Option<&'a Value>,
    pub at: String,
}

impl<'a> Field<'a> {
    pub fn at(value: Option<&'a Value>, at: String) -> Self {
        Self { value, at }
    }

    pub fn of(object: &'a Map<String, Value>, at: &str, name: &str) -> Self {
        let at = match at {
            "" => name.to_owned(),
            at => format!("{at}.{name}"),
        };
        Self::at(object.get(name), at)
    }

    /// For an error about what is in it. The name is whatever somebody wrote there.
    pub fn inner(&self, name: &str) -> Self {
        let name: String = name.escape_debug().take(NAME_SHOWN_CHARS_MAX).collect();
        Self::at(None, format!("{}.{name}", self.at))
    }

    pub fn wrong(&self, what: &str) -> String {
        format!("{FILE}: {}: {what}", self.at)
    }

    pub fn expected(&self, what: &str) -> String {
        let received = kind(self.value);
        self.wrong(&format!(
            "Invalid input: expected {what}, received {received}"
        ))
    }

    /// What may be left out; `null` is not the same.
    pub fn optional<T>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.value.map(|_| read(self)).transpose()
    }

    pub fn object(&self) -> Result<&'a Map<String, Value>, String> {
        let object = self.value.and_then(Value::as_object);
        object.ok_or_else(|| self.expected("object"))
    }

    pub fn text(&self) -> Result<&'a str, String> {
        let text = self.value.and_then(Value::as_str);
        text.ok_or_else(|| self.expected("string"))
    }

    pub fn boolean(&self) -> Result<bool, String> {
        let value = self.value.and_then(Value::as_bool);
        value.ok_or_else(|| self.expected("boolean"))
    }

    pub fn retries(&self) -> Result<u32, String> {
        let number = self.value.and_then(Value::as_f64);
        let number = number.ok_or_else(|| self.expected("number"))?;
        if number.fract() != 0.0 || !(0.0..=f64::from(RETRIES_MAX)).contains(&number) {
            let what = format!("must be a whole number from 0 to {RETRIES_MAX}");
            return Err(self.wrong(&what));
        }
        Ok(number as u32)
    }

    /// What a program can be given.
    pub fn program_text(&self) -> Result<&'a str, String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.wrong("must not be empty"));
        }
        if text.contains('\0') {
            return Err(self.wrong("has a NUL in it"));
        }
        Ok(text)
    }

    pub fn arguments(&self) -> Result<Vec<String>, String> {
        let Some(Value::Array(values)) = self.value else {
            return Err(self.expected("array"));
        };
        let texts = values.iter().enumerate().map(|(position, value)| {
            let field = Self::at(Some(value), format!("{}.{position}", self.at));
            match field.text()? {
                text if text.contains('\0') => Err(field.wrong("has a NUL in it")),
                text => Ok(text.to_owned()),
            }
        });
        texts.collect()
    }

    pub fn texts(&self) -> Result<BTreeMap<String, String>, String> {
        let pairs = self.object()?.iter().map(|(name, value)| {
            let field = Self::at(Some(value), self.inner(name).at);
            Ok((name.clone(), field.text()?.to_owned()))
        });
        pairs.collect()
    }
}

pub fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}
