//! Documents whose ObjectIds, DateTimes and converted values are known by type, for the ODM's
//! derives. Not part of the public interface.
//!
//! Crate bson serializes an ObjectId or a DateTime as text, which costs more instructions than the
//! rest of a small document. A serializer receives such a value as a reference of a generic type
//! and cannot read its bytes. [`serialize`] sends the address and the bytes of each id and date
//! first; the document's own `Serialize` then runs and decides what is written. The encoder uses
//! the bytes sent for a reference if it has the same address and the same type.
//!
//! In the same way, a value whose stored form differs from what its `Serialize` writes, such as a
//! date of another crate, is sent with its stored form. Its `Serialize` is not called.
//!
//! This is exact: [`RawIds::raw_ids`] yields only references that live as long as the borrow of the
//! document, which lasts until all is written. Memory behind such a reference is not reused, and
//! neither type has interior mutability. A second reference of the same type to the same address
//! therefore has the same value.

use std::marker::PhantomData;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::markers;
use super::ser::{RAW_ID_LEN, StoredForm, TypeOf, address_of};
use super::{Bson, DateTime, EncodeError, ObjectId};

pub use super::markers::DOCUMENT_BYTES;

/// A document that lists the ObjectIds, DateTimes and converted values it holds.
pub trait RawIds {
    /// Visits ids, dates and converted values, preferably in the order in which they are written.
    /// The list of ids and dates may be incomplete. It may contain values that are not written.
    fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V);
}

/// Receives the ids and dates of a document borrowed for `'a`.
pub trait RawIdVisitor<'a> {
    /// An ObjectId of the document.
    fn object_id(&mut self, id: &'a ObjectId);
    /// A DateTime of the document.
    fn date_time(&mut self, date: &'a DateTime);
    /// A value of the document that is stored as `stored`. An error is that of the value's field when
    /// it is written.
    fn stored<T>(&mut self, value: &'a T, stored: Result<Bson, EncodeError>);
}

/// Serializes `value`, which is `document` or a part of it, by its own `Serialize`. For this
/// crate's encoder only.
///
/// # Errors
/// Those of the value's `Serialize`.
#[inline]
pub fn serialize<D, T, S>(document: &D, value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    D: RawIds + ?Sized,
    T: Serialize + ?Sized,
    S: Serializer,
{
    let mut fields = serializer.serialize_struct(markers::RAW_IDS, 1)?;
    let mut sender = Sender {
        fields: &mut fields,
        result: Ok(()),
        document: PhantomData,
    };
    document.raw_ids(&mut sender);
    sender.result?;
    fields.serialize_field(markers::VALUE, value)?;
    fields.end()
}

struct Sender<'a, 'f, F: SerializeStruct> {
    fields: &'f mut F,
    result: Result<(), F::Error>,
    /// The borrow that lasts until the document is written.
    document: PhantomData<&'a ()>,
}

impl<F: SerializeStruct> Sender<'_, '_, F> {
    #[inline]
    fn send<T>(&mut self, value: &T, bytes: &[u8]) {
        let mut raw_id = RawId([0; RAW_ID_LEN]);
        let (address, rest) = raw_id.0.split_at_mut(8);
        address.copy_from_slice(&address_of(value).to_le_bytes());
        rest.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        if self.result.is_ok() {
            self.result = self.fields.serialize_field(markers::RAW_ID, &raw_id);
        }
    }
}

impl<'a, F: SerializeStruct> RawIdVisitor<'a> for Sender<'a, '_, F> {
    #[inline]
    fn object_id(&mut self, id: &'a ObjectId) {
        self.send(id, &id.bytes());
    }

    #[inline]
    fn date_time(&mut self, date: &'a DateTime) {
        self.send(date, &date.timestamp_millis().to_le_bytes());
    }

    fn stored<T>(&mut self, value: &'a T, stored: Result<Bson, EncodeError>) {
        if self.result.is_ok() {
            let fields = &mut *self.fields;
            let sent = StoredForm::new(address_of(value), stored);
            self.result = fields
                .serialize_field(markers::STORED_TYPE, &TypeOf::<T>::new())
                .and_then(|()| fields.serialize_field(markers::STORED, &sent));
        }
    }
}

struct RawId([u8; RAW_ID_LEN]);

impl Serialize for RawId {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}
