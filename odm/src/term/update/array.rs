//! The update operators on arrays.

use std::marker::PhantomData;

use crate::{
    ast::{
        filter::{Element, Node},
        update::Operator,
    },
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result, ValueError},
    },
    path::{
        AsPath, ElementNav, RawPath, Read, Write, element,
        field::Field,
        marker::{Array, Growable, Writable},
        to_value_path,
    },
    term::{
        filter::Filter,
        sort::IntoSort,
        update::{IntoUpdate, Update, ops::operation},
    },
    values::value::{IntoValue, array, has_operator_names},
};

/// The update operators of an array. Those that add values create a missing array; the server
/// rejects all of them for a field that is stored as another type.
pub trait ArrayUpdateOps: AsPath + Sized {
    /// `$[identifier]`: every element that matches the condition, which is sent as an array filter.
    /// A filter without conditions is rejected with [`Error::InvalidUpdate`]; for every element use
    /// [`all_positional`](crate::PathOps::all_positional).
    ///
    /// ```
    /// # use marula::{Document, Embedded, prelude::*};
    /// # #[derive(Embedded)]
    /// # struct Line { sku: String, qty: i32 }
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, lines: Vec<Line> }
    /// let o = Order::fields();
    /// let update = o.lines().filtered_positional(|l| l.sku().eq("tea")).qty().inc(1);
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"{"$inc": {"lines.$[f0].qty": 1}} arrayFilters [{"f0.sku": {"$eq": "tea"}}]"#
    /// );
    /// ```
    fn filtered_positional<F>(&self, condition: F) -> ElementNav<Self::Value, Self::Root, Write>
    where
        Self::Value: Array<Element: Field>,
        Self::Mode: Writable,
        F: FnOnce(
            ElementNav<Self::Value, <Self::Value as Array>::Element, Read>,
        ) -> Filter<<Self::Value as Array>::Element>,
    {
        let condition = condition(element::<Self::Value, _, _>(RawPath::default()));
        element::<Self::Value, _, _>(to_value_path(self).filtered(of_elements(condition)))
    }

    /// `$push`: appends a value. A document with names that start with `$` is sent in `$each`, so
    /// that the server does not read it as modifiers.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().push("vip");
    /// assert_eq!(update.to_string(), r#"{"$push": {"tags": "vip"}}"#);
    /// ```
    fn push(&self, value: impl IntoValue<<Self::Value as Array>::Element>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
    {
        operation(self, Operator::Push, appended(value.into_value()))
    }

    /// `$push` with `$each`: appends several values. [`PushEach`] has the modifiers `$position`,
    /// `$slice` and `$sort`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update: Update<Order> = Order::fields().tags().push_each(["a", "b"]).slice(-10).into_update();
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"{"$push": {"tags": {"$each": ["a", "b"], "$slice": -10}}}"#
    /// );
    /// ```
    fn push_each<V>(&self, values: impl IntoIterator<Item = V>) -> PushEach<Self::Root, Self::Value>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        let raw = self.raw();
        let modifiers = array(values)
            .map(|v| doc! { "$each": v })
            .map_err(|e| Error::encode(raw.dotted(), e));
        PushEach {
            path: raw.clone(),
            modifiers,
            types: PhantomData,
        }
    }

    /// `$addToSet`: appends the value unless the array contains an equal one. A document with names
    /// that start with `$` is sent in `$each`, as by [`push`](ArrayUpdateOps::push).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().add_to_set("vip");
    /// assert_eq!(update.to_string(), r#"{"$addToSet": {"tags": "vip"}}"#);
    /// ```
    fn add_to_set(&self, value: impl IntoValue<<Self::Value as Array>::Element>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
    {
        operation(self, Operator::AddToSet, appended(value.into_value()))
    }

    /// `$addToSet` with `$each`: appends the values that the array does not contain.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().add_each_to_set(["a", "b"]);
    /// assert_eq!(update.to_string(), r#"{"$addToSet": {"tags": {"$each": ["a", "b"]}}}"#);
    /// ```
    fn add_each_to_set<V>(&self, values: impl IntoIterator<Item = V>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        operation(
            self,
            Operator::AddToSet,
            array(values).map(|v| Bson::Document(doc! { "$each": v })),
        )
    }

    /// `$pull`: removes the elements that match the condition. A filter without conditions is
    /// rejected unless it is [`Filter::everything`], because it would remove every document of the
    /// array.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let (lines, tags) = (o.lines().pull(|l| l.qty().lte(0)), o.tags().pull(|t| t.starts_with("x")));
    /// assert_eq!(lines.to_string(), r#"{"$pull": {"lines": {"qty": {"$lte": 0}}}}"#);
    /// assert_eq!(tags.to_string(), r#"{"$pull": {"tags": {"$regex": "^x"}}}"#);
    /// ```
    fn pull<F>(&self, condition: F) -> Update<Self::Root>
    where
        Self::Value: Array<Element: Field, Length: Growable>,
        Self::Mode: Writable,
        F: FnOnce(
            ElementNav<Self::Value, <Self::Value as Array>::Element, Read>,
        ) -> Filter<<Self::Value as Array>::Element>,
    {
        let element = condition(<<Self::Value as Array>::Element as Field>::nav(
            crate::Path::root(),
        ));
        let condition = if element.is_without_conditions() {
            Err(Error::update(
                self.raw().dotted(),
                "`$pull` without a condition would remove every document of the array; if that is intended, use `Filter::everything()`",
            ))
        } else {
            of_elements(element)
                .and_then(|node| Ok(Element::of(node)?.to_document().into()))
                .map_err(|e| *e)
        };
        Update::one(Operator::Pull, self.raw(), condition)
    }

    /// `$pullAll`: removes all elements that are equal to one of the values.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().pull_all(["a", "b"]);
    /// assert_eq!(update.to_string(), r#"{"$pullAll": {"tags": ["a", "b"]}}"#);
    /// ```
    fn pull_all<V>(&self, values: impl IntoIterator<Item = V>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
        V: IntoValue<<Self::Value as Array>::Element>,
    {
        operation(self, Operator::PullAll, array(values))
    }

    /// `$pop: -1`: removes the first element.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().pop_first();
    /// assert_eq!(update.to_string(), r#"{"$pop": {"tags": -1}}"#);
    /// ```
    fn pop_first(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
    {
        operation(self, Operator::Pop, Ok(Bson::Int32(-1)))
    }

    /// `$pop: 1`: removes the last element.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().tags().pop_last();
    /// assert_eq!(update.to_string(), r#"{"$pop": {"tags": 1}}"#);
    /// ```
    fn pop_last(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Array<Length: Growable>,
    {
        operation(self, Operator::Pop, Ok(Bson::Int32(1)))
    }
}

impl<A: AsPath> ArrayUpdateOps for A {}

/// The operand of `$push` and `$addToSet` that appends the value. The server reads a document with
/// the name `$each` as modifiers, also if the document is a value of the application.
fn appended(value: Result<Bson, ValueError>) -> Result<Bson, ValueError> {
    value.map(|value| {
        if has_operator_names(&value) {
            Bson::Document(doc! { "$each": [value] })
        } else {
            value
        }
    })
}

/// A `$push` of several values with `$each`, and its modifiers.
#[must_use = "a push does nothing until it is given to a call"]
pub struct PushEach<R, A> {
    path: RawPath,
    modifiers: Result<Document>,
    types: PhantomData<fn() -> (R, A)>,
}

impl<R, A: Array> PushEach<R, A> {
    fn with(mut self, modifier: &str, value: impl Into<Bson>) -> Self {
        if let Ok(modifiers) = &mut self.modifiers {
            modifiers.insert(modifier, value.into());
        }
        self
    }

    /// `$position`: the index at which the values are inserted; a negative index counts from the
    /// end. Default: the end.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update: Update<Order> = Order::fields().tags().push_each(["a"]).position(0).into_update();
    /// assert_eq!(update.to_string(), r#"{"$push": {"tags": {"$each": ["a"], "$position": 0}}}"#);
    /// ```
    pub fn position(self, index: i32) -> Self {
        self.with("$position", index)
    }

    /// `$slice`: the number of elements to keep after the push: the first `len`, or the last if
    /// `len` is negative. Default: all.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update: Update<Order> = Order::fields().tags().push_each(["a"]).slice(-5).into_update();
    /// assert_eq!(update.to_string(), r#"{"$push": {"tags": {"$each": ["a"], "$slice": -5}}}"#);
    /// ```
    pub fn slice(self, len: i32) -> Self {
        self.with("$slice", len)
    }

    /// `$sort`: sorts the whole array after the push. Default: not sorted.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let line = Line { sku: "pot".into(), qty: 1 };
    /// let push = Order::fields().lines().push_each([line]).sort(|l| l.qty().desc());
    /// let update: Update<Order> = push.into_update();
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"{"$push": {"lines": {"$each": [{"sku": "pot", "qty": 1}], "$sort": {"qty": -1}}}}"#
    /// );
    /// ```
    pub fn sort<S, F>(self, keys: F) -> Self
    where
        A: Array<Element: Field>,
        S: IntoSort<A::Element>,
        F: FnOnce(ElementNav<A, A::Element, Read>) -> S,
    {
        let sort = keys(<A::Element as Field>::nav(crate::Path::root())).into_sort();
        match sort.get("") {
            // An element that is not a document is its own sort key.
            Some(direction) => {
                let direction = direction.clone();
                self.with("$sort", direction)
            }
            None => self.with("$sort", sort),
        }
    }
}

/// The condition on the elements of an array that an update changes. The values of an array are not encrypted.
fn of_elements<E>(condition: Filter<E>) -> Result<Node, Box<Error>> {
    let node = condition.into_unplaced()?;
    match node.encrypted(&[]) {
        None => Ok(node),
        Some(path) => Err(Box::new(Error::filter(
            path,
            "the field is encrypted, and the condition of an update on the elements of an array would send its value as it is",
        ))),
    }
}

impl<R, A> IntoUpdate<R> for PushEach<R, A> {
    fn into_update(self) -> Update<R> {
        Update::one(Operator::Push, &self.path, self.modifiers.map(Bson::Document))
    }
}
