//! [`Collection::upsert_with`], and writes to all documents of a collection.

use crate::{
    ast::{
        filter::Node,
        update::{Changes, Inserted},
    },
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result, ValueError},
    },
    document::kind,
    models::model::{Fields, Model},
    query::{
        handle::{Collection, filter_of, rules::decoded},
        write::{
            delete::Delete,
            encoded::{for_insert, for_insert_without_id},
            update::{UpdateMany, UpdateOne},
        },
    },
    term::{
        filter::Filter,
        update::{IntoUpdate, Update},
    },
};

impl<D: Model> Collection<D> {
    /// Updates one document that matches, or inserts `initial` with the update applied to it.
    ///
    /// An inserted document has the fields of `initial`, except those that the update changes: they
    /// have the values that the update gives to missing fields, such as 1 for `.inc(1)`. The id is
    /// that of the filter if it contains one, otherwise that of `initial`.
    ///
    /// The call fails with [`Error::InvalidUpdate`] if the update is a pipeline, or if it contains an
    /// operator that creates no field (`$pull`, `$pop`, `$rename`), or one that changes a part of an
    /// array; otherwise as [`upsert`](UpdateOne::upsert).
    ///
    /// ```no_run
    /// # use marula::{Document, bson::ObjectId, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "pages")]
    /// struct Page {
    ///     _id: ObjectId,
    ///     path: String,
    ///     title: String,
    ///     views: i64,
    /// }
    ///
    /// # async fn run(pages: marula::Collection<Page>, path: String) -> marula::Result<()> {
    /// let initial = Page { _id: Page::new_id(), path, title: "Untitled".to_owned(), views: 0 };
    /// pages
    ///     .upsert_with(|p| p.path().eq(&initial.path), |p| p.views().inc(1), &initial)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn upsert_with<U: IntoUpdate<D>>(
        &self,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
        update: impl FnOnce(Fields<D>) -> U,
        initial: &D,
    ) -> UpdateOne<'_, D> {
        const { kind::changes_one::<D>() };
        let filter = filter_of(filter);
        let update = update(D::fields()).into_update();
        let prepared = filter.and_then(|filter| {
            let inserted = on_insert(self, &filter, update.clone(), initial)?;
            Ok((filter, inserted))
        });
        match prepared {
            Ok((filter, inserted)) => {
                let whole = update.and(Update::raw(inserted));
                UpdateOne::new(self, Ok(filter), whole).upsert(true)
            }
            Err(error) => UpdateOne::new(self, Err(error), update),
        }
    }

    /// Updates all documents of the collection.
    ///
    /// ```no_run
    /// # use marula::{Document, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// people.update_all(|p| p.age().inc(1)).await?;
    /// # Ok(()) }
    /// ```
    pub fn update_all<U: IntoUpdate<D>>(&self, update: impl FnOnce(Fields<D>) -> U) -> UpdateMany<'_, D> {
        self.update_many(|_| Filter::everything(), update)
    }

    /// Deletes all documents of the collection. The collection and its indexes remain; see
    /// [`drop`](crate::driver::Collection::drop()) of the driver's collection.
    ///
    /// ```no_run
    /// # use marula::Document;
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let deleted = people.delete_all().await?;
    /// # drop(deleted); Ok(()) }
    /// ```
    pub fn delete_all(&self) -> Delete<'_, D> {
        self.delete_many(|_| Filter::everything())
    }
}

/// `{$setOnInsert: …}` with the fields of `initial` that neither the update nor the filter sets;
/// empty if there are none.
fn on_insert<D: Model>(
    collection: &Collection<D>,
    filter: &Node,
    update: Update<D>,
    initial: &D,
) -> Result<Document> {
    let has_id = !matches!(filter.equality("_id"), None | Some(Bson::Null));
    let gate = collection.gate()?;
    let raw = if has_id && initial.lacks_id() {
        for_insert_without_id(&gate, initial)?
    } else {
        for_insert(&gate, initial)?.0
    };
    let mut fields = decoded(&raw)?;
    if has_id {
        fields.remove("_id");
    }
    // These are maintained by the update itself.
    let behavior = D::BEHAVIOR;
    let schema = behavior.schema.map(|schema| schema.field);
    for field in [behavior.version, behavior.created_at, behavior.updated_at, schema] {
        field.map(|field| fields.remove(field));
    }
    let mut changed = changed_paths(update)?;
    // The upsert stores the values of the filter.
    changed.extend(gate.fixed().map(str::to_owned));
    let mut inserted = Document::new();
    unchanged("", fields, &changed, &mut inserted)?;
    Ok(if inserted.is_empty() {
        Document::new()
    } else {
        doc! { "$setOnInsert": inserted }
    })
}

/// The paths that an update changes.
fn changed_paths<D>(update: Update<D>) -> Result<Vec<String>> {
    if update.is_empty() {
        return Ok(Vec::new());
    }
    let Changes::Operators(operators) = update.parts()?.1 else {
        return Err(Error::update(
            "",
            "`upsert_with` needs an update of operators, because a pipeline has no values for inserts only",
        ));
    };
    let mut paths = Vec::new();
    for change in operators.changes() {
        if change.operator.row().inserted == Inserted::Lacking {
            return Err(Error::update(
                change.path.clone(),
                format!(
                    "`{}` creates no field, so the document that `upsert_with` inserts would lack it",
                    change.operator.sent()
                ),
            ));
        }
        paths.push(change.path.clone().into_owned());
    }
    Ok(paths)
}

/// Adds the fields that are not changed to `inserted`, those of embedded documents by their paths.
fn unchanged(prefix: &str, fields: Document, changed: &[String], inserted: &mut Document) -> Result<()> {
    for (name, value) in fields {
        let is_path_segment = !(name.is_empty() || name.starts_with('$') || name.contains('.'));
        let path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}.{name}")
        };
        if !is_path_segment {
            let reason = "a map key that is empty, contains a dot or starts with `$` cannot be set on insert";
            return Err(Error::encode(path, ValueError::new(reason)));
        }
        if changed.contains(&path) {
            continue;
        }
        let within = format!("{path}.");
        match (changed.iter().any(|c| c.starts_with(&within)), value) {
            (false, value) => {
                inserted.insert(path, value);
            }
            (true, Bson::Document(fields)) => unchanged(&path, fields, changed, inserted)?,
            // The update creates the document.
            (true, Bson::Null) => {}
            (true, _) => {
                return Err(Error::update(
                    path,
                    "the update changes a part of an array, which does not exist when `upsert_with` inserts",
                ));
            }
        }
    }
    Ok(())
}
