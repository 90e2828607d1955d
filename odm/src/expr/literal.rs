//! Values as expressions.

use crate::bson::{Binary, Bson, DateTime, Decimal128, ObjectId, Timestamp, Uuid as BsonUuid, doc};
use crate::error::{Error, ValueError};
use crate::expr::{Expr, Operand, Raw};
use crate::value::IntoValue;

/// A value as an expression. What the server would interpret is wrapped in `$literal`.
pub(crate) fn literal(value: Result<Bson, ValueError>) -> Raw {
    let value = value.map_err(|e| Error::encode("", e))?;
    let is_syntax = match &value {
        Bson::String(text) => text.starts_with('$'),
        Bson::Document(_) | Bson::Array(_) => true,
        _ => false,
    };
    Ok(if is_syntax {
        doc! { "$literal": value }.into()
    } else {
        value
    })
}

/// A value of any type that a field of type `T` accepts, as an expression.
///
/// ```
/// # use marula::expr::lit;
/// let tags = lit::<(), Vec<String>>(["a", "b"]);
/// assert_eq!(tags.to_string(), r#"{"$literal": ["a", "b"]}"#);
/// ```
pub fn lit<R, T>(value: impl IntoValue<T>) -> Expr<R, T> {
    Expr::from_raw(literal(value.into_value()))
}

macro_rules! literals {
    ($($t:ty => $value:ty;)*) => { $(
        impl<R> Operand<R> for $t {
            type Value = $value;
            fn into_operand(self) -> Expr<R, $value> {
                lit(self)
            }
        }
    )* };
}
literals! {
    i8 => i8; i16 => i16; i32 => i32; i64 => i64; u8 => u8; u16 => u16; u32 => u32; u64 => u64; usize => usize;
    f32 => f32; f64 => f64; bool => bool; char => char;
    &str => String; String => String; &String => String;
    ObjectId => ObjectId; DateTime => DateTime; Decimal128 => Decimal128; Timestamp => Timestamp; Binary => Binary;
    uuid::Uuid => uuid::Uuid; BsonUuid => BsonUuid; Bson => Bson;
}
