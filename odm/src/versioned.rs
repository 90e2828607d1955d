//! [`Versioned`]: the models whose documents have a version.

use crate::model::Model;

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
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Document)]
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
/// read; [`Collection::migrate`](crate::Collection::migrate) upgrades the stored documents. A document
/// of a newer version is [`Error::NewerSchema`](crate::Error::NewerSchema), and an error of the function
/// [`Error::Upgrade`](crate::Error::Upgrade).
///
/// The server knows only the stored form. Filters, sorts, updates by operators, projections and
/// aggregations therefore see older documents as they are stored, and an update by operators does not
/// change the version of a document. The results of an aggregation that have the type of the model and
/// contain the field with the version are upgraded; those without the field are read as they are.
/// Before a filter or an update uses a field that older documents store differently, migrate them.
#[diagnostic::on_unimplemented(
    message = "the documents of `{Self}` have no version",
    label = "add `#[document(schema_version(2, upgrade = function))]` to use this method"
)]
pub trait Versioned: Model {}
