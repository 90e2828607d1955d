//! Splits the writes of a call into commands (Bulk Write specification, "Command Batching").

use super::NamespaceTable;

/// What the splitting needs to know about a write.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The size of its document in `ops`, in bytes.
    pub size: usize,
    /// The index of its namespace in the [`NamespaceTable`].
    pub namespace: usize,
    /// Whether it can write several documents, so that a command with it is not retryable.
    pub is_multi: bool,
}

/// The limits of one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `maxWriteBatchSize`
    pub writes: usize,
    /// The maximum size of `ops` and `nsInfo` together, in bytes: `maxMessageSizeBytes` without the
    /// allowance for the message and without the other fields of the command.
    pub bytes: usize,
    /// As `bytes`, for a command with one write. Larger if automatic encryption limits commands with several.
    pub single: usize,
}

/// The writes of one command: the first of those that have not been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of writes. 0 if not even one write fits into a command.
    pub count: usize,
    /// The size of `ops` and `nsInfo`, in bytes.
    pub bytes: usize,
    /// Whether one of the writes can write several documents.
    pub is_multi: bool,
}

impl Batch {
    /// Takes as many writes as a command can contain. Afterwards the table holds `nsInfo` of the
    /// command.
    pub fn plan(
        writes: impl IntoIterator<Item = Write>,
        namespaces: &mut NamespaceTable,
        limits: Limits,
    ) -> Self {
        namespaces.begin_batch();
        let mut batch = Self::default();
        for write in writes.into_iter().take(limits.writes.max(1)) {
            let bytes = batch.bytes + write.size + namespaces.growth(write.namespace);
            let most = if batch.count == 0 {
                limits.single
            } else {
                limits.bytes
            };
            if bytes > most {
                break;
            }
            namespaces.add(write.namespace);
            batch.bytes = bytes;
            batch.count += 1;
            batch.is_multi |= write.is_multi;
        }
        batch
    }
}
