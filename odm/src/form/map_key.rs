//! The keys of maps.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::base::bson::{DecodeError, ObjectId, Uuid as BsonUuid};

/// A type of keys of maps, which are texts in documents. Two different values have different texts.
///
/// `#[derive(Embedded)]` implements the trait for enums without contents.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of a stored map",
    label = "`{Self}` does not implement `marula::codec::MapKey`",
    note = "derive `marula::Embedded` for an enum without contents, all variants of which are stored"
)]
pub trait MapKey: Sized {
    /// The text.
    fn key(&self) -> Cow<'_, str>;

    /// The value of a text.
    ///
    /// # Errors
    /// The text is not that of a value.
    fn from_key(key: &str) -> Result<Self, DecodeError>;
}

impl MapKey for String {
    #[inline]
    fn key(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
    #[inline]
    fn from_key(key: &str) -> Result<Self, DecodeError> {
        Ok(key.to_owned())
    }
}

macro_rules! parsed {
    ($($t:ty: $expected:literal;)*) => { $(
        impl MapKey for $t {
            fn key(&self) -> Cow<'_, str> {
                Cow::Owned(self.to_string())
            }
            fn from_key(key: &str) -> Result<Self, DecodeError> {
                let value = key.parse::<$t>().ok();
                // Other texts of the value, such as `+1` and `01`, would be duplicates of the same key.
                value.filter(|value| value.key() == key).ok_or_else(|| DecodeError::new(concat!("expected a key that is ", $expected)))
            }
        }
    )* };
}
parsed! {
    i8: "an integer in the range of i8";
    i16: "an integer in the range of i16";
    i32: "an integer in the range of i32";
    i64: "an integer in the range of i64";
    u8: "an integer in the range of u8";
    u16: "an integer in the range of u16";
    u32: "an integer in the range of u32";
    u64: "an integer in the range of u64";
    usize: "an integer in the range of usize";
    bool: "a boolean";
    char: "a character";
    uuid::Uuid: "a UUID";
    IpAddr: "an IP address";
    Ipv4Addr: "an IPv4 address";
    Ipv6Addr: "an IPv6 address";
    SocketAddr: "a socket address";
    SocketAddrV4: "an IPv4 socket address";
    SocketAddrV6: "an IPv6 socket address";
}

impl MapKey for BsonUuid {
    fn key(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
    fn from_key(key: &str) -> Result<Self, DecodeError> {
        uuid::Uuid::from_key(key).map(|id| BsonUuid::from_bytes(id.into_bytes()))
    }
}

impl MapKey for ObjectId {
    fn key(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_hex())
    }
    fn from_key(key: &str) -> Result<Self, DecodeError> {
        let id = ObjectId::parse_str(key).ok();
        id.filter(|id| id.to_hex() == key)
            .ok_or_else(|| DecodeError::new("expected a key that is an ObjectId"))
    }
}

macro_rules! transparent {
    ($($t:ty;)*) => { $(
        impl<K: MapKey> MapKey for $t {
            fn key(&self) -> Cow<'_, str> {
                K::key(self)
            }
            fn from_key(key: &str) -> Result<Self, DecodeError> {
                K::from_key(key).map(Into::into)
            }
        }
    )* };
}
transparent! {
    Box<K>;
    std::rc::Rc<K>;
    std::sync::Arc<K>;
}

macro_rules! texts {
    ($($t:ty;)*) => { $(
        impl MapKey for $t {
            fn key(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
            fn from_key(key: &str) -> Result<Self, DecodeError> {
                Ok(key.to_owned().into())
            }
        }
    )* };
}
texts! {
    Box<str>;
    std::rc::Rc<str>;
    std::sync::Arc<str>;
    Cow<'_, str>;
}
