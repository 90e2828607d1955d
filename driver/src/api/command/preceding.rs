//! The options of the operations that the ODM performs before an update.

use std::time::Duration;

use super::options::{
    BulkWriteOptions, ClientBulkWriteOptions, FindOneAndUpdateOptions, FindOptions, UpdateManyOptions,
    UpdateOneOptions,
};
use crate::{bson::RawDocumentBuf, types::server_requirement::ServerRequirement};

/// For the ODM: the options of the operations that it performs before an update, without their time limit. They find the
/// documents that the update matches, and replace them.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PrecedingOptions {
    /// The options by which `find` returns the documents that match, in the same order.
    pub find: FindOptions,
    /// The options by which `find` returns documents by their ids.
    pub by_id: FindOptions,
    /// The options of the replacements.
    pub write: BulkWriteOptions,
}

impl PrecedingOptions {
    /// The options for a query of all documents, whose order does not matter.
    #[must_use]
    pub fn without_sort(mut self) -> Self {
        self.find.sort = None;
        self
    }
}

macro_rules! preceding_options {
    ($(
        $Options:ident { $($field:ident),* } $sort:expr,
            $($requires:ident)? $(($major:literal, $minor:literal, $feature:literal))?;
    )*) => { $(
        impl $Options {
            /// The time limit of the call.
            #[doc(hidden)]
            #[must_use]
            pub fn __timeout(&self) -> Option<Duration> {
                self.timeout
            }

            /// The options of the operations that the ODM performs before the call.
            #[doc(hidden)]
            #[must_use]
            pub fn __preceding(&self) -> PrecedingOptions {
                let sort: fn(&Self) -> Option<&RawDocumentBuf> = $sort;
                let mut preceding = PrecedingOptions::default();
                let find = &mut preceding.find;
                $(find.$field.clone_from(&self.$field);)*
                find.sort = sort(self).cloned();
                find.let_vars = self.let_vars.clone().map(Box::new);
                find.comment.clone_from(&self.comment);
                find.deferred.clone_from(&self.deferred);
                let by_id = &mut preceding.by_id;
                by_id.comment.clone_from(&self.comment);
                by_id.deferred.clone_from(&self.deferred);
                $(by_id.requires.clone_from(&self.$requires);)?
                $(by_id.requires = Some(Box::new(ServerRequirement::new($major, $minor, $feature)));)?
                preceding.find.requires.clone_from(&by_id.requires);
                let write = &mut preceding.write;
                write.comment.clone_from(&self.comment);
                write.bypass_document_validation = self.bypass_document_validation;
                write.write_concern.clone_from(&self.write_concern);
                preceding
            }
        }
    )* };
}

preceding_options! {
    UpdateOneOptions { hint, collation } |options| options.sort.as_deref(), requires;
    UpdateManyOptions { hint, collation } |_| None, requires;
    FindOneAndUpdateOptions { hint, collation, max_time } |options| options.sort.as_ref(), requires;
    BulkWriteOptions {} |_| None, requires;
    ClientBulkWriteOptions {} |_| None, (8, 0, "the client bulk write");
}
