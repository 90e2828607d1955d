//! Creates the entities of `createEntities`.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    Database, GridFsBucket,
    bson::{Bson, Document},
};

use super::{
    ClientEntity, Entity, ThreadEntity,
    client::{client, milliseconds},
    encryption::client_encryption,
    session::session,
    settings,
};
use crate::unified::{
    run::TestRun,
    stop::{Step, failed},
};

/// Creates an entity and stores it under its ID.
pub(crate) async fn create(run: &Arc<TestRun>, entity: &Bson) -> Step {
    let Some((kind, Bson::Document(description))) =
        entity.as_document().and_then(|entity| entity.iter().next())
    else {
        return failed("an entity must be a document with one key");
    };
    let id = text(description, "id")?;
    let made = make(run, kind, description).await;
    run.entities
        .add(id, made.map_err(|stop| stop.within(format!("entity \"{id}\"")))?)
}

async fn make(run: &Arc<TestRun>, kind: &str, description: &Document) -> Step<Entity> {
    let entities = &run.entities;
    match kind {
        "client" => {
            let made: ClientEntity = client(run, description).await?;
            Ok(Entity::Client(Arc::new(made)))
        }
        "database" => {
            let client = &entities.client(text(description, "client")?)?.client;
            let mut database = client.database(text(description, "databaseName")?);
            let options = Options::of(description, "databaseOptions")?;
            if let Some(concern) = options.read_concern {
                database = database.with_read_concern(settings::read_concern(concern)?);
            }
            if let Some(concern) = options.write_concern {
                database = database.with_write_concern(settings::write_concern(concern)?);
            }
            if let Some(preference) = options.read_preference {
                database = database.with_read_preference(settings::read_preference(preference)?);
            }
            if let Some(timeout) = options.timeout {
                database = database.with_timeout(timeout);
            }
            Ok(Entity::Database(database))
        }
        "collection" => {
            let database = entities.database(text(description, "database")?)?;
            let mut collection = database.collection(text(description, "collectionName")?);
            let options = Options::of(description, "collectionOptions")?;
            if let Some(concern) = options.read_concern {
                collection = collection.with_read_concern(settings::read_concern(concern)?);
            }
            if let Some(concern) = options.write_concern {
                collection = collection.with_write_concern(settings::write_concern(concern)?);
            }
            if let Some(preference) = options.read_preference {
                collection = collection.with_read_preference(settings::read_preference(preference)?);
            }
            if let Some(timeout) = options.timeout {
                collection = collection.with_timeout(timeout);
            }
            Ok(Entity::Collection(collection))
        }
        "thread" => Ok(Entity::Thread(Arc::new(ThreadEntity::new(run)))),
        "session" => {
            let client = entities.client(text(description, "client")?)?;
            session(run, &client, description).await
        }
        "clientEncryption" => {
            let options = description
                .get_document("clientEncryptionOpts")
                .map_err(|_| "clientEncryption requires clientEncryptionOpts".to_owned())?;
            let client = entities.client(text(options, "keyVaultClient")?)?;
            let entity = client_encryption(&client.client, options).await?;
            Ok(Entity::Encryption(Arc::new(entity)))
        }
        "bucket" => {
            let database = entities.database(text(description, "database")?)?;
            bucket(&database, description).map(Entity::Bucket)
        }
        _ => failed(format!("unknown entity type: {kind}")),
    }
}

fn bucket(database: &Database, description: &Document) -> Step<GridFsBucket> {
    let mut bucket = database.gridfs_bucket();
    let Ok(given) = description.get_document("bucketOptions") else {
        return Ok(bucket);
    };
    for (name, value) in given {
        bucket = match (name.as_str(), value) {
            ("bucketName", Bson::String(name)) => bucket.with_name(name),
            ("chunkSizeBytes", Bson::Int32(size)) => bucket.with_chunk_size(size.unsigned_abs()),
            ("chunkSizeBytes", Bson::Int64(size)) => {
                bucket.with_chunk_size(u32::try_from(*size).unwrap_or(u32::MAX))
            }
            ("readConcern", Bson::Document(concern)) => {
                bucket.with_read_concern(settings::read_concern(concern)?)
            }
            ("writeConcern", Bson::Document(concern)) => {
                bucket.with_write_concern(settings::write_concern(concern)?)
            }
            ("readPreference", Bson::Document(preference)) => {
                bucket.with_read_preference(settings::read_preference(preference)?)
            }
            ("timeoutMS", value) => match milliseconds(Some(value)) {
                Some(timeout) => bucket.with_timeout(timeout),
                None => return failed("bucketOptions.timeoutMS must be a number"),
            },
            // The driver does not calculate MD5 checksums.
            ("disableMD5", Bson::Boolean(_)) => bucket,
            _ => return failed(format!("unknown option bucketOptions.{name}")),
        };
    }
    Ok(bucket)
}

fn text<'a>(description: &'a Document, key: &str) -> Step<&'a str> {
    match description.get_str(key) {
        Ok(text) => Ok(text),
        Err(_) => failed(format!("an entity requires a string \"{key}\"")),
    }
}

/// Options of both databases and collections.
#[derive(Default)]
struct Options<'a> {
    read_concern: Option<&'a Document>,
    write_concern: Option<&'a Document>,
    read_preference: Option<&'a Document>,
    timeout: Option<Duration>,
}

impl<'a> Options<'a> {
    fn of(description: &'a Document, key: &str) -> Step<Self> {
        let mut options = Self::default();
        let Ok(given) = description.get_document(key) else {
            return Ok(options);
        };
        for (name, value) in given {
            match (name.as_str(), value) {
                ("readConcern", Bson::Document(concern)) => options.read_concern = Some(concern),
                ("writeConcern", Bson::Document(concern)) => options.write_concern = Some(concern),
                ("readPreference", Bson::Document(preference)) => options.read_preference = Some(preference),
                ("timeoutMS", value) => options.timeout = milliseconds(Some(value)),
                _ => return failed(format!("unknown option {key}.{name}")),
            }
        }
        Ok(options)
    }
}
