//! The options of transactions ([Transactions], "TransactionOptions").
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md

use std::time::Duration;

use super::{
    concern::{ReadConcern, WriteConcern},
    read_preference::ReadPreference,
};

/// Options of a transaction.
///
/// An option that is not set is that of
/// [`default_transaction_options`](crate::action::StartSession::default_transaction_options) of the
/// session, or else that of the client. The concerns and the read preference of databases and
/// collections have no effect in a transaction.
///
/// ```
/// use marula_driver::options::{ReadConcern, TransactionOptions, WriteConcern};
/// let options = TransactionOptions::default()
///     .read_concern(ReadConcern::majority())
///     .write_concern(WriteConcern::majority());
/// assert_eq!(options.read_concern, Some(ReadConcern::majority()));
/// ```
#[must_use = "options have no effect until they are passed to an action"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// See [`read_concern`](Self::read_concern).
    pub read_concern: Option<ReadConcern>,
    /// See [`write_concern`](Self::write_concern).
    pub write_concern: Option<WriteConcern>,
    /// See [`read_preference`](Self::read_preference).
    pub read_preference: Option<ReadPreference>,
    /// See [`max_commit_time`](Self::max_commit_time).
    pub max_commit_time: Option<Duration>,
}

/// The setters of the options of a transaction. `$options` is the field with the
/// [`TransactionOptions`], or nothing if `self` is one.
macro_rules! transaction_setters {
    ($($options:ident)?) => {
        /// The read concern of the transaction, sent with its first command: `local`, `majority` or
        /// `snapshot`.
        pub fn read_concern(mut self, value: $crate::options::ReadConcern) -> Self {
            self.$($options.)?read_concern = Some(value);
            self
        }

        /// The write concern of the commit. It must be acknowledged. A commit that is repeated has
        /// `w: "majority"`, and a `wtimeout` of 10 s if none is set. With `timeoutMS`, no `wtimeout`
        /// is sent.
        pub fn write_concern(mut self, value: $crate::options::WriteConcern) -> Self {
            self.$($options.)?write_concern = Some(value);
            self
        }

        /// The read preference of the reads in the transaction. Reads fail unless it is `primary`.
        pub fn read_preference(mut self, value: $crate::options::ReadPreference) -> Self {
            self.$($options.)?read_preference = Some(value);
            self
        }

        /// `maxCommitTimeMS`: the time limit for each commit on the server, sent as `maxTimeMS` in
        /// whole milliseconds. If it expires, it is unknown whether the transaction was committed.
        /// Default: no limit.
        pub fn max_commit_time(mut self, value: std::time::Duration) -> Self {
            self.$($options.)?max_commit_time = Some(value);
            self
        }
    };
}
pub(crate) use transaction_setters;

impl TransactionOptions {
    transaction_setters!();

    /// These options, and those of `defaults` that are not set.
    pub(crate) fn or(self, defaults: &Self) -> Self {
        let Self {
            read_concern,
            write_concern,
            read_preference,
            max_commit_time,
        } = self;
        Self {
            read_concern: read_concern.or_else(|| defaults.read_concern.clone()),
            write_concern: write_concern.or_else(|| defaults.write_concern.clone()),
            read_preference: read_preference.or_else(|| defaults.read_preference.clone()),
            max_commit_time: max_commit_time.or(defaults.max_commit_time),
        }
    }
}
