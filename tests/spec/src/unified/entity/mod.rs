//! The entities of a test: clients, databases, collections, sessions, cursors, threads, topology
//! descriptions and values.

mod client;
mod create;
mod cursor;
mod encryption;
mod session;
pub(crate) mod settings;
mod thread;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    Collection, Database, GridFsBucket,
    bson::{Bson, Document},
    event::TopologyDescription,
};

pub(crate) use client::{ClientEntity, connect};
pub(crate) use create::create;
pub(crate) use cursor::CursorEntity;
pub(crate) use encryption::EncryptionEntity;
pub(crate) use session::SessionEntity;
pub(crate) use thread::ThreadEntity;

use super::{
    matcher::Lookup,
    stop::{Step, failed},
};

/// An entity. Clones refer to the same object.
#[derive(Clone, Debug)]
pub(crate) enum Entity {
    Client(Arc<ClientEntity>),
    Database(Database),
    Collection(Collection<Document>),
    Bucket(GridFsBucket),
    Encryption(Arc<EncryptionEntity>),
    Session(Arc<SessionEntity>),
    Cursor(Arc<CursorEntity>),
    Thread(Arc<ThreadEntity>),
    Topology(Option<Arc<TopologyDescription>>),
    Value(Bson),
}

impl Entity {
    /// The entity type in the test format.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Client(_) => "client",
            Self::Database(_) => "database",
            Self::Collection(_) => "collection",
            Self::Bucket(_) => "bucket",
            Self::Encryption(_) => "clientEncryption",
            Self::Session(_) => "session",
            Self::Cursor(cursor) => cursor.kind(),
            Self::Thread(_) => "thread",
            Self::Topology(_) => "topologyDescription",
            Self::Value(_) => "value",
        }
    }
}

/// The entities of a test by ID.
#[derive(Debug, Default)]
pub(crate) struct Entities(Mutex<BTreeMap<String, Entity>>);

impl Entities {
    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Entity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an entity. Each ID can be used once.
    pub(crate) fn add(&self, id: &str, entity: Entity) -> Step {
        let mut map = self.map();
        if map.contains_key(id) {
            return failed(format!("duplicate entity \"{id}\""));
        }
        map.insert(id.to_owned(), entity);
        Ok(())
    }

    pub(crate) fn get(&self, id: &str) -> Step<Entity> {
        match self.map().get(id) {
            Some(entity) => Ok(entity.clone()),
            None => failed(format!("unknown entity \"{id}\"")),
        }
    }

    fn typed<T>(&self, id: &str, kind: &str, pick: impl FnOnce(Entity) -> Option<T>) -> Step<T> {
        let entity = self.get(id)?;
        let found = entity.kind();
        pick(entity).map_or_else(
            || failed(format!("entity \"{id}\" is a {found}, not a {kind}")),
            Ok,
        )
    }

    pub(crate) fn client(&self, id: &str) -> Step<Arc<ClientEntity>> {
        self.typed(id, "client", |entity| match entity {
            Entity::Client(client) => Some(client),
            _ => None,
        })
    }

    pub(crate) fn database(&self, id: &str) -> Step<Database> {
        self.typed(id, "database", |entity| match entity {
            Entity::Database(database) => Some(database),
            _ => None,
        })
    }

    pub(crate) fn session(&self, id: &str) -> Step<Arc<SessionEntity>> {
        self.typed(id, "session", |entity| match entity {
            Entity::Session(session) => Some(session),
            _ => None,
        })
    }

    pub(crate) fn thread(&self, id: &str) -> Step<Arc<ThreadEntity>> {
        self.typed(id, "thread", |entity| match entity {
            Entity::Thread(thread) => Some(thread),
            _ => None,
        })
    }

    pub(crate) fn topology(&self, id: &str) -> Step<Option<Arc<TopologyDescription>>> {
        self.typed(id, "topologyDescription", |entity| match entity {
            Entity::Topology(topology) => Some(topology),
            _ => None,
        })
    }

    /// All client entities.
    pub(crate) fn clients(&self) -> Vec<Arc<ClientEntity>> {
        self.map()
            .values()
            .filter_map(|entity| match entity {
                Entity::Client(client) => Some(Arc::clone(client)),
                _ => None,
            })
            .collect()
    }

    /// All thread entities, with their IDs.
    pub(crate) fn threads(&self) -> Vec<(String, Arc<ThreadEntity>)> {
        self.map()
            .iter()
            .filter_map(|(id, entity)| match entity {
                Entity::Thread(thread) => Some((id.clone(), Arc::clone(thread))),
                _ => None,
            })
            .collect()
    }

    /// Removes and returns all entities.
    pub(crate) fn clear(&self) -> Vec<Entity> {
        std::mem::take(&mut *self.map()).into_values().collect()
    }
}

impl Lookup for Entities {
    fn value(&self, id: &str) -> Result<Bson, String> {
        match self.map().get(id) {
            Some(Entity::Value(value)) => Ok(value.clone()),
            Some(other) => Err(format!("entity \"{id}\" is a {}, not a BSON value", other.kind())),
            None => Err(format!("unknown entity \"{id}\"")),
        }
    }

    fn session_id(&self, id: &str) -> Result<Document, String> {
        match self.map().get(id) {
            Some(Entity::Session(session)) => Ok(session.id.clone()),
            Some(other) => Err(format!("entity \"{id}\" is a {}, not a session", other.kind())),
            None => Err(format!("unknown entity \"{id}\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_types_are_checked() {
        let entities = Entities::default();
        entities
            .add("a", Entity::Value(Bson::Int32(1)))
            .expect("a new ID");
        assert!(entities.add("a", Entity::Topology(None)).is_err());
        assert!(entities.client("a").is_err());
        assert!(entities.get("b").is_err());
        assert_eq!(entities.value("a"), Ok(Bson::Int32(1)));
        assert!(entities.session_id("a").is_err());
    }
}
