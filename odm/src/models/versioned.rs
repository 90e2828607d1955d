//! [`Versioned`]: the models whose documents have a version.

use crate::models::model::Model;

/// A model whose documents have a version: `#[document(schema_version(2, upgrade = function))]`.
/// Implemented by the derive.
///
/// The version is a number in the field `schema_version` of each document, or in the one that
/// `field = "…"` names, which the struct does not have. A document without it has version 1. Inserts,
/// replacements, saves and upserts store the present version.
///
/// `function` takes the version of a document and the document, and changes it to the form of the next
/// version. It is called once for each version from the stored one to the one before the present one.
/// The result is decoded as the model, so that an application reads only the present form.
///
/// ```
/// use marula::bson::{Bson, Document as BsonDocument};
/// use marula::{Document, managed::BoxedError};
///
/// #[derive(Document)]
/// #[document(collection = "people", schema_version(3, upgrade = Person::upgrade))]
/// struct Person {
///     _id: i64,
///     first_name: String,
///     last_name: String,
///     tags: Vec<String>,
/// }
///
/// impl Person {
///     fn upgrade(from: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
///         match from {
///             // Version 1 has one field `name`.
///             1 => {
///                 let name = document.remove("name");
///                 let name = name.as_ref().and_then(Bson::as_str).ok_or("no name")?;
///                 let (first, last) = name.split_once(' ').unwrap_or((name, ""));
///                 document.insert("first_name", first);
///                 document.insert("last_name", last);
///             }
///             // Version 2 has no tags.
///             _ => {
///                 document.insert("tags", Vec::<Bson>::new());
///             }
///         }
///         Ok(())
///     }
/// }
/// ```
///
/// # What is upgraded
///
/// Whole documents that [`Collection`](crate::Collection) returns: by `find`, pages, `find_one`, the
/// find-and-modify calls, [`load`](crate::Collection::load) and change streams. Nothing is written by a
/// read; [`Collection::migrate`](crate::Collection::migrate) upgrades all stored documents. A document
/// of a newer version is [`Error::NewerSchema`](crate::Error::NewerSchema), and an error of the function
/// [`Error::Upgrade`](crate::Error::Upgrade).
///
/// The server knows only the stored form. Filters, sorts, projections and aggregations therefore see older
/// documents as they are stored. The results of an aggregation that have the type of the model and
/// contain the field with the version are upgraded; those without the field are read as they are.
/// Before a filter uses a field that older documents store differently, migrate them.
///
/// # Updates by operators
///
/// `update_one`, `update_many`, `find_one_and_update`, upserts and the updates of bulk writes store values in
/// the present form. They first upgrade the documents of older versions that match their filter, because an
/// upgrade after the update would replace what the update has stored. A document that cannot be upgraded, and
/// one whose present form the server rejects, is [`Error::Upgrade`](crate::Error::Upgrade), and the update is not
/// sent.
///
/// - Each update of a model with a version above 1 costs a query. It reads the `_id` and the version of the
///   first document that matches; for an update of many, an upsert, and an update by a filter in a bulk write the
///   `_id` of all older documents that match, which are all upgraded. Without an older document such a query still
///   examines all that match the filter; an index of its fields and the version avoids that. In a transaction all
///   of them are upgraded in it: migrate the documents first if they are many.
/// - The updates by id of a bulk write share one query, as do those with equal filters. The upgrades of a bulk
///   write precede its first write: its deletions see documents in the present form, a document that cannot be
///   upgraded is an error even if an earlier write deletes it, and one that only an earlier write makes match an
///   upsert is not upgraded before it.
/// - The update itself has the condition that the version is the present one or a newer one. An older
///   document that another client stores between the two is not changed; `update_one` and
///   `find_one_and_update` then upgrade it and are sent again. An upsert has no such condition, because it
///   would insert a second document: an older document that another client stores at this moment is updated
///   in the older form. In a transaction, no other client stores documents between the two. If an older
///   document is found after each of 20 attempts, the call fails with [`Error::Upgrade`](crate::Error::Upgrade).
/// - The comment, the variables, the write concern, the bypass of the validation and the time limit of the call
///   hold for its upgrade too; the option `timeout` is the limit of all operations together, whereas the
///   `timeoutMS` of the collection or the client is that of each.
/// - The user needs the privilege `find` besides `update`. The first upgrade of a call lists the collection, to read
///   its default collation: with one, each upgraded document whose `_id` contains a string is a scan of the
///   collection, as for [`Collection::migrate`](crate::Collection::migrate).
/// - In a transaction the upgrade is part of the transaction. Otherwise it remains if the update fails.
/// - An upgraded document that no longer matches the filter is not updated. An upsert then inserts a second
///   document: its filter needs fields that no upgrade changes, such as `_id`.
/// - A model with encrypted fields is not upgraded: an update that matches a document of an older version is
///   [`Error::Encode`](crate::Error::Encode). Read the document, and save it.
/// - Soft deletion and restoration, updates of time series, and
///   [`Bulk::raw`](crate::collection::Bulk::raw) upgrade nothing.
#[diagnostic::on_unimplemented(
    message = "the documents of `{Self}` have no version",
    label = "add `#[document(schema_version(2, upgrade = function))]` to use this method"
)]
pub trait Versioned: Model {}
