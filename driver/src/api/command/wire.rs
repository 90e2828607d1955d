//! How values of options are written into a command.

use std::time::Duration;

use crate::{
    bson::{Bson, RawDocumentBuf},
    proto::{command::CommandBuilder, description::HelloReply},
    types::{collation::Collation, hint::Hint},
};

/// The options of a command.
pub(crate) trait WriteOptions {
    /// Writes the options that are set, in the order of their declaration.
    fn write(&self, command: &mut CommandBuilder<'_>, server: &HelloReply);
}

/// A value that an option writes as one field of a command.
pub(crate) trait WriteOption {
    /// Writes the field.
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>);
}

impl WriteOption for bool {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.bool(key, *self);
    }
}

/// A 64-bit integer.
impl WriteOption for u32 {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.i64(key, i64::from(*self));
    }
}

/// A 64-bit integer; a larger number is written as the largest one.
impl WriteOption for u64 {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.i64(key, i64::try_from(*self).unwrap_or(i64::MAX));
    }
}

/// `maxTimeMS`: whole milliseconds, at least 1 unless the duration is zero.
impl WriteOption for Duration {
    fn write(&self, _key: &str, command: &mut CommandBuilder<'_>) {
        command.max_time(Some(*self));
    }
}

impl WriteOption for String {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.str(key, self);
    }
}

impl WriteOption for RawDocumentBuf {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.document(key, self);
    }
}

impl WriteOption for Vec<RawDocumentBuf> {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.documents(key, self.iter().map(|document| &**document));
    }
}

impl WriteOption for Bson {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.bson(key, self);
    }
}

impl WriteOption for Hint {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        match self {
            Self::Name(name) => command.str(key, name),
            Self::Keys(keys) => command.serialize(key, keys),
        }
    }
}

impl WriteOption for Collation {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        command.serialize(key, self);
    }
}

impl<T: WriteOption> WriteOption for Box<T> {
    fn write(&self, key: &str, command: &mut CommandBuilder<'_>) {
        T::write(self, key, command);
    }
}
