//! Language-specific rules for comparing strings (Collation specification).

/// How the server compares strings in a query, update or index.
///
/// Fields left `None` are not sent, so the server's default for the locale holds.
///
/// ```
/// use marula_driver::options::Collation;
/// let case_insensitive = Collation::new("en").with_strength(2);
/// assert_eq!(case_insensitive.locale, "en");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Collation {
    /// ICU locale, or `simple` for plain byte comparison.
    pub locale: String,
    /// Whether case is compared at strengths 1 and 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_level: Option<bool>,
    /// `upper`, `lower` or `off`: which case sorts first at strength 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_first: Option<String>,
    /// 1 base letters, 2 accents, 3 case, 4 punctuation, 5 everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<i32>,
    /// Whether digits compare as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numeric_ordering: Option<bool>,
    /// `non-ignorable` or `shifted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
    /// `punct` or `space`: what `shifted` ignores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_variable: Option<String>,
    /// Whether text is normalised before it is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalization: Option<bool>,
    /// Whether accents compare from the end, as in some French dictionaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backwards: Option<bool>,
}

impl Collation {
    /// The locale with its defaults.
    #[must_use]
    pub fn new(locale: impl Into<String>) -> Self {
        Self {
            locale: locale.into(),
            ..Self::default()
        }
    }

    /// With this comparison strength, 1 to 5.
    #[must_use]
    pub fn with_strength(mut self, strength: i32) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Compares digits as numbers.
    #[must_use]
    pub fn with_numeric_ordering(mut self, on: bool) -> Self {
        self.numeric_ordering = Some(on);
        self
    }
}
