//! The namespaces of a client bulk write, and `nsInfo` of its commands.

use std::{collections::HashMap, sync::Arc};

use crate::{
    Namespace,
    bson::{DocumentWriter, EncodeError},
};

/// The size of an entry of `nsInfo` without the name: `{ ns: "" }`.
const EMPTY_ENTRY: usize = 14;

/// The namespaces of all writes of a call. Each full name is contained once.
#[derive(Debug, Default)]
pub struct NamespaceTable {
    by_namespace: HashMap<Arc<Namespace>, usize>,
    by_name: HashMap<String, usize>,
    entries: Vec<Entry>,
    /// The entries of `nsInfo` of the current batch, in order, as indexes of `entries`.
    batch: Vec<usize>,
}

#[derive(Debug)]
struct Entry {
    /// `database.collection`
    name: String,
    /// The index in `nsInfo` of the current batch.
    position: Option<i32>,
}

impl NamespaceTable {
    /// The index of a namespace in the table, which adds it if it is new.
    pub fn index_of(&mut self, namespace: &Arc<Namespace>) -> usize {
        if let Some(index) = self.by_namespace.get(namespace) {
            return *index;
        }
        // Different namespaces have the same name if the name of a database contains a dot.
        let name = namespace.to_string();
        let index = *self.by_name.entry(name.clone()).or_insert(self.entries.len());
        if index == self.entries.len() {
            self.entries.push(Entry { name, position: None });
        }
        self.by_namespace.insert(Arc::clone(namespace), index);
        index
    }

    /// Begins a batch, whose `nsInfo` is empty.
    pub(super) fn begin_batch(&mut self) {
        for index in self.batch.drain(..) {
            if let Some(entry) = self.entries.get_mut(index) {
                entry.position = None;
            }
        }
    }

    /// The number of bytes by which `nsInfo` of the batch grows with a namespace: 0 if it is
    /// contained already.
    pub(super) fn growth(&self, index: usize) -> usize {
        match self.entries.get(index) {
            Some(entry) if entry.position.is_none() => EMPTY_ENTRY + entry.name.len(),
            _ => 0,
        }
    }

    /// Adds a namespace to `nsInfo` of the batch, unless it is contained already.
    pub(super) fn add(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index)
            && entry.position.is_none()
        {
            entry.position = i32::try_from(self.batch.len()).ok();
            self.batch.push(index);
        }
    }

    /// The index of a namespace in `nsInfo` of the batch, which contains it.
    pub fn position(&self, index: usize) -> i32 {
        self.entries
            .get(index)
            .and_then(|entry| entry.position)
            .unwrap_or_default()
    }

    /// Appends the documents of `nsInfo` of the batch.
    pub fn append_ns_info(&self, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
        for entry in self.batch.iter().filter_map(|index| self.entries.get(*index)) {
            let mut writer = DocumentWriter::new(buffer);
            let document = writer.begin();
            writer.str("ns", &entry.name);
            writer.end(document);
            writer.finish()?;
        }
        Ok(())
    }
}
