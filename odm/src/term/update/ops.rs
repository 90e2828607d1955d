//! The update operators of fields, as methods of every path. The `where` clause of a method limits
//! the types it applies to.

use crate::{
    ast::update::Operator,
    base::{
        bson::{Bson, doc},
        error::{Error, ValueError},
    },
    path::{
        AsPath,
        marker::{Date, Integer, Nullable, Numeric, Ordered, Writable},
    },
    term::update::{Update, variant},
    values::value::IntoValue,
};

pub(super) fn operation<A: AsPath>(
    path: &A,
    operator: Operator,
    value: Result<Bson, ValueError>,
) -> Update<A::Root> {
    let raw = path.raw();
    Update::one(operator, raw, value.map_err(|e| Error::encode(raw.dotted(), e)))
}

/// The update operators of a field.
///
/// A tuple combines several operators in one update. Two operators on one field, or on a field and
/// a part of it, are rejected with [`Error::InvalidUpdate`].
///
/// ```
/// # use marula::{Document, IntoUpdate, Update, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, name: String, visits: i32 }
/// let p = Person::fields();
/// let update: Update<Person> = (p.name().set("Ada"), p.visits().inc(1)).into_update();
/// assert_eq!(update.to_string(), r#"{"$set": {"name": "Ada"}, "$inc": {"visits": 1}}"#);
/// ```
pub trait UpdateOps: AsPath + Sized {
    /// `$set`: sets the field to the value; `$unset` if the value is `None` and the field has `#[document(skip_none)]`. For null
    /// see [`set_null`](UpdateOps::set_null).
    ///
    /// The server creates what the path goes through and is missing: `address().city().set("Bern")` stores the
    /// document `{city: "Bern"}` in an `address` that is missing, which cannot be read if `Address` has
    /// further required fields. The same applies to an entry of a map, to an element at an index, and to `inc`
    /// and the other operators that set a missing field. If `address` is stored as null, the server rejects
    /// the update. To change only what exists, add the condition to the filter, `p.address().is_not_null()`;
    /// otherwise set the whole value, `p.address().set(address)`. See the
    /// [guide](crate::guide::updates#parents-that-are-missing).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().set(5);
    /// assert_eq!(update.to_string(), r#"{"$set": {"total": 5}}"#);
    /// ```
    fn set(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        match value.into_value() {
            Ok(Bson::Null) if self.raw().skips_null() => self.unset(),
            value => operation(self, Operator::Set, value),
        }
    }

    /// `$set`: sets the field to null.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().note().set_null();
    /// assert_eq!(update.to_string(), r#"{"$set": {"note": null}}"#);
    /// ```
    fn set_null(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Nullable,
    {
        operation(self, Operator::Set, Ok(Bson::Null))
    }

    /// `$unset`: removes the field. A document without it can be read only if the field is an
    /// `Option` or has `#[serde(default)]`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().note().unset();
    /// assert_eq!(update.to_string(), r#"{"$unset": {"note": ""}}"#);
    /// ```
    fn unset(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, Operator::Unset, Ok(Bson::String(String::new())))
    }

    /// `$setOnInsert`: sets the field to the value if an upsert inserts a document; nothing if the value is `None` and the field has
    /// `#[document(skip_none)]`: an update of nothing else is empty, see `allow_empty`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().status().set_on_insert(Status::Open);
    /// assert_eq!(update.to_string(), r#"{"$setOnInsert": {"status": "open"}}"#);
    /// ```
    fn set_on_insert(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        match value.into_value() {
            Ok(Bson::Null) if self.raw().skips_null() => Update::empty(),
            value => operation(self, Operator::SetOnInsert, value),
        }
    }

    /// `$inc`: adds the value to the field. A missing field is set to the value.
    ///
    /// A sum beyond `i32` is stored as an Int64: a field of type `i32` or a smaller one cannot be read then,
    /// which [`Error::Decode`] reports. Use `i64` for counters without a limit, or add a condition such as
    /// `p.visits().lt(i32::MAX)` to the filter. Beyond `i64` the server rejects the update.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().inc(-50);
    /// assert_eq!(update.to_string(), r#"{"$inc": {"total": -50}}"#);
    /// ```
    fn inc(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, Operator::Inc, by.into_value())
    }

    /// `$inc` with the negated value, for unsigned integer fields. The server does not prevent a
    /// negative result, which cannot be read as an unsigned integer: add a condition such as
    /// `o.stock().gte(n)` to the filter. A value whose negation is out of range is rejected with
    /// [`Error::Encode`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Document)] #[document(collection = "stock")]
    /// # struct Item { _id: i64, left: u32 }
    /// let update = Item::fields().left().dec(3_u32);
    /// assert_eq!(update.to_string(), r#"{"$inc": {"left": -3}}"#);
    /// ```
    fn dec(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, Operator::Inc, by.into_value().and_then(|v| negated(&v)))
    }

    /// `$mul`: multiplies the field by the value. A missing field is set to 0.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().mul(2);
    /// assert_eq!(update.to_string(), r#"{"$mul": {"total": 2}}"#);
    /// ```
    fn mul(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, Operator::Mul, by.into_value())
    }

    /// `$min`: sets the field to the value if the value is less, or the field is missing. A null
    /// value is rejected with [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().min(100);
    /// assert_eq!(update.to_string(), r#"{"$min": {"total": 100}}"#);
    /// ```
    fn min(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Ordered,
    {
        extreme(self, Operator::Min, value.into_value())
    }

    /// `$max`: sets the field to the value if the value is greater, or the field is missing. A null
    /// value is rejected with [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().max(100);
    /// assert_eq!(update.to_string(), r#"{"$max": {"total": 100}}"#);
    /// ```
    fn max(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Ordered,
    {
        extreme(self, Operator::Max, value.into_value())
    }

    /// `$rename`: renames the field to another field of the same type, and removes that one's
    /// value. Changes nothing in a document without the field. Positional segments are rejected
    /// with [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let update = o.total().rename(o.customer());
    /// assert_eq!(update.to_string(), r#"{"$rename": {"total": "customer"}}"#);
    /// ```
    fn rename(
        &self,
        to: impl AsPath<Root = Self::Root, Value = Self::Value, Mode: Writable>,
    ) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        let positional = |p: &str| p.split('.').any(|s| s.starts_with('$'));
        let (from, target) = (self.raw().dotted(), to.raw().dotted());
        let value = if positional(from) || positional(target) {
            Err(Error::update(
                from,
                "`$rename` does not support positional segments",
            ))
        } else {
            Ok(Bson::String(target.to_owned()))
        };
        // The enum variants of both paths must be stored.
        let change =
            Update::<Self::Root>::change(Operator::Rename, self.raw(), value).and_then(|mut change| {
                let target = variant::change(Operator::Rename, to.raw(), Bson::Null)?;
                change.variants.extend(target.variants);
                Ok(change)
            });
        Update::with_changes(change)
    }

    /// `$currentDate`: sets the field to the current date of the server, with milliseconds.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().created_at().current_date();
    /// assert_eq!(update.to_string(), r#"{"$currentDate": {"created_at": true}}"#);
    /// ```
    fn current_date(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Date,
    {
        operation(self, Operator::CurrentDate, Ok(Bson::Boolean(true)))
    }

    /// `$bit: {and: …}`: clears all bits that are not in the mask.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().bit_and(12);
    /// assert_eq!(update.to_string(), r#"{"$bit": {"total": {"and": 12}}}"#);
    /// ```
    fn bit_and(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            Operator::Bit,
            mask.into_value().map(|m| Bson::Document(doc! { "and": m })),
        )
    }

    /// `$bit: {or: …}`: sets the bits of the mask.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().bit_or(1);
    /// assert_eq!(update.to_string(), r#"{"$bit": {"total": {"or": 1}}}"#);
    /// ```
    fn bit_or(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            Operator::Bit,
            mask.into_value().map(|m| Bson::Document(doc! { "or": m })),
        )
    }

    /// `$bit: {xor: …}`: inverts the bits of the mask.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().bit_xor(3);
    /// assert_eq!(update.to_string(), r#"{"$bit": {"total": {"xor": 3}}}"#);
    /// ```
    fn bit_xor(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            Operator::Bit,
            mask.into_value().map(|m| Bson::Document(doc! { "xor": m })),
        )
    }

    /// Any other operator, sent unchecked as `{operator: {field: value}}`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Order::fields().total().raw_operator("$inc", 5);
    /// assert_eq!(update.to_string(), r#"{"$inc": {"total": 5}}"#);
    /// ```
    fn raw_operator(&self, operator: &str, value: impl Into<Bson>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, Operator::named(operator), Ok(value.into()))
    }
}

impl<A: AsPath> UpdateOps for A {}

/// `$min` or `$max`. Null is rejected: it is less than every value, so `$min` would always set it
/// and `$max` never.
fn extreme<A: AsPath>(path: &A, operator: Operator, value: Result<Bson, ValueError>) -> Update<A::Root> {
    let raw = path.raw();
    let value = match value {
        Ok(Bson::Null) => Err(Error::update(
            raw.dotted(),
            format!(
                "`{}` cannot compare with null: omit the operator, or use `.set_null()`",
                operator.sent()
            ),
        )),
        value => value.map_err(|e| Error::encode(raw.dotted(), e)),
    };
    Update::one(operator, raw, value)
}

fn negated(value: &Bson) -> Result<Bson, ValueError> {
    let range = || ValueError::new("the negated number is out of range");
    match value {
        Bson::Int32(v) => v.checked_neg().map(Bson::Int32).ok_or_else(range),
        Bson::Int64(v) => v.checked_neg().map(Bson::Int64).ok_or_else(range),
        Bson::Double(v) => Ok(Bson::Double(-v)),
        Bson::Decimal128(v) => {
            // The sign bit is the most significant bit; the bytes are in little-endian order.
            let mut bytes = v.bytes();
            bytes[15] ^= 0x80;
            Ok(Bson::Decimal128(crate::base::bson::Decimal128::from_bytes(bytes)))
        }
        _ => Err(ValueError::new("only a number can be negated")),
    }
}
