//! [`Patched`]: a field of a patch that can be missing, null or set.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{
    BytesDeserializer, EnumAccessDeserializer, MapAccessDeserializer, SeqAccessDeserializer,
};
use serde::de::{EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The change of a field of type `Option<T>` by a [patch](crate::patch).
///
/// Its `Deserialize` distinguishes a field that is missing from one that is null, without an attribute:
///
/// ```
/// use marula::Patched;
///
/// #[derive(serde::Deserialize)]
/// struct Body {
///     note: Patched<String>,
/// }
///
/// let note = |json| serde_json::from_str::<Body>(json).map(|body| body.note);
/// assert_eq!(note("{}")?, Patched::Missing);
/// assert_eq!(note(r#"{"note": null}"#)?, Patched::Null);
/// assert_eq!(note(r#"{"note": "ring twice"}"#)?, Patched::Set("ring twice".to_owned()));
/// assert!(note(r#"{"note": 5}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// A function of `#[serde(deserialize_with = "…")]` is not called for a missing field: add
/// `#[serde(default)]`. `Serialize` fails for `Missing`, which has no form of its own: add
/// `#[serde(skip_serializing_if = "Patched::is_missing")]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Patched<T> {
    /// The field of the model is not changed.
    #[default]
    Missing,
    /// The field is set to null, or removed if it has `#[document(skip_none)]` in the model.
    Null,
    /// The field is set to the value.
    Set(T),
}

impl<T> Patched<T> {
    /// Whether the field of the model is not changed.
    ///
    /// ```
    /// # use marula::Patched;
    /// assert!(Patched::<i64>::default().is_missing());
    /// assert!(!Patched::<i64>::Null.is_missing());
    /// ```
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Patched::Missing)
    }

    /// The value that the field of the model will have: `None` if it is not changed, `Some(None)` if it will be null.
    ///
    /// ```
    /// # use marula::Patched;
    /// assert_eq!(Patched::Set(5).as_option(), Some(Some(&5)));
    /// assert_eq!(Patched::<i64>::Null.as_option(), Some(None));
    /// assert_eq!(Patched::<i64>::Missing.as_option(), None);
    /// ```
    #[must_use]
    pub fn as_option(&self) -> Option<Option<&T>> {
        match self {
            Patched::Missing => None,
            Patched::Null => Some(None),
            Patched::Set(value) => Some(Some(value)),
        }
    }

    /// The value that the field of the model will have; see [`as_option`](Patched::as_option).
    ///
    /// ```
    /// # use marula::Patched;
    /// assert_eq!(Patched::Set(5).into_option(), Some(Some(5)));
    /// ```
    #[must_use]
    pub fn into_option(self) -> Option<Option<T>> {
        match self {
            Patched::Missing => None,
            Patched::Null => Some(None),
            Patched::Set(value) => Some(Some(value)),
        }
    }
}

/// `None` is null.
///
/// ```
/// # use marula::Patched;
/// assert_eq!(Patched::<i64>::from(None), Patched::Null);
/// assert_eq!(Patched::from(Some(5)), Patched::Set(5));
/// ```
impl<T> From<Option<T>> for Patched<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Patched::Null, Patched::Set)
    }
}

impl<T: Serialize> Serialize for Patched<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Patched::Missing => Err(S::Error::custom(
                "a `Patched` that is missing has no form: add `#[serde(skip_serializing_if = \"Patched::is_missing\")]` to the field",
            )),
            Patched::Null => serializer.serialize_none(),
            Patched::Set(value) => serializer.serialize_some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patched<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_present = Cell::new(false);
        let visitor = PresentValue {
            is_present: &is_present,
            ty: PhantomData,
        };
        // serde deserializes a missing field from a deserializer that has no value: it gives `None` to an `Option`, and an
        // error to all other types without a call of the visitor. Deserializers with a value call the visitor of a
        // newtype before they read the value.
        match deserializer.deserialize_newtype_struct("Patched", visitor) {
            Err(_) if !is_present.get() => Ok(Patched::Missing),
            result => result,
        }
    }
}

/// Reads a value or null, and notes that there is one.
struct PresentValue<'c, T> {
    is_present: &'c Cell<bool>,
    ty: PhantomData<fn() -> T>,
}

impl<'de, T: Deserialize<'de>> PresentValue<'_, T> {
    fn set<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patched<T>, D::Error> {
        self.is_present.set(true);
        T::deserialize(deserializer).map(Patched::Set)
    }

    fn null<E>(self) -> Result<Patched<T>, E> {
        self.is_present.set(true);
        Ok(Patched::Null)
    }
}

macro_rules! visit {
    ($($method:ident: $ty:ty;)*) => { $(
        fn $method<E: serde::de::Error>(self, value: $ty) -> Result<Self::Value, E> {
            self.set(value.into_deserializer())
        }
    )* };
}

/// The deserializers that do not call `visit_newtype_struct` call the method of the value.
impl<'de, T: Deserialize<'de>> Visitor<'de> for PresentValue<'_, T> {
    type Value = Patched<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.is_present.set(true);
        Option::<T>::deserialize(deserializer).map(Patched::from)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.set(deserializer)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        self.null()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        self.null()
    }

    visit! {
        visit_bool: bool;
        visit_i64: i64;
        visit_i128: i128;
        visit_u64: u64;
        visit_u128: u128;
        visit_f64: f64;
        visit_str: &str;
        visit_string: String;
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<Self::Value, E> {
        self.set(BytesDeserializer::new(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Self::Value, A::Error> {
        self.set(SeqAccessDeserializer::new(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
        self.set(MapAccessDeserializer::new(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<Self::Value, A::Error> {
        self.set(EnumAccessDeserializer::new(variant))
    }
}
