//! Collation ([Collation]).
//!
//! [Collation]:
//! https://github.com/mongodb/specifications/blob/master/source/collation/collation.md

use serde::{Deserialize, Deserializer, de::Error as _};

use super::stored_fields::{StoredFields, boolean, int32, text};
use crate::bson::{Document, exact};

/// Language-specific rules for comparing strings in a query, update or index ([Collation]).
///
/// A field that is `None` is not sent, and the server's default for the locale applies; the
/// defaults below are those of most locales. Fields without a method can be assigned.
///
/// ```
/// use marula_driver::options::Collation;
/// let case_insensitive = Collation::new("en").with_strength(2);
/// assert_eq!(case_insensitive.locale, "en");
/// ```
///
/// [Collation]: https://www.mongodb.com/docs/manual/reference/collation/
///
/// A stored collation may have numbers in place of Booleans, and a `strength` of any numeric type.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Collation {
    /// ICU locale, e.g. `en` or `fr_CA`, or `simple` for binary comparison.
    pub locale: String,
    /// `caseLevel`: whether case is compared at strengths 1 and 2. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_level: Option<bool>,
    /// `caseFirst`: which case sorts first at strength 3: `upper`, `lower` or `off` (the default of
    /// the locale). Default: `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_first: Option<String>,
    /// The level of comparison: 1 base characters, 2 accents, 3 case, 4 punctuation, 5 code points.
    /// Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<i32>,
    /// `numericOrdering`: whether strings of digits are compared as numbers, so that "10" sorts
    /// after "2". Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numeric_ordering: Option<bool>,
    /// Whether whitespace and punctuation are compared (`non-ignorable`) or ignored at strengths 1
    /// to 3 (`shifted`). Default: `non-ignorable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
    /// `maxVariable`: which characters `alternate: "shifted"` ignores: `punct` (whitespace and
    /// punctuation) or `space` (whitespace). Default: `punct`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_variable: Option<String>,
    /// Whether text is normalized before it is compared. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalization: Option<bool>,
    /// Whether accents are compared from the end of the string, as in some French dictionaries.
    /// Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backwards: Option<bool>,
}

impl Collation {
    /// A collation with the default rules of the locale.
    #[must_use]
    pub fn new(locale: impl Into<String>) -> Self {
        Self {
            locale: locale.into(),
            ..Self::default()
        }
    }

    /// Sets [`strength`](Self::strength), 1 to 5.
    #[must_use]
    pub fn with_strength(mut self, strength: i32) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Sets [`numeric_ordering`](Self::numeric_ordering).
    #[must_use]
    pub fn with_numeric_ordering(mut self, on: bool) -> Self {
        self.numeric_ordering = Some(on);
        self
    }
}

/// The name of a field that is missing or has a type that cannot be used.
pub(crate) struct UnusableField(String);

impl<'de> Deserialize<'de> for Collation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document: Document = exact::deserialize(deserializer)?;
        Self::from_document(document).map_err(|UnusableField(field)| {
            D::Error::custom(format!(
                "the field {field:?} of a collation is missing or has another type"
            ))
        })
    }
}

impl Collation {
    /// Reads a stored collation. Fails with the name of a field that is missing or has a type that
    /// cannot be used. Other fields, such as `version`, are ignored.
    pub(crate) fn from_document(document: Document) -> Result<Self, UnusableField> {
        let mut fields = StoredFields::new(document);
        let locale = fields.take("locale", text);
        let collation = Self {
            case_level: fields.take("caseLevel", boolean),
            case_first: fields.take("caseFirst", text),
            strength: fields.take("strength", int32),
            numeric_ordering: fields.take("numericOrdering", boolean),
            alternate: fields.take("alternate", text),
            max_variable: fields.take("maxVariable", text),
            normalization: fields.take("normalization", boolean),
            backwards: fields.take("backwards", boolean),
            locale: locale.ok_or_else(|| UnusableField("locale".to_owned()))?,
        };
        match fields.unusable.keys().next() {
            None => Ok(collation),
            Some(field) => Err(UnusableField(field.clone())),
        }
    }
}
