//! `renameCollection`.

use super::Call;
use crate::error::{Error, Result, code};
use crate::refusal::collections as rows;
use crate::storage::Namespace;
use crate::storage::change::Definition;
use bson::{Bson, Document};

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let from = split(args.required_string(call.key)?)?;
    let to = split(args.required_string("to")?)?;
    to.check_creatable()?;
    let drop_target = match args.get("dropTarget") {
        // MongoDB also accepts the UUID of the collection to drop.
        Some(Bson::Binary(_)) => {
            return Err(Error::not_served("renameCollection with the UUID of the target"));
        }
        _ => args.flag("dropTarget", false)?,
    };
    if from == to {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            "Can't rename a collection to itself",
        ));
    }
    let profile = call.deployment.profile();
    let mut catalog = call.catalog();
    if let Some(source) = catalog.get(&from) {
        if source.view.is_some() {
            return Err(rows::RENAME_VIEW.error(&[&from]));
        }
        rows::RENAME_TIMESERIES.check(profile, source.time_field.is_some(), &[&from])?;
        let encrypted = source.options.contains_key("encryptedFields");
        rows::RENAME_ENCRYPTED.check(profile, encrypted, &[])?;
    } else {
        return Err(Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("Source collection {from} does not exist"),
        ));
    }
    if catalog.get(&to).is_some_and(|target| target.view.is_some()) {
        return Err(rows::RENAME_TO_VIEW.error(&[&to]));
    }
    if catalog.get(&to).is_some() && !drop_target {
        return Err(Error::new(code::NAMESPACE_EXISTS, "target namespace exists"));
    }
    catalog.check_creatable(&to)?;
    for namespace in [&from, &to] {
        let builds = &call.deployment.index_builds;
        builds.check(profile, namespace)?;
    }
    let dropped = catalog.take(&to).map(|target| target.uuid);
    if let Some(collection) = catalog.take(&from) {
        let renamed = Definition::Rename {
            to: to.clone(),
            dropped,
        };
        catalog.define(&from, &collection, renamed);
        catalog.put(&to, collection);
        call.advance_clock();
    }
    Ok(Document::new())
}

fn split(text: &str) -> Result<Namespace> {
    match text.split_once('.') {
        Some((database, collection)) => Namespace::new(database, collection),
        None => Err(Error::new(
            code::INVALID_NAMESPACE,
            format!("Invalid namespace specified '{text}'"),
        )),
    }
}
