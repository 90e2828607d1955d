//! The update operators on fields, as methods of every path; each one's limits are in its `where` clause.

use crate::bson::{Bson, doc};
use crate::error::{Error, ValueError};
use crate::path::AsPath;
use crate::path::marker::{Date, Integer, Nullable, Numeric, Ordered, Writable};
use crate::update::Update;
use crate::value::IntoValue;

pub(super) fn operation<A: AsPath>(
    path: &A,
    operator: &str,
    value: Result<Bson, ValueError>,
) -> Update<A::Root> {
    let raw = path.raw();
    Update::one(operator, raw, value.map_err(|e| Error::encode(raw.dotted(), e)))
}

/// Changes of a field.
pub trait UpdateOps: AsPath + Sized {
    /// `$set`: the field becomes the value; for null see [`set_null`](UpdateOps::set_null).
    fn set(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, "$set", value.into_value())
    }

    /// `$set` to null.
    fn set_null(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Nullable,
    {
        operation(self, "$set", Ok(Bson::Null))
    }

    /// `$unset`: the field is removed.
    fn unset(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, "$unset", Ok(Bson::String(String::new())))
    }

    /// `$setOnInsert`: the value of the field if an upsert inserts.
    fn set_on_insert(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, "$setOnInsert", value.into_value())
    }

    /// `$inc`: adds to the field; a missing one counts as 0.
    fn inc(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, "$inc", by.into_value())
    }

    /// `$inc` by the negated value, for fields whose Rust type has no sign.
    fn dec(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, "$inc", by.into_value().and_then(|v| negated(&v)))
    }

    /// `$mul`: multiplies the field; a missing one becomes 0.
    fn mul(&self, by: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Numeric,
    {
        operation(self, "$mul", by.into_value())
    }

    /// `$min`: the field becomes the value if that is less.
    fn min(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Ordered,
    {
        extreme(self, "$min", value.into_value())
    }

    /// `$max`: the field becomes the value if that is greater.
    fn max(&self, value: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Ordered,
    {
        extreme(self, "$max", value.into_value())
    }

    /// `$rename`: moves the value to another field of the same type.
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
            Err(Error::update(from, "`$rename` takes no positional segments"))
        } else {
            Ok(Bson::String(target.to_owned()))
        };
        Update::one("$rename", self.raw(), value).also_within(to.raw())
    }

    /// `$currentDate`: the field becomes the server's date.
    fn current_date(&self) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Date,
    {
        operation(self, "$currentDate", Ok(Bson::Boolean(true)))
    }

    /// `$bit: {and: …}`: keeps only the bits of the mask.
    fn bit_and(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            "$bit",
            mask.into_value().map(|m| Bson::Document(doc! { "and": m })),
        )
    }

    /// `$bit: {or: …}`: sets the bits of the mask.
    fn bit_or(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            "$bit",
            mask.into_value().map(|m| Bson::Document(doc! { "or": m })),
        )
    }

    /// `$bit: {xor: …}`: flips the bits of the mask.
    fn bit_xor(&self, mask: impl IntoValue<Self::Value>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
        Self::Value: Integer,
    {
        operation(
            self,
            "$bit",
            mask.into_value().map(|m| Bson::Document(doc! { "xor": m })),
        )
    }

    /// An operator as it is, unchecked: `{operator: {field: value}}`.
    fn raw_operator(&self, operator: &str, value: impl Into<Bson>) -> Update<Self::Root>
    where
        Self::Mode: Writable,
    {
        operation(self, operator, Ok(value.into()))
    }
}

impl<A: AsPath> UpdateOps for A {}

/// `$min` or `$max`. Null is less than every value: with it `$min` would remove the value, and `$max` change nothing.
fn extreme<A: AsPath>(path: &A, operator: &str, value: Result<Bson, ValueError>) -> Update<A::Root> {
    let raw = path.raw();
    let value = match value {
        Ok(Bson::Null) => Err(Error::update(
            raw.dotted(),
            format!(
                "`{operator}` cannot compare with null, which has no order: leave the operator out, or use `.set_null()`"
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
            // The sign is the highest bit of the little-endian bytes.
            let mut bytes = v.bytes();
            bytes[15] ^= 0x80;
            Ok(Bson::Decimal128(crate::bson::Decimal128::from_bytes(bytes)))
        }
        _ => Err(ValueError::new("only a number can be negated")),
    }
}
