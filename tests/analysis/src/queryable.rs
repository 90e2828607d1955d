//! Queryable Encryption: the fields of `encryptedFields`, and placeholders for their values.

use bson::{Binary, Bson, Document, doc, serialize_to_vec, spec::BinarySubtype};

use crate::{
    bson_type::type_name,
    error::{Analyzed, reject},
};

/// The first byte of a placeholder.
const PLACEHOLDER: u8 = 3;
/// If the field has none.
const CONTENTION: i64 = 8;
const SPARSITY: i64 = 2;

/// An encrypted field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryableField {
    pub(crate) bson_type: String,
    key_id: Binary,
    contention: i64,
    pub(crate) queries: Vec<Query>,
}

/// The queries that a field is indexed for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Query {
    Equality,
    Range(Box<RangeIndex>),
    Text(TextIndex),
}

/// The options of a range index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RangeIndex {
    pub(crate) min: Bson,
    pub(crate) max: Bson,
    /// Integers of 32 bits, also where the field has them with 64 bits.
    pub(crate) precision: Option<i32>,
    pub(crate) trim_factor: Option<i32>,
    sparsity: i64,
}

/// The options of an index of parts of strings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextIndex {
    pub(crate) part: Part,
    is_case_sensitive: bool,
    is_diacritic_sensitive: bool,
    /// `{ub, lb}`, and `mlen` for substrings.
    lengths: Document,
}

/// A part of a string. Its name is the one in placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Prefix,
    Suffix,
    Substring,
}

/// What a placeholder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Insert = 1,
    Find = 2,
}

/// The kinds of encryption in placeholders.
#[derive(Clone, Copy)]
enum Kind {
    Unindexed = 1,
    Equality = 2,
    Range = 3,
    Text = 4,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Suffix => "suffix",
            Self::Substring => "substr",
        }
    }
}

fn integer(document: &Document, name: &str) -> Option<i64> {
    match document.get(name)? {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    }
}

/// An option of a range index, if the field has it.
fn option(query: &Document, name: &str) -> Analyzed<Option<i32>> {
    if !query.contains_key(name) {
        return Ok(None);
    }
    match integer(query, name).map(i32::try_from) {
        Some(Ok(number)) => Ok(Some(number)),
        _ => reject(format!("{name} must be an integer of 32 bits")),
    }
}

impl QueryableField {
    /// Reads an entry of `fields`. The first value is the path.
    pub(crate) fn read(field: &Document) -> Analyzed<(String, Self)> {
        let (Ok(path), Some(Bson::Binary(key_id))) = (field.get_str("path"), field.get("keyId")) else {
            return reject("a field requires path and keyId");
        };
        let bson_type = field.get_str("bsonType").unwrap_or_default().to_owned();
        let queries: Vec<&Document> = match field.get("queries") {
            Some(Bson::Document(query)) => vec![query],
            Some(Bson::Array(queries)) => queries.iter().filter_map(Bson::as_document).collect(),
            _ => Vec::new(),
        };
        let contention = match queries.first() {
            Some(query) => integer(query, "contention").unwrap_or(CONTENTION),
            None => 0,
        };
        let queries = queries.into_iter().map(|query| Query::read(query, &bson_type));
        let field = Self {
            queries: queries.collect::<Analyzed<_>>()?,
            bson_type,
            key_id: key_id.clone(),
            contention,
        };
        Ok((path.to_owned(), field))
    }

    pub(crate) fn range(&self) -> Option<&RangeIndex> {
        self.queries.iter().find_map(|query| match query {
            Query::Range(range) => Some(range.as_ref()),
            _ => None,
        })
    }

    pub(crate) fn text(&self, part: Part) -> Option<&TextIndex> {
        self.texts().find(|text| text.part == part)
    }

    fn texts(&self) -> impl Iterator<Item = &TextIndex> {
        self.queries.iter().filter_map(|query| match query {
            Query::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Whether the value has the type of the field.
    pub(crate) fn has_type(&self, value: &Bson) -> bool {
        type_name(value) == self.bson_type
    }

    /// The placeholder of a value to store.
    pub(crate) fn stored(&self, value: &Bson) -> Analyzed<Bson> {
        self.check_type(value)?;
        let (kind, value) = match self.queries.first() {
            None => (Kind::Unindexed, value.clone()),
            Some(Query::Equality) => (Kind::Equality, value.clone()),
            Some(Query::Range(range)) => {
                let mut operand =
                    doc! { "v": value.clone(), "min": range.min.clone(), "max": range.max.clone() };
                range.append(&mut operand, "precision", range.precision);
                range.append(&mut operand, "trimFactor", range.trim_factor);
                (Kind::Range, Bson::Document(operand))
            }
            Some(Query::Text(_)) => {
                let texts: Vec<&TextIndex> = self.texts().collect();
                (Kind::Text, text_operand(value, &texts))
            }
        };
        Ok(self.placeholder(Use::Insert, kind, value))
    }

    /// The placeholder of an operand of a query for equality.
    pub(crate) fn equal_to(&self, value: &Bson) -> Analyzed<Bson> {
        self.check_type(value)?;
        if self.queries.contains(&Query::Equality) {
            return Ok(self.placeholder(Use::Find, Kind::Equality, value.clone()));
        }
        reject("Can only execute encrypted equality queries with an encrypted equality index")
    }

    /// The placeholder of an operand of a query for ranges.
    pub(crate) fn in_range(&self, operand: Document) -> Bson {
        self.placeholder(Use::Find, Kind::Range, Bson::Document(operand))
    }

    /// The placeholder of a query for a part of strings.
    pub(crate) fn containing(&self, part: Part, value: &Bson) -> Analyzed<Bson> {
        self.check_type(value)?;
        match self.text(part) {
            Some(text) => Ok(self.placeholder(Use::Find, Kind::Text, text_operand(value, &[text]))),
            None => reject(format!(
                "the field is not indexed for queries of a {}",
                part.name()
            )),
        }
    }

    fn check_type(&self, value: &Bson) -> Analyzed {
        if self.has_type(value) {
            return Ok(());
        }
        reject(format!(
            "Cannot encrypt element of type: {}, the field has the type {}",
            type_name(value),
            self.bson_type
        ))
    }

    fn placeholder(&self, purpose: Use, kind: Kind, value: Bson) -> Bson {
        let contention = match kind {
            Kind::Unindexed => 0,
            _ => self.contention,
        };
        let mut placeholder = doc! {
            "t": purpose as i32, "a": kind as i32,
            "ki": self.key_id.clone(), "ku": self.key_id.clone(), "v": value, "cm": contention,
        };
        if let (Kind::Range, Some(range)) = (kind, self.range()) {
            placeholder.insert("s", range.sparsity);
        }
        let mut bytes = vec![PLACEHOLDER];
        bytes.extend(serialize_to_vec(&placeholder).expect("a document"));
        Bson::Binary(Binary {
            subtype: BinarySubtype::Encrypted,
            bytes,
        })
    }
}

impl Query {
    fn read(query: &Document, bson_type: &str) -> Analyzed<Self> {
        let name = query.get_str("queryType").unwrap_or_default();
        Ok(match name {
            "equality" => Self::Equality,
            "range" => Self::Range(Box::new(RangeIndex::read(query, bson_type)?)),
            "prefix" | "prefixPreview" => Self::Text(TextIndex::read(query, Part::Prefix)),
            "suffix" | "suffixPreview" => Self::Text(TextIndex::read(query, Part::Suffix)),
            "substring" | "substringPreview" => Self::Text(TextIndex::read(query, Part::Substring)),
            _ => return reject(format!("unknown queryType '{name}'")),
        })
    }
}

impl RangeIndex {
    fn read(query: &Document, bson_type: &str) -> Analyzed<Self> {
        let decimal = |text: &str| Bson::Decimal128(text.parse().expect("a decimal"));
        let (least, most) = match bson_type {
            "int" => (Bson::Int32(i32::MIN), Bson::Int32(i32::MAX)),
            "long" => (Bson::Int64(i64::MIN), Bson::Int64(i64::MAX)),
            "date" => (
                Bson::DateTime(bson::DateTime::from_millis(i64::MIN)),
                Bson::DateTime(bson::DateTime::from_millis(i64::MAX)),
            ),
            "double" => (Bson::Double(f64::MIN), Bson::Double(f64::MAX)),
            "decimal" => (
                decimal("-9.999999999999999999999999999999999E+6144"),
                decimal("9.999999999999999999999999999999999E+6144"),
            ),
            other => return reject(format!("Range index: the field type {other} is not supported")),
        };
        Ok(Self {
            min: query.get("min").cloned().unwrap_or(least),
            max: query.get("max").cloned().unwrap_or(most),
            precision: option(query, "precision")?,
            trim_factor: option(query, "trimFactor")?,
            sparsity: integer(query, "sparsity").unwrap_or(SPARSITY),
        })
    }

    /// Appends an option that the field has.
    pub(crate) fn append(&self, operand: &mut Document, name: &str, value: Option<i32>) {
        if let Some(value) = value {
            operand.insert(name, value);
        }
    }
}

impl TextIndex {
    fn read(query: &Document, part: Part) -> Self {
        let length = |name: &str| integer(query, name).and_then(|length| i32::try_from(length).ok());
        let mut lengths = Document::new();
        if part == Part::Substring {
            lengths.insert("mlen", length("strMaxLength"));
        }
        lengths.insert("ub", length("strMaxQueryLength"));
        lengths.insert("lb", length("strMinQueryLength"));
        Self {
            part,
            is_case_sensitive: query.get_bool("caseSensitive").unwrap_or(false),
            is_diacritic_sensitive: query.get_bool("diacriticSensitive").unwrap_or(false),
            lengths,
        }
    }
}

fn text_operand(value: &Bson, texts: &[&TextIndex]) -> Bson {
    let is_folded = |is_sensitive: fn(&TextIndex) -> bool| !texts.iter().any(|text| is_sensitive(text));
    let mut operand = doc! {
        "v": value.clone(),
        "casef": is_folded(|text| text.is_case_sensitive),
        "diacf": is_folded(|text| text.is_diacritic_sensitive),
    };
    for text in texts {
        operand.insert(text.part.name(), text.lengths.clone());
    }
    Bson::Document(operand)
}
