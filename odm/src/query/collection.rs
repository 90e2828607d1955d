//! Typed collections: the CRUD operations of a model.

pub use crate::query::{
    bulk::{Alone, Bulk, Within, client::ClientBulk},
    filtered::Filtered,
    handle::Collection,
    read::{
        distinct::Distinct,
        documents::Documents,
        find::Find,
        keyset::KeysetPage,
        one::{Count, EstimatedCount, Exists, FindOne, FindOneFuture},
        page::Page,
        totals::Comparable,
    },
    watch::{ChangeStream, Watch},
    write::{
        changes::SaveChanges,
        delete::Delete,
        find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate},
        input::InsertDocument,
        insert::{InsertMany, InsertOne, Insertable},
        migrate::{Migrate, Migration, MigrationFailure, MigrationFailureReason},
        replace::Replace,
        save::{Save, Saved},
        update::{UpdateMany, UpdateOne},
    },
};
