//! Documents and arrays: structs, maps, sequences, tuples and the variants that hold them.

use std::ops::Range;

use serde::Serialize;
use serde::ser;

use super::Encoder;
use super::extended_json_shapes::ShapeSerializer;
use super::key::KeySerializer;
use crate::bson::{element::Counter, error::EncodeError, spec::ElementType};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Writes the fields of a document.
pub(in crate::bson) struct DocumentSerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    start: usize,
    /// Index of the type byte of a map key whose value is not written yet.
    pending: Option<usize>,
}

impl<'a, 'o> DocumentSerializer<'a, 'o> {
    #[inline]
    pub(super) fn begin(encoder: &'a mut Encoder<'o>) -> Result<Self> {
        let start = encoder.begin(ElementType::EmbeddedDocument)?;
        Ok(Self {
            encoder,
            start,
            pending: None,
        })
    }

    /// Always inlined, so that the literal is known where the key is written.
    #[inline(always)]
    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        let mark = self.encoder.mark();
        let result = match self.encoder.key(key) {
            Ok(()) => self.encoder.value(value),
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => Ok(()),
            Err(error) => Err(self.encoder.fail_in_field(mark, key, error)),
        }
    }

    #[inline]
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let mark = self.encoder.mark();
        match key.serialize(KeySerializer::new(self.encoder.out)) {
            Ok(()) => {
                self.pending = Some(mark.len);
                Ok(())
            }
            Err(error) => {
                self.encoder.undo(mark);
                Err(error)
            }
        }
    }

    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let Some(at) = self.pending.take() else {
            return Err(EncodeError::new("a map value comes before its key"));
        };
        let mut mark = self.encoder.mark();
        self.encoder.type_index = at;
        match self.encoder.value(value) {
            Ok(()) => Ok(()),
            Err(error) => {
                let key = self.encoder.out.get(at + 1..mark.len - 1).unwrap_or_default();
                let error = error.in_field(&String::from_utf8_lossy(key));
                mark.len = at;
                self.encoder.undo(mark);
                Err(error)
            }
        }
    }

    #[inline]
    pub(super) fn finish(self) -> Result {
        if self.pending.is_some() {
            return Err(EncodeError::new("a map key has no value"));
        }
        self.encoder.end(self.start)
    }
}

/// A map. One whose length is not known can be a struct with a flattened field (serde's `flatten`), whose keys can be those of
/// other fields: the names of its fields are compared.
pub(in crate::bson) struct MapSerializer<'a, 'o> {
    document: DocumentSerializer<'a, 'o>,
    /// Where the names of the fields are in the output. `None` for a map of distinct keys.
    names: Option<Vec<Range<usize>>>,
}

impl<'a, 'o> MapSerializer<'a, 'o> {
    #[inline]
    pub(super) fn new(document: DocumentSerializer<'a, 'o>, len: Option<usize>) -> Self {
        let names = match len {
            Some(_) => None,
            None => Some(Vec::new()),
        };
        Self { document, names }
    }
}

/// Rejects two fields of the same name.
fn check_names(out: &[u8], names: &mut [Range<usize>]) -> Result {
    let name = |range: &Range<usize>| out.get(range.clone()).unwrap_or_default();
    names.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    let same = names.windows(2).find_map(|pair| match pair {
        [a, b] if name(a) == name(b) => Some(name(a)),
        _ => None,
    });
    match same {
        Some(same) => Err(EncodeError::new("two fields of the document have this name")
            .in_field(&String::from_utf8_lossy(same))),
        None => Ok(()),
    }
}

impl ser::SerializeMap for MapSerializer<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let document = &mut self.document;
        if document.pending.is_some() {
            return Err(EncodeError::new("a map key has no value"));
        }
        document.key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let document = &mut self.document;
        let name = document.pending.map(|at| at + 1..document.encoder.out.len() - 1);
        document.value(value)?;
        if let (Some(names), Some(name)) = (&mut self.names, name) {
            names.push(name);
        }
        Ok(())
    }

    #[inline]
    fn end(self) -> Result {
        if let Some(mut names) = self.names {
            check_names(self.document.encoder.out, &mut names)?;
        }
        self.document.finish()
    }
}

/// A struct: a document, or a BSON type that crate bson serializes as a struct.
pub(in crate::bson) enum StructSerializer<'a, 'o> {
    Document(DocumentSerializer<'a, 'o>),
    Shape(ShapeSerializer<'a, 'o>),
}

impl ser::SerializeStruct for StructSerializer<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Document(document) => document.field(key, value),
            Self::Shape(shape) => shape.field(key, value),
        }
    }

    #[inline(always)]
    fn end(self) -> Result {
        match self {
            Self::Document(document) => document.finish(),
            Self::Shape(shape) => shape.finish(),
        }
    }
}

/// Writes the elements of an array.
pub(in crate::bson) struct ArraySerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    start: usize,
    next: Counter,
}

impl<'a, 'o> ArraySerializer<'a, 'o> {
    #[inline]
    pub(super) fn begin(encoder: &'a mut Encoder<'o>) -> Result<Self> {
        let start = encoder.begin(ElementType::Array)?;
        Ok(Self {
            encoder,
            start,
            next: Counter::new(),
        })
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let mark = self.encoder.mark();
        self.encoder.index(&self.next);
        match self.encoder.value(value) {
            Ok(()) => {
                self.next.advance();
                Ok(())
            }
            Err(error) => {
                self.encoder.undo(mark);
                Err(error.at_index(self.next.index()))
            }
        }
    }

    #[inline]
    fn finish(self) -> Result {
        self.encoder.end(self.start)
    }
}

macro_rules! array {
    ($($name:ident :: $method:ident),*) => {
        $(
            impl ser::$name for ArraySerializer<'_, '_> {
                type Ok = ();
                type Error = EncodeError;

                #[inline]
                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                    self.element(value)
                }

                #[inline]
                fn end(self) -> Result {
                    self.finish()
                }
            }
        )*
    };
}

array!(SerializeSeq::serialize_element, SerializeTuple::serialize_element);
array!(SerializeTupleStruct::serialize_field);

/// A tuple variant: a document with one field, the variant's name, that holds an array.
pub(in crate::bson) struct ArrayVariant<'a, 'o> {
    outer: usize,
    variant: &'static str,
    array: ArraySerializer<'a, 'o>,
}

impl<'a, 'o> ArrayVariant<'a, 'o> {
    pub(super) fn begin(encoder: &'a mut Encoder<'o>, variant: &'static str) -> Result<Self> {
        let outer = encoder.begin(ElementType::EmbeddedDocument)?;
        encoder.key(variant)?;
        Ok(Self {
            outer,
            variant,
            array: ArraySerializer::begin(encoder)?,
        })
    }
}

impl ser::SerializeTupleVariant for ArrayVariant<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.array
            .element(value)
            .map_err(|error| error.in_field(self.variant))
    }

    fn end(self) -> Result {
        self.array.encoder.end(self.array.start)?;
        self.array.encoder.end(self.outer)
    }
}

/// A struct variant: a document with one field, the variant's name, that holds a document.
pub(in crate::bson) struct DocumentVariant<'a, 'o> {
    outer: usize,
    variant: &'static str,
    document: DocumentSerializer<'a, 'o>,
}

impl<'a, 'o> DocumentVariant<'a, 'o> {
    pub(super) fn begin(encoder: &'a mut Encoder<'o>, variant: &'static str) -> Result<Self> {
        let outer = encoder.begin(ElementType::EmbeddedDocument)?;
        encoder.key(variant)?;
        Ok(Self {
            outer,
            variant,
            document: DocumentSerializer::begin(encoder)?,
        })
    }
}

impl ser::SerializeStructVariant for DocumentVariant<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        self.document
            .field(key, value)
            .map_err(|error| error.in_field(self.variant))
    }

    fn end(self) -> Result {
        self.document.encoder.end(self.document.start)?;
        self.document.encoder.end(self.outer)
    }
}
