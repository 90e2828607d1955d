//! Change events made from oplog entries.

use super::diff::describe;
use super::options::{Image, Options, Scope};
use super::token::{Position, Token};
use crate::error::{Error, Result, code};
use crate::storage::change::{Change, ChangeOperation, Definition, Entry};
use crate::storage::collection::RecordChange;
use crate::storage::{Catalog, Namespace};
use crate::version::Version;
use bson::{Bson, Document, doc};

/// Returns the event of an entry, if the stream returns it, followed by the invalidate event, if
/// there is one.
pub(super) fn events(
    entry: &Entry,
    options: &Options,
    version: Version,
    catalog: &Catalog,
) -> Result<Vec<(Token, Document)>> {
    let change = &entry.change;
    let renamed_to = match &change.operation {
        ChangeOperation::Definition(Definition::Rename { to, .. }) => Some(to),
        _ => None,
    };
    let whole_database = matches!(
        change.operation,
        ChangeOperation::Definition(Definition::DropDatabase)
    );
    let seen = match &options.scope {
        Scope::Collection(_) if whole_database => false,
        scope => scope.contains(&change.namespace) || renamed_to.is_some_and(|to| scope.contains(to)),
    };
    if !seen {
        return Ok(Vec::new());
    }
    let token = |position: Position| Token::new(entry.time, position);
    let head = |token: Token, name: &str| {
        let mut event = doc! { "_id": token.to_document(), "operationType": name, "clusterTime": entry.time };
        if version.at_least(6, 0) {
            event.insert("wallTime", entry.wall);
        }
        event
    };
    let mut events = Vec::new();
    if let Some((name, rest)) = body(change, options, version, catalog)? {
        let mut event = head(token(Position::Event), name);
        if options.expanded
            && let Some(uuid) = change.uuid
        {
            event.insert("collectionUUID", uuid);
        }
        event.extend(rest);
        events.push((token(Position::Event), event));
    }
    let ends = matches!(
        (&options.scope, &change.operation),
        (
            Scope::Collection(_),
            ChangeOperation::Definition(Definition::Drop | Definition::Rename { .. })
        ) | (
            Scope::Database(_),
            ChangeOperation::Definition(Definition::DropDatabase)
        )
    );
    if ends {
        events.push((
            token(Position::Invalidate),
            head(token(Position::Invalidate), "invalidate"),
        ));
    }
    Ok(events)
}

fn names(namespace: &Namespace) -> Document {
    doc! { "db": &namespace.database, "coll": &namespace.collection }
}

/// Returns the `operationType` of an event, and the fields that depend on it.
fn body(
    change: &Change,
    options: &Options,
    version: Version,
    catalog: &Catalog,
) -> Result<Option<(&'static str, Document)>> {
    let mut rest = Document::new();
    let ns = names(&change.namespace);
    let key = |document: &Document| doc! { "_id": document.get("_id").cloned().unwrap_or(Bson::Null) };
    let name = match &change.operation {
        ChangeOperation::Record(RecordChange::Insert(_, document)) => {
            rest.extend(
                doc! { "fullDocument": document.as_ref().clone(), "ns": ns, "documentKey": key(document) },
            );
            "insert"
        }
        ChangeOperation::Record(RecordChange::Replace {
            old,
            new,
            whole: true,
            ..
        }) => {
            rest.extend(doc! { "fullDocument": new.as_ref().clone(), "ns": ns, "documentKey": key(new) });
            before_change(&mut rest, change, options, old)?;
            "replace"
        }
        ChangeOperation::Record(RecordChange::Replace { old, new, .. }) => {
            let description = describe(
                old,
                new,
                version.at_least(4, 7),
                options.expanded && version.at_least(6, 1),
            );
            rest.extend(doc! { "ns": ns, "documentKey": key(new), "updateDescription": description });
            full_document(&mut rest, change, options, new, catalog)?;
            before_change(&mut rest, change, options, old)?;
            "update"
        }
        ChangeOperation::Record(RecordChange::Delete(_, old)) => {
            rest.extend(doc! { "ns": ns, "documentKey": key(old) });
            before_change(&mut rest, change, options, old)?;
            "delete"
        }
        ChangeOperation::Definition(Definition::Drop) => {
            rest.insert("ns", ns);
            "drop"
        }
        ChangeOperation::Definition(Definition::DropDatabase) => {
            rest.insert("ns", doc! { "db": &change.namespace.database });
            "dropDatabase"
        }
        ChangeOperation::Definition(Definition::Rename { to, dropped }) => {
            rest.extend(doc! { "ns": ns, "to": names(to) });
            if options.expanded {
                let mut description = doc! { "to": names(to) };
                if let Some(uuid) = dropped {
                    description.insert("dropTarget", *uuid);
                }
                rest.insert("operationDescription", description);
            }
            "rename"
        }
        ChangeOperation::Definition(Definition::Create) if options.expanded => {
            let collection = catalog.get(&change.namespace);
            let mut description = collection.map(|c| c.options.clone()).unwrap_or_default();
            if let Some(index) = collection.and_then(|collection| collection.indexes.first()) {
                description.insert("idIndex", index.spec.clone());
            }
            rest.extend(doc! { "ns": ns, "operationDescription": description });
            if version.at_least(8, 1) {
                rest.insert("nsType", change.kind);
            }
            "create"
        }
        ChangeOperation::Definition(Definition::Other(name, description)) if options.expanded => {
            rest.extend(doc! { "ns": ns, "operationDescription": description.clone() });
            name
        }
        ChangeOperation::Definition(Definition::Create | Definition::Other(..)) => return Ok(None),
    };
    Ok(Some((name, rest)))
}

fn missing(change: &Change, what: &str) -> Error {
    Error::new(
        code::NO_MATCHING_DOCUMENT,
        format!(
            "Change stream was configured to require a {what} for all update events, but it was not found for an event of {}",
            change.namespace
        ),
    )
}

fn full_document(
    rest: &mut Document,
    change: &Change,
    options: &Options,
    new: &Document,
    catalog: &Catalog,
) -> Result<()> {
    let value = match options.full_document {
        Image::Off => return Ok(()),
        Image::Lookup => current(change, new, catalog),
        Image::WhenAvailable | Image::Required if change.images => Bson::Document(new.clone()),
        Image::WhenAvailable => Bson::Null,
        Image::Required => return Err(missing(change, "post-image")),
    };
    rest.insert("fullDocument", value);
    Ok(())
}

fn before_change(rest: &mut Document, change: &Change, options: &Options, old: &Document) -> Result<()> {
    let value = match options.before_change {
        Image::Off | Image::Lookup => return Ok(()),
        Image::WhenAvailable | Image::Required if change.images => Bson::Document(old.clone()),
        Image::WhenAvailable => Bson::Null,
        Image::Required => return Err(missing(change, "pre-image")),
    };
    rest.insert("fullDocumentBeforeChange", value);
    Ok(())
}

/// The current version of the document, or null.
fn current(change: &Change, document: &Document, catalog: &Catalog) -> Bson {
    let found = catalog.get(&change.namespace).and_then(|collection| {
        let id = document.get("_id")?.clone();
        let index = collection.indexes.first()?;
        let record = index.lookup(vec![id]).next()?;
        collection.record(record)
    });
    found.map_or(Bson::Null, |document| Bson::Document(document.as_ref().clone()))
}
