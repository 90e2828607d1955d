//! The filter operators, as methods of every path. The `where` clause of a method limits the types
//! it applies to.

use crate::{
    ast::filter::{self, Bits, Element, Op},
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    path::{
        AsPath, ElementNav, Read,
        field::Field,
        marker::{Array, Contains, Geo, Integer, Nullable, Ordered, Readable, Text},
    },
    term::filter::{
        BsonType, Filter, Pattern,
        compare::{
            between, cannot_be_operand_of_all, compare, element_equal, in_list, is_element,
            matches_beside_elements, matching, ordered, raw, unequal,
        },
    },
    values::{
        geo::Geometry,
        value::{IntoValue, each_value},
    },
};

/// An example of an operator: the call, and the filter that is sent.
macro_rules! example {
    ($call:literal, $sent:literal) => {
        concat!(
            "\n```\n# use marula_guide::*;\nlet o = Order::fields();\nassert_eq!(",
            $call,
            ".to_string(), r#\"",
            $sent,
            "\"#);\n```"
        )
    };
}

/// The filter operators of a field.
///
/// A condition on the elements of an array matches if at least one element matches. A negated one
/// (`ne`, `not_in`, `not`, `is_missing`) matches if no element matches the condition that it
/// negates: `lines().qty().ne(1)` if there is no line with this quantity, and the same through the variant
/// of an enum, `payments().card().last4().ne("1")`, if there is no card with this number. For "an element
/// that does not …" use [`elem_match`](FilterOps::elem_match). For arrays of arrays each level is sent as an
/// `$elemMatch`; there `is_null` matches if an element is null, but not if the array is missing.
pub trait FilterOps: AsPath + Sized {
    /// `$eq`: equal to the value. For null see [`is_null`](FilterOps::is_null). An array is
    /// compared as a whole; for its elements see [`contains`](FilterOps::contains).
    #[doc = example!("o.status().eq(Status::Open)", r#"{"status": {"$eq": "open"}}"#)]
    fn eq(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        compare(self, Op::Eq, value.into_value())
    }

    /// `$ne`: not equal to the value, or missing. A regular expression is rejected with
    /// [`Error::InvalidFilter`]: the server does not compare with one.
    #[doc = example!("o.status().ne(Status::Open)", r#"{"status": {"$ne": "open"}}"#)]
    fn ne(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        unequal(self, value.into_value())
    }

    /// `$gt`: greater than the value. Null and a regular expression are rejected with
    /// [`Error::InvalidFilter`], for all operators of order: the server compares null only with
    /// null, and regular expressions not at all.
    #[doc = example!("o.total().gt(100)", r#"{"total": {"$gt": 100}}"#)]
    fn gt(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, Op::Gt, value.into_value())
    }

    /// `$gte`: greater than the value or equal to it. For null see [`gt`](FilterOps::gt).
    #[doc = example!("o.total().gte(100)", r#"{"total": {"$gte": 100}}"#)]
    fn gte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, Op::Gte, value.into_value())
    }

    /// `$lt`: less than the value. For null see [`gt`](FilterOps::gt).
    #[doc = example!("o.total().lt(100)", r#"{"total": {"$lt": 100}}"#)]
    fn lt(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, Op::Lt, value.into_value())
    }

    /// `$lte`: less than the value or equal to it. For null see [`gt`](FilterOps::gt).
    #[doc = example!("o.total().lte(100)", r#"{"total": {"$lte": 100}}"#)]
    fn lte(&self, value: impl IntoValue<Self::Value>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Ordered,
    {
        ordered(self, Op::Lte, value.into_value())
    }

    /// `$in`: equal to one of the values. Without values no document matches. A regular expression,
    /// which the server would match as a pattern, and a document whose first name starts with `$`
    /// are rejected with [`Error::InvalidFilter`].
    #[doc = example!("o.customer().is_in([1, 2])", r#"{"customer": {"$in": [1, 2]}}"#)]
    fn is_in<V: IntoValue<Self::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        in_list(self, Op::In, each_value(values))
    }

    /// `$nin`: equal to none of the values, or missing. Without values every document matches, and
    /// writes reject a filter that consists only of such conditions. The values are limited as
    /// those of [`is_in`](FilterOps::is_in).
    #[doc = example!("o.customer().not_in([1, 2])", r#"{"customer": {"$nin": [1, 2]}}"#)]
    fn not_in<V: IntoValue<Self::Value>>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        in_list(self, Op::Nin, each_value(values))
    }

    /// `$exists: true`: the field is present, even if it is null.
    #[doc = example!("o.note().exists()", r#"{"note": {"$exists": true}}"#)]
    fn exists(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        Filter::on(self, Ok(Op::Exists(true)))
    }

    /// `$exists: false`: the field is missing.
    #[doc = example!("o.note().is_missing()", r#"{"note": {"$exists": false}}"#)]
    fn is_missing(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        Filter::on(self, Ok(Op::Exists(false)))
    }

    /// `$eq: null`: null or missing. Both are read as `None` of an `Option`.
    ///
    /// To match only a stored null use [`type_is`](FilterOps::type_is) with [`BsonType::Null`].
    #[doc = example!("o.note().is_null()", r#"{"note": {"$eq": null}}"#)]
    fn is_null(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        Filter::on(self, Ok(Op::Eq(Bson::Null)))
    }

    /// `$ne: null`: present and not null. Through an array one element must match, so that the condition is
    /// sent as an `$elemMatch`. An array of which an element is null does not match itself.
    #[doc = example!("o.note().is_not_null()", r#"{"note": {"$ne": null}}"#)]
    fn is_not_null(&self) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Nullable,
    {
        Filter::on_one_element(self, Ok(vec![Op::Ne(Bson::Null)]))
    }

    /// `$type`: stored as the BSON type. An array also matches if one of its elements has the type.
    #[doc = example!("o.note().type_is(BsonType::Null)", r#"{"note": {"$type": "null"}}"#)]
    fn type_is(&self, bson_type: BsonType) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        Filter::on(self, Ok(Op::Type(bson_type.alias())))
    }

    /// `$gte` and `$lte`: between the bounds, both of which are included. For null see
    /// [`gt`](FilterOps::gt).
    ///
    /// On an array one element must be between the bounds, whereas `gte(..) & lte(..)` can match
    /// two different elements.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
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
        between(self, least.into_value(), greatest.into_value())
    }

    /// `$regex`: matches the pattern: `"^a"`, `("^a", "i")` with the options `i`, `m`, `s` and `x`
    /// of the server, a BSON `Regex`, or a [`Pattern`], which escapes text. A pattern with NUL is
    /// rejected with [`Error::Encode`]; that it is a valid regular expression is checked by the server.
    #[doc = example!("o.note().regex((\"^ring\", \"i\"))", r#"{"note": {"$regex": "^ring", "$options": "i"}}"#)]
    fn regex(&self, pattern: impl Into<Pattern>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        matching(self, pattern.into())
    }

    /// `$regex` with an anchored, escaped prefix. It can use an index.
    #[doc = example!("o.note().starts_with(\"ring\")", r#"{"note": {"$regex": "^ring"}}"#)]
    fn starts_with(&self, prefix: &str) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Text,
    {
        matching(self, Pattern::starting_with(prefix))
    }

    /// `$regex` with escaped text: the string contains the text. Case-sensitive; otherwise use
    /// [`regex`](FilterOps::regex) with [`Pattern::containing`] and
    /// [`ignore_case`](Pattern::ignore_case). For an array of strings use
    /// `tags().any().contains_text(..)`.
    ///
    /// ```
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
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

    /// `$all`: the array contains all of the values. Without values no document matches. If one of
    /// the values is an array, null, a regular expression or a document with names that start with
    /// `$`, each is sent as an `$elemMatch`.
    #[doc = example!("o.tags().all([\"a\", \"b\"])", r#"{"tags": {"$all": ["a", "b"]}}"#)]
    fn all<V>(&self, values: impl IntoIterator<Item = V>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        let all = each_value(values).map(|values| {
            if is_element(self) || values.iter().any(cannot_be_operand_of_all) {
                Op::AllElements(values)
            } else {
                Op::All(values)
            }
        });
        Filter::on(self, all.map_err(|e| Error::encode(self.raw().dotted(), e)))
    }

    /// `$size`: the array has exactly `len` elements. A missing field does not match, even for 0.
    #[doc = example!("o.tags().size(2)", r#"{"tags": {"$size": 2}}"#)]
    fn size(&self, len: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Array,
    {
        Filter::on(self, Ok(Op::Size(i64::from(len))))
    }

    /// The array contains the value. Sent as `$eq`, so that it can use an index; an array or null is
    /// sent as an `$elemMatch`, because `$eq` also matches the whole field or a missing one.
    ///
    /// For a substring see [`contains_text`](FilterOps::contains_text).
    #[doc = example!("o.tags().contains(\"vip\")", r#"{"tags": {"$eq": "vip"}}"#)]
    fn contains(&self, value: impl IntoValue<<Self::Value as Contains>::Element>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Contains,
    {
        let value = value.into_value();
        if !is_element(self) && !value.as_ref().is_ok_and(matches_beside_elements) {
            return compare(self, Op::Eq, value);
        }
        compare(self, element_equal, value)
    }

    /// `$elemMatch`: one element of the array matches all the conditions, whereas
    /// `lines().sku().eq(..) & lines().qty().gt(..)` can match two different elements.
    ///
    /// Conditions on elements that are no documents are joined by `&` only: for `!` use
    /// [`ne`](FilterOps::ne), [`not_in`](FilterOps::not_in) or [`not`](FilterOps::not), for `|`
    /// [`is_in`](FilterOps::is_in).
    ///
    /// ```
    /// # use marula::{Document, Embedded, prelude::*};
    /// # #[derive(Embedded)]
    /// # struct Line { sku: String, qty: i32 }
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, lines: Vec<Line> }
    /// let filter = Order::fields().lines().elem_match(|l| l.sku().eq("tea") & l.qty().gt(1));
    /// assert_eq!(
    ///     filter.to_string(),
    ///     r#"{"lines": {"$elemMatch": {"sku": {"$eq": "tea"}, "qty": {"$gt": 1}}}}"#
    /// );
    /// ```
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
        match element.into_unplaced().map_err(|e| *e).and_then(Element::of) {
            Ok(element) => {
                let mark = element.mark();
                Filter::marked(self, Ok(Op::ElemMatch(Box::new(element))), mark)
            }
            Err(error) => Filter::new(Err(error)),
        }
    }

    /// `$mod`: the value divided by `divisor` has the remainder `remainder`, which has the sign of
    /// the value. A divisor of 0 is rejected with [`Error::InvalidFilter`].
    #[doc = example!("o.id().modulo(10, 3)", r#"{"_id": {"$mod": [10, 3]}}"#)]
    fn modulo(&self, divisor: i64, remainder: i64) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        let operator = if divisor == 0 {
            Err(Error::filter(
                self.raw().dotted(),
                "the divisor of `$mod` must not be 0",
            ))
        } else {
            Ok(Op::Mod(divisor, remainder))
        };
        Filter::on(self, operator)
    }

    /// `$bitsAllSet`: every bit of the mask is set.
    #[doc = example!("o.total().bits_all_set(6)", r#"{"total": {"$bitsAllSet": 6}}"#)]
    fn bits_all_set(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        Filter::on(self, Ok(Op::Bits(Bits::AllSet, i64::from(mask))))
    }

    /// `$bitsAnySet`: at least one bit of the mask is set.
    #[doc = example!("o.total().bits_any_set(6)", r#"{"total": {"$bitsAnySet": 6}}"#)]
    fn bits_any_set(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        Filter::on(self, Ok(Op::Bits(Bits::AnySet, i64::from(mask))))
    }

    /// `$bitsAllClear`: every bit of the mask is clear.
    #[doc = example!("o.total().bits_all_clear(6)", r#"{"total": {"$bitsAllClear": 6}}"#)]
    fn bits_all_clear(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        Filter::on(self, Ok(Op::Bits(Bits::AllClear, i64::from(mask))))
    }

    /// `$bitsAnyClear`: at least one bit of the mask is clear.
    #[doc = example!("o.total().bits_any_clear(6)", r#"{"total": {"$bitsAnyClear": 6}}"#)]
    fn bits_any_clear(&self, mask: u32) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Integer,
    {
        Filter::on(self, Ok(Op::Bits(Bits::AnyClear, i64::from(mask))))
    }

    /// `$geoWithin`: is entirely inside the geometry, a polygon or a multipolygon.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let area = geo::Polygon::new(vec![vec![[8.0, 47.0], [9.0, 47.0], [9.0, 48.0], [8.0, 47.0]]]);
    /// let filter = Store::fields().place().geo_within(area);
    /// assert!(filter.to_string().starts_with(r#"{"place": {"$geoWithin": "#));
    /// ```
    fn geo_within(&self, geometry: impl Into<Geometry>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        let operand = doc! { "$geometry": geometry.into().into_document() };
        Filter::on(self, Ok(Op::Geo(filter::Geo::Within, operand.into())))
    }

    /// `$geoIntersects`: intersects the geometry.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let area = geo::Polygon::new(vec![vec![[8.0, 47.0], [9.0, 47.0], [9.0, 48.0], [8.0, 47.0]]]);
    /// let filter = Store::fields().place().geo_intersects(area);
    /// assert!(filter.to_string().starts_with(r#"{"place": {"$geoIntersects": "#));
    /// ```
    fn geo_intersects(&self, geometry: impl Into<Geometry>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        let operand = doc! { "$geometry": geometry.into().into_document() };
        Filter::on(self, Ok(Op::Geo(filter::Geo::Intersects, operand.into())))
    }

    /// `$nearSphere`: at most `max_metres` from the point, nearest first; `None` for no maximum.
    /// Requires a `2dsphere` index. The server does not support it in
    /// [`count`](crate::Collection::count) and in [`page`](crate::collection::Find::page); on an
    /// array element it is rejected with [`Error::InvalidFilter`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let here = geo::Point::new([8.54, 47.37]);
    /// let filter = Store::fields().place().near(here, Some(500.0));
    /// assert!(filter.to_string().starts_with(r#"{"place": {"$nearSphere": "#));
    /// ```
    fn near(&self, point: crate::values::geo::Point, max_metres: Option<f64>) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Geo,
    {
        let mut near = doc! { "$geometry": Geometry::Point(point).into_document() };
        if let Some(max) = max_metres {
            near.insert("$maxDistance", max);
        }
        Filter::on(self, Ok(Op::Geo(filter::Geo::NearSphere, near.into())))
    }

    /// A document of operators, sent unchecked as `{field: operators}`.
    #[doc = example!("o.total().raw_condition(doc! { \"$gt\": 5 })", r#"{"total": {"$gt": 5}}"#)]
    fn raw_condition(&self, operators: Document) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
    {
        raw(self, operators)
    }

    /// `$not`: the field does not match the operators of the closure, or is missing. Conditions on
    /// the fields of the value are rejected with [`Error::InvalidFilter`].
    ///
    /// The result is one condition on the field, such as `qty: {$not: {$gt: 5}}`, whereas `!` gives
    /// `$nor`.
    #[doc = example!("o.total().not(|t| t.gt(5))", r#"{"total": {"$not": {"$gt": 5}}}"#)]
    fn not<F>(&self, condition: F) -> Filter<Self::Root>
    where
        Self::Mode: Readable,
        Self::Value: Field,
        F: FnOnce(<Self::Value as Field>::Nav<Self::Value, Read>) -> Filter<Self::Value>,
    {
        let inner = condition(<Self::Value as Field>::nav(crate::Path::root()));
        let element = match inner.into_unplaced().map_err(|e| *e).and_then(Element::of) {
            Ok(element) => element,
            Err(error) => return Filter::new(Err(error)),
        };
        let mark = element.mark();
        let negation = element.into_operators().map(Op::Not).ok_or_else(|| {
            Error::filter(
                self.raw().dotted(),
                "`$not` requires operators on the field itself, not on its fields",
            )
        });
        Filter::marked(self, negation, mark)
    }
}

impl<A: AsPath> FilterOps for A {}
