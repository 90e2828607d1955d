//! Values as expressions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::{
    base::{
        bson::{Binary, Bson, DateTime, Decimal128, ObjectId, Timestamp, Uuid as BsonUuid, doc},
        error::{Error, ValueError},
    },
    path::{encrypted::encrypted_in, field::Field},
    term::expr::{Expr, Operand, Raw},
    values::value::IntoValue,
};

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
///
/// # Errors
/// The call that sends the expression fails with [`Error::InvalidPipeline`] if the value has encrypted fields: values of
/// expressions are sent as they are, also by a client with automatic encryption.
pub fn lit<R, T: Field>(value: impl IntoValue<T>) -> Expr<R, T> {
    let value = value.into_value();
    let encrypted = value.as_ref().ok().and_then(encrypted_in::<T>);
    Expr::from_raw(encrypted.map_or_else(|| literal(value), |path| Err(Box::new(sent_as_it_is(path)))))
}

#[cold]
fn sent_as_it_is(path: &str) -> Error {
    Error::pipeline(
        path,
        "the field is encrypted, and the values of expressions are sent as they are, also by a client with automatic encryption; \
         leave the field out, or write the value with an insert or with `set` of an update",
    )
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
    IpAddr => IpAddr; Ipv4Addr => Ipv4Addr; Ipv6Addr => Ipv6Addr; SocketAddr => SocketAddr; SocketAddrV4 => SocketAddrV4; SocketAddrV6 => SocketAddrV6;
    uuid::Uuid => uuid::Uuid; BsonUuid => BsonUuid; Bson => Bson;
}
