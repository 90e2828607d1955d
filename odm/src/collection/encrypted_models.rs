//! The encrypted fields of the models of the process.

use std::any::TypeId;
use std::fmt;

use crate::ast::filter::Node;
use crate::bson::{Bson, Document};
use crate::collection::encrypted_ranges::Range;
use crate::collection::encrypted_stages;
use crate::encryption::places::encrypted_paths;
use crate::error::SchemaError;
use crate::model::Model;
use crate::path::field::Field;
use crate::type_map::TypeMap;

/// The stored paths of the encrypted fields of a model, or the error of its declarations.
pub(super) type EncryptedFields = std::result::Result<Vec<String>, SchemaError>;

/// What is known of a model.
struct Declared {
    /// `None` if the model has no encrypted fields.
    fields: Option<EncryptedFields>,
    ranges: Vec<Range>,
}

static MODELS: TypeMap<Declared> = TypeMap::new();

/// The encrypted fields of a model; `None` if it has none.
#[inline]
pub(super) fn encrypted_fields<D: Model>() -> Option<&'static EncryptedFields> {
    if !cfg!(feature = "encryption") {
        return None;
    }
    declared::<D>().fields.as_ref()
}

/// The ranges of the encrypted fields of a model.
pub(super) fn ranges<D: Model>() -> &'static [Range] {
    if !cfg!(feature = "encryption") {
        return &[];
    }
    &declared::<D>().ranges
}

#[inline]
fn declared<D: Model>() -> &'static Declared {
    MODELS.get_or_init(TypeId::of::<D>(), Declared::of::<D>)
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

    #[cfg_attr(
        not(feature = "encryption"),
        expect(dead_code, reason = "a client that encrypts requires the fields")
    )]
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
    /// The conditions on encrypted fields.
    pub(super) operands: Vec<EncryptedOperand>,
}

/// The conditions on an encrypted field in a filter.
#[derive(Clone)]
pub(crate) struct EncryptedOperand {
    pub(super) path: Box<str>,
    pub(super) filter: Document,
}

impl fmt::Debug for EncryptedOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the values.
        f.debug_struct("EncryptedOperand")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl EncryptedReads {
    /// The collections beside its own, with the paths of their encrypted fields.
    pub(super) fn collections(&self) -> Vec<(&str, &[String])> {
        let joined = self.joined.iter();
        joined.map(|model| (&*model.collection, model.paths())).collect()
    }

    /// Notes a collection that a stage reads.
    pub(crate) fn note_joined<F: Model>(&mut self, collection: &str) {
        self.joined.extend(JoinedModel::of::<F>(collection));
    }

    /// Notes the conditions of a filter of documents of type `S` on encrypted fields: those by their operators, and the others
    /// that concern one, such as the comparison of a document that contains it.
    pub(crate) fn note_filter<S: Field>(&mut self, filter: &Node) {
        let by_operators = filter.encrypted();
        let others = encrypted_paths::<S>();
        if by_operators.is_empty() && others.is_empty() {
            return;
        }
        let filter = filter.to_document();
        let first = self.operands.len();
        for path in by_operators.iter().chain(others) {
            let is_noted = self.operands[first..].iter().any(|noted| *noted.path == **path);
            // The fields in a value of unknown form are in every other document.
            let is_on = if path.is_empty() {
                encrypted_stages::compares_document(&filter)
            } else {
                encrypted_stages::is_on(&filter, path)
            };
            if !is_noted && is_on {
                let (path, filter) = (path.as_str().into(), filter.clone());
                self.operands.push(EncryptedOperand { path, filter });
            }
        }
    }

    /// What a filter of documents of type `S` reads; see [`note_filter`](Self::note_filter).
    pub(crate) fn of_filter<S: Field>(filter: &Node) -> Self {
        let mut reads = Self::default();
        reads.note_filter::<S>(filter);
        reads
    }

    /// Adds what a pipeline inside of this one, or a filter of a stage, reads.
    pub(crate) fn add(&mut self, inner: Self) {
        self.joined.extend(inner.joined);
        self.operands.extend(inner.operands);
    }
}

impl Declared {
    fn of<D: Model>() -> Self {
        let declared = D::encrypted_fields();
        let ranges = declared.as_ref().map_or_else(|_| Vec::new(), Range::all);
        let fields = match declared {
            Ok(fields) => Some(paths(&fields)).filter(|paths| !paths.is_empty()).map(Ok),
            Err(error) => Some(Err(error)),
        };
        Declared { fields, ranges }
    }
}

fn paths(fields: &Document) -> Vec<String> {
    let fields = fields.get_array("fields").into_iter().flatten();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}
