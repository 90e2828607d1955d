//! Types that are stored as one BSON type each.

use std::fmt::Display;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::str::FromStr;

use crate::{
    base::bson::{
        Binary, Bson, DateTime, DbPointer, Decimal128, DecodeError, Document, ElementType, EncodeError,
        JavaScriptCodeWithScope, ObjectId, Regex, Timestamp, Uuid as BsonUuid, spec::BinarySubtype,
    },
    values::codec::{Decode, Encode, Value, Writer, read},
};

macro_rules! integers {
    ($($t:ty: $kind:ident $wide:ty;)*) => { $(
        impl Encode for $t {
            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                match <$wide>::try_from(*self) {
                    Ok(number) => out.fixed(ElementType::$kind, number.to_le_bytes()),
                    Err(_) => Err(too_large()),
                }
            }
            #[inline(always)]
            fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                match <$wide>::try_from(*self) {
                    Ok(number) => out.fixed_field(name, ElementType::$kind, number.to_le_bytes()),
                    Err(_) => out.field(name, |_| Err(too_large())),
                }
            }
        }
        impl<'de> Decode<'de> for $t {
            #[inline]
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                let number = match (value.kind(), value.bytes().first_chunk()) {
                    (ElementType::$kind, Some(bytes)) => <$t>::try_from(<$wide>::from_le_bytes(*bytes)).ok(),
                    _ => <$t>::try_from(value.integer(ElementType::$kind)?).ok(),
                };
                number.ok_or_else(|| out_of_range(stringify!($t)))
            }
        }
    )* };
}
integers! {
    i8: Int32 i32;
    i16: Int32 i32;
    i32: Int32 i32;
    u16: Int32 i32;
    u32: Int64 i64;
    i64: Int64 i64;
    u64: Int64 i64;
    usize: Int64 i64;
}

#[cold]
fn too_large() -> EncodeError {
    EncodeError::new("the number is larger than an Int64")
}

#[cold]
fn out_of_range(ty: &str) -> DecodeError {
    DecodeError::new(format!("expected {ty}, found an integer out of its range"))
}

/// The bytes of Binary. `None` for an array.
fn bytes<'de>(value: &Value<'de>) -> Result<Option<&'de [u8]>, DecodeError> {
    match value.kind() {
        ElementType::Binary => {
            let binary = value.raw().binary()?;
            if value.is_exact() && binary.subtype != BinarySubtype::Generic {
                return Err(value.mismatch("binary data of subtype 0"));
            }
            Ok(Some(binary.bytes))
        }
        ElementType::Array if !value.is_exact() => Ok(None),
        _ => Err(value.mismatch("binary data")),
    }
}

impl Encode for u8 {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        i32::from(*self).encode(out)
    }
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        i32::from(*self).encode_field(name, out)
    }
    /// Writes Binary of subtype 0.
    fn encode_slice(items: &[u8], out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.binary(BinarySubtype::Generic, items)
    }
}

impl<'de> Decode<'de> for u8 {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        u8::try_from(value.integer(ElementType::Int32)?).map_err(|_| out_of_range("u8"))
    }
    /// From Binary of any subtype, and from an array of numbers.
    fn decode_vec(value: &Value<'de>) -> Result<Vec<u8>, DecodeError> {
        match bytes(value)? {
            Some(bytes) => Ok(bytes.to_vec()),
            None => read::list(value),
        }
    }
    fn decode_array<const N: usize>(value: &Value<'de>) -> Result<[u8; N], DecodeError> {
        match bytes(value)? {
            Some(bytes) => bytes.try_into().map_err(|_| read::wrong_length(N, bytes.len())),
            None => read::array(value),
        }
    }
}

impl<'de> Decode<'de> for f64 {
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest Double, as the server compares numbers"
    )]
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        match value.kind() {
            ElementType::Int32 if !value.is_exact() => value.raw().i32().map(f64::from),
            ElementType::Int64 if !value.is_exact() => Ok(value.raw().i64()? as f64),
            _ => value.raw().f64(),
        }
    }
}

impl Encode for f32 {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        f64::from(*self).encode(out)
    }
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        f64::from(*self).encode_field(name, out)
    }
}

impl<'de> Decode<'de> for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest number")]
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        let number = f64::decode(value)?;
        let nearest = number as f32;
        if value.is_exact() && f64::from(nearest).to_bits() != number.to_bits() && !number.is_nan() {
            return Err(value.mismatch("a number with the digits of f32"));
        }
        Ok(nearest)
    }
}

/// Types whose stored values have a constant length.
macro_rules! fixed {
    ($($t:ty: $kind:ident |$v:ident| $bytes:expr;)*) => { $(
        impl Encode for $t {
            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                let $v = self;
                out.fixed(ElementType::$kind, $bytes)
            }
            #[inline(always)]
            fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                let $v = self;
                out.fixed_field(name, ElementType::$kind, $bytes)
            }
        }
    )* };
}
fixed! {
    f64: Double |v| v.to_le_bytes();
    bool: Boolean |v| [u8::from(*v)];
    ObjectId: ObjectId |v| v.bytes();
    DateTime: DateTime |v| v.timestamp_millis().to_le_bytes();
    Decimal128: Decimal128 |v| v.bytes();
    Timestamp: Timestamp |v| timestamp(*v);
    uuid::Uuid: Binary |v| binary_uuid(*v.as_bytes());
    BsonUuid: Binary |v| binary_uuid(v.bytes());
    (): Null |_v| [];
}

/// The length, the subtype and the bytes of Binary with a UUID.
#[inline]
fn binary_uuid(uuid: [u8; 16]) -> [u8; 21] {
    let mut binary = [0; 21];
    let (start, bytes) = binary.split_at_mut(5);
    start.copy_from_slice(&[16, 0, 0, 0, BinarySubtype::Uuid.into()]);
    bytes.copy_from_slice(&uuid);
    binary
}

/// Types that are stored as a String.
macro_rules! strings {
    ($($t:ty: |$v:ident| $text:expr;)*) => { $(
        impl Encode for $t {
            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                let $v = self;
                out.string($text)
            }
            #[inline(always)]
            fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                let $v = self;
                out.string_field(name, $text)
            }
        }
    )* };
}
strings! {
    String: |v| v;
    str: |v| v;
    char: |v| v.encode_utf8(&mut [0; 4]);
    IpAddr: |v| &v.to_string();
    Ipv4Addr: |v| &v.to_string();
    Ipv6Addr: |v| &v.to_string();
    SocketAddr: |v| &v.to_string();
    SocketAddrV4: |v| &v.to_string();
    SocketAddrV6: |v| &v.to_string();
}

macro_rules! scalars {
    ($($t:ty: |$value:ident| $decode:expr;)*) => { $(
        impl<'de> Decode<'de> for $t {
            #[inline]
            fn decode($value: &Value<'de>) -> Result<Self, DecodeError> {
                $decode
            }
        }
    )* };
}
scalars! {
    bool: |value| value.raw().bool();
    String: |value| value.raw().str().map(str::to_owned);
    char: |value| one_character(value);
    ObjectId: |value| value.raw().object_id();
    DateTime: |value| value.raw().date_time();
    Decimal128: |value| value.raw().decimal128();
    Timestamp: |value| value.raw().timestamp();
    Binary: |value| value.raw().binary().map(|found| Binary {
        subtype: found.subtype,
        bytes: found.bytes.to_vec(),
    });
    uuid::Uuid: |value| uuid(value).map(uuid::Uuid::from_bytes);
    BsonUuid: |value| uuid(value).map(BsonUuid::from_bytes);
    Bson: |value| value.to_bson();
    IpAddr: |value| address(value, "an IP address");
    Ipv4Addr: |value| address(value, "an IPv4 address");
    Ipv6Addr: |value| address(value, "an IPv6 address");
    SocketAddr: |value| address(value, "a socket address");
    SocketAddrV4: |value| address(value, "an IPv4 socket address");
    SocketAddrV6: |value| address(value, "an IPv6 socket address");
    (): |value| if value.is_null() { Ok(()) } else { Err(value.mismatch("null")) };
}

impl Encode for Binary {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.binary(self.subtype, &self.bytes)
    }
}

impl Encode for Bson {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.bson(self)
    }
}

fn one_character(value: &Value<'_>) -> Result<char, DecodeError> {
    let mut characters = value.raw().str()?.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(DecodeError::new("expected a string with one character")),
    }
}

/// An address from its text. `expected` begins with an article.
fn address<T: FromStr + Display>(value: &Value<'_>, expected: &str) -> Result<T, DecodeError> {
    let text = value.raw().str()?;
    let address = text.parse::<T>().ok();
    // The form that is written: an IPv6 address has several.
    let address = address.filter(|address| !value.is_exact() || address.to_string() == text);
    address.ok_or_else(|| DecodeError::new(format!("expected {expected}, found another text")))
}

fn timestamp(value: Timestamp) -> [u8; 8] {
    (u64::from(value.time) << 32 | u64::from(value.increment)).to_le_bytes()
}

fn uuid(value: &Value<'_>) -> Result<[u8; 16], DecodeError> {
    const EXPECTED: &str = "a UUID, which is Binary subtype 4";
    let Ok(binary) = value.raw().binary() else {
        return Err(value.mismatch(EXPECTED));
    };
    if binary.subtype != BinarySubtype::Uuid {
        let hint = match binary.subtype {
            BinarySubtype::UuidOld => ", a legacy UUID",
            _ => "",
        };
        let subtype = u8::from(binary.subtype);
        return Err(DecodeError::new(format!(
            "expected {EXPECTED}, found Binary subtype {subtype}{hint}"
        )));
    }
    binary
        .bytes
        .try_into()
        .map_err(|_| DecodeError::new(format!("a UUID has 16 bytes, found {}", binary.bytes.len())))
}

/// Types of which a [`Bson`] holds a value.
macro_rules! trees {
    ($($t:ty: $variant:ident, $kind:ident, $expected:literal;)*) => { $(
        impl Encode for $t {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                out.bson(&Bson::$variant(self.clone()))
            }
        }
        impl<'de> Decode<'de> for $t {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                if value.kind() == ElementType::$kind
                    && let Bson::$variant(found) = value.to_bson()?
                {
                    return Ok(found);
                }
                Err(value.mismatch($expected))
            }
        }
    )* };
}
trees! {
    Regex: RegularExpression, RegularExpression, "a regular expression";
    JavaScriptCodeWithScope: JavaScriptCodeWithScope, JavaScriptCodeWithScope, "code with scope";
    DbPointer: DbPointer, DbPointer, "a DBPointer";
}

impl Encode for Document {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.document(self)
    }
}

impl<'de> Decode<'de> for Document {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        if value.kind() == ElementType::EmbeddedDocument
            && let Bson::Document(document) = value.to_bson()?
        {
            return Ok(document);
        }
        Err(value.mismatch("a document"))
    }
}

/// Null, as serde writes it. A document need not have it.
impl<T: ?Sized> Encode for PhantomData<T> {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        ().encode(out)
    }
}

impl<'de, T: ?Sized> Decode<'de> for PhantomData<T> {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        <()>::decode(value).map(|()| PhantomData)
    }
    fn missing() -> Option<Self> {
        Some(PhantomData)
    }
}
