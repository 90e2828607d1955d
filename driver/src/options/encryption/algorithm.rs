//! Data keys and algorithms of explicit encryption.

use std::fmt;

use crate::bson::{Bson, DocumentWriter, EncodeError, Uuid};

/// The data key of an explicit encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataKey {
    /// The key with this `_id`.
    Id(Uuid),
    /// The key with this alternate name.
    AltName(String),
}

impl From<Uuid> for DataKey {
    fn from(id: Uuid) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for DataKey {
    fn from(name: &str) -> Self {
        Self::AltName(name.to_owned())
    }
}

impl From<String> for DataKey {
    fn from(name: String) -> Self {
        Self::AltName(name)
    }
}

/// The algorithm of an explicit encryption.
///
/// To insert or query with a payload of `Indexed`, `Range` or `String`, use a client with automatic encryption, whose
/// analysis of queries may be bypassed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a value is an argument of one call")]
pub enum EncryptionAlgorithm {
    /// `AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic`: equal values have equal ciphertexts, so that they can be queried for
    /// equality.
    Deterministic,
    /// `AEAD_AES_256_CBC_HMAC_SHA_512-Random`: the values cannot be queried.
    Random,
    /// `Indexed`: Queryable Encryption with queries for equality. Requires a contention factor.
    Indexed,
    /// `Unindexed`: Queryable Encryption without queries.
    Unindexed,
    /// `Range`: Queryable Encryption with queries for ranges. Requires a contention factor.
    Range(RangeOptions),
    /// `String`: Queryable Encryption with queries for parts of strings. Requires a contention factor.
    String(StringOptions),
    /// An algorithm that this version of the driver has no variant for, by its name.
    Other(String),
}

impl EncryptionAlgorithm {
    /// The name for libmongocrypt.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Deterministic => "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
            Self::Random => "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
            Self::Indexed => "Indexed",
            Self::Unindexed => "Unindexed",
            Self::Range(_) => "Range",
            Self::String(_) => "String",
            Self::Other(name) => name,
        }
    }
}

/// The options of a field with a range index. They must be those in `encryptedFields` of the collection.
///
/// `Debug` does not print the smallest and the largest value.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct RangeOptions {
    min: Option<Bson>,
    max: Option<Bson>,
    trim_factor: Option<i32>,
    sparsity: Option<i64>,
    precision: Option<i32>,
}

impl RangeOptions {
    /// Options with the smallest and the largest value of the field.
    pub fn new(min: impl Into<Bson>, max: impl Into<Bson>) -> Self {
        Self {
            min: Some(min.into()),
            max: Some(max.into()),
            ..Self::default()
        }
    }

    /// How many levels of the index are left out. Default: that of libmongocrypt.
    pub fn trim_factor(mut self, factor: i32) -> Self {
        self.trim_factor = Some(factor);
        self
    }

    /// The distance of the levels of the index, at least 1. Default: that of libmongocrypt.
    pub fn sparsity(mut self, sparsity: i64) -> Self {
        self.sparsity = Some(sparsity);
        self
    }

    /// The number of decimal digits of a double or Decimal128 that are compared. Requires `min` and `max`. Default: all.
    pub fn precision(mut self, precision: i32) -> Self {
        self.precision = Some(precision);
        self
    }

    pub(crate) fn document(&self) -> Result<Vec<u8>, EncodeError> {
        encoded(|writer| {
            if let Some(min) = &self.min {
                writer.bson("min", min);
            }
            if let Some(max) = &self.max {
                writer.bson("max", max);
            }
            if let Some(factor) = self.trim_factor {
                writer.i32("trimFactor", factor);
            }
            if let Some(sparsity) = self.sparsity {
                writer.i64("sparsity", sparsity);
            }
            if let Some(precision) = self.precision {
                writer.i32("precision", precision);
            }
        })
    }
}

impl fmt::Debug for RangeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeOptions")
            .field("trim_factor", &self.trim_factor)
            .field("sparsity", &self.sparsity)
            .field("precision", &self.precision)
            .finish_non_exhaustive()
    }
}

/// The lengths of the texts in queries for a prefix or suffix, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringQueryLength {
    /// `strMinQueryLength`
    pub min: i32,
    /// `strMaxQueryLength`
    pub max: i32,
}

/// The lengths of queries for a part of a string, and of the string itself, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubstringQueryLength {
    /// `strMaxLength`: of the stored string.
    pub max_length: i32,
    /// `strMinQueryLength`
    pub min: i32,
    /// `strMaxQueryLength`
    pub max: i32,
}

/// The options of a field with a string index. They must be those in `encryptedFields` of the collection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct StringOptions {
    case_sensitive: bool,
    diacritic_sensitive: bool,
    prefix: Option<StringQueryLength>,
    suffix: Option<StringQueryLength>,
    substring: Option<SubstringQueryLength>,
}

impl StringOptions {
    /// Options without an index: add at least one.
    pub fn new(case_sensitive: bool, diacritic_sensitive: bool) -> Self {
        Self {
            case_sensitive,
            diacritic_sensitive,
            prefix: None,
            suffix: None,
            substring: None,
        }
    }

    /// Queries for the start of strings (MongoDB 9.0+). Can be combined with a suffix.
    pub fn prefix(mut self, length: StringQueryLength) -> Self {
        self.prefix = Some(length);
        self
    }

    /// Queries for the end of strings (MongoDB 9.0+). Can be combined with a prefix.
    pub fn suffix(mut self, length: StringQueryLength) -> Self {
        self.suffix = Some(length);
        self
    }

    /// Queries for a part of strings (MongoDB 9.0+). This part of the specification may change.
    pub fn substring(mut self, length: SubstringQueryLength) -> Self {
        self.substring = Some(length);
        self
    }

    pub(crate) fn document(&self) -> Result<Vec<u8>, EncodeError> {
        encoded(|writer| {
            writer.bool("caseSensitive", self.case_sensitive);
            writer.bool("diacriticSensitive", self.diacritic_sensitive);
            for (name, length) in [("prefix", self.prefix), ("suffix", self.suffix)] {
                if let Some(StringQueryLength { min, max }) = length {
                    let document = writer.begin_document(name);
                    writer.i32("strMinQueryLength", min);
                    writer.i32("strMaxQueryLength", max);
                    writer.end(document);
                }
            }
            if let Some(SubstringQueryLength { max_length, min, max }) = self.substring {
                let document = writer.begin_document("substring");
                writer.i32("strMaxLength", max_length);
                writer.i32("strMinQueryLength", min);
                writer.i32("strMaxQueryLength", max);
                writer.end(document);
            }
        })
    }
}

/// Encodes one document.
fn encoded(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let mut writer = DocumentWriter::new(&mut bytes);
    let document = writer.begin();
    write(&mut writer);
    writer.end(document);
    writer.finish()?;
    Ok(bytes)
}
