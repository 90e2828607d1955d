//! The client bulk write: how its writes are split into `bulkWrite` commands, and how the replies
//! and results of the commands are merged ([Bulk Write]).
//!
//! [`Batch::plan`] takes the sizes of the writes that have not been sent and the limits of the
//! server, and returns the writes of the next command. [`ResultMerger`] receives the reply and the
//! documents of the results cursor of each command, and decides whether the call continues.
//!
//! [Bulk Write]: https://github.com/mongodb/specifications/blob/master/source/crud/bulk-write.md

mod batch;
mod merger;
mod namespaces;
mod reply;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Limits, Write};
pub use merger::{ResultMerger, Written};
pub use namespaces::NamespaceTable;
pub use reply::Summary;
