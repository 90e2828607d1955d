//! Documents and arrays: structs, maps, sequences, tuples and the variants that hold them.

use serde::Serialize;
use serde::ser;

use super::Encoder;
use super::key::KeySerializer;
use super::value::ValueSerializer;
use super::vocabulary::{RawKind, RawSerializer, VocabularySerializer};
use crate::bson::element::Counter;
use crate::bson::error::EncodeError;
use crate::bson::protocol;
use crate::bson::spec::ElementType;

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Writes the fields of a document.
pub(in crate::bson) struct DocumentSerializer<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    start: usize,
    /// Where the type byte of a map key stands whose value is to come.
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

    /// Always inlined, so that the key is known to be the literal it is.
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
        self.encoder.slot = at;
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

impl ser::SerializeMap for DocumentSerializer<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        if self.pending.is_some() {
            return Err(EncodeError::new("a map key has no value"));
        }
        self.key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.value(value)
    }

    #[inline]
    fn end(self) -> Result {
        self.finish()
    }
}

/// A struct: a document, or one of the BSON types that crate bson shows to serde as structs.
pub(in crate::bson) enum StructSerializer<'a, 'o> {
    Document(DocumentSerializer<'a, 'o>),
    Vocabulary(VocabularySerializer<'a, 'o>),
    /// A value that comes with hints.
    Hinted(&'a mut Encoder<'o>),
}

impl ser::SerializeStruct for StructSerializer<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Document(document) => document.field(key, value),
            Self::Vocabulary(vocabulary) => vocabulary.field(key, value),
            Self::Hinted(encoder) if key == protocol::HINT => {
                value.serialize(RawSerializer::new(encoder, RawKind::Hint))
            }
            Self::Hinted(encoder) => value.serialize(ValueSerializer::new(encoder)),
        }
    }

    #[inline(always)]
    fn end(self) -> Result {
        match self {
            Self::Document(document) => document.finish(),
            Self::Vocabulary(vocabulary) => vocabulary.finish(),
            Self::Hinted(encoder) => {
                encoder.hints.clear();
                Ok(())
            }
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
