//! What to do about an error because of the shard key of a collection.

use std::fmt;

use crate::driver;

/// The rule that the call has violated, and what its filter needs.
pub(super) struct ShardKeyAdvice<'a> {
    /// The name of the method.
    pub(super) call: &'a str,
    pub(super) is_upsert: bool,
    pub(super) source: &'a driver::Error,
}

impl fmt::Display for ShardKeyAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call;
        let code = match self.source.write_errors().first() {
            Some(write) => Some(write.code),
            None => self.source.code(),
        };
        match code {
            Some(31_025) => write!(
                f,
                "`{call}` changes the shard key of a document: its filter needs equality with the whole present shard key"
            ),
            Some(20) => write!(
                f,
                "`{call}` changes the shard key of a document, which needs retryable writes (`retryWrites=true`) or a transaction"
            ),
            Some(72) if call == "update_many" => write!(
                f,
                "`{call}` cannot change the shard key: change the documents one by one with `update_one`, whose filter needs \
                 equality with the whole present shard key"
            ),
            _ if call.starts_with("find_one_and") => write!(
                f,
                "before MongoDB 7.0 `{call}` needs equality with the whole shard key in its filter, also beside `_id`"
            ),
            _ if self.is_upsert => f.write_str(
                "before MongoDB 7.0 an upsert needs equality with the whole shard key in its filter: use `replace_one` or \
                 `update_one` with such a filter and `upsert(true)`",
            ),
            _ => write!(
                f,
                "before MongoDB 7.0 `{call}` needs equality with `_id` or with the whole shard key in its filter"
            ),
        }
    }
}
