//! The data before a test, and the expected data after it.

use marula_driver::{
    Client, Database, Error,
    bson::{Bson, Document, doc},
    options::{ReadConcern, ReadPreference, WriteConcern},
};

use super::{
    matcher::{identical, identical_or_typed, show},
    run::TestRun,
    stop::{Step, failed},
};

/// Drops the collections of a file without `initialData`. Such a file expects that its collections
/// do not exist, but deployments are reused.
pub(crate) async fn drop_collections(run: &TestRun, entities: &[Bson]) -> Step {
    let described = |kind: &'static str| {
        let entities = entities.iter().filter_map(Bson::as_document);
        entities.filter_map(move |entity| entity.get_document(kind).ok())
    };
    for collection in described("collection") {
        let of = collection.get_str("database").unwrap_or_default();
        let database = described("database").find(|database| database.get_str("id").is_ok_and(|id| id == of));
        let (Some(Ok(database)), Ok(name)) = (
            database.map(|database| database.get_str("databaseName")),
            collection.get_str("collectionName"),
        ) else {
            continue;
        };
        let leftover = run.internal.database(database).collection::<Document>(name);
        leftover
            .drop()
            .await
            .map_err(|error| format!("dropping {database}.{name}: {error}"))?;
    }
    Ok(())
}

/// Drops and fills the collections of `initialData`.
pub(crate) async fn prepare(run: &TestRun, initial: &[Document]) -> Step {
    for data in initial {
        let (database, name) = named(run, data)?;
        let place = |error: Error| format!("initialData of {}.{name}: {error}", database.name());
        for dropped in [
            name.to_owned(),
            format!("enxcol_.{name}.esc"),
            format!("enxcol_.{name}.ecoc"),
        ] {
            database
                .collection::<Document>(&dropped)
                .drop()
                .await
                .map_err(place)?;
        }
        let documents = documents(data);
        if let Ok(options) = data.get_document("createOptions") {
            let mut create = doc! { "create": name };
            create.extend(options.clone());
            create.insert("writeConcern", doc! { "w": "majority" });
            database.run_command(create).await.map_err(place)?;
        } else if documents.is_empty() {
            database.create_collection(name).await.map_err(place)?;
        }
        if !documents.is_empty() {
            database
                .collection::<Document>(name)
                .insert_many(&documents)
                .await
                .map_err(place)?;
        }
    }
    Ok(())
}

/// Runs `distinct` on every mongos, so that each has the collections' metadata. Otherwise a
/// `distinct` in a transaction could fail.
pub(crate) async fn prepare_distinct(run: &TestRun, initial: &[Document]) -> Step {
    for uri in &run.member_uris {
        let client = Client::connect(uri)
            .await
            .map_err(|error| format!("cannot create a client: {error}"))?;
        for data in initial {
            let (database, name) = named(run, data)?;
            let collection = client.database(database.name()).collection::<Document>(name);
            collection
                .distinct("_id", doc! {})
                .await
                .map_err(|error| format!("distinct before the test: {error}"))?;
        }
        client.shutdown().await;
    }
    Ok(())
}

/// Compares collections with `outcome`. With `typed`, the expected documents may contain the operator
/// `$$type`.
pub(crate) async fn check_outcome(run: &TestRun, outcome: &[Document], typed: bool) -> Step {
    let equal: fn(&Bson, &Bson) -> bool = if typed { identical_or_typed } else { identical };
    for data in outcome {
        let (database, name) = named(run, data)?;
        let place = format!("outcome of {}.{name}", database.name());
        let found = database
            .collection::<Document>(name)
            .with_read_concern(ReadConcern::local())
            .with_read_preference(ReadPreference::primary())
            .find(doc! {})
            .sort(doc! { "_id": 1 })
            .await;
        let found = match found {
            Ok(cursor) => cursor.try_collect().await,
            Err(error) => Err(error),
        };
        let found: Vec<Document> = found.map_err(|error| format!("{place}: {error}"))?;
        let expected = documents(data);
        let list = |documents: &[Document]| {
            show(
                &documents
                    .iter()
                    .cloned()
                    .map(marula_driver::bson::Bson::Document)
                    .collect(),
            )
        };
        let same = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(found, expected)| equal(&expected.clone().into(), &found.clone().into()));
        if !same {
            return failed(format!(
                "{place}: expected {}, found {}",
                list(&expected),
                list(&found)
            ));
        }
    }
    Ok(())
}

fn named<'a>(run: &TestRun, data: &'a Document) -> Step<(Database, &'a str)> {
    let text = |key: &str| {
        data.get_str(key)
            .map_err(|_| format!("collection data requires \"{key}\""))
    };
    let (database, collection) = (text("databaseName")?, text("collectionName")?);
    let database = run
        .internal
        .database(database)
        .with_write_concern(WriteConcern::majority());
    Ok((database, collection))
}

fn documents(data: &Document) -> Vec<Document> {
    let elements = data.get_array("documents").map(Vec::as_slice).unwrap_or_default();
    elements
        .iter()
        .filter_map(|element| element.as_document().cloned())
        .collect()
}
