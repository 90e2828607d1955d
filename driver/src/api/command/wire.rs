//! How values of options are written to commands.

use std::time::Duration;

use crate::{
    bson::{Bson, DocumentWriter, RawDocumentBuf},
    operation::OperationOverrides,
    proto::{
        command::{CommandBuilder, max_time_millis, write_documents},
        description::HelloReply,
    },
    types::{
        collation::Collation, hint::Hint, return_document::ReturnDocument,
        server_requirement::ServerRequirement,
    },
};

/// The options of a command.
pub(crate) trait WriteOptions {
    /// Writes the options that are set into the body of the command, in the order of their
    /// declaration.
    fn write(&self, command: &mut CommandBuilder<'_>, server: &HelloReply);

    /// Writes the options with the mark `statement` into a statement of the command.
    fn write_statement(&self, statement: &mut DocumentWriter<'_>);

    /// The concerns and the read preference that are set.
    fn overrides(&self) -> OperationOverrides;

    /// The server version that the operation needs.
    fn requirement(&self) -> Option<&ServerRequirement>;
}

/// Whether MongoDB 4.2 rejects the value as a comment.
pub(crate) fn is_not_a_string(comment: &Bson) -> bool {
    !matches!(comment, Bson::String(_))
}

/// A value that an option writes as one field of a command or a statement.
pub(crate) trait WriteOption {
    /// Writes the field.
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>);

    /// Writes the field into the body of a command.
    fn write_in_command(&self, key: &str, command: &mut CommandBuilder<'_>) {
        self.write(key, command);
    }
}

impl WriteOption for bool {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.bool(key, *self);
    }
}

/// A 64-bit integer.
impl WriteOption for u32 {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.i64(key, i64::from(*self));
    }
}

/// A 64-bit integer; larger numbers are written as its maximum.
impl WriteOption for u64 {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.i64(key, i64::try_from(*self).unwrap_or(i64::MAX));
    }
}

/// `maxTimeMS`: whole milliseconds, at least 1 unless the duration is zero. Not written if
/// `timeoutMS` is set.
impl WriteOption for Duration {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.i64(key, max_time_millis(*self));
    }

    fn write_in_command(&self, key: &str, command: &mut CommandBuilder<'_>) {
        if !command.omits_time_limits() {
            self.write(key, command);
        }
    }
}

impl WriteOption for String {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.str(key, self);
    }
}

impl WriteOption for RawDocumentBuf {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.document(key, self);
    }
}

impl WriteOption for Vec<RawDocumentBuf> {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        write_documents(writer, key, self.iter().map(|document| &**document));
    }
}

impl WriteOption for Bson {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.bson(key, self);
    }
}

impl WriteOption for Hint {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        match self {
            Self::Name(name) => writer.str(key, name),
            Self::Keys(keys) => writer.serialize(key, keys),
        }
    }
}

impl WriteOption for Collation {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.serialize(key, self);
    }
}

/// Whether the document is returned as it is after the change.
impl WriteOption for ReturnDocument {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        writer.bool(key, *self == Self::After);
    }
}

impl<T: WriteOption> WriteOption for Box<T> {
    fn write(&self, key: &str, writer: &mut DocumentWriter<'_>) {
        T::write(self, key, writer);
    }
}
