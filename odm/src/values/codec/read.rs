//! Reads documents by the tables of keys of types. The code of the derives calls these functions.

use crate::{
    base::bson::{
        DecodeError, ElementType,
        codec::{END, Elements, Fields, Names, OTHER, Value},
    },
    values::codec::{Decode, DecodeFields},
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Reads a document.
#[inline]
pub fn document<'de, T: DecodeFields<'de>>(value: &Value<'de>) -> Result<T::Out> {
    tagged::<T>(value, None)
}

/// Reads the document of a variant beside its tag, which is not a field of the variant.
#[inline]
pub fn tagged<'de, T: DecodeFields<'de>>(value: &Value<'de>, tag: Option<&str>) -> Result<T::Out> {
    elements::<T>(value.document()?, tag, T::DENY_UNKNOWN)
}

/// Reads a type from the elements of a document.
#[inline]
fn elements<'de, T: DecodeFields<'de>>(
    elements: Elements<'de>,
    tag: Option<&str>,
    is_strict: bool,
) -> Result<T::Out> {
    let mut partial = T::begin(elements)?;
    let mut fields = Fields::new(elements, T::KEYS);
    loop {
        let index = fields.next();
        if index == END {
            break;
        }
        // A map would take the tag too.
        if index == OTHER && tag == Some(fields.key()) {
            continue;
        }
        if !T::take(&mut partial, index, &fields)? && is_strict {
            return Err(fields.unknown());
        }
    }
    fields.end()?;
    T::finish(partial)
}

/// Reads a value by a function.
#[inline(always)]
pub fn by<'de, T>(value: &Value<'de>, read: impl FnOnce(&Value<'de>) -> Result<T>) -> Result<T> {
    read(value)
}

/// Offers the current field to a flattened type. Returns whether it was taken.
#[inline]
pub fn offer<'de, T: DecodeFields<'de>>(partial: &mut T::Partial, field: &Fields<'de>) -> Result<bool> {
    let index = T::KEYS.iter().position(|name| *name == field.key());
    T::take(partial, index.unwrap_or(OTHER), field)
}

/// Reads the fields of a variant of a flattened enum without tags, beside which there are other fields.
pub fn beside<'de, T: DecodeFields<'de>>(of: Elements<'de>) -> Result<T::Out> {
    elements::<T>(of, None, false)
}

/// The value of a field at the end of the document. `missing`: that of a field that is not there.
#[inline]
pub fn required<T>(slot: Option<T>, name: &'static str, missing: fn() -> Option<T>) -> Result<T> {
    match slot {
        Some(value) => Ok(value),
        None => missing().ok_or_else(|| missing_field(name)),
    }
}

/// The value of a field at the end of the document, which has to be there.
#[inline]
pub fn present<T>(slot: Option<T>, name: &'static str) -> Result<T> {
    slot.ok_or_else(|| missing_field(name))
}

/// Reads the kind of a document, which has to be that of the model.
///
/// # Errors
/// The document is of another kind.
pub fn kind(value: &Value<'_>, expected: &'static str) -> Result<()> {
    if value.raw().str()? == expected {
        Ok(())
    } else {
        Err(DecodeError::new(format!(
            "the document is of another kind, expected `{expected}`"
        )))
    }
}

#[cold]
pub(super) fn missing_field(name: &str) -> DecodeError {
    DecodeError::new(format!("missing field `{name}`"))
}

/// The error of a variant that the enum does not have.
#[cold]
#[must_use]
pub fn unknown_variant(known: &[&str]) -> DecodeError {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    DecodeError::new(match &known[..] {
        [] => "unknown variant, there are no variants".to_owned(),
        [one] => format!("unknown variant, expected {one}"),
        [one, other] => format!("unknown variant, expected {one} or {other}"),
        all => format!("unknown variant, expected one of {}", all.join(", ")),
    })
}

/// Whether a document has one of the keys.
pub(super) fn has_any(elements: Elements<'_>, keys: &[&str]) -> Result<bool> {
    has_key(elements, |key| keys.contains(&key))
}

fn has_key(mut elements: Elements<'_>, is_meant: impl Fn(&str) -> bool) -> Result<bool> {
    while let Some((key, _)) = elements.next_entry()? {
        if is_meant(key) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a document has a field of one of the types.
///
/// # Errors
/// The document is malformed.
pub fn names_any(elements: Elements<'_>, types: &[&'static Names]) -> Result<bool> {
    has_key(elements, |key| types.iter().any(|names| names.contains(key)))
}

/// Reads one field of a document.
pub fn find<'de, T: Decode<'de>>(elements: Elements<'de>, name: &'static str) -> Result<T> {
    match elements.find(name)? {
        Some((value, rest)) => T::decode(&value).map_err(|error| rest.locate(name, &value, error)),
        None => required(None, name, T::missing),
    }
}

/// The tag of an enum, which is in the document of the variant. `None` if there is none.
pub fn tag_if_any<'de>(elements: Elements<'de>, name: &str) -> Result<Option<&'de str>> {
    let Some((value, rest)) = elements.find(name)? else {
        return Ok(None);
    };
    match value.raw().str() {
        Ok(tag) => Ok(Some(tag)),
        Err(error) => Err(rest.locate(name, &value, error)),
    }
}

/// The tag of an enum, which is in the document of the variant.
pub fn tag<'de>(elements: Elements<'de>, name: &str) -> Result<&'de str> {
    tag_if_any(elements, name)?.ok_or_else(|| missing_field(name))
}

/// Adds the name of the tag to the error of an unknown variant.
#[cold]
#[must_use]
pub fn at_tag(elements: Elements<'_>, name: &str, error: DecodeError) -> DecodeError {
    match elements.find(name) {
        Ok(Some((value, rest))) => rest.locate(name, &value, error),
        _ => error,
    }
}

/// The content of a variant, with the document that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Content<'de> {
    key: &'de str,
    value: Value<'de>,
    within: Elements<'de>,
}

impl<'de> Content<'de> {
    /// Reads the content.
    #[inline]
    pub fn read<T>(&self, read: impl FnOnce(&Value<'de>) -> Result<T>) -> Result<T> {
        read(&self.value).map_err(|error| self.within.locate(self.key, &self.value, error))
    }
}

/// The content of a variant that has one, in the document whose only key is the name of the variant.
#[inline]
pub fn content<'de>(content: Option<Content<'de>>) -> Result<Content<'de>> {
    content.ok_or_else(|| {
        DecodeError::new("the variant has content: expected a document with one field, found a string")
    })
}

/// The content of a variant that has none: nothing, or Null.
#[inline]
pub fn no_content(content: Option<Content<'_>>) -> Result<()> {
    content.map_or(Ok(()), |content| content.read(<()>::decode))
}

/// The content of a variant beside its tag. `missing`: the value if there is none.
#[inline]
pub fn content_beside<'de, T>(
    content: Option<Content<'de>>,
    name: &'static str,
    missing: Option<T>,
    read: impl FnOnce(&Value<'de>) -> Result<T>,
) -> Result<T> {
    match content {
        Some(content) => content.read(read),
        None => missing.ok_or_else(|| missing_field(name)),
    }
}

/// The name of a variant, which is the only key of a document with its content, or a string for a variant without one.
pub fn variant<'de>(value: &Value<'de>) -> Result<(&'de str, Option<Content<'de>>)> {
    if value.kind() == ElementType::String {
        return Ok((value.raw().str()?, None));
    }
    let expected = || value.mismatch("a string, or a document with one field: the name of a variant");
    let mut elements = match value.kind() {
        ElementType::EmbeddedDocument => value.document()?,
        _ => return Err(expected()),
    };
    let Some((key, content)) = elements.next_entry()? else {
        return Err(expected());
    };
    let within = elements;
    if elements.next_entry()?.is_some() {
        return Err(expected());
    }
    let content = Content {
        key,
        value: content,
        within,
    };
    Ok((key, Some(content)))
}

/// The tag of an enum and the content of the variant, which are two fields of one document. `is_only`: other fields are
/// errors.
pub fn tag_and_content<'de>(
    value: &Value<'de>,
    tag: &str,
    content: &str,
    is_only: bool,
) -> Result<(&'de str, Option<Content<'de>>)> {
    tag_and_content_of(value.document()?, tag, content, is_only)
}

/// [`tag_and_content`] in the elements of a document.
pub fn tag_and_content_of<'de>(
    elements: Elements<'de>,
    tag: &str,
    content: &str,
    is_only: bool,
) -> Result<(&'de str, Option<Content<'de>>)> {
    let (name, content) = tag_and_content_if_any(elements, tag, content, is_only)?;
    Ok((name.ok_or_else(|| missing_field(tag))?, content))
}

/// [`tag_and_content_of`] for an enum that may have no tag: the tag is then `None`.
pub fn tag_and_content_if_any<'de>(
    mut elements: Elements<'de>,
    tag: &str,
    content: &str,
    is_only: bool,
) -> Result<(Option<&'de str>, Option<Content<'de>>)> {
    let (mut name, mut found) = (None, None);
    while let Some((key, value)) = elements.next_entry()? {
        let located = |error| elements.locate(key, &value, error);
        if key == tag {
            let text = value.raw().str().map_err(located)?;
            if name.replace(text).is_some() {
                return Err(located(DecodeError::new("duplicate field")));
            }
        } else if key == content {
            let content = Content {
                key,
                value,
                within: elements,
            };
            if found.replace(content).is_some() {
                return Err(located(DecodeError::new("duplicate field")));
            }
        } else if is_only {
            return Err(located(DecodeError::new("unknown field")));
        }
    }
    Ok((name, found))
}

/// The variant of an untagged enum: the first one that reads the value in exactly the form in which it is written, otherwise
/// the first one that reads it at all. `None` if no variant does.
pub fn first_variant<'de, T>(value: &Value<'de>, variants: &[fn(&Value<'de>) -> Result<T>]) -> Option<T> {
    let read = |value: Value<'de>| variants.iter().find_map(|variant| variant(&value).ok());
    read(value.exactly(true)).or_else(|| (!value.is_exact()).then(|| read(*value)).flatten())
}

/// [`first_variant`] for a flattened enum, from the elements of the document that has the fields of the variant.
pub fn first_variant_beside<'de, T>(
    elements: Elements<'de>,
    variants: &[fn(Elements<'de>) -> Result<T>],
) -> Option<T> {
    let read = |elements: Elements<'de>| variants.iter().find_map(|variant| variant(elements).ok());
    read(elements.exactly(true)).or_else(|| (!elements.is_exact()).then(|| read(elements)).flatten())
}

/// The error of a document that has the fields of no variant of a flattened enum.
#[cold]
#[must_use]
pub fn no_variant_beside() -> DecodeError {
    DecodeError::new("the document has the fields of none of the variants")
}

/// The error of a value that no variant of an untagged enum reads.
#[cold]
#[must_use]
pub fn no_variant(value: &Value<'_>) -> DecodeError {
    value.mismatch("the form of one of the variants")
}

/// Reads an array of any length.
pub fn list<'de, T: Decode<'de>>(value: &Value<'de>) -> Result<Vec<T>> {
    let mut items = Items::new(value)?;
    let mut all = Vec::new();
    while let Some(item) = items.next_if_any(T::decode)? {
        all.push(item);
    }
    Ok(all)
}

/// Reads an array of `N` items.
pub(super) fn array<'de, T: Decode<'de>, const N: usize>(value: &Value<'de>) -> Result<[T; N]> {
    let mut items = Items::new(value)?;
    let mut slots = [const { None }; N];
    for slot in &mut slots {
        *slot = Some(items.next_of(N, T::decode)?);
    }
    items.end(N)?;
    Ok(slots.map(|slot| slot.unwrap_or_else(|| unreachable!("each slot has an item"))))
}

/// The items of an array, of one type or of several.
#[derive(Debug)]
pub struct Items<'de> {
    elements: Elements<'de>,
    index: usize,
}

impl<'de> Items<'de> {
    /// Begins to read an array.
    #[inline]
    pub fn new(value: &Value<'de>) -> Result<Self> {
        Ok(Items {
            elements: value.array()?,
            index: 0,
        })
    }

    /// The next item.
    #[inline]
    pub fn next_if_any<T>(&mut self, read: impl FnOnce(&Value<'de>) -> Result<T>) -> Result<Option<T>> {
        let Some(value) = self.elements.next_item()? else {
            return Ok(None);
        };
        match read(&value) {
            Ok(item) => {
                self.index += 1;
                Ok(Some(item))
            }
            Err(error) => Err(self.elements.locate_item(self.index, &value, error)),
        }
    }

    /// The next of `len` items.
    #[inline]
    pub fn next_of<T>(&mut self, len: usize, read: impl FnOnce(&Value<'de>) -> Result<T>) -> Result<T> {
        match self.next_if_any(read)? {
            Some(item) => Ok(item),
            None => Err(wrong_length(len, self.index)),
        }
    }

    /// The array has `len` items.
    pub fn end(mut self, len: usize) -> Result<()> {
        let mut found = self.index;
        while self.elements.next_item()?.is_some() {
            found += 1;
        }
        if found == len {
            Ok(())
        } else {
            Err(wrong_length(len, found))
        }
    }
}

/// The error of an array with another number of items.
#[cold]
pub(super) fn wrong_length(expected: usize, found: usize) -> DecodeError {
    DecodeError::new(format!("expected an array of {expected} items, found {found}"))
}
