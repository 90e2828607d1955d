//! Writes documents by the form of Rust types.

use std::fmt;

use serde::Serialize;

use crate::bson::{
    Bson, Document, capacity,
    element::{Counter, append_key, append_literal_element, append_literal_key, append_text},
    error::EncodeError,
    limits::{MAX_DEPTH, length},
    ser::{Encoder, UNKNOWN, ValueSerializer},
    spec::{BinarySubtype, ElementType},
    tree,
};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// The names of the fields of a type that is stored as a document. The key of a flattened map cannot be one of them.
#[derive(Debug)]
pub struct Names {
    /// The names and the aliases.
    pub own: &'static [&'static str],
    /// The names of the flattened fields.
    pub flat: &'static [&'static Names],
    /// The names of the variants of an enum, of which a document has one.
    pub alternatives: &'static [&'static Names],
    /// Whether the type is a map, whose keys are not known.
    pub is_map: bool,
}

impl Names {
    /// No names.
    pub const NONE: Names = Names::of(&[]);
    /// The names of a map, which are not known.
    pub const MAP: Names = Names {
        is_map: true,
        ..Names::NONE
    };

    /// These names.
    #[must_use]
    pub const fn of(own: &'static [&'static str]) -> Self {
        Names {
            own,
            flat: &[],
            alternatives: &[],
            is_map: false,
        }
    }

    /// Whether a field has this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.own.contains(&name)
            || self.flat.iter().any(|flat| flat.contains(name))
            || self.alternatives.iter().any(|variant| variant.contains(name))
    }

    /// Checks the names when the code that writes them is compiled.
    ///
    /// # Panics
    /// Two fields of one document have the same name.
    pub const fn assert_distinct(&self) {
        assert!(
            !self.has_duplicates(),
            "two fields of the document have the same name, one of them in a flattened type or as the tag"
        );
    }

    /// Whether two fields of one document have the same name, of which the flattened ones could not be distinguished.
    #[must_use]
    pub const fn has_duplicates(&self) -> bool {
        let mut own = self.own;
        while let [first, rest @ ..] = own {
            if any_is(rest, first) {
                return true;
            }
            own = rest;
        }
        let mut flat = self.flat;
        while let [first, rest @ ..] = flat {
            if first.has_duplicates() || first.has_any(self.own) {
                return true;
            }
            let mut others = rest;
            while let [other, rest @ ..] = others {
                if first.overlaps(other) {
                    return true;
                }
                others = rest;
            }
            flat = rest;
        }
        let mut variants = self.alternatives;
        while let [first, rest @ ..] = variants {
            if first.has_duplicates() {
                return true;
            }
            variants = rest;
        }
        false
    }

    /// Whether a field has a name that a field of the other type has. Two enums overlap if any of their variants do: a
    /// document can have a variant of each.
    const fn overlaps(&self, other: &Names) -> bool {
        other.has_any(self.own) || any_overlaps(self.flat, other) || any_overlaps(self.alternatives, other)
    }

    /// Whether a field has one of the names.
    const fn has_any(&self, names: &[&str]) -> bool {
        let mut names = names;
        while let [first, rest @ ..] = names {
            if self.is_name(first) {
                return true;
            }
            names = rest;
        }
        false
    }

    /// [`contains`](Self::contains) for constants.
    const fn is_name(&self, name: &str) -> bool {
        if any_is(self.own, name) {
            return true;
        }
        let mut flat = self.flat;
        while let [first, rest @ ..] = flat {
            if first.is_name(name) {
                return true;
            }
            flat = rest;
        }
        let mut variants = self.alternatives;
        while let [first, rest @ ..] = variants {
            if first.is_name(name) {
                return true;
            }
            variants = rest;
        }
        false
    }
}

/// Whether one of the types has a name that a field of the other type has.
const fn any_overlaps(types: &[&Names], other: &Names) -> bool {
    let mut types = types;
    while let [first, rest @ ..] = types {
        if first.overlaps(other) {
            return true;
        }
        types = rest;
    }
    false
}

/// Whether one of the names is this one.
const fn any_is(names: &[&str], name: &str) -> bool {
    let mut names = names;
    while let [first, rest @ ..] = names {
        let (mut a, mut b) = (first.as_bytes(), name.as_bytes());
        while let ([x, more_of_a @ ..], [y, more_of_b @ ..]) = (a, b) {
            if *x != *y {
                break;
            }
            (a, b) = (more_of_a, more_of_b);
        }
        if a.is_empty() && b.is_empty() {
            return true;
        }
        names = rest;
    }
    false
}

/// Appends values to a buffer.
///
/// A key is written before the type of its value is known: the value then writes its type. What a type writes by mistake is an
/// error: no value after a key, a second value, or another value in place of one whose error was dropped.
pub struct Writer<'o> {
    encoder: Encoder<'o>,
    /// The names of the document that is being written.
    names: &'static Names,
    /// Whether an element had an error, after which the buffer holds a part of it.
    has_failed: bool,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The buffer has values.
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The start of a document or an array, and what the writer knows of the enclosing one.
#[derive(Debug)]
#[must_use = "a document that is begun must be ended"]
pub struct Open {
    start: usize,
    names: &'static Names,
}

impl Writer<'_> {
    /// Appends one document to `out` by a function. After an error `out` is unchanged.
    ///
    /// # Errors
    /// The errors of the function, and one if it does not write exactly one document.
    #[inline]
    pub fn write(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>) -> Result) -> Result {
        let start = out.len();
        let mut writer = Writer {
            encoder: Encoder::new(out),
            names: &Names::NONE,
            has_failed: false,
        };
        let result = write(&mut writer).and_then(|()| writer.check(start));
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Checks that one document was written after `start`.
    #[inline]
    fn check(&self, start: usize) -> Result {
        let document = self.encoder.out.get(start..).unwrap_or_default();
        let length = document.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
        if length.map(usize::try_from) != Some(Ok(document.len())) {
            return Err(EncodeError::new(
                "expected one document, found another number of values",
            ));
        }
        if self.has_failed || self.encoder.depth != 0 {
            return Err(EncodeError::new(
                "the error of a value was dropped, so that the document is incomplete",
            ));
        }
        Ok(())
    }

    /// Writes a field whose name is in the source.
    ///
    /// # Errors
    /// The errors of the function, with the name, and one if it does not write one value.
    #[inline(always)]
    pub fn field(&mut self, name: &'static str, write: impl FnOnce(&mut Self) -> Result) -> Result {
        // The compiler knows the name, and so whether it contains a zero byte.
        if name.as_bytes().contains(&0) {
            return Err(EncodeError::zero_in_key().in_field(name));
        }
        let at = self.encoder.out.len();
        self.encoder.type_index = at;
        append_literal_key(self.encoder.out, UNKNOWN, name);
        match write(self) {
            Ok(()) if self.is_written(at) => Ok(()),
            result => Err(self.failed(result).in_field(name)),
        }
    }

    /// Writes a field whose name is in the source, and whose value has a constant length. It costs less than
    /// [`field`](Self::field) with [`fixed`](Self::fixed), which is the same.
    ///
    /// # Errors
    /// If the name contains a zero byte.
    #[inline(always)]
    pub fn fixed_field<const N: usize>(
        &mut self,
        name: &'static str,
        kind: ElementType,
        bytes: [u8; N],
    ) -> Result {
        // The compiler knows the name, and so whether it contains a zero byte.
        if name.as_bytes().contains(&0) {
            return Err(EncodeError::zero_in_key().in_field(name));
        }
        // A value after it without a name is then a second one.
        self.encoder.type_index = self.encoder.out.len();
        append_literal_element(self.encoder.out, kind as u8, name, bytes);
        Ok(())
    }

    /// Writes a String in a field whose name is in the source. It costs less than [`field`](Self::field) with
    /// [`string`](Self::string), which is the same.
    ///
    /// # Errors
    /// If the text is larger than 2 GiB, or the name contains a zero byte.
    #[inline(always)]
    pub fn string_field(&mut self, name: &'static str, text: &str) -> Result {
        match length(text.len() + 1) {
            Ok(len) => {
                self.fixed_field(name, ElementType::String, len.to_le_bytes())?;
                append_text(self.encoder.out, text);
                Ok(())
            }
            Err(error) => Err(self.failed(Err(error)).in_field(name)),
        }
    }

    /// Whether the value of the element that begins here is written.
    #[inline]
    fn is_written(&self, at: usize) -> bool {
        self.encoder.out.get(at).is_some_and(|kind| *kind != UNKNOWN)
    }

    /// The error of an element.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, result: Result) -> EncodeError {
        self.has_failed = true;
        match result {
            Err(error) => error,
            Ok(()) => EncodeError::new("the type has not written a value"),
        }
    }

    /// Writes the type of the value whose key is written. A value that is written already keeps its own.
    #[inline]
    fn kind(&mut self, kind: ElementType) -> Result {
        match self.encoder.out.get_mut(self.encoder.type_index) {
            Some(slot) if *slot == UNKNOWN => {
                *slot = kind as u8;
                Ok(())
            }
            Some(_) => Err(self.has_second_value()),
            None => self.encoder.kind(kind),
        }
    }

    #[inline]
    fn begin_value(&mut self) -> Result {
        match self.encoder.out.get(self.encoder.type_index) {
            None | Some(&UNKNOWN) => Ok(()),
            Some(_) => Err(self.has_second_value()),
        }
    }

    #[cold]
    #[inline(never)]
    fn has_second_value(&mut self) -> EncodeError {
        self.failed(Err(EncodeError::new("the type has written a second value")))
    }

    /// Writes an entry of a map.
    ///
    /// # Errors
    /// If the key contains a zero byte or is the name of a field beside the map, and those of the function.
    pub fn entry(&mut self, key: &str, write: impl FnOnce(&mut Self) -> Result) -> Result {
        if self.names.contains(key) {
            let error = EncodeError::new("a flattened map has a key that is the name of a field");
            return Err(self.failed(Err(error)).in_field(key));
        }
        let at = self.encoder.out.len();
        self.encoder.type_index = at;
        if !append_key(self.encoder.out, UNKNOWN, key) {
            return Err(self.failed(Err(EncodeError::zero_in_key())).in_field(key));
        }
        match write(self) {
            Ok(()) if self.is_written(at) => Ok(()),
            result => Err(self.failed(result).in_field(key)),
        }
    }

    /// Writes a value whose bytes have a constant length.
    ///
    /// # Errors
    /// If a document is expected.
    #[inline]
    pub fn fixed<const N: usize>(&mut self, kind: ElementType, bytes: [u8; N]) -> Result {
        self.kind(kind)?;
        self.encoder.out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Writes a String.
    ///
    /// # Errors
    /// If it is larger than 2 GiB, or a document is expected.
    #[inline]
    pub fn string(&mut self, text: &str) -> Result {
        self.kind(ElementType::String)?;
        self.encoder.string(text)
    }

    /// Writes a Binary.
    ///
    /// # Errors
    /// If it is larger than 2 GiB, or a document is expected.
    pub fn binary(&mut self, subtype: BinarySubtype, bytes: &[u8]) -> Result {
        self.kind(ElementType::Binary)?;
        let is_old = subtype == BinarySubtype::BinaryOld;
        let len = length(bytes.len() + if is_old { 4 } else { 0 })?;
        self.encoder.out.extend_from_slice(&len.to_le_bytes());
        self.encoder.out.push(subtype.into());
        if is_old {
            self.encoder.out.extend_from_slice(&(len - 4).to_le_bytes());
        }
        capacity::append(self.encoder.out, bytes);
        Ok(())
    }

    /// Writes bytes that are encoded already as a value of this type.
    ///
    /// # Errors
    /// If a document is expected, and the type is another one.
    pub fn encoded(&mut self, kind: ElementType, bytes: &[u8]) -> Result {
        self.kind(kind)?;
        capacity::append(self.encoder.out, bytes);
        Ok(())
    }

    /// Begins a document or an array. `names`: what the keys of a flattened map in it cannot be.
    ///
    /// # Errors
    /// If documents nest too deep.
    #[inline]
    pub fn begin(&mut self, kind: ElementType, names: &'static Names) -> Result<Open> {
        self.kind(kind)?;
        self.encoder.enter()?;
        let names = std::mem::replace(&mut self.names, names);
        let start = self.encoder.open();
        Ok(Open { start, names })
    }

    /// Ends a document or an array.
    ///
    /// # Errors
    /// If it is larger than 2 GiB.
    #[expect(clippy::needless_pass_by_value, reason = "a document is ended once")]
    #[inline]
    pub fn end(&mut self, open: Open) -> Result {
        self.names = open.names;
        self.encoder.end(open.start)
    }

    /// Writes an array, each item by the function.
    ///
    /// # Errors
    /// The errors of the function, with the index.
    #[inline]
    pub fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result,
    ) -> Result {
        let open = self.begin(ElementType::Array, &Names::NONE)?;
        let mut counter = Counter::new();
        for item in items {
            let at = self.encoder.out.len();
            self.encoder.index(&counter);
            match write(self, item) {
                Ok(()) if self.is_written(at) => counter.advance(),
                result => return Err(self.failed(result).at_index(counter.index())),
            }
        }
        self.end(open)
    }

    /// Writes a value by its `Serialize`.
    ///
    /// # Errors
    /// If the value cannot be represented as BSON.
    pub fn serialize<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.begin_value()?;
        value.serialize(ValueSerializer::new(&mut self.encoder))
    }

    /// Writes a document of any form.
    ///
    /// # Errors
    /// If a key contains a zero byte, or documents nest too deep.
    pub fn document(&mut self, document: &Document) -> Result {
        self.kind(ElementType::EmbeddedDocument)?;
        let depth = MAX_DEPTH
            .checked_sub(self.encoder.depth + 1)
            .ok_or_else(EncodeError::too_deep)?;
        tree::append_fields(document, self.encoder.out, depth)
    }

    /// Writes a value of any type.
    ///
    /// # Errors
    /// If a key contains a zero byte, or documents nest too deep.
    pub fn bson(&mut self, value: &Bson) -> Result {
        self.begin_value()?;
        let depth = MAX_DEPTH.saturating_sub(self.encoder.depth);
        tree::append_content(value, self.encoder.type_index, self.encoder.out, depth)
    }
}
