//! Strict access to the keys of a JSON object: a key that is not read is an error, so that no
//! expectation is ignored.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map, Value};

/// An object, and the keys that have been read.
#[derive(Debug)]
pub struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
    seen: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    /// `value` must be an object. `path` is its name in errors.
    pub fn new(path: impl Into<String>, value: &'a Value) -> Result<Self, String> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self {
                path,
                map,
                seen: RefCell::default(),
            }),
            other => Err(format!("{path}: expected an object, found {other}")),
        }
    }

    /// The value of a key, if present.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.map.get_key_value(key)?;
        self.seen.borrow_mut().insert(key);
        Some(value)
    }

    /// The value of a key, if present and not null.
    pub fn given(&self, key: &str) -> Option<&'a Value> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// The value of a required key.
    pub fn need(&self, key: &str) -> Result<&'a Value, String> {
        self.get(key)
            .ok_or_else(|| format!("{}.{key} is missing", self.path))
    }

    fn typed<T>(
        &self,
        key: &str,
        read: impl Fn(&'a Value) -> Option<T>,
        what: &str,
    ) -> Result<Option<T>, String> {
        self.given(key)
            .map(|value| {
                read(value).ok_or_else(|| format!("{}.{key}: expected {what}, found {value}", self.path))
            })
            .transpose()
    }

    /// A string, if present.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        self.typed(key, Value::as_str, "a string")
    }

    /// A boolean, if present.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        self.typed(key, Value::as_bool, "a boolean")
    }

    /// An integer, if present; also in canonical Extended JSON.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, String> {
        self.typed(key, integer, "an integer")
    }

    /// A non-negative integer, if present.
    pub fn count(&self, key: &str) -> Result<Option<u64>, String> {
        self.typed(
            key,
            |value| integer(value).and_then(|n| u64::try_from(n).ok()),
            "a non-negative integer",
        )
    }

    /// A number, if present.
    pub fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.typed(key, Value::as_f64, "a number")
    }

    /// An array, if present.
    pub fn list(&self, key: &str) -> Result<Option<&'a [Value]>, String> {
        self.typed(key, |value| value.as_array().map(Vec::as_slice), "an array")
    }

    /// An object, if present.
    pub fn object(&self, key: &str) -> Result<Option<Fields<'a>>, String> {
        self.given(key)
            .map(|value| Fields::new(format!("{}.{key}", self.path), value))
            .transpose()
    }

    /// A required string.
    pub fn need_text(&self, key: &str) -> Result<&'a str, String> {
        self.need(key)?;
        self.text(key)?
            .ok_or_else(|| format!("{}.{key} is null", self.path))
    }

    /// A required array.
    pub fn need_list(&self, key: &str) -> Result<&'a [Value], String> {
        self.need(key)?;
        self.list(key)?
            .ok_or_else(|| format!("{}.{key} is null", self.path))
    }

    /// All entries. All keys count as read.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let map = self.map;
        self.seen.borrow_mut().extend(map.keys().map(String::as_str));
        map.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The name of the object in errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns an error if a key has not been read.
    pub fn finish(self) -> Result<(), String> {
        self.unknown()
    }

    /// The check of [`finish`](Self::finish), without consuming the fields.
    pub fn unknown(&self) -> Result<(), String> {
        let seen = self.seen.borrow();
        match self.map.keys().find(|key| !seen.contains(key.as_str())) {
            Some(key) => Err(format!("unknown key {}.{key}", self.path)),
            None => Ok(()),
        }
    }
}

/// An integer, plain or as `$numberInt` or `$numberLong`.
pub fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Object(map) if map.len() == 1 => map
            .get("$numberInt")
            .or_else(|| map.get("$numberLong"))?
            .as_str()?
            .parse()
            .ok(),
        other => other.as_i64(),
    }
}

/// Compares an actual with an expected value.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what} is {actual:?}, expected {expected:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unread_key_is_an_error() {
        let value = json!({ "a": 1, "b": { "$numberLong": "2" } });
        let fields = Fields::new("test", &value).unwrap();
        assert_eq!(fields.integer("a"), Ok(Some(1)));
        assert_eq!(fields.count("b"), Ok(Some(2)));
        assert_eq!(fields.text("c"), Ok(None));
        assert!(fields.finish().is_ok());
        let fields = Fields::new("test", &value).unwrap();
        assert!(
            fields
                .text("a")
                .unwrap_err()
                .contains("test.a: expected a string")
        );
        assert_eq!(fields.finish().unwrap_err(), "unknown key test.b");
        assert!(Fields::new("test", &json!(1)).is_err());
    }

    #[test]
    fn missing_required_keys_are_errors() {
        let value = json!({ "a": null });
        let fields = Fields::new("test", &value).unwrap();
        assert!(fields.need("b").is_err());
        assert!(fields.need_text("a").is_err());
        assert!(fields.need_list("b").is_err());
        assert!(equal("x", &1, &2).unwrap_err().contains("x is 1, expected 2"));
    }
}
