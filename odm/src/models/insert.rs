//! [`Insert`]: what a document of a model is made of before it is inserted.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, DateTime, Document},
        error::{Error, Result, ValueError},
    },
    models::{model::Model, patch::Assignable},
    path::RawPath,
    values::{codec, value::IntoValue},
};

/// A value of which a document of `D` is made: a document, or a struct with
/// [`#[derive(Insert)]`](derive@crate::Insert), by value or by reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document of `{D}`, and no document of it can be made of it",
    label = "expected `{D}`, or a struct with `#[derive(Insert)] #[document(of = {D})]`"
)]
pub trait Insert<D> {
    /// The document: with the values of the struct, a new id if the struct has none, and the defaults of all
    /// other fields. The values of [maintained fields](derive@crate::Document#maintained-fields) are set when the
    /// document is inserted; before, the times are those of this call, and the version is 0.
    ///
    /// Values are those that a read would return: a time, for example, has milliseconds.
    ///
    /// ```
    /// use marula::{Document, Insert, bson::{DateTime, ObjectId}, prelude::*};
    ///
    /// #[derive(Document)]
    /// #[document(collection = "people")]
    /// struct Person {
    ///     _id: ObjectId,
    ///     name: String,
    ///     note: Option<String>,
    ///     #[document(created_at)]
    ///     created_at: DateTime,
    /// }
    ///
    /// #[derive(Insert, serde::Deserialize)]
    /// #[document(of = Person)]
    /// struct NewPerson {
    ///     name: String,
    /// }
    ///
    /// let ada: Person = NewPerson { name: "Ada".to_owned() }.into_model()?;
    /// assert_eq!((ada.name.as_str(), ada.note), ("Ada", None));
    /// # Ok::<(), marula::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`] if a value has no BSON form, or if the model cannot be read with the value, such as by a function
    /// of `#[serde(deserialize_with = "…")]`.
    fn into_model(self) -> Result<D>;
}

impl<D: Model> Insert<D> for D {
    fn into_model(self) -> Result<D> {
        Ok(self)
    }
}

/// The stored form of a document that is made of a struct. The derive calls it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Inserting<D> {
    document: Result<Document>,
    root: PhantomData<fn() -> D>,
}

impl<D> Default for Inserting<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Inserting<D> {
    #[must_use]
    pub fn new() -> Self {
        Inserting {
            document: Ok(Document::new()),
            root: PhantomData,
        }
    }

    /// Adds the value of a field.
    #[must_use]
    pub fn field<T, A>(mut self, path: &A, value: &T) -> Self
    where
        D: Model,
        A: Assignable<Root = D>,
        for<'a> &'a T: IntoValue<A::Stored>,
    {
        if let Ok(document) = &mut self.document {
            let name = path.path().dotted();
            match value.into_value() {
                Ok(Bson::Document(fields)) if name.is_empty() => {
                    if let Err(error) = flatten::<D>(document, fields, path.path()) {
                        self.document = Err(error);
                    }
                }
                // A flattened `Option` without a value.
                Ok(Bson::Null) if name.is_empty() => {}
                Ok(value) => {
                    document.insert(name, value);
                }
                Err(error) => self.document = Err(Error::encode(name, error)),
            }
        }
        self
    }

    /// The document with the id and the maintained fields.
    ///
    /// # Errors
    /// A value has no BSON form, or the model cannot be read with it.
    pub fn finish(self) -> Result<D>
    where
        D: Model,
    {
        let mut document = self.document?;
        let behavior = D::BEHAVIOR;
        if !document.contains_key("_id")
            && let Some(id) = D::generated_id()
        {
            document.insert("_id", id.map_err(|e| Error::encode("_id", e))?);
        }
        if let Some(field) = behavior.version {
            document.insert(field, 0);
        }
        for field in [behavior.created_at, behavior.updated_at].into_iter().flatten() {
            document.insert(field, DateTime::now());
        }
        if let Some(field) = behavior.soft_delete {
            document.insert(field, Bson::Null);
        }
        if let Some(kind) = behavior.discriminator {
            document.insert(kind.field, kind.value);
        }
        let raw = codec::to_raw(&document)?;
        codec::from_slice(raw.as_bytes()).map_err(|error| {
            let path = error.path().to_owned();
            Error::encode(path, ValueError::new(error.message()))
        })
    }
}

/// Adds the fields of a flattened value, none of which can be a field beside it, the id, or a maintained field: the keys of a map can
/// come from a request.
fn flatten<D: Model>(document: &mut Document, fields: Document, path: &RawPath) -> Result<()> {
    let behavior = D::BEHAVIOR;
    let maintained = [
        Some("_id"),
        behavior.version,
        behavior.created_at,
        behavior.updated_at,
        behavior.soft_delete,
        behavior.discriminator.map(|kind| kind.field),
        behavior.schema.map(|schema| schema.field),
    ];
    for (name, value) in fields {
        let is_beside =
            maintained.contains(&Some(name.as_str())) || path.names_beside().any(|beside| beside == name);
        if is_beside || document.contains_key(&name) {
            let reason = "a key of a flattened value is the name of a field beside it, of the id or of a maintained field";
            return Err(Error::encode(name.replace('\0', ""), ValueError::new(reason)));
        }
        document.insert(name, value);
    }
    Ok(())
}
