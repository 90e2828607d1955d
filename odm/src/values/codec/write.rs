//! Writes documents. The code of the derives calls these functions.

use crate::{
    base::bson::{
        ElementType, EncodeError,
        codec::{Names, Writer},
    },
    values::codec::{Encode, EncodeFields, MapKey},
};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Writes a field whose name is in the source.
#[inline(always)]
pub fn field<T: Encode + ?Sized>(out: &mut Writer<'_>, name: &'static str, value: &T) -> Result {
    value.encode_field(name, out)
}

/// Writes a document with the fields of a value.
#[inline]
pub fn document<T: EncodeFields>(out: &mut Writer<'_>, value: &T) -> Result {
    const { T::NAMES.assert_distinct() };
    let open = out.begin(ElementType::EmbeddedDocument, const { &T::NAMES })?;
    value.encode_fields(out)?;
    out.end(open)
}

/// Writes a document whose fields are written by a function.
pub fn fields(
    out: &mut Writer<'_>,
    names: &'static Names,
    write: impl FnOnce(&mut Writer<'_>) -> Result,
) -> Result {
    let open = out.begin(ElementType::EmbeddedDocument, names)?;
    write(out)?;
    out.end(open)
}

/// Writes the entries of a map into a document that was begun.
pub(crate) fn entries<'a, K: MapKey + 'a, T: Encode + 'a>(
    entries: impl IntoIterator<Item = (&'a K, &'a T)>,
    out: &mut Writer<'_>,
) -> Result {
    for (key, value) in entries {
        out.entry(&key.key(), |out| value.encode(out))?;
    }
    Ok(())
}

/// Writes a document with one field: the name of a variant and its content.
pub fn variant(
    out: &mut Writer<'_>,
    name: &'static str,
    write: impl FnOnce(&mut Writer<'_>) -> Result,
) -> Result {
    fields(out, &Names::NONE, |out| out.field(name, write))
}

/// Writes an array.
#[inline]
pub fn array<'a, T: Encode + ?Sized + 'a>(
    out: &mut Writer<'_>,
    items: impl IntoIterator<Item = &'a T>,
) -> Result {
    out.array(items, |out, item| item.encode(out))
}

/// A function that writes one value.
pub type Item<'a> = &'a dyn Fn(&mut Writer<'_>) -> Result;

/// Writes an array whose items have several types.
pub fn tuple(out: &mut Writer<'_>, items: &[Item<'_>]) -> Result {
    out.array(items, |out, item| item(out))
}
