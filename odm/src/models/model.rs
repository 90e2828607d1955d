//! The trait that `#[derive(Document)]` implements: a collection, an id, typed fields, declared
//! indexes.

use crate::{
    base::{
        bson::{Bson, DecodeError, Document, EncodeError, RawDocumentBuf, codec},
        error::{SchemaError, ValueError},
    },
    form::{
        id::IdSource,
        json_schema::{OuterTypes, without_marks},
    },
    models::{
        declaration::CollectionDeclaration,
        index::{IndexDeclaration, SearchIndexDeclaration},
        input::ModelField,
        managed::{Behavior, BoxedError, WriteKind, Written},
        shard_key::ShardKey,
    },
    path::{
        Path, Read,
        field::{Embedded, Field},
    },
    term::encryption::fields::{Invalid, collect},
    values::{
        codec::{DecodeOwned, Encode, Value, Writer},
        value::IntoValue,
    },
};

/// The driver's collection below a typed one.
#[doc(hidden)]
pub type DriverCollection = crate::driver::Collection<RawDocumentBuf>;

pub use crate::path::field::Fields;

/// A type that is stored as the documents of a collection. Implemented by `#[derive(Document)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "only a type with `#[derive(marula::Document)]` has a collection"
)]
pub trait Model: Embedded + Encode + DecodeOwned + Send + Sync + 'static {
    /// The type of the field that is stored as `_id`.
    type Id: Send + Sync;
    /// The source of new ids; see [`crate::id`].
    type IdSource;
    /// The name of the type, used in error messages.
    const NAME: &'static str;
    /// The name of the collection. [`Collection::named`](crate::Collection::named) selects another
    /// one.
    const COLLECTION: &'static str;

    /// The id of this document.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(order(7).id(), &7);
    /// ```
    fn id(&self) -> &Self::Id;

    /// Writes an id in its stored form.
    ///
    /// # Errors
    /// The id has no BSON form.
    #[doc(hidden)]
    fn encode_id(id: &Self::Id, out: &mut Writer<'_>) -> Result<(), EncodeError>;

    /// Reads an id in its stored form.
    ///
    /// # Errors
    /// The stored value has another form.
    #[doc(hidden)]
    fn decode_id(value: &Value<'_>) -> Result<Self::Id, DecodeError>;

    /// Generates an id for an upsert or an insert without an id. `None` if
    /// [`IdSource`](Model::IdSource) generates no ids of this type.
    #[doc(hidden)]
    const GENERATE_ID: Option<fn() -> Self::Id>;

    /// Generates an id as BSON for an upsert or an insert without an id.
    #[doc(hidden)]
    #[must_use]
    fn generated_id() -> Option<Result<Bson, ValueError>> {
        Self::GENERATE_ID.map(|generate| Self::stored_id(&generate()))
    }

    /// Whether the id is an `Option` that is `None`.
    #[doc(hidden)]
    #[inline]
    fn lacks_id(&self) -> bool {
        false
    }

    /// The options that the model declares for its collection, for [`schema`](crate::schema). Default:
    /// none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Document)]
    /// #[document(collection = "log", capped(size = 1_048_576))]
    /// struct Entry {
    ///     _id: i64,
    /// }
    /// assert_eq!(Entry::collection().to_string(), r#"{"capped": true, "size": 1048576}"#);
    /// ```
    fn collection() -> CollectionDeclaration {
        CollectionDeclaration::new()
    }

    /// The shard key that the model declares, for [`schema`](crate::schema) and for the filters of saves and
    /// replacements. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Document)]
    /// #[document(collection = "visits", shard_key(country, hashed(user)))]
    /// struct Visit {
    ///     _id: i64,
    ///     country: String,
    ///     user: i64,
    /// }
    /// assert_eq!(Visit::shard_key().unwrap().to_string(), r#"{"country": 1, "user": "hashed"}"#);
    /// ```
    #[must_use]
    fn shard_key() -> Option<ShardKey> {
        None
    }

    /// The collection with the concerns and the read preference of the model.
    #[doc(hidden)]
    #[must_use]
    fn configured(collection: DriverCollection) -> DriverCollection {
        collection
    }

    /// The maintained fields, and whether there are hooks.
    #[doc(hidden)]
    const BEHAVIOR: Behavior = Behavior::NONE;

    /// The fields of a model that is a struct, for the derives of input. Empty for an enum.
    #[doc(hidden)]
    const INPUT: &'static [ModelField] = &[];

    /// Writes the values that a write has stored to the fields of this document.
    ///
    /// # Errors
    /// A value that the field cannot have.
    #[doc(hidden)]
    fn write_back(&mut self, _written: &Written) -> Result<(), ValueError> {
        Ok(())
    }

    /// Runs the functions of `validate`.
    ///
    /// # Errors
    /// The document must not be written.
    #[doc(hidden)]
    #[inline]
    fn validate_document(&self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// Runs the hook before a write. Returns the changed document, if there are hooks.
    ///
    /// # Errors
    /// That of the hook.
    #[doc(hidden)]
    fn before_write(&self, _write: WriteKind) -> Result<Option<Self>, BoxedError> {
        Ok(None)
    }

    /// Runs the hook after a document was decoded.
    ///
    /// # Errors
    /// That of the hook.
    #[doc(hidden)]
    #[inline]
    fn after_load(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// The indexes that the model declares, for [`schema`](crate::schema).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let names: Vec<String> = Order::indexes().iter().map(|index| index.index_name()).collect();
    /// assert_eq!(names, ["customer_1_created_at_-1"]);
    /// ```
    fn indexes() -> Vec<IndexDeclaration>;

    /// The search indexes and vector search indexes that the model declares, for [`schema`](crate::schema).
    /// Default: none.
    fn search_indexes() -> Vec<SearchIndexDeclaration> {
        Vec::new()
    }

    /// The `$jsonSchema` that documents of the model satisfy, made from the types of the fields: BSON
    /// types, required fields, names of enums, limits of integers. Other fields are permitted. A field
    /// that serde may omit, has a default for or reads as an `Option` is not required. Encrypted fields are
    /// `binData`. Opaque fields, the values of maps, and a type inside of itself are not constrained.
    ///
    /// `#[document(json_schema)]` makes it the validator of the collection.
    ///
    /// ```
    /// # use marula::{Document, Model, bson::doc};
    /// #[derive(Document)]
    /// #[document(collection = "people")]
    /// struct Person { _id: i64, name: String, email: Option<String> }
    ///
    /// assert_eq!(
    ///     Person::json_schema(),
    ///     doc! {
    ///         "bsonType": "object",
    ///         "required": ["_id", "name"],
    ///         "properties": {
    ///             "_id": { "bsonType": ["int", "long"] },
    ///             "name": { "bsonType": "string" },
    ///             "email": { "bsonType": ["string", "null"] },
    ///         },
    ///     }
    /// );
    /// ```
    #[must_use]
    fn json_schema() -> Document {
        without_marks(<Self as Field>::json_schema(&mut OuterTypes::default()))
    }

    /// `encryptedFields` of the collection, without the ids of the data keys: a document with the array `fields`,
    /// which is empty if the model has no [encrypted fields](crate::encryption). `keyId` is null, so that a
    /// [schema](crate::schema) or
    /// `ClientEncryption::create_encrypted_collection` creates the keys with the collection. It is called once in a process; an
    /// implementation that is not derived must not call methods of collections.
    ///
    /// ```
    /// # #[cfg(feature = "encryption")]
    /// # {
    /// # use marula::{Document, Model, bson::{Bson, doc}};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, #[document(encrypted(equality))] ssn: String }
    /// let queries = doc! { "queryType": "equality" };
    /// let field = doc! { "path": "ssn", "bsonType": "string", "keyId": Bson::Null, "queries": queries };
    /// assert_eq!(Person::encrypted_fields().unwrap(), doc! { "fields": [field] });
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidEncryption`](SchemaError::InvalidEncryption) for a field that cannot be encrypted where it is.
    fn encrypted_fields() -> Result<Document, SchemaError> {
        let mut outer = OuterTypes::default();
        let schema = <Self as Field>::json_schema(&mut outer);
        collect(&schema, &outer).map_err(|Invalid { path, reason }| SchemaError::InvalidEncryption {
            model: Self::NAME,
            path,
            reason,
        })
    }

    /// The accessors of the fields, for filters that are built outside of a closure:
    /// `Order::fields().lines().sku().eq("tea")`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().lines().sku().eq("tea");
    /// assert_eq!(filter.to_string(), r#"{"lines.sku": {"$eq": "tea"}}"#);
    /// ```
    #[must_use]
    fn fields() -> Fields<Self> {
        Self::nav(Path::root())
    }

    /// The path of the id, in code that is generic over models. Elsewhere use the accessor of the field.
    ///
    /// ```
    /// # use marula::{Collection, Model, Result, path::marker::Ordered, prelude::*};
    /// async fn first_after<D>(all: &Collection<D>, id: &D::Id) -> Result<Option<D>>
    /// where
    ///     D: Model<Id: Ordered>,
    /// {
    ///     let after = all.find(|_| D::id_path().gt(D::id_ref(id)));
    ///     after.sort(|_| D::id_path().asc()).first().await
    /// }
    /// ```
    #[must_use]
    fn id_path() -> Path<Self, Self::Id, Read> {
        Path::<Self, Self, Read>::root().step("_id")
    }

    /// An id as an argument, in code that is generic over models. Elsewhere pass the id itself.
    ///
    /// ```
    /// # use marula::{Collection, Model, Result};
    /// struct Repository<D>(Collection<D>);
    ///
    /// impl<D: Model> Repository<D> {
    ///     async fn get(&self, id: &D::Id) -> Result<D> {
    ///         self.0.find_by_id(D::id_ref(id)).required().await
    ///     }
    /// }
    /// ```
    #[must_use]
    fn id_ref(id: &Self::Id) -> IdRef<'_, Self> {
        IdRef(id)
    }

    /// The stored form of an id.
    ///
    /// # Errors
    /// The id has no BSON form.
    #[doc(hidden)]
    fn stored_id(id: &Self::Id) -> Result<Bson, ValueError> {
        codec::to_bson(|out| Self::encode_id(id, out)).map_err(ValueError::from)
    }

    /// Generates an id for a new document, by the source that the model declares; see
    /// [`id`](crate::id). A compile error if the source does not generate ids of the type.
    ///
    /// ```
    /// # use marula_guide::*;
    /// #[derive(Document)]
    /// #[document(collection = "events")]
    /// struct Event {
    ///     _id: bson::ObjectId,
    /// }
    /// assert_ne!(Event::new_id(), Event::new_id());
    /// ```
    #[must_use]
    fn new_id() -> Self::Id
    where
        Self::IdSource: IdSource<Self::Id>,
    {
        Self::IdSource::new_id()
    }
}

/// The id of a document, encoded as BSON.
pub(crate) fn id_value<D: Model>(document: &D) -> Result<Bson, ValueError> {
    D::stored_id(document.id())
}

/// An id by reference; see [`Model::id_ref`].
#[derive(Debug)]
pub struct IdRef<'a, D: Model>(&'a D::Id);

impl<D: Model> Clone for IdRef<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Model> Copy for IdRef<'_, D> {}

impl<D: Model> IntoValue<D::Id> for IdRef<'_, D> {
    fn into_value(self) -> Result<Bson, ValueError> {
        D::stored_id(self.0)
    }
}
