//! `convertToCapped`: replaces a collection by a capped one with its latest documents.

use super::Call;
use crate::error::{Error, Result};
use crate::refusal::collections as rows;
use crate::storage::change::Definition;
use crate::storage::collection::Capped;
use crate::storage::{Collection, Namespace};
use crate::value::number::Number;
use bson::Document;
use std::sync::Arc;

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let profile = call.deployment.profile();
    let size = call.body.get("size").and_then(Number::from_bson);
    let size = size.map_or(0, Number::to_saturated_i64);
    if size <= 0 {
        rows::CONVERT_SIZE.check(profile, true, &[])?;
        return Err(Error::not_served("convertToCapped without a size"));
    }
    let mut catalog = call.catalog();
    let source = catalog
        .get(&namespace)
        .ok_or_else(|| rows::CONVERT_MISSING.error(&[&namespace]))?;
    let is_view = source.view.is_some() || source.time_field.is_some();
    rows::CONVERT_VIEW.check(profile, is_view, &[&namespace])?;
    let has = |option: &str| source.options.contains_key(option);
    rows::CONVERT_ENCRYPTED.check(profile, has("encryptedFields"), &[])?;
    if source.shard_key.is_some() || has("clusteredIndex") {
        return Err(Error::not_served(
            "convertToCapped of a sharded or clustered collection",
        ));
    }
    call.deployment.index_builds.check(profile, &namespace)?;
    let replaced = source.uuid;
    let capped = copied(source, &namespace, super::create::rounded(size, profile))?;
    catalog.take(&namespace);
    let temporary = Namespace {
        collection: format!("tmp.convertToCapped.{}", namespace.collection),
        ..namespace.clone()
    };
    let renamed = Definition::Rename {
        to: namespace.clone(),
        dropped: Some(replaced),
    };
    catalog.define(&temporary, &capped, renamed);
    catalog.put(&namespace, capped);
    call.advance_clock();
    Ok(Document::new())
}

/// A capped collection with the options and the latest documents of the source. Indexes are not
/// copied.
fn copied(source: &Collection, namespace: &Namespace, size: i64) -> Result<Collection> {
    let mut target = Collection::new(source.collation.clone());
    target.options = source.options.clone();
    target.options.insert("capped", true);
    target.options.insert("size", size);
    target.validator.clone_from(&source.validator);
    target.capped = Some(Capped {
        size: size as usize,
        max: source.capped.and_then(|capped| capped.max),
    });
    for (_, document) in source.records() {
        target.insert(Arc::clone(document), &namespace.to_string(), true)?;
    }
    // The copies are no changes that a change stream returns.
    target.take_changes();
    Ok(target)
}
