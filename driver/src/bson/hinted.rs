//! Documents whose type is known well enough to hint at the ids and dates in them: for the ODM's derives, not for use by hand.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::protocol;
use super::ser::{HINT, address_of};
use super::{DateTime, ObjectId};

pub use super::protocol::DOCUMENT_BYTES;

/// A document that tells which ids and dates it holds.
pub trait Hinting {
    /// Names them, best in the order in which they are written. None has to be named, and what is named need not be written.
    fn hint<H: Hints>(&self, hints: &mut H);
}

/// Takes hints.
pub trait Hints {
    /// An ObjectId of the document.
    fn object_id(&mut self, id: &ObjectId);
    /// A DateTime of the document.
    fn date_time(&mut self, date: &DateTime);
}

/// Serializes `value`, which is `document` or a part of it, by its own `Serialize`; [`append`](super::append) and the others
/// then take a shorter way with the ids and dates that `document` hints at. To be written with this crate's codec only.
///
/// # Errors
/// Those of the value's `Serialize`.
#[inline]
pub fn serialize<D, T, S>(document: &D, value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    D: Hinting + ?Sized,
    T: Serialize + ?Sized,
    S: Serializer,
{
    let mut fields = serializer.serialize_struct(protocol::HINTED, 1)?;
    let mut sink = Sink {
        fields: &mut fields,
        result: Ok(()),
    };
    document.hint(&mut sink);
    sink.result?;
    fields.serialize_field(protocol::HINTED_VALUE, value)?;
    fields.end()
}

struct Sink<'f, F: SerializeStruct> {
    fields: &'f mut F,
    result: Result<(), F::Error>,
}

impl<F: SerializeStruct> Sink<'_, F> {
    #[inline]
    fn hint<T>(&mut self, value: &T, bytes: &[u8]) {
        let mut hint = Hint([0; HINT]);
        let (address, rest) = hint.0.split_at_mut(8);
        address.copy_from_slice(&address_of(value).to_le_bytes());
        rest.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        if self.result.is_ok() {
            self.result = self.fields.serialize_field(protocol::HINT, &hint);
        }
    }
}

impl<F: SerializeStruct> Hints for Sink<'_, F> {
    #[inline]
    fn object_id(&mut self, id: &ObjectId) {
        self.hint(id, &id.bytes());
    }

    #[inline]
    fn date_time(&mut self, date: &DateTime) {
        self.hint(date, &date.timestamp_millis().to_le_bytes());
    }
}

struct Hint([u8; HINT]);

impl Serialize for Hint {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}
