//! The filter operators, as methods of every path; each one's limits are in its `where` clause.

use crate::bson::{Bson, Document, bson, doc};
use crate::error::{Error, Result, ValueError};
use crate::filter::{BsonType, Filter, Pattern, element_condition};
use crate::geo::Geometry;
use crate::path::field::Field;
use crate::path::marker::{Array, Geo, Integer, Nullable, Ordered, Readable, Text};
use crate::path::{AsPath, ElementNav, Read};
use crate::value::{IntoValue, array};

fn compare<A: AsPath>(path: &A, operator: &'static str, value: Result<Bson, ValueError>) -> Filter<A::Root> {
    let raw = path.raw();
    Filter::compare(raw, operator, value.map_err(|e| Error::encode(raw.dotted(), e)))
}

fn plain<A: AsPath>(path: &A, condition: Document) -> Filter<A::Root> {
    Filter::on(path.raw(), Ok(condition))
}

/// Conditions on a field.
pub trait FilterOps: AsPath + Sized {
    /// `$eq`: equal to the value. On an array: equal as a whole; see [`contains`](FilterOps::contains).
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
        compare(self, "$gt", value.into_value())
    }

    /// `$gte`: greater than the value or equal to it.
    fn gte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        compare(self, "$gte", value.into_value())
    }

    /// `$lt`: less than the value.
    fn lt(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        compare(self, "$lt", value.into_value())
    }

    /// `$lte`: less than the value or equal to it.
    fn lte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        compare(self, "$lte", value.into_value())
    }

    /// `$in`: equal to one of the values.
    fn is_in<V: IntoValue<Self::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, "$in", array(values))
    }

    /// `$nin`: equal to none of the values, or missing.
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

    /// `$regex`: matches the pattern. `"^a"`, `("^a", "i")` and a BSON `Regex` are patterns.
    fn regex(&self, pattern: impl Into<Pattern>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        let pattern = pattern.into().into_condition();
        Filter::on(
            self.raw(),
            pattern.map_err(|e| Error::encode(self.raw().dotted(), e)),
        )
    }

    /// `$regex` with an anchored, escaped prefix, which an index serves.
    fn starts_with(&self, prefix: &str) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        let pattern = Pattern::prefix(prefix).into_condition();
        Filter::on(
            self.raw(),
            pattern.map_err(|e| Error::encode(self.raw().dotted(), e)),
        )
    }

    /// `$all`: the array holds every one of the values.
    fn all<V>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        compare(self, "$all", array(values))
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
    fn contains(&self, value: impl IntoValue<<Self::Value as Array>::Element>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
    {
        compare(self, "$eq", value.into_value())
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
        Filter::on(self.raw(), condition.map(|c| doc! { "$elemMatch": c }))
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
        Filter::on(self.raw(), condition)
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
        Filter::on(self.raw(), condition)
    }
}

impl<A: AsPath> FilterOps for A {}
