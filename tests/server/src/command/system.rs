//! The system databases: the initial contents of `admin`, `config` and `local`, and their
//! collections that cannot be read. Also commands that describe the server.

use super::Call;
use super::table::{self, Access};
use super::view::{SYSTEM_VIEWS, definitions};
use crate::deployment::Deployment;
use crate::error::{Error, Result};
use crate::settings::Kind;
use crate::storage::collection::Capped;
use crate::storage::{Catalog, Collection, Namespace};
use crate::version::Version;
use bson::{Bson, DateTime, Document, doc};

/// The only shard of a cluster.
pub(crate) fn shard() -> Document {
    doc! { "_id": "shard01", "host": "shard01/localhost:27217", "state": 1 }
}

/// The catalog of a new server.
pub(crate) fn catalog(kind: Kind, version: Version, hosts: &[String]) -> Catalog {
    let mut catalog = Catalog::default();
    let compatible = doc! {
        "_id": "featureCompatibilityVersion",
        "version": format!("{}.{}", version.major, version.minor),
    };
    put(&mut catalog, "admin", "system.version", vec![compatible]);
    if kind.is_mongos() {
        put(&mut catalog, "config", "shards", vec![shard()]);
        return catalog;
    }
    let now = DateTime::now();
    let host = hosts.first().map_or("localhost", String::as_str);
    let started = doc! {
        "_id": format!("{host}-{}", now.timestamp_millis()),
        "hostname": host,
        "startTime": now,
        "cmdLine": {},
        "pid": i64::from(std::process::id()),
        "buildinfo": { "version": version.to_string() },
    };
    put(&mut catalog, "local", "startup_log", vec![started]);
    if kind != Kind::Single {
        put(&mut catalog, "local", "oplog.rs", Vec::new());
        put(&mut catalog, "config", "transactions", Vec::new());
    }
    catalog
}

fn put(catalog: &mut Catalog, database: &str, name: &str, documents: Vec<Document>) {
    let namespace = Namespace {
        database: database.to_owned(),
        collection: name.to_owned(),
    };
    let mut collection = Collection::new(None);
    if matches!(name, "oplog.rs" | "startup_log") {
        let size = 10 * 1024 * 1024;
        collection.options = doc! { "capped": true, "size": size as i64 };
        collection.capped = Some(Capped { size, max: None });
    }
    for document in documents {
        // Insertion cannot fail: the documents are fixed and have distinct `_id`s.
        let _ = collection.insert(document, &namespace.to_string(), true);
    }
    collection.take_changes();
    catalog.put(&namespace, collection);
    catalog.take_changes();
}

/// Fails with 238 NotImplemented for a collection that MongoDB maintains and this server does not,
/// instead of returning no documents.
pub(crate) fn check_readable(deployment: &Deployment, namespace: &Namespace) -> Result<()> {
    let name = namespace.collection.as_str();
    let filled = match namespace.database.as_str() {
        "local" => {
            deployment.is_replicated() && matches!(name, "oplog.rs" | "system.replset" | "replset.election")
        }
        "config" if deployment.is_mongos() => matches!(
            name,
            "actionlog"
                | "changelog"
                | "chunks"
                | "csrs.indexes"
                | "databases"
                | "lockpings"
                | "locks"
                | "mongos"
                | "placementHistory"
                | "settings"
                | "system.sessions"
                | "tags"
                | "transactions"
                | "version"
        ),
        "config" => matches!(
            name,
            "image_collection" | "system.preimages" | "system.sessions" | "transactions"
        ),
        "admin" => matches!(name, "system.users" | "system.roles" | "system.keys"),
        _ => false,
    };
    if filled {
        return Err(Error::not_served(format!("reading {namespace}")));
    }
    Ok(())
}

/// `system.views` for `listCollections`, if the database has views.
pub(super) fn views_entry(catalog: &Catalog, database: &str) -> Option<Collection> {
    if definitions(catalog, database).is_empty() {
        return None;
    }
    let mut collection = Collection::new(None);
    // A constant UUID, so that every `listCollections` returns the same one.
    let mut bytes = [0; 16];
    for (position, byte) in format!("{database}.{SYSTEM_VIEWS}").bytes().enumerate() {
        bytes[position % 16] ^= byte.rotate_left(position as u32 / 16);
    }
    collection.uuid = bson::Uuid::from_bytes(bytes);
    Some(collection)
}

/// `listCommands`.
pub(crate) fn list_commands(call: &Call<'_>) -> Result<Document> {
    let commands: Document = table::all(call.deployment)
        .map(|command| {
            let versions: &[&str] = if command.api_v1 { &["1"] } else { &[] };
            let described = doc! {
                "help": "",
                "requiresAuth": !super::sasl::allows_unauthenticated(command.name),
                "secondaryOk": command.access == Access::Always,
                "adminOnly": command.admin_only,
                "apiVersions": versions,
                "deprecatedApiVersions": [],
            };
            (command.name.to_owned(), Bson::Document(described))
        })
        .collect();
    Ok(doc! { "commands": commands })
}

/// `getDefaultRWConcern`. Returns the implicit defaults, because they cannot be set.
pub(crate) fn default_concerns(call: &Call<'_>) -> Result<Document> {
    if !call.deployment.is_replicated() {
        return Err(Error::new(
            51300,
            "'getDefaultRWConcern' is not supported on standalone nodes.",
        ));
    }
    let mut reply = Document::new();
    if call.deployment.version.at_least(5, 0) {
        reply.extend(doc! {
            "defaultReadConcern": { "level": "local" },
            "defaultWriteConcern": { "w": "majority", "wtimeout": 0 },
            "defaultWriteConcernSource": "implicit",
            "defaultReadConcernSource": "implicit",
        });
    }
    reply.insert("localUpdateWallClockTime", DateTime::now());
    Ok(reply)
}

/// `profile`. Returns that profiling is off.
pub(crate) fn profile(call: &Call<'_>) -> Result<Document> {
    match call.args().required_integer(call.key)? {
        -1 | 0
            if ["slowms", "sampleRate", "filter"]
                .iter()
                .all(|option| !call.body.contains_key(option)) =>
        {
            Ok(doc! { "was": 0, "slowms": 100, "sampleRate": 1.0 })
        }
        -1..=2 => Err(Error::not_served("setting the profiler")),
        level => Err(Error::bad_value(format!(
            "BSON field 'profile' value must be >= -1 and <= 2, actual value '{level}'"
        ))),
    }
}
