//! [`Collection::save_changes`]: sends the fields of a document that differ from those that were read.

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, Document},
        error::{Error, Result},
        time_limit::TimeLimit,
    },
    driver::{UpdateResult, options::UpdateOneOptions},
    form::json_schema::OuterTypes,
    models::model::{Model, id_value},
    path::field::Field,
    query::{
        handle::{
            Collection, NULL_IN_REPLACEMENT,
            action::{Session, awaitable, forward_options},
            gate::Targets,
            rules::decoded,
        },
        observe::Call,
        write::{
            difference::Difference,
            encoded::{Encoded, for_replacement},
            outdated::{Upgrade, is_upgraded},
            save::{Reference, Saved},
            shard_key::{is_sharded, targeted_node},
            update::UpdateOne,
        },
    },
    term::update::Update,
    values::codec,
};

impl<D: Model> Collection<D> {
    /// Updates the stored document with the fields in which `after` differs from `before`, the document as it was
    /// read. Other fields keep what other clients have stored meanwhile. The output of the action is `None` if nothing
    /// differs: then nothing is sent.
    ///
    /// The update is one `$set` and `$unset` by the id, of fields of the document and of embedded documents. Arrays,
    /// maps, enums with data and opaque fields are set as a whole. Inside an embedded document, fields are changed only
    /// if it is still stored as a document, and fields of a model that is an enum only if the variant is
    /// the same; otherwise the document does not match.
    ///
    /// Takes `&after` or `&mut after`, to which the new version and the time of the update are written. Maintained fields and the id
    /// are not compared. The hook [`before_replace`](crate::Hooks::before_replace) and the validation run for
    /// `after`, as in a save, and for `before`, so that fields that the hook computes are compared as they are stored.
    ///
    /// If the model has a [shard key](crate::guide::schema#shard-keys), the filter contains that of `before` beside the id, so that
    /// the shard key can be changed (with retryable writes, or in a transaction).
    ///
    /// If the model has a [version](derive@crate::Document#maintained-fields), the stored document must have that of
    /// `before`; otherwise the call fails with [`Error::VersionConflict`], also if the document was deleted, unless it is that of an insert (0). Without a version, it is
    /// not an error if no document matches; see [`required`](SaveChanges::required).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let before = orders.find_by_id(1).required().await?;
    /// let mut after = before.clone();
    /// after.note = Some("ring twice".to_owned());
    /// orders.save_changes(&before, &mut after).required().await?; // {$set: {note: "ring twice"}}
    /// assert!(orders.save_changes(&after, &after).await?.is_none());
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the ids or the versions of the documents differ; [`Error::MissingId`] if the id is `None`;
    /// [`Error::InvalidUpdate`] for a changed entry of a flattened map whose key cannot be in a path; the errors of
    /// hooks, of the validation, and of updates of encrypted fields.
    pub fn save_changes<'a>(&'a self, before: &'a D, after: impl Saved<'a, D>) -> SaveChanges<'a, D> {
        SaveChanges {
            collection: self,
            before,
            after: after.into_reference(),
            options: UpdateOneOptions::default(),
            session: None,
        }
    }
}

/// Updates a document with the fields that differ. Output: the counts, or `None` if nothing differs. See
/// [`Collection::save_changes`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct SaveChanges<'a, D> {
    collection: &'a Collection<D>,
    before: &'a D,
    after: Reference<'a, D>,
    options: UpdateOneOptions,
    session: Session<'a>,
}

impl<'a, D: Model> SaveChanges<'a, D> {
    crate::driver::__update_one_options! { forward_options { options: UpdateOneOptions } }

    /// Runs the action, which must match a document, unless nothing differs.
    ///
    /// Requires an acknowledged write concern.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let (before, after) = (order(99), Order { total: 5, ..order(99) });
    /// let missing = orders.save_changes(&before, &after).required().await;
    /// assert!(matches!(missing, Err(Error::NotFound { .. })));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if no document matches; otherwise the errors of the action.
    pub fn required(self) -> impl Future<Output = Result<Option<UpdateResult>>> + Send + use<'a, D> {
        let collection = self.collection;
        let saving = self.into_future();
        async move {
            match saving.await? {
                Some(result) if result.matched_count == 0 => Err(collection.not_found()),
                result => Ok(result),
            }
        }
    }

    fn call(&self) -> Call {
        Call::new::<D>(self.collection.namespace(), "save_changes")
    }

    async fn run(mut self) -> Result<Option<UpdateResult>> {
        let collection = self.collection;
        let gate = collection.gate()?;
        let after = self.after.document();
        let id = id_value(after).map_err(|e| Error::encode("_id", e))?;
        if id != id_value(self.before).map_err(|e| Error::encode("_id", e))? {
            return Err(self.differ("ids"));
        }
        let by_id = collection.id_filter(Ok(id.clone()), NULL_IN_REPLACEMENT)?;
        let encoded = for_replacement(&gate, after)?;
        let mut before = decoded(&codec::to_raw(self.before)?)?;
        if !self.has_version_of(&before, &encoded) {
            return Err(self.differ("versions"));
        }
        let plain_id = by_id.clone();
        let by_id = if const { is_sharded::<D>() } {
            targeted_node::<D>(by_id, &codec::to_raw(&before)?)
        } else {
            by_id
        };
        // Both as they would be stored: a hook can change fields that `before` has in an earlier state.
        if let Ok(stored) = for_replacement(&gate, self.before) {
            before = decoded(&stored.raw)?;
        }
        let Some((update, conditions)) = changes::<D>(before, &encoded)? else {
            return Ok(None);
        };
        let limit = TimeLimit::begin(self.options.__timeout());
        // The conditions are those of the present form.
        if let Some(upgrade) = Upgrade::before_id(collection, &id) {
            upgrade.run(&limit, self.session.as_deref_mut()).await?;
        }
        let mut filter = by_id;
        for condition in conditions {
            filter = filter.and(condition);
        }
        if let Some(version) = &encoded.version {
            filter = filter.and(version.condition());
        }
        let updating = UpdateOne::new(collection, Ok(filter), Update::raw(update));
        let options = limit.of(self.options.upsert(false), UpdateOneOptions::timeout);
        let mut updating = updating.with_options(options);
        if let Some(session) = self.session.as_deref_mut() {
            updating = updating.session(session);
        }
        let result = if const { is_upgraded::<D>() } {
            updating.run_upgrading().await?
        } else {
            updating.run().await?
        };
        if result.matched_count > 0 {
            self.after.write_back(&encoded.written)?;
        } else if encoded.was_stored() {
            return Err(collection.conflict(Some(id)));
        } else if encoded.version.is_some() {
            let stored = gate.write(Ok(plain_id), Targets::One)?;
            collection.check_conflict(stored, self.session).await?;
        }
        Ok(Some(result))
    }

    fn differ(&self, what: &str) -> Error {
        Error::argument(format!(
            "`save_changes` on {}: the {what} of the two documents differ, so that they are not two states of one document",
            self.collection.namespace()
        ))
    }

    /// Whether both documents have the same version.
    fn has_version_of(&self, before: &Document, after: &Encoded) -> bool {
        let version = |version: &Bson| match version {
            Bson::Int32(version) => Some(i64::from(*version)),
            Bson::Int64(version) => Some(*version),
            _ => None,
        };
        let (Some(field), Some(after)) = (D::BEHAVIOR.version, &after.version) else {
            return true;
        };
        before.get(field).and_then(version) == version(after.old())
    }
}

/// The update of the fields that differ, and the conditions under which they can be changed. `None` if nothing differs.
fn changes<D: Model>(before: Document, after: &Encoded) -> Result<Option<(Document, Vec<Node>)>> {
    let behavior = D::BEHAVIOR;
    let kept = [
        Some("_id"),
        behavior.version,
        behavior.created_at,
        behavior.updated_at,
        behavior.soft_delete,
        behavior.schema.map(|schema| schema.field),
    ];
    let is_compared = |name: &str| !kept.contains(&Some(name));
    let compared = |document: Document| -> Document {
        let fields = document.into_iter();
        fields.filter(|(name, _)| is_compared(name)).collect()
    };
    let schema = <D as Field>::json_schema(&mut OuterTypes::default());
    let difference = Difference::of(&schema, compared(before), compared(decoded(&after.raw)?))?;
    if difference.is_empty() {
        return Ok(None);
    }
    let Difference {
        mut set,
        unset,
        inside,
        tags,
    } = difference;
    // The time that is written back.
    if let (Some(field), Some(now)) = (behavior.updated_at, after.written.updated_at) {
        set.insert(field, now);
    }
    let mut update = Document::new();
    for (operator, fields) in [("$set", set), ("$unset", unset)] {
        if !fields.is_empty() {
            update.insert(operator, fields);
        }
    }
    let documents = inside
        .into_iter()
        .map(|path| Node::leaf(path, Op::Type("object")));
    let tags = tags.into_iter().map(|(name, tag)| Node::leaf(name, Op::Eq(tag)));
    Ok(Some((update, documents.chain(tags).collect())))
}

awaitable!(['a, D: Model] SaveChanges<'a, D> => Option<UpdateResult>);
