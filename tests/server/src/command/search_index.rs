//! Commands of search indexes. Without the setting `search` they fail as on a deployment without
//! Atlas Search.

use super::Call;
use crate::error::{Error, Result, code};
use crate::search::index::SearchIndex;
use crate::storage::{Catalog, Namespace};
use bson::{Bson, Document, doc};

/// The error of a deployment without Atlas Search.
pub(crate) fn atlas_only() -> Error {
    Error::new(
        31082,
        "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. \
         Please connect to Atlas or an AtlasCLI local deployment to enable.",
    )
}

/// The namespace of the command; fails if search is not enabled.
fn namespace(call: &Call<'_>) -> Result<Namespace> {
    let namespace = call.namespace()?;
    if call.deployment.search {
        Ok(namespace)
    } else {
        Err(atlas_only())
    }
}

/// The search indexes of the collection, for modification.
fn indexes<'c>(catalog: &'c mut Catalog, namespace: &Namespace) -> Result<&'c mut Vec<SearchIndex>> {
    let missing = || {
        Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("Collection '{namespace}' does not exist."),
        )
    };
    super::view::refuse(catalog, namespace)?;
    catalog
        .get_mut(namespace)
        .map(|collection| &mut collection.search_indexes)
        .ok_or_else(missing)
}

/// `createSearchIndexes`
pub(crate) fn create(call: &Call<'_>) -> Result<Document> {
    let namespace = namespace(call)?;
    let args = call.args();
    let specs = args.required_array("indexes")?;
    if specs.is_empty() {
        return Err(Error::bad_value(
            "Must specify at least one search index to create",
        ));
    }
    let mut created = Vec::with_capacity(specs.len());
    for spec in specs {
        match spec {
            Bson::Document(spec) => created.push(SearchIndex::parse(spec)?),
            _ => return Err(Error::type_mismatch("the elements of 'indexes' must be objects")),
        }
    }
    let mut catalog = call.catalog();
    let indexes = indexes(&mut catalog, &namespace)?;
    for (position, index) in created.iter().enumerate() {
        let mut others = indexes.iter().chain(&created[..position]);
        if others.any(|other| other.name == index.name) {
            return Err(Error::new(
                68,
                format!(
                    "Duplicate Index: an index with the name \"{}\" exists",
                    index.name
                ),
            ));
        }
    }
    let reply: Vec<Document> = created
        .iter()
        .map(|index| doc! { "id": index.id.to_hex(), "name": &index.name })
        .collect();
    indexes.extend(created);
    Ok(doc! { "indexesCreated": reply })
}

/// The position of the index that the command names by `name` or `id`.
fn position(call: &Call<'_>, indexes: &[SearchIndex]) -> Result<usize> {
    let args = call.args();
    let (name, id) = (args.string("name")?, args.string("id")?);
    if name.is_some() == id.is_some() {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "Exactly one of 'name' and 'id' must be specified",
        ));
    }
    indexes
        .iter()
        .position(|index| name == Some(&index.name) || id == Some(&index.id.to_hex()))
        .ok_or_else(|| {
            Error::new(
                code::INDEX_NOT_FOUND,
                format!("Index '{}' not found.", name.or(id).unwrap_or_default()),
            )
        })
}

/// `updateSearchIndex`
pub(crate) fn update(call: &Call<'_>) -> Result<Document> {
    let namespace = namespace(call)?;
    let mut catalog = call.catalog();
    let indexes = indexes(&mut catalog, &namespace)?;
    let position = position(call, indexes)?;
    indexes[position].update(call.body)?;
    Ok(Document::new())
}

/// `dropSearchIndex`
pub(crate) fn drop(call: &Call<'_>) -> Result<Document> {
    let namespace = namespace(call)?;
    let mut catalog = call.catalog();
    let indexes = indexes(&mut catalog, &namespace)?;
    let position = position(call, indexes)?;
    indexes.remove(position);
    Ok(Document::new())
}
