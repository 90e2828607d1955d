//! Paths to encrypted fields.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    ast::filter::{Op, Part},
    base::{
        bson::Bson,
        error::{Error, ValueError},
    },
    path::{
        AsPath, Mode, Path, RawPath, Read,
        marker::{Ordered, Readable, Writable},
    },
    term::{
        encryption::{
            EncryptedField, EqualityQueries, PrefixQueries, RangeQueries, SubstringQueries, SuffixQueries,
        },
        filter::{Filter, FilterOps},
        update::{Update, UpdateOps},
    },
    values::value::IntoValue,
};

/// A path from `R` to an encrypted field of type `T` with queries of the kind `Q`, such as
/// [`Equality`](crate::encryption::Equality). Returned by the accessor of a field with `#[document(encrypted)]`.
///
/// It has only the operators that the server supports for the kind of queries, and none of the traits
/// [`FilterOps`], [`UpdateOps`] and [`SortOps`](crate::SortOps). Values are never null: for an `Option<T>` they are
/// those of `T`.
///
/// The example of each method is of this model:
///
/// ```
/// # #[cfg(feature = "encryption")]
/// # mod example {
/// # use marula::Document;
/// #[derive(Document)]
/// #[document(collection = "patients")]
/// struct Patient {
///     _id: i64,
///     #[document(encrypted(equality))]
///     ssn: String,
///     #[document(encrypted(range(min = 0, max = 200)))]
///     age: i32,
///     #[document(encrypted(prefix(min = 2, max = 10), suffix(min = 2, max = 10)))]
///     name: String,
///     #[document(encrypted(substring(max_length = 60, min = 2, max = 10)))]
///     town: String,
/// }
/// # }
/// ```
pub struct EncryptedPath<R, T, Q, M = Read> {
    inner: Path<R, Encrypted, M>,
    types: PhantomData<fn() -> (T, Q)>,
}

/// The value of an encrypted field, for the operators of an untyped path.
struct Encrypted(Result<Bson, ValueError>);

impl Ordered for Encrypted {}

impl IntoValue<Encrypted> for Encrypted {
    fn into_value(self) -> Result<Bson, ValueError> {
        match self.0 {
            Ok(Bson::Null) => Err(ValueError::new(
                "null cannot be encrypted; use `.exists()`, `.is_missing()` or `.unset()`",
            )),
            value => value,
        }
    }
}

/// The example of a method, with the filter or update that is encrypted and sent.
macro_rules! example {
    ($call:literal, $sent:literal) => {
        concat!(
            "\n```\n# #[cfg(feature = \"encryption\")]\n# {\n",
            "# use marula::{Document, Model};\n",
            "# #[derive(serde::Serialize, serde::Deserialize, Document)]\n# #[document(collection = \"patients\")]\n",
            "# struct Patient { _id: i64, #[document(encrypted(equality))] ssn: String,\n",
            "# #[document(encrypted(range(min = 0, max = 200)))] age: i32,\n",
            "# #[document(encrypted(prefix(min = 2, max = 10), suffix(min = 2, max = 10)))] name: String,\n",
            "# #[document(encrypted(substring(max_length = 60, min = 2, max = 10)))] town: String }\n",
            "let p = Patient::fields();\nassert_eq!(",
            $call,
            ".to_string(), r#\"",
            $sent,
            "\"#);\n# }\n```"
        )
    };
}

impl<R, T, Q, M> EncryptedPath<R, T, Q, M> {
    /// The path of an encrypted field. Called by the derives; the caller guarantees the types.
    #[doc(hidden)]
    #[must_use]
    pub fn new(path: &Path<R, T, M>) -> Self {
        EncryptedPath {
            inner: path.retype().encrypted(),
            types: PhantomData,
        }
    }
}

impl<R, T: EncryptedField, Q, M: Mode> EncryptedPath<R, T, Q, M> {
    fn value(value: impl IntoValue<T::Value>) -> Encrypted {
        Encrypted(value.into_value())
    }

    /// The untyped path.
    #[must_use]
    pub fn raw(&self) -> &RawPath {
        self.inner.raw()
    }

    /// `$exists: true`: the field is present.
    #[doc = example!("p.ssn().exists()", r#"{"ssn": {"$exists": true}}"#)]
    pub fn exists(&self) -> Filter<R>
    where
        M: Readable,
    {
        FilterOps::exists(&self.inner)
    }

    /// `$exists: false`: the field is missing.
    #[doc = example!("p.ssn().is_missing()", r#"{"ssn": {"$exists": false}}"#)]
    pub fn is_missing(&self) -> Filter<R>
    where
        M: Readable,
    {
        FilterOps::is_missing(&self.inner)
    }

    /// `$eq`: equal to the value.
    #[doc = example!("p.ssn().eq(\"457\")", r#"{"ssn": {"$eq": "457"}}"#)]
    pub fn eq(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: EqualityQueries,
    {
        FilterOps::eq(&self.inner, Self::value(value))
    }

    /// `$ne`: not equal to the value, or missing.
    #[doc = example!("p.ssn().ne(\"457\")", r#"{"ssn": {"$ne": "457"}}"#)]
    pub fn ne(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: EqualityQueries,
    {
        FilterOps::ne(&self.inner, Self::value(value))
    }

    /// `$in`: equal to one of the values. Without values no document matches.
    #[doc = example!("p.ssn().is_in([\"457\", \"458\"])", r#"{"ssn": {"$in": ["457", "458"]}}"#)]
    pub fn is_in<V: IntoValue<T::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<R>
    where
        M: Readable,
        Q: EqualityQueries,
    {
        let values = values.into_iter().map(Self::value);
        FilterOps::is_in(&self.inner, values)
    }

    /// `$nin`: equal to none of the values, or missing. Without values every document matches, and writes reject a
    /// filter that consists only of such conditions.
    #[doc = example!("p.ssn().not_in([\"457\"])", r#"{"ssn": {"$nin": ["457"]}}"#)]
    pub fn not_in<V: IntoValue<T::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<R>
    where
        M: Readable,
        Q: EqualityQueries,
    {
        let values = values.into_iter().map(Self::value);
        FilterOps::not_in(&self.inner, values)
    }

    /// `$gt`: greater than the value.
    #[doc = example!("p.age().gt(17)", r#"{"age": {"$gt": 17}}"#)]
    pub fn gt(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: RangeQueries,
    {
        FilterOps::gt(&self.inner, Self::value(value))
    }

    /// `$gte`: greater than the value or equal to it.
    #[doc = example!("p.age().gte(18)", r#"{"age": {"$gte": 18}}"#)]
    pub fn gte(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: RangeQueries,
    {
        FilterOps::gte(&self.inner, Self::value(value))
    }

    /// `$lt`: less than the value.
    #[doc = example!("p.age().lt(66)", r#"{"age": {"$lt": 66}}"#)]
    pub fn lt(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: RangeQueries,
    {
        FilterOps::lt(&self.inner, Self::value(value))
    }

    /// `$lte`: less than the value or equal to it.
    #[doc = example!("p.age().lte(65)", r#"{"age": {"$lte": 65}}"#)]
    pub fn lte(&self, value: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: RangeQueries,
    {
        FilterOps::lte(&self.inner, Self::value(value))
    }

    /// `$gte` and `$lte`: between the bounds, both of which are included.
    #[doc = example!("p.age().between(18, 65)", r#"{"age": {"$gte": 18, "$lte": 65}}"#)]
    pub fn between(&self, least: impl IntoValue<T::Value>, greatest: impl IntoValue<T::Value>) -> Filter<R>
    where
        M: Readable,
        Q: RangeQueries,
    {
        let (least, greatest) = (Self::value(least), Self::value(greatest));
        FilterOps::between(&self.inner, least, greatest)
    }

    /// `$encStrStartsWith`: the string starts with the text, whose length is between `min` and `max` of the
    /// declaration.
    #[doc = example!("p.name().starts_with(\"Ad\")", r#"{"$expr": {"$encStrStartsWith": {"input": "$name", "prefix": "Ad"}}}"#)]
    pub fn starts_with(&self, prefix: &str) -> Filter<R>
    where
        M: Readable,
        Q: PrefixQueries,
    {
        self.search(Part::Prefix, prefix)
    }

    /// `$encStrEndsWith`: the string ends with the text; see [`starts_with`](Self::starts_with).
    #[doc = example!("p.name().ends_with(\"da\")", r#"{"$expr": {"$encStrEndsWith": {"input": "$name", "suffix": "da"}}}"#)]
    pub fn ends_with(&self, suffix: &str) -> Filter<R>
    where
        M: Readable,
        Q: SuffixQueries,
    {
        self.search(Part::Suffix, suffix)
    }

    /// `$encStrContains`: the string contains the text; see [`starts_with`](Self::starts_with).
    #[doc = example!("p.town().contains_text(\"er\")", r#"{"$expr": {"$encStrContains": {"input": "$town", "substring": "er"}}}"#)]
    pub fn contains_text(&self, text: &str) -> Filter<R>
    where
        M: Readable,
        Q: SubstringQueries,
    {
        self.search(Part::Substring, text)
    }

    fn search(&self, part: Part, text: &str) -> Filter<R> {
        let raw = self.inner.raw();
        if !raw.is_plain() {
            let reason = "an encrypted field of an enum variant cannot be searched";
            return Filter::new(Err(Error::filter(raw.dotted(), reason)));
        }
        Filter::on(&self.inner, Ok(Op::EncryptedText(part, text.to_owned())))
    }

    /// `$set`: sets the field to the value. For the document around it see [`UpdateOps::set`].
    #[doc = example!("p.age().set(30)", r#"{"$set": {"age": 30}}"#)]
    pub fn set(&self, value: impl IntoValue<T::Value>) -> Update<R>
    where
        M: Writable,
    {
        UpdateOps::set(&self.inner, Self::value(value))
    }

    /// `$unset`: removes the field. A document without it can be read only if the field is an `Option` or has
    /// `#[serde(default)]`.
    #[doc = example!("p.ssn().unset()", r#"{"$unset": {"ssn": ""}}"#)]
    pub fn unset(&self) -> Update<R>
    where
        M: Writable,
    {
        UpdateOps::unset(&self.inner)
    }
}

impl<R, T, Q, M> Clone for EncryptedPath<R, T, Q, M> {
    fn clone(&self) -> Self {
        EncryptedPath {
            inner: self.inner.clone(),
            types: PhantomData,
        }
    }
}

impl<R, T, Q, M> fmt::Debug for EncryptedPath<R, T, Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
