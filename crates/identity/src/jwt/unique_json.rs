//! JSON objects that have no member twice: of two claims of one name, another reader may have looked
//! at the other.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads an object; none if it is something else, or if it or anything in it has a member twice.
pub fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    let mut input = serde_json::Deserializer::from_slice(bytes);
    let value = UniqueMembers.deserialize(&mut input).ok()?;
    input.end().ok()?;
    match value {
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

#[derive(Clone, Copy)]
struct UniqueMembers;

impl<'de> DeserializeSeed<'de> for UniqueMembers {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON without a member twice")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = entries.next_element_seed(self)? {
            all.push(entry);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if all.insert(name, value).is_some() {
                return Err(A::Error::custom("a member twice"));
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_as_it_is_unless_a_member_comes_twice() {
        let good = r#"{"a":[1,-2,0.5,null,true,"x"],"b":{"a":{}}}"#;
        let read = object(good.as_bytes()).map(Value::Object);
        assert_eq!(read, serde_json::from_str(good).ok());
        for bad in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
            r#"{"a":1}{"#,
            "[]",
            "null",
            "",
        ] {
            assert_eq!(object(bad.as_bytes()), None, "{bad}");
        }
    }
}
