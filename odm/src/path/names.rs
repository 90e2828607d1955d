//! A check for tests that the names in typed paths agree with the names that serde reads.

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::path::field::Field;

/// Compares the stored names of a struct's typed paths with the names that its `Deserialize`
/// implementation reads.
///
/// The derives read serde's attributes, so the two agree unless `Deserialize` is implemented by
/// hand or by another derive. A struct with a flattened field reports no names, so it is not
/// checked. The types of the fields are not checked either.
///
/// ```
/// # use marula::Embedded;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, Embedded)]
/// #[serde(rename_all = "camelCase")]
/// struct Line {
///     unit_price: i64,
/// }
/// assert_eq!(marula::path::names::check::<Line>(), Ok(()));
/// ```
///
/// # Errors
/// The names in typed paths that `Deserialize` does not read.
pub fn check<T: Field + DeserializeOwned>() -> Result<(), Vec<&'static str>> {
    let Err(Reported(Some(read))) = T::deserialize(Reporter) else {
        return Ok(());
    };
    let unread: Vec<&str> = T::stored_names()
        .iter()
        .copied()
        .filter(|name| !read.contains(name))
        .collect();
    if unread.is_empty() { Ok(()) } else { Err(unread) }
}

/// A deserializer that returns the requested field names as its error.
struct Reporter;

#[derive(Debug)]
struct Reported(Option<&'static [&'static str]>);

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field names {:?}", self.0)
    }
}

impl std::error::Error for Reported {}

impl Error for Reported {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Reported(None)
    }
}

impl<'de> Deserializer<'de> for Reporter {
    type Error = Reported;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Reported> {
        Err(Reported(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Reported> {
        Err(Reported(Some(fields)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::check;
    use crate::path::field::Field;
    use crate::path::{Mode, Path};

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its names are of interest")]
    struct Renamed {
        #[serde(rename = "b")]
        a: i32,
    }

    impl Field for Renamed {
        type Nav<R, M: Mode> = Path<R, Renamed, M>;
        fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, Renamed, M> {
            path
        }
        fn stored_names() -> &'static [&'static str] {
            &["a", "b"]
        }
    }

    #[test]
    fn names_that_serde_does_not_read_are_reported() {
        assert_eq!(check::<Renamed>(), Err(vec!["a"]));
        assert_eq!(check::<i32>(), Ok(()));
    }
}
