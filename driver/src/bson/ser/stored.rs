//! Values whose stored form is known before they are serialized; see
//! [`raw_ids`](crate::bson::raw_ids).

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Range;

use serde::{Serialize, Serializer};

use super::raw_ids::address_of;
use crate::bson::error::EncodeError;
use crate::bson::same_type;
use crate::bson::spec::ElementType;
use crate::bson::{Bson, append_bson};

/// The type of a stored form, and where its bytes are.
type Found = Result<(ElementType, Range<usize>), EncodeError>;

/// Represents the type `T` in a call of a serializer.
pub(in crate::bson) struct TypeOf<T: ?Sized>(PhantomData<fn() -> Box<T>>);

impl<T: ?Sized> TypeOf<T> {
    pub(in crate::bson) fn new() -> Self {
        TypeOf(PhantomData)
    }
}

impl<T: ?Sized> Serialize for TypeOf<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Replaces the type byte of an element whose text is an error.
const FAILED: u8 = 0;

/// A stored form on its way to the encoder: the address of the value, then the type byte and the
/// bytes of an element.
pub(in crate::bson) struct StoredForm(Vec<u8>);

impl StoredForm {
    pub(in crate::bson) fn new(address: u64, stored: Result<Bson, EncodeError>) -> Self {
        let mut bytes = address.to_le_bytes().to_vec();
        let failed = match stored {
            Ok(value) => append_bson("", &value, &mut bytes).err(),
            Err(error) => Some(error),
        };
        if let Some(error) = failed {
            // A zero in the place of the key, as in an element.
            bytes.extend_from_slice(&[FAILED, 0]);
            bytes.extend_from_slice(error.message().as_bytes());
        }
        StoredForm(bytes)
    }
}

impl Serialize for StoredForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// The stored forms of values, in the order of the fields.
#[derive(Debug, Default)]
pub(super) struct StoredForms {
    values: Vec<Stored>,
    bytes: Vec<u8>,
    /// The value that is looked up first.
    next: usize,
    /// The type of the value that is added next.
    type_id: Option<TypeId>,
}

#[derive(Debug)]
struct Stored {
    address: u64,
    type_id: TypeId,
    /// `None` for an error.
    kind: Option<ElementType>,
    bytes: Range<usize>,
}

/// Whether values of type `T` can have a stored form. Decided at compile time in optimized builds, so
/// that the fields of most types cost nothing.
#[inline(always)]
pub(super) fn can_be_stored<T: ?Sized>() -> bool {
    macro_rules! none_of {
        ($($t:ty)*) => { true $(&& !same_type::is::<T, $t>())* };
    }
    none_of!(str String bool i8 i16 i32 i64 u8 u16 u32 u64 usize f32 f64)
}

impl StoredForms {
    /// Sets the type of the value that is added next.
    pub(super) fn set_type<T: Serialize + ?Sized>(&mut self) {
        self.type_id = Some(typeid::of::<T>());
    }

    /// Adds the bytes of a [`StoredForm`]. Other bytes are ignored.
    pub(super) fn add(&mut self, sent: &[u8]) {
        let Some(type_id) = self.type_id.take() else {
            return;
        };
        let Some((address, [kind, _, value @ ..])) = sent.split_first_chunk() else {
            return;
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.values.push(Stored {
            address: u64::from_le_bytes(*address),
            type_id,
            kind: ElementType::from(*kind),
            bytes: start..self.bytes.len(),
        });
    }

    /// The type and the [`bytes`](Self::bytes) of this value's stored form, if it has one.
    pub(super) fn find<T: ?Sized>(&mut self, value: &T) -> Option<Found> {
        self.find_by(address_of(value), typeid::of::<TypeOf<T>>())
    }

    #[inline(never)]
    fn find_by(&mut self, address: u64, type_id: TypeId) -> Option<Found> {
        let (before, after) = self.values.split_at_checked(self.next)?;
        let mut all = after.iter().chain(before);
        let position = all.position(|stored| stored.address == address && stored.type_id == type_id)?;
        let index = (self.next + position) % self.values.len();
        self.next = (index + 1) % self.values.len();
        let stored = self.values.get(index)?;
        let bytes = stored.bytes.clone();
        Some(match stored.kind {
            Some(kind) => Ok((kind, bytes)),
            None => Err(EncodeError::new(
                String::from_utf8_lossy(self.bytes(bytes)).into_owned(),
            )),
        })
    }

    /// The bytes of a stored form.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde::ser::SerializeStruct;

    use crate::bson::raw_ids::{self, RawIdVisitor};
    use crate::bson::{Bson, DateTime, doc, to_bson, to_document};

    use super::*;

    /// A date that serde writes as text, as the dates of other crates.
    #[derive(Clone, Copy)]
    struct Date(i64);

    impl Serialize for Date {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&self.0)
        }
    }

    impl Date {
        fn stored(self) -> Result<Bson, EncodeError> {
            match self.0 {
                0.. => Ok(DateTime::from_millis(self.0).into()),
                _ => Err(EncodeError::new("before 1970")),
            }
        }
    }

    struct Span {
        from: Date,
        to: Vec<Option<Date>>,
    }

    impl Serialize for Span {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Span", 3)?;
            fields.serialize_field("to", &self.to)?;
            fields.serialize_field("from", &self.from)?;
            fields.serialize_field("copy", &Date(self.from.0))?;
            fields.end()
        }
    }

    impl raw_ids::RawIds for Span {
        fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
            visitor.stored(&self.from, self.from.stored());
            self.to
                .iter()
                .flatten()
                .for_each(|date| visitor.stored(date, date.stored()));
        }
    }

    impl raw_ids::RawIds for Date {
        fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
            visitor.stored(self, Date::stored(*self));
        }
    }

    struct Sent<'a, T>(&'a T);

    impl<T: raw_ids::RawIds + Serialize> Serialize for Sent<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            raw_ids::serialize(self.0, self.0, serializer)
        }
    }

    #[test]
    fn the_stored_form_is_written_for_the_value_itself_only() {
        let span = Span {
            from: Date(1),
            to: vec![Some(Date(2)), None, Some(Date(3))],
        };
        let date = DateTime::from_millis;
        assert_eq!(
            to_document(&Sent(&span)).unwrap(),
            doc! { "to": [date(2), null, date(3)], "from": date(1), "copy": "1" }
        );
        assert_eq!(to_bson(&Sent(&Date(4))).unwrap(), Bson::from(date(4)));
    }

    #[test]
    fn an_error_is_that_of_the_field() {
        let span = Span {
            from: Date(1),
            to: vec![Some(Date(2)), Some(Date(-3))],
        };
        let error = to_document(&Sent(&span)).unwrap_err();
        assert_eq!((error.path(), error.message()), ("to[1]", "before 1970"));
    }

    #[test]
    fn a_value_that_begins_with_another_has_its_own_form() {
        #[derive(serde::Serialize)]
        struct Outer {
            inner: Date,
        }
        impl raw_ids::RawIds for Outer {
            fn raw_ids<'a, V: RawIdVisitor<'a>>(&'a self, visitor: &mut V) {
                visitor.stored(&self.inner, self.inner.stored());
            }
        }
        let outer = Outer { inner: Date(5) };
        let expected = doc! { "inner": DateTime::from_millis(5) };
        assert_eq!(to_document(&Sent(&outer)).unwrap(), expected);
    }

    #[test]
    fn forms_are_found_in_any_order() {
        let dates: Vec<Date> = (0..20).map(Date).collect();
        let mut forms = StoredForms::default();
        for date in &dates {
            forms.set_type::<TypeOf<Date>>();
            let sent = StoredForm::new(address_of(date), date.stored());
            forms.add(&sent.0);
        }
        for index in [3, 2, 19, 0, 0, 7] {
            let date = dates.get(index).unwrap();
            let (kind, bytes) = forms.find(date).unwrap().unwrap();
            assert_eq!(kind, ElementType::DateTime);
            assert_eq!(forms.bytes(bytes), date.0.to_le_bytes());
        }
        assert!(forms.find(&Date(1)).is_none());
        assert!(forms.find(&0_u8).is_none());
    }
}
