//! The filter operators, as methods of every path; each one's limits are in its `where` clause.

use crate::bson::{Bson, Document, bson, doc};
use crate::error::{Error, Result, ValueError};
use crate::filter::{BsonType, Filter, Pattern, element_condition};
use crate::geo::Geometry;
use crate::path::field::Field;
use crate::path::marker::{Array, Contains, Geo, Integer, Nullable, Ordered, Readable, Text};
use crate::path::{AsPath, ElementNav, RawPath, Read, own};
use crate::value::{IntoValue, array};

fn compare<A: AsPath>(path: &A, operator: &'static str, value: Result<Bson, ValueError>) -> Filter<A::Root> {
    Filter::compare(
        path,
        operator,
        value.map_err(|e| Error::encode(path.raw().dotted(), e)),
    )
}

/// A comparison by order. Null has none: the server compares it with nothing but null.
fn ordered<A: AsPath>(path: &A, operator: &'static str, value: Result<Bson, ValueError>) -> Filter<A::Root> {
    if matches!(value, Ok(Bson::Null)) {
        return Filter::new(Err(unordered(path.raw(), operator)));
    }
    compare(path, operator, value)
}

fn unordered(path: &RawPath, operator: &str) -> Error {
    Error::filter(
        path.dotted(),
        format!(
            "`{operator}` cannot compare with null, which has no order: leave the condition out, or use `.is_null()` or \
             `.is_not_null()`"
        ),
    )
}

fn matching<A: AsPath>(path: &A, pattern: Pattern) -> Filter<A::Root> {
    let condition = pattern.into_condition();
    Filter::on(path, condition.map_err(|e| Error::encode(path.raw().dotted(), e)))
}

/// Whether the value is an element of an array of arrays, whose own elements the server does not compare with the operand.
fn is_element<A: AsPath>(path: &A) -> bool {
    if A::own_arrays(path) == 0 || path.raw().is_plain() {
        return false;
    }
    let own = own(path);
    own.dotted().is_empty() || own.arrays().last() == Some(&own.dotted().len())
}

fn plain<A: AsPath>(path: &A, condition: Document) -> Filter<A::Root> {
    Filter::on(path, Ok(condition))
}

/// Conditions on a field.
///
/// On the elements of arrays a condition holds when one element fulfils it, and a negated one (`ne`, `not_in`, `not`,
/// `is_missing`) when no element fulfils what it negates. For an array of arrays each array is sent as an `$elemMatch`; there
/// `is_null` matches where an element has a null, and not where the array is missing.
pub trait FilterOps: AsPath + Sized {
    /// `$eq`: equal to the value; for null see [`is_null`](FilterOps::is_null). On an array: equal as a whole; see [`contains`](FilterOps::contains).
    fn eq(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, "$eq", value.into_value())
    }

    /// `$ne`: not equal, or missing.
    fn ne(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, "$ne", value.into_value())
    }

    /// `$gt`: greater than the value.
    fn gt(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, "$gt", value.into_value())
    }

    /// `$gte`: greater than the value or equal to it.
    fn gte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, "$gte", value.into_value())
    }

    /// `$lt`: less than the value.
    fn lt(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, "$lt", value.into_value())
    }

    /// `$lte`: less than the value or equal to it.
    fn lte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, "$lte", value.into_value())
    }

    /// `$in`: equal to one of the values.
    fn is_in<V: IntoValue<Self::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, "$in", array(values))
    }

    /// `$nin`: equal to none of the values, or missing. Every document matches when there are no values; writes refuse a filter
    /// of such conditions only.
    fn not_in<V: IntoValue<Self::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, "$nin", array(values))
    }

    /// `$exists: true`: the field is there, even if it is null.
    fn exists(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        plain(self, doc! { "$exists": true })
    }

    /// `$exists: false`: the field is not there.
    fn is_missing(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        plain(self, doc! { "$exists": false })
    }

    /// `$eq: null`: null or missing, which is all that an `Option` reads as `None`.
    ///
    /// For a null that is really stored use [`type_is`](FilterOps::type_is) with [`BsonType::Null`].
    fn is_null(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        plain(self, doc! { "$eq": Bson::Null })
    }

    /// `$ne: null`: there, and not null.
    fn is_not_null(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Nullable,
    {
        plain(self, doc! { "$ne": Bson::Null })
    }

    /// `$type`: stored as the type; on an array also when one element is.
    fn type_is(&self, bson_type: BsonType) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        plain(self, doc! { "$type": bson_type.alias() })
    }

    /// `$gte` and `$lte`: the least value or greater, and the greatest or less. Both bounds are included.
    ///
    /// For the elements of an array one element lies between them, where `gte(..) & lte(..)` can be fulfilled by two.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32, scores: Vec<i32> }
    /// let p = Person::fields();
    /// assert_eq!(p.age().between(18, 65).to_string(), r#"{"age": {"$gte": 18, "$lte": 65}}"#);
    /// assert_eq!(
    ///     p.scores().any().between(1, 5).to_string(),
    ///     r#"{"scores": {"$elemMatch": {"$gte": 1, "$lte": 5}}}"#
    /// );
    /// ```
    fn between(
        &self,
        least: impl IntoValue<Self::Value>,
        greatest: impl IntoValue<Self::Value>,
    ) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        let raw = self.raw();
        let bound = |operator, value: Result<Bson, ValueError>| match value {
            Ok(Bson::Null) => Err(unordered(raw, operator)),
            value => value.map_err(|e| Error::encode(raw.dotted(), e)),
        };
        let bounds = bound("$gte", least.into_value())
            .and_then(|least| Ok(doc! { "$gte": least, "$lte": bound("$lte", greatest.into_value())? }));
        Filter::on_one_element(self, bounds)
    }

    /// `$regex`: matches the pattern. `"^a"`, `("^a", "i")` and a BSON `Regex` are patterns; [`Pattern`] makes those of
    /// text that is not a pattern itself.
    fn regex(&self, pattern: impl Into<Pattern>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        matching(self, pattern.into())
    }

    /// `$regex` with an anchored, escaped prefix, which an index serves.
    fn starts_with(&self, prefix: &str) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        matching(self, Pattern::starting_with(prefix))
    }

    /// `$regex` with escaped text: the string holds the text, in the same case. For either case give
    /// [`regex`](FilterOps::regex) a [`Pattern::containing`] with [`ignore_case`](Pattern::ignore_case).
    /// For the strings of an array: `tags().any().contains_text(..)`.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String }
    /// let filter = Person::fields().name().contains_text("A.");
    /// assert_eq!(filter.to_string(), r#"{"name": {"$regex": "A\\."}}"#);
    /// ```
    fn contains_text(&self, text: &str) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        matching(self, Pattern::containing(text))
    }

    /// `$all`: the array holds every one of the values.
    fn all<V>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        let values = array(values);
        if !is_element(self) {
            return compare(self, "$all", values);
        }
        let each = |value: Bson| bson!({ "$elemMatch": { "$eq": value } });
        compare(
            self,
            "$all",
            values.map(|values| match values {
                Bson::Array(values) => Bson::Array(values.into_iter().map(each).collect()),
                other => other,
            }),
        )
    }

    /// `$size`: the array has so many elements.
    fn size(&self, len: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
    {
        plain(self, doc! { "$size": i64::from(len) })
    }

    /// The array holds the value. Sent as plain equality, so that an index serves it.
    ///
    /// For a part of a string see [`contains_text`](FilterOps::contains_text).
    fn contains(&self, value: impl IntoValue<<Self::Value as Contains>::Element>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Contains,
    {
        let value = value.into_value();
        if !is_element(self) {
            return compare(self, "$eq", value);
        }
        let condition = value.map_err(|e| Error::encode(self.raw().dotted(), e));
        Filter::on(
            self,
            condition.map(|value| doc! { "$elemMatch": { "$eq": value } }),
        )
    }

    /// `$elemMatch`: one element of the array meets all the conditions.
    fn elem_match<F>(&self, condition: F) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array<Element: Field>,
        F: FnOnce(
            ElementNav<Self::Value, <Self::Value as Array>::Element, Read>,
        ) -> Filter<<Self::Value as Array>::Element>,
    {
        let element = condition(<<Self::Value as Array>::Element as Field>::nav(
            crate::Path::root(),
        ));
        let condition = element.into_unplaced().and_then(element_condition);
        Filter::on(self, condition.map(|c| doc! { "$elemMatch": c }))
    }

    /// `$mod`: the remainder of a division is as given.
    fn modulo(&self, divisor: i64, remainder: i64) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        let condition = if divisor == 0 {
            Err(Error::filter(self.raw().dotted(), "the divisor of `$mod` is 0"))
        } else {
            Ok(doc! { "$mod": [divisor, remainder] })
        };
        Filter::on(self, condition)
    }

    /// `$bitsAllSet`: every bit of the mask is set.
    fn bits_all_set(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        plain(self, doc! { "$bitsAllSet": i64::from(mask) })
    }

    /// `$bitsAnySet`: a bit of the mask is set.
    fn bits_any_set(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        plain(self, doc! { "$bitsAnySet": i64::from(mask) })
    }

    /// `$bitsAllClear`: every bit of the mask is clear.
    fn bits_all_clear(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        plain(self, doc! { "$bitsAllClear": i64::from(mask) })
    }

    /// `$bitsAnyClear`: a bit of the mask is clear.
    fn bits_any_clear(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        plain(self, doc! { "$bitsAnyClear": i64::from(mask) })
    }

    /// `$geoWithin`: lies wholly inside the geometry.
    fn geo_within(&self, geometry: impl Into<Geometry>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        plain(
            self,
            doc! { "$geoWithin": { "$geometry": geometry.into().into_document() } },
        )
    }

    /// `$geoIntersects`: has a point in common with the geometry.
    fn geo_intersects(&self, geometry: impl Into<Geometry>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        plain(
            self,
            doc! { "$geoIntersects": { "$geometry": geometry.into().into_document() } },
        )
    }

    /// `$nearSphere`: within so many metres of the point, nearest first. Needs a geo index.
    fn near(&self, point: crate::geo::Point, max_metres: Option<f64>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        let mut near = doc! { "$geometry": Geometry::Point(point).into_document() };
        if let Some(max) = max_metres {
            near.insert("$maxDistance", max);
        }
        plain(self, doc! { "$nearSphere": near })
    }

    /// A document of operators as it is, unchecked: `{field: operators}`.
    fn raw_condition(&self, operators: Document) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        plain(self, operators)
    }

    /// `$not`: the field does not match the operators that the closure gives for it, or is missing.
    ///
    /// Keeps `qty: {$not: {$gt: 5}}` as one condition on the field, where `!` would wrap it in `$nor`.
    fn not<F>(&self, condition: F) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Field,
        F: FnOnce(<Self::Value as Field>::Nav<Self::Value, Read>) -> Filter<Self::Value>,
    {
        let inner = condition(<Self::Value as Field>::nav(crate::Path::root()));
        let condition = inner.into_unplaced().and_then(element_condition).and_then(|c| {
            if c.keys()
                .all(|k| k.starts_with('$') && !matches!(k.as_str(), "$and" | "$or" | "$nor"))
            {
                Ok(doc! { "$not": bson!(c) })
            } else {
                Err(Error::filter(
                    self.raw().dotted(),
                    "`$not` takes operators on the field itself",
                ))
            }
        });
        Filter::on(self, condition)
    }
}

impl<A: AsPath> FilterOps for A {}
