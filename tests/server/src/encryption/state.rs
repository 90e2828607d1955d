//! The state collections: ESC with the positions in use, ECOC with the values since the last compaction.

use super::payload::{InsertPayload, TokenSet};
use super::schema::EncryptedCollection;
use super::token::{Token, derive};
use crate::error::Result;
use crate::storage::{Catalog, Collection, Namespace};
use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, doc};

/// A token as a value of a document.
pub(super) fn generic(token: Token) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: token.to_vec(),
    })
}

/// The number of positions that are in use for a token of ESC.
fn used(esc: Option<&Collection>, state: &Token) -> u64 {
    let Some(index) = esc.and_then(|esc| esc.indexes.first()) else {
        return 0;
    };
    let positions = derive(state, 1);
    let is_used = |counter: &u64| {
        let position = generic(derive(&positions, *counter));
        index.lookup(vec![position]).next().is_some()
    };
    (1..).take_while(is_used).count() as u64
}

/// The tag of a position. `collection`: the token of the collection with a contention.
fn tag(collection: &Token, counter: u64) -> Token {
    derive(&derive(collection, 1), counter)
}

/// The tags of all values that match a query.
pub(super) fn tags(
    catalog: &Catalog,
    collection: &EncryptedCollection,
    sets: &[TokenSet],
    contention: u64,
) -> Vec<Bson> {
    let esc = catalog.get(&collection.esc);
    let mut tags = Vec::new();
    for set in sets {
        for contention in 0..=contention {
            let with_contention = derive(&set.collection, contention);
            let used = used(esc, &derive(&set.state, contention));
            tags.extend((1..=used).map(|counter| generic(tag(&with_contention, counter))));
        }
    }
    tags
}

/// Adds a value to the state collections. Returns the counter and the tag for each set of the payload.
pub(super) fn add(
    catalog: &mut Catalog,
    collection: &EncryptedCollection,
    path: &str,
    payload: &InsertPayload,
) -> Result<Vec<(u64, Token)>> {
    let mut positions = Vec::new();
    for set in payload.sets.all() {
        let counter = used(catalog.get(&collection.esc), &set.state) + 1;
        let position = derive(&derive(&set.state, 1), counter);
        insert(catalog, &collection.esc, doc! { "_id": generic(position) })?;
        let value = Binary {
            subtype: BinarySubtype::Generic,
            bytes: set.compaction.clone(),
        };
        let entry = doc! { "_id": ObjectId::new(), "fieldName": path, "value": value };
        insert(catalog, &collection.ecoc, entry)?;
        positions.push((counter, tag(&set.collection, counter)));
    }
    Ok(positions)
}

fn insert(catalog: &mut Catalog, namespace: &Namespace, document: bson::Document) -> Result<()> {
    catalog
        .get_or_create(namespace)?
        .insert(document, &namespace.to_string(), false)?;
    Ok(())
}
