//! The call sites in crate bson that write a value into an error message.
//!
//! Some types of crate bson read a value of any type and reject it with a message that contains it:
//! `expecting Binary but got String("…") instead`. Errors of this crate state no values, but keep
//! the messages of an application's own types. Neither the message nor its type distinguishes the
//! two, and in serde's buffer for tagged enums and flattened fields the type that is read is not
//! known. The caller of the error's constructor is known, by `#[track_caller]`.
//!
//! The call sites are found by letting each of these types reject a value without content. If the
//! compiler states no callers, all call sites are equal, and every formatted message is replaced.

use std::fmt;
use std::iter::empty;
use std::panic::Location;
use std::path::Path;
use std::sync::LazyLock;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer, UnitDeserializer};
use serde::de::{self, Deserialize, Deserializer, Expected, Unexpected};

use crate::bson::{
    Binary, Decimal128, Document, ObjectId, RawArray, RawArrayBuf, RawBinaryRef, RawBsonRef, RawDbPointerRef,
    RawDocument, RawDocumentBuf, RawJavaScriptCodeWithScope, RawJavaScriptCodeWithScopeRef, RawRegexRef,
};

static CALL_SITES: LazyLock<Vec<CallSite>> = LazyLock::new(find);

/// What crate bson expects where it writes a value into a message. `None` if `caller` is another
/// place.
#[cold]
pub(super) fn expected_at(caller: &Location<'_>) -> Option<&'static str> {
    let site = CALL_SITES.iter().find(|site| site.is(caller))?;
    Some(site.expected)
}

struct CallSite {
    location: &'static Location<'static>,
    /// The type that is read there.
    expected: &'static str,
}

impl CallSite {
    fn is(&self, caller: &Location<'_>) -> bool {
        let position = |location: &Location<'_>| (location.line(), location.column());
        // Without the directories: an option of the compiler replaces their prefix.
        let file = |location| Path::new(Location::file(location)).file_name();
        position(self.location) == position(caller) && file(self.location) == file(caller)
    }
}

fn find() -> Vec<CallSite> {
    let null = UnitDeserializer::new;
    let symbol = || MapDeserializer::new([("$symbol", "")].into_iter());
    let map = MapDeserializer::new(empty::<(&str, &str)>());
    let sequence = SeqDeserializer::new(empty::<()>());
    [
        call_site::<Binary, _>("a Binary", null()),
        call_site::<Decimal128, _>("a Decimal128", null()),
        call_site::<Document, _>("a document that is not an Extended JSON value", symbol()),
        call_site::<ObjectId, _>("an ObjectId", symbol()),
        call_site::<RawDocumentBuf, _>("a document", null()),
        call_site::<RawArrayBuf, _>("an array", null()),
        call_site::<RawJavaScriptCodeWithScope, _>("a JavaScriptCodeWithScope", null()),
        call_site::<&RawDocument, _>("a borrowed document", map),
        call_site::<&RawArray, _>("a borrowed array", sequence),
        call_site::<RawBsonRef<'_>, _>("a borrowed value", StrDeserializer::new("")),
        call_site::<RawBinaryRef<'_>, _>("a Binary", null()),
        call_site::<RawRegexRef<'_>, _>("a RegularExpression", null()),
        call_site::<RawDbPointerRef<'_>, _>("a DbPointer", null()),
        call_site::<RawJavaScriptCodeWithScopeRef<'_>, _>("a JavaScriptCodeWithScope", null()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The place at which `T` rejects the value.
fn call_site<'de, T, D>(expected: &'static str, value: D) -> Option<CallSite>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = Caller>,
{
    let Caller(location) = T::deserialize(value).err()?;
    Some(CallSite { location, expected })
}

/// An error that records the caller of its constructor.
#[derive(Debug)]
struct Caller(&'static Location<'static>);

impl de::Error for Caller {
    #[track_caller]
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self(Location::caller())
    }

    #[track_caller]
    fn invalid_type(_unexpected: Unexpected<'_>, _expected: &dyn Expected) -> Self {
        Self(Location::caller())
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Caller {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_type_has_its_own_call_site() {
        let places: HashSet<_> = CALL_SITES.iter().map(|site| site.location).collect();
        assert_eq!(places.len(), 14, "{places:?}");
        assert_eq!(expected_at(Location::caller()), None);
    }

    #[test]
    fn errors_of_serde_itself_are_not_matched() {
        let Caller(default_of_serde) = bool::deserialize(UnitDeserializer::new()).unwrap_err();
        let Caller(missing) = <Caller as de::Error>::missing_field("a");
        assert_eq!(expected_at(default_of_serde), None);
        assert_eq!(expected_at(missing), None);
    }
}
