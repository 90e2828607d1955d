//! The writes of a client bulk write, encoded before the first command is sent.

use std::ops::Range;

use super::super::shown::debug_without_values;
use super::{
    super::{bulk_write::Write, wire::WriteOptions},
    ClientWriteModel,
};
use crate::{
    Error, Result,
    bson::{Bson, DocumentWriter, ElementType, RawDocumentBuf},
    proto::bulk_write::{self, Batch, Limits, NamespaceTable, Written},
};

/// The offset of the value of the first field in a document of `ops`: `insert`, `update` or
/// `delete`. The value is the index of the namespace in `nsInfo`.
const NAMESPACE_INDEX: usize = 4 + 1 + "insert\0".len();

/// The size of `{ insert: 0, document: … }` without the document.
const INSERT_FRAME: usize = NAMESPACE_INDEX + 4 + 1 + "document\0".len() + 1;

/// All writes of a call.
#[derive(Default)]
pub(super) struct Writes {
    all: Vec<EncodedWrite>,
    /// The documents in `ops` of updates and deletes, with 0 as the index of the namespace.
    ops: Vec<u8>,
    namespaces: NamespaceTable,
    /// Number of writes that have been sent.
    sent: usize,
}

debug_without_values! { [] Writes, "Writes", |it| all: it.all.len(), sent: it.sent }

struct EncodedWrite {
    /// The index in the namespace table.
    namespace: usize,
    kind: Kind,
}

enum Kind {
    /// The document is copied once, to the message.
    Insert {
        document: RawDocumentBuf,
        id: Bson,
    },
    Update {
        op: Range<usize>,
        multi: bool,
    },
    Delete {
        op: Range<usize>,
        multi: bool,
    },
}

impl EncodedWrite {
    /// The size in `ops`.
    fn size(&self) -> usize {
        match &self.kind {
            Kind::Insert { document, .. } => INSERT_FRAME + document.as_bytes().len(),
            Kind::Update { op, .. } | Kind::Delete { op, .. } => op.len(),
        }
    }

    fn is_multi(&self) -> bool {
        match self.kind {
            Kind::Insert { .. } => false,
            Kind::Update { multi, .. } | Kind::Delete { multi, .. } => multi,
        }
    }
}

impl Writes {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            all: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    /// Adds a write.
    pub(super) fn push(&mut self, ClientWriteModel { namespace, model }: ClientWriteModel) -> Result<()> {
        let kind = match model.into_write()? {
            Write::Insert { document, id } => Kind::Insert { document, id },
            Write::Update {
                filter,
                modification,
                multi,
                options,
            } => {
                let op = self.encode("update", multi, &options, |op| {
                    op.document("filter", &filter);
                    modification.write(op, "updateMods");
                })?;
                Kind::Update { op, multi }
            }
            Write::Delete {
                filter,
                multi,
                options,
            } => {
                let op = self.encode("delete", multi, &options, |op| op.document("filter", &filter))?;
                Kind::Delete { op, multi }
            }
        };
        let namespace = self.namespaces.index_of(&namespace);
        self.all.push(EncodedWrite { namespace, kind });
        Ok(())
    }

    /// Encodes the document in `ops` of an update or a delete.
    fn encode(
        &mut self,
        name: &str,
        multi: bool,
        options: &impl WriteOptions,
        fields: impl FnOnce(&mut DocumentWriter<'_>),
    ) -> Result<Range<usize>> {
        let start = self.ops.len();
        let mut writer = DocumentWriter::new(&mut self.ops);
        let op = writer.begin();
        writer.i32(name, 0);
        fields(&mut writer);
        writer.bool("multi", multi);
        options.write_statement(&mut writer);
        writer.end(op);
        writer.finish()?;
        Ok(start..self.ops.len())
    }

    /// The position in the call of the first write that has not been sent.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    fn unsent(&self) -> &[EncodedWrite] {
        self.all.get(self.sent..).unwrap_or_default()
    }

    /// Whether all writes have been sent.
    pub(super) fn is_empty(&self) -> bool {
        self.unsent().is_empty()
    }

    /// The writes of the next command.
    pub(super) fn plan(&mut self, limits: Limits) -> Batch {
        let writes = self.all.get(self.sent..).unwrap_or_default();
        let shapes = writes.iter().map(|write| bulk_write::Write {
            size: write.size(),
            namespace: write.namespace,
            is_multi: write.is_multi(),
        });
        Batch::plan(shapes, &mut self.namespaces, limits)
    }

    /// The error if not even the next write fits into a command with these limits.
    pub(super) fn too_large(&self, limits: Limits) -> Error {
        let size = self.unsent().first().map_or(0, EncodedWrite::size);
        Error::invalid_argument(format!(
            "models[{}]: the write has {size} bytes; with its namespace, it does not fit into the {} bytes that a \
             command to this server can contain (maxMessageSizeBytes)",
            self.sent, limits.single
        ))
    }

    /// Appends the documents of `ops` of the planned command.
    pub(super) fn append_ops(&self, count: usize, buffer: &mut Vec<u8>) -> Result<()> {
        for write in self.unsent().iter().take(count) {
            let namespace = self.namespaces.position(write.namespace);
            match &write.kind {
                // Not with a writer, which reserves capacity after a large document: the buffer has
                // the capacity for exactly this command.
                Kind::Insert { document, .. } => {
                    let size = i32::try_from(write.size())
                        .map_err(|_| Error::invalid_argument("a document is larger than 2 GiB"))?;
                    buffer.extend_from_slice(&size.to_le_bytes());
                    buffer.push(ElementType::Int32 as u8);
                    buffer.extend_from_slice(b"insert\0");
                    buffer.extend_from_slice(&namespace.to_le_bytes());
                    buffer.push(ElementType::EmbeddedDocument as u8);
                    buffer.extend_from_slice(b"document\0");
                    buffer.extend_from_slice(document.as_bytes());
                    buffer.push(0);
                }
                Kind::Update { op, .. } | Kind::Delete { op, .. } => {
                    let start = buffer.len() + NAMESPACE_INDEX;
                    buffer.extend_from_slice(self.ops.get(op.clone()).unwrap_or_default());
                    if let Some(place) = buffer.get_mut(start..start + 4) {
                        place.copy_from_slice(&namespace.to_le_bytes());
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the documents of `nsInfo` of the planned command.
    pub(super) fn append_ns_info(&self, buffer: &mut Vec<u8>) -> Result<()> {
        Ok(self.namespaces.append_ns_info(buffer)?)
    }

    /// Marks the next `count` writes as sent.
    pub(super) fn advance(&mut self, count: usize) {
        self.sent += count;
    }

    /// The kind of the write at a position in the call.
    pub(super) fn written(&self, position: usize) -> Option<Written<'_>> {
        self.all.get(position).map(|write| match &write.kind {
            Kind::Insert { id, .. } => Written::Insert(id),
            Kind::Update { .. } => Written::Update,
            Kind::Delete { .. } => Written::Delete,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Namespace, WriteModel,
        bson::{Document, RawElements, decode_document, doc},
    };

    fn writes(models: impl IntoIterator<Item = (&'static str, WriteModel)>) -> Writes {
        let mut writes = Writes::default();
        for (collection, model) in models {
            let model = ClientWriteModel::new(Namespace::new("d", collection), model);
            writes.push(model).unwrap();
        }
        writes
    }

    const UNLIMITED: Limits = Limits {
        writes: usize::MAX,
        bytes: usize::MAX,
        single: usize::MAX,
    };

    fn documents(mut bytes: &[u8]) -> Vec<Document> {
        let mut documents = Vec::new();
        while let Some(length) = bytes.first_chunk::<4>() {
            let (document, rest) = bytes.split_at(i32::from_le_bytes(*length) as usize);
            RawElements::new(document).unwrap();
            documents.push(decode_document(document).unwrap());
            bytes = rest;
        }
        documents
    }

    fn message(writes: &mut Writes, limits: Limits) -> (Vec<Document>, Vec<Document>) {
        let batch = writes.plan(limits);
        let (mut ops, mut ns_info) = (Vec::new(), Vec::new());
        writes.append_ops(batch.count, &mut ops).unwrap();
        writes.append_ns_info(&mut ns_info).unwrap();
        assert_eq!(ops.len() + ns_info.len(), batch.bytes);
        writes.advance(batch.count);
        (documents(&ops), documents(&ns_info))
    }

    #[test]
    fn models_are_encoded_as_ops_with_the_indexes_of_their_namespaces() {
        let mut writes = writes([
            ("a", WriteModel::insert_one(&doc! { "_id": 1 })),
            ("b", WriteModel::insert_one(&doc! { "_id": 2 })),
            (
                "a",
                WriteModel::update_many(doc! { "x": 1 }, doc! { "$set": { "x": 2 } })
                    .upsert(true)
                    .hint("x_1"),
            ),
            (
                "c",
                WriteModel::replace_one(doc! {}, &doc! { "y": 1 }).sort(doc! { "y": 1 }),
            ),
            ("b", WriteModel::update_one(doc! {}, vec![doc! { "$unset": "x" }])),
            ("b", WriteModel::delete_many(doc! { "x": 1 })),
        ]);
        let (ops, ns_info) = message(&mut writes, UNLIMITED);
        assert_eq!(
            ns_info,
            [doc! { "ns": "d.a" }, doc! { "ns": "d.b" }, doc! { "ns": "d.c" }]
        );
        assert_eq!(
            ops,
            [
                doc! { "insert": 0, "document": { "_id": 1 } },
                doc! { "insert": 1, "document": { "_id": 2 } },
                doc! {
                    "update": 0, "filter": { "x": 1 }, "updateMods": { "$set": { "x": 2 } }, "multi": true,
                    "upsert": true, "hint": "x_1"
                },
                doc! { "update": 2, "filter": {}, "updateMods": { "y": 1 }, "multi": false, "sort": { "y": 1 } },
                doc! { "update": 1, "filter": {}, "updateMods": [{ "$unset": "x" }], "multi": false },
                doc! { "delete": 1, "filter": { "x": 1 }, "multi": true },
            ]
        );
        assert!(writes.is_empty());
        assert!(matches!(writes.written(0), Some(Written::Insert(Bson::Int32(1)))));
        assert!(matches!(writes.written(5), Some(Written::Delete)));
        assert!(writes.written(6).is_none());
    }

    #[test]
    fn each_command_contains_only_its_own_namespaces() {
        let insert = || WriteModel::insert_one(&doc! { "_id": 1 });
        let mut writes = writes([("a", insert()), ("b", insert()), ("c", insert()), ("b", insert())]);
        let two = Limits {
            writes: 2,
            ..UNLIMITED
        };
        assert_eq!(
            message(&mut writes, two).1,
            [doc! { "ns": "d.a" }, doc! { "ns": "d.b" }]
        );
        let (ops, ns_info) = message(&mut writes, two);
        assert_eq!(ns_info, [doc! { "ns": "d.c" }, doc! { "ns": "d.b" }]);
        assert_eq!(
            (
                ops[0].get_i32("insert").unwrap(),
                ops[1].get_i32("insert").unwrap()
            ),
            (0, 1)
        );
    }
}
