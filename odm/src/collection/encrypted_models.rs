//! The encrypted fields of the models of the process.

use std::any::TypeId;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use crate::bson::{Bson, Document};
use crate::collection::encrypted_ranges::Range;
use crate::error::SchemaError;
use crate::model::Model;

/// The stored paths of the encrypted fields of a model, or the error of its declarations.
pub(super) type EncryptedFields = Result<Vec<String>, SchemaError>;

/// A list of models, which grows at its end. It is read without a lock, because every typed call reads it.
type Link = OnceLock<Box<Entry>>;

struct Entry {
    model: TypeId,
    /// `None` if the model has no encrypted fields.
    fields: Option<EncryptedFields>,
    ranges: Vec<Range>,
    next: Link,
}

const LISTS: usize = 64;

static MODELS: [Link; LISTS] = [const { Link::new() }; LISTS];

/// The encrypted fields of a model; `None` if it has none.
#[inline]
pub(super) fn encrypted_fields<D: Model>() -> Option<&'static EncryptedFields> {
    if !cfg!(feature = "encryption") {
        return None;
    }
    entry::<D>().fields.as_ref()
}

/// The ranges of the encrypted fields of a model.
pub(super) fn ranges<D: Model>() -> &'static [Range] {
    if !cfg!(feature = "encryption") {
        return &[];
    }
    &entry::<D>().ranges
}

#[inline]
fn entry<D: Model>() -> &'static Entry {
    let model = TypeId::of::<D>();
    let mut link = &MODELS[list_of(model)];
    loop {
        let entry = link.get_or_init(|| Box::new(Entry::of::<D>()));
        if entry.model == model {
            return entry;
        }
        link = &entry.next;
    }
}

/// A collection whose model has encrypted fields, which a pipeline reads beside its own.
#[derive(Clone, Debug)]
pub(crate) struct JoinedModel {
    collection: String,
    model: &'static str,
    fields: &'static EncryptedFields,
}

impl JoinedModel {
    /// `None` for a model without encrypted fields.
    pub(crate) fn of<F: Model>(collection: &str) -> Option<Self> {
        encrypted_fields::<F>().map(|fields| JoinedModel {
            collection: collection.to_owned(),
            model: F::NAME,
            fields,
        })
    }

    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// The name of the model, for messages.
    #[cfg_attr(
        not(feature = "encryption"),
        expect(dead_code, reason = "a client that encrypts requires the fields")
    )]
    pub(super) fn model(&self) -> &'static str {
        self.model
    }

    /// The paths of the encrypted fields. Empty if the declarations are invalid.
    pub(super) fn paths(&self) -> &'static [String] {
        self.fields.as_deref().unwrap_or_default()
    }

    /// The error of invalid declarations.
    pub(super) fn invalid(&self) -> Option<&'static SchemaError> {
        self.fields.as_ref().err()
    }
}

/// What a pipeline reads of encrypted fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncryptedReads {
    /// The collections beside its own.
    pub(super) joined: Vec<JoinedModel>,
    /// The path of a condition by an operator of an encrypted field.
    pub(super) operand: Option<Box<str>>,
}

impl EncryptedReads {
    /// Notes a collection that a stage reads.
    pub(crate) fn note_joined<F: Model>(&mut self, collection: &str) {
        self.joined.extend(JoinedModel::of::<F>(collection));
    }

    /// Notes the path of a condition, if it is that of an encrypted field.
    pub(crate) fn note_operand(&mut self, path: Option<Box<str>>) {
        self.operand = self.operand.take().or(path);
    }

    /// Adds what a pipeline inside of this one reads.
    pub(crate) fn add(&mut self, inner: Self) {
        self.joined.extend(inner.joined);
        self.note_operand(inner.operand);
    }
}

impl Entry {
    #[cold]
    fn of<D: Model>() -> Self {
        let declared = D::encrypted_fields();
        let ranges = declared.as_ref().map_or_else(|_| Vec::new(), Range::all);
        let fields = match declared {
            Ok(fields) => Some(paths(&fields)).filter(|paths| !paths.is_empty()).map(Ok),
            Err(error) => Some(Err(error)),
        };
        Entry {
            model: TypeId::of::<D>(),
            fields,
            ranges,
            next: Link::new(),
        }
    }
}

fn paths(fields: &Document) -> Vec<String> {
    let fields = fields.get_array("fields").into_iter().flatten();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}

fn list_of(model: TypeId) -> usize {
    let mut bits = Bits(0);
    model.hash(&mut bits);
    (bits.finish() % LISTS as u64) as usize
}

/// The bits that a value writes to its hasher: those of a `TypeId` are a hash.
struct Bits(u64);

impl Hasher for Bits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 ^= value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types with distinct ids: more than there are lists, so that some share one.
    #[test]
    fn types_are_distributed_over_the_lists() {
        macro_rules! lists {
            ($($n:literal)*) => { [$(list_of(TypeId::of::<[u8; $n]>())),*] };
        }
        let mut lists =
            lists![1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32];
        assert!(lists.iter().all(|list| *list < LISTS));
        lists.sort_unstable();
        let distinct = lists.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(distinct > 8, "{lists:?}");
    }
}
