//! `createIndexes`, `dropIndexes`, `collMod`.

use super::Call;
use super::args::Args;
use super::create::{existing, set_validator};
use super::encrypted_fields;
use super::plan::normalized;
use crate::error::{Error, Result, code};
use crate::storage::change::Definition;
use crate::storage::index::Index;
use crate::storage::index_relation::{Relation, relate};
use crate::storage::index_spec;
use crate::storage::{Catalog, Collection, Namespace};
use crate::value::identical_documents;
use bson::{Bson, Document, doc};

pub(crate) fn create_indexes(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let specs = call.args().documents("indexes")?.ok_or_else(|| {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'createIndexes.indexes' is missing but a required field",
        )
    })?;
    if specs.is_empty() {
        return Err(Error::bad_value("Must specify at least one index to create"));
    }
    if specs.len() > 1000 {
        return Err(Error::bad_value(
            "The number of indexes in one command is limited to 1000",
        ));
    }
    let mut catalog = call.catalog();
    let created = catalog.get(&namespace).is_none();
    if call.in_transaction() && call.deployment.catalog().get(&namespace).is_some() {
        return Err(Error::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            format!(
                "Cannot create new indexes on existing collection {namespace} in a multi-document transaction."
            ),
        ));
    }
    if let Some(collection) = catalog.get(&namespace) {
        for spec in &specs {
            encrypted_fields::check_index(&collection.options, spec)?;
        }
    }
    let default_collation = catalog
        .get(&namespace)
        .and_then(|collection| collection.collation.clone());
    let indexes = specs
        .into_iter()
        .map(|spec| index_spec::parse(spec, default_collation.as_ref()))
        .collect::<Result<Vec<_>>>()?;
    super::shard_key::check_indexes(call, catalog.get(&namespace), &indexes)?;
    let collection = catalog.get_or_create(&namespace)?;
    let before = collection.indexes.len();
    let name = namespace.to_string();
    let built = indexes
        .into_iter()
        .try_for_each(|index| match relate(&collection.indexes, &index)? {
            Relation::Same => Ok(()),
            Relation::New if collection.indexes.len() >= 64 => Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                format!(
                    "add index fails, too many indexes for {name} key:{}",
                    index.key_pattern()
                ),
            )),
            Relation::New => collection.add_index(index, &name),
        });
    if let Err(error) = built {
        // All indexes are created, or none.
        collection.indexes.truncate(before);
        if created {
            catalog.undo_create(&namespace);
        }
        return Err(error);
    }
    let after = collection.indexes.len();
    if after != before {
        let made = specs_of(&collection.indexes[before..]);
        record_change(
            &mut catalog,
            &namespace,
            "createIndexes",
            doc! { "indexes": made },
        );
    }
    if after != before || created {
        call.advance_clock();
    }
    let mut reply = doc! {
        "numIndexesBefore": before as i32,
        "numIndexesAfter": after as i32,
        "createdCollectionAutomatically": created,
    };
    if after == before {
        reply.insert("note", "all indexes already exist");
    }
    if call.deployment.is_replicated() && after != before {
        reply.insert("commitQuorum", "votingMembers");
    }
    Ok(reply)
}

pub(crate) fn drop_indexes(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let mut catalog = call.catalog();
    let collection = catalog
        .get_mut(&namespace)
        .ok_or_else(|| Error::new(code::NAMESPACE_NOT_FOUND, format!("ns not found {namespace}")))?;
    let before = collection.indexes.len();
    let old = collection.indexes.clone();
    match call.args().get("index") {
        Some(Bson::String(name)) if name == "*" => collection.indexes.truncate(1),
        Some(Bson::Array(names)) => {
            let mut positions = Vec::new();
            for name in names {
                positions.push(find(collection, name)?);
            }
            positions.sort_unstable();
            positions.dedup();
            for position in positions.into_iter().rev() {
                collection.indexes.remove(position);
            }
        }
        Some(selector) => {
            let position = find(collection, selector)?;
            collection.indexes.remove(position);
        }
        None => {
            return Err(Error::new(
                code::MISSING_FIELD,
                "BSON field 'dropIndexes.index' is missing but a required field",
            ));
        }
    }
    super::shard_key::keep_supporting_index(call, collection, &old)?;
    let kept: Vec<&str> = collection
        .indexes
        .iter()
        .map(|index| index.name.as_str())
        .collect();
    let dropped = old.iter().filter(|index| !kept.contains(&index.name.as_str()));
    let dropped = specs_of(dropped);
    if !dropped.is_empty() {
        record_change(
            &mut catalog,
            &namespace,
            "dropIndexes",
            doc! { "indexes": dropped },
        );
    }
    call.advance_clock();
    Ok(doc! { "nIndexesWas": before as i32 })
}

fn specs_of<'i>(indexes: impl IntoIterator<Item = &'i Index>) -> Vec<Bson> {
    let specs = indexes.into_iter().map(|index| index.spec.clone());
    specs.map(Bson::Document).collect()
}

/// Records a change of the definition of a collection, for change streams.
fn record_change(catalog: &mut Catalog, namespace: &Namespace, event: &'static str, description: Document) {
    if let Some(collection) = catalog.shared(namespace).cloned() {
        catalog.define(namespace, &collection, Definition::Other(event, description));
    }
}

/// Finds an index to drop; fails if it must not be dropped.
fn find(collection: &Collection, selector: &Bson) -> Result<usize> {
    let position = match selector {
        Bson::String(name) => collection
            .indexes
            .iter()
            .position(|index| index.name == *name)
            .ok_or_else(|| {
                Error::new(
                    code::INDEX_NOT_FOUND,
                    format!("index not found with name [{name}]"),
                )
            })?,
        Bson::Document(pattern) => by_pattern(collection, pattern)?,
        _ => {
            return Err(Error::type_mismatch(
                "dropIndexes.index must be a string, an array of strings or an object",
            ));
        }
    };
    if position == 0 {
        return Err(Error::new(code::INVALID_OPTIONS, "cannot drop _id index"));
    }
    Ok(position)
}

fn by_pattern(collection: &Collection, pattern: &Document) -> Result<usize> {
    let wanted = normalized(pattern);
    let mut found = (0..collection.indexes.len()).filter(|position| {
        identical_documents(&normalized(&collection.indexes[*position].key_pattern()), &wanted)
    });
    let first = found.next().ok_or_else(|| {
        Error::new(
            code::INDEX_NOT_FOUND,
            format!(
                "can't find index with key: {}",
                crate::value::format::document(pattern)
            ),
        )
    })?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(Error::new(
            181,
            "several indexes have this key pattern; name the one to use",
        )),
    }
}

pub(crate) fn coll_mod(call: &Call<'_>) -> Result<Document> {
    if ["viewOn", "pipeline"]
        .iter()
        .any(|option| call.body.contains_key(option))
    {
        return super::view::modify(call);
    }
    let namespace = call.namespace()?;
    let args = call.args();
    let mut catalog = call.catalog();
    let collection = existing(&mut catalog, &namespace)?;
    let mut reply = Document::new();
    if let Some(index) = args.document("index")? {
        modify_index(collection, index, args.flag("dryRun", false)?, &mut reply)?;
    } else if args.flag("dryRun", false)? {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "dryRun is only supported for index modifications",
        ));
    }
    let mut options = collection.options.clone();
    let mut wanted = options.clone();
    for name in ["validationLevel", "validationAction"] {
        wanted.extend(call.body.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    encrypted_fields::check_options(&wanted)?;
    set_validator(collection, &mut options, call)?;
    if let Some(images) = args.document("changeStreamPreAndPostImages")? {
        if images.get_bool("enabled").unwrap_or(false) {
            options.insert("changeStreamPreAndPostImages", images.clone());
        } else {
            options.remove("changeStreamPreAndPostImages");
        }
    }
    if let Some(seconds) = args.get("expireAfterSeconds") {
        if collection.time_field.is_none() && !options.contains_key("clusteredIndex") {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "'expireAfterSeconds' is only for time-series and clustered collections",
            ));
        }
        match seconds {
            Bson::String(off) if off == "off" => options.remove("expireAfterSeconds"),
            seconds => options.insert("expireAfterSeconds", seconds.clone()),
        };
    }
    collection.options = options;
    let asked = [
        "index",
        "validator",
        "validationLevel",
        "validationAction",
        "changeStreamPreAndPostImages",
        "expireAfterSeconds",
    ];
    let description: Document = asked
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), call.body.get(name)?.clone())))
        .collect();
    record_change(&mut catalog, &namespace, "modify", description);
    call.advance_clock();
    Ok(reply)
}

fn modify_index(
    collection: &mut Collection,
    change: &Document,
    dry_run: bool,
    reply: &mut Document,
) -> Result<()> {
    let args = Args::new("collMod.index", change);
    args.only(&[
        "name",
        "keyPattern",
        "expireAfterSeconds",
        "hidden",
        "unique",
        "prepareUnique",
        "forceNonUnique",
    ])?;
    let position = match (args.string("name")?, args.document("keyPattern")?) {
        (Some(_), Some(_)) => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "Cannot specify both key pattern and name.",
            ));
        }
        (None, None) => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "Must specify either index name or key pattern.",
            ));
        }
        (Some(name), None) => {
            let missing = || {
                Error::new(
                    code::INDEX_NOT_FOUND,
                    format!("cannot find index {name} for the collection"),
                )
            };
            collection
                .indexes
                .iter()
                .position(|index| index.name == name)
                .ok_or_else(missing)?
        }
        (None, Some(pattern)) => by_pattern(collection, pattern)?,
    };
    if args.flag("forceNonUnique", false)? {
        return Err(Error::not_served("collMod with forceNonUnique"));
    }
    let convert = args.flag("unique", false)?;
    if convert {
        check_convertible(collection, position)?;
        if dry_run {
            return Ok(());
        }
    }
    let index = &mut collection.indexes[position];
    let changes = ["expireAfterSeconds", "hidden", "unique", "prepareUnique"];
    if !changes.iter().any(|field| change.contains_key(field)) {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "no expireAfterSeconds, hidden, unique, or prepareUnique field",
        ));
    }
    if let Some(seconds) = args.integer("expireAfterSeconds")? {
        if !(0..=i64::from(i32::MAX)).contains(&seconds) {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "TTL index 'expireAfterSeconds' option must be within an acceptable range",
            ));
        }
        if index.key_pattern().len() != 1 || index.name == "_id_" {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "TTL indexes are single-field indexes",
            ));
        }
        if let Some(old) = index.expire_after_seconds {
            reply.insert("expireAfterSeconds_old", old);
        }
        reply.insert("expireAfterSeconds_new", seconds);
        index.expire_after_seconds = Some(seconds);
        index.spec.insert("expireAfterSeconds", Bson::Int64(seconds));
    }
    if change.contains_key("hidden") {
        let hidden = args.flag("hidden", false)?;
        if index.name == "_id_" {
            return Err(Error::bad_value("can't hide _id index"));
        }
        reply.insert("hidden_old", index.hidden);
        reply.insert("hidden_new", hidden);
        index.hidden = hidden;
        set_flag(&mut index.spec, "hidden", hidden);
    }
    if change.contains_key("prepareUnique") {
        let prepare = args.flag("prepareUnique", false)?;
        reply.insert("prepareUnique_old", index.prepare_unique);
        reply.insert("prepareUnique_new", prepare);
        index.prepare_unique = prepare;
        set_flag(&mut index.spec, "prepareUnique", prepare);
    }
    if convert {
        reply.insert("unique_new", true);
        index.unique = true;
        index.prepare_unique = false;
        index.spec.remove("prepareUnique");
        index.spec.insert("unique", true);
    }
    Ok(())
}

fn set_flag(spec: &mut Document, name: &str, on: bool) {
    if on {
        spec.insert(name, true);
    } else {
        spec.remove(name);
    }
}

fn check_convertible(collection: &Collection, position: usize) -> Result<()> {
    let index = &collection.indexes[position];
    if !index.prepare_unique && !index.unique {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.",
        ));
    }
    let violations: Vec<Bson> = index
        .violations()
        .into_iter()
        .map(|ids| {
            let ids: Vec<Bson> = ids
                .into_iter()
                .filter_map(|id| collection.record(id)?.get("_id").cloned())
                .collect();
            Bson::Document(doc! { "ids": ids })
        })
        .collect();
    if violations.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        code::CANNOT_CONVERT_INDEX_TO_UNIQUE,
        "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
    )
    .with("violations", violations))
}
