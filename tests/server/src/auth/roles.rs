//! The built-in roles, and the actions that each grants on each resource.

use crate::error::{Error, Result, code};
use bson::{Bson, Document, doc};

/// A role and its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleName {
    pub(crate) role: String,
    pub(crate) db: String,
}

/// The resource of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Cluster,
    Database(String),
    Collection(String, String),
}

impl Resource {
    fn database(&self) -> Option<&str> {
        match self {
            Resource::Cluster => None,
            Resource::Database(db) | Resource::Collection(db, _) => Some(db),
        }
    }
}

/// Roles of every database.
const OF_DATABASES: [&str; 5] = ["read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"];

/// Roles of the database `admin` only.
const OF_ADMIN: [&str; 15] = [
    "readAnyDatabase",
    "readWriteAnyDatabase",
    "dbAdminAnyDatabase",
    "userAdminAnyDatabase",
    "clusterMonitor",
    "clusterManager",
    "clusterAdmin",
    "hostManager",
    "backup",
    "restore",
    "root",
    "enableSharding",
    "directShardOperations",
    "searchCoordinator",
    "__system",
];

const READ: &[&str] = &[
    "changeStream",
    "collStats",
    "dbHash",
    "dbStats",
    "find",
    "killCursors",
    "listCollections",
    "listIndexes",
    "listSearchIndexes",
];

const WRITE: &[&str] = &[
    "cleanupStructuredEncryptionData",
    "compactStructuredEncryptionData",
    "convertToCapped",
    "createCollection",
    "createIndex",
    "createSearchIndexes",
    "dropCollection",
    "dropIndex",
    "dropSearchIndex",
    "insert",
    "remove",
    "renameCollectionSameDB",
    "update",
    "updateSearchIndex",
];

const DB_ADMIN: &[&str] = &[
    "analyze",
    "bypassDocumentValidation",
    "collMod",
    "collStats",
    "compact",
    "convertToCapped",
    "createCollection",
    "createIndex",
    "createSearchIndexes",
    "dbHash",
    "dbStats",
    "dropCollection",
    "dropDatabase",
    "dropIndex",
    "dropSearchIndex",
    "enableProfiler",
    "indexStats",
    "killCursors",
    "listCollections",
    "listIndexes",
    "listSearchIndexes",
    "planCacheIndexFilter",
    "planCacheRead",
    "planCacheWrite",
    "reIndex",
    "renameCollectionSameDB",
    "storageDetails",
    "updateSearchIndex",
    "validate",
];

const USER_ADMIN: &[&str] = &[
    "changeCustomData",
    "changePassword",
    "createRole",
    "createUser",
    "dropRole",
    "dropUser",
    "grantRole",
    "revokeRole",
    "setAuthenticationRestriction",
    "viewRole",
    "viewUser",
];

const CLUSTER_MONITOR: &[&str] = &[
    "connPoolStats",
    "getClusterParameter",
    "getCmdLineOpts",
    "getDefaultRWConcern",
    "getLog",
    "getParameter",
    "getShardMap",
    "hostInfo",
    "inprog",
    "listDatabases",
    "listSessions",
    "listShards",
    "netstat",
    "operationMetrics",
    "queryStatsRead",
    "replSetGetConfig",
    "replSetGetStatus",
    "serverStatus",
    "shardingState",
    "top",
];

const CLUSTER_MANAGER: &[&str] = &[
    "addShard",
    "appendOplogNote",
    "applicationMessage",
    "cleanupOrphaned",
    "flushRouterConfig",
    "getClusterParameter",
    "getDefaultRWConcern",
    "listSessions",
    "listShards",
    "removeShard",
    "replSetConfigure",
    "replSetGetConfig",
    "replSetGetStatus",
    "replSetStateChange",
    "resync",
    "setClusterParameter",
    "setDefaultRWConcern",
    "setFeatureCompatibilityVersion",
];

const SHARDING: &[&str] = &[
    "analyzeShardKey",
    "checkMetadataConsistency",
    "clearJumboFlag",
    "configureQueryAnalyzer",
    "enableSharding",
    "moveChunk",
    "refineCollectionShardKey",
    "reshardCollection",
    "splitChunk",
    "splitVector",
];

const HOST_MANAGER: &[&str] = &[
    "applicationMessage",
    "closeAllDatabases",
    "connPoolSync",
    "dropConnections",
    "flushRouterConfig",
    "fsync",
    "invalidateUserCache",
    "killAnyCursor",
    "killAnySession",
    "killop",
    "logRotate",
    "oidReset",
    "resync",
    "rotateCertificates",
    "setParameter",
    "setUserWriteBlockMode",
    "shutdown",
    "touch",
    "unlock",
];

const RESTORE: &[&str] = &[
    "bypassDocumentValidation",
    "changeCustomData",
    "changePassword",
    "collMod",
    "convertToCapped",
    "createCollection",
    "createIndex",
    "createRole",
    "createUser",
    "dropCollection",
    "dropRole",
    "dropUser",
    "grantRole",
    "insert",
    "listCollections",
    "revokeRole",
    "viewRole",
    "viewUser",
];

impl RoleName {
    /// Parses the elements of a `roles` array: names of roles of `db`, or `{role, db}`. Fails with
    /// 31 RoleNotFound if a role does not exist.
    pub(crate) fn parse_all(items: &[Bson], db: &str) -> Result<Vec<RoleName>> {
        items.iter().map(|item| RoleName::parse(item, db)).collect()
    }

    fn parse(item: &Bson, db: &str) -> Result<RoleName> {
        let name = RoleName::read(item, db)?;
        if name.exists() {
            return Ok(name);
        }
        Err(Error::new(
            code::ROLE_NOT_FOUND,
            format!("Could not find role: {}@{}", name.role, name.db),
        ))
    }

    /// Parses an element of a `roles` array; the role need not exist.
    pub(crate) fn read(item: &Bson, db: &str) -> Result<RoleName> {
        match item {
            Bson::String(role) => Ok(RoleName {
                role: role.clone(),
                db: db.to_owned(),
            }),
            Bson::Document(spec) => match (spec.get_str("role"), spec.get_str("db")) {
                (Ok(role), Ok(db)) => Ok(RoleName {
                    role: role.to_owned(),
                    db: db.to_owned(),
                }),
                (Err(_), _) => Err(Error::bad_value("Missing expected field \"role\"")),
                _ => Err(Error::bad_value("Missing expected field \"db\"")),
            },
            _ => Err(Error::bad_value("Role names must be either strings or objects")),
        }
    }

    pub(crate) fn exists(&self) -> bool {
        let of_database = self.db != super::EXTERNAL && OF_DATABASES.contains(&self.role.as_str());
        of_database || (self.db == "admin" && OF_ADMIN.contains(&self.role.as_str()))
    }

    /// The roles of a database.
    pub(crate) fn of_database(db: &str) -> Vec<RoleName> {
        OF_DATABASES
            .into_iter()
            .chain(OF_ADMIN)
            .map(|role| RoleName {
                role: role.to_owned(),
                db: db.to_owned(),
            })
            .filter(RoleName::exists)
            .collect()
    }

    pub(crate) fn to_document(&self) -> Document {
        doc! { "role": &self.role, "db": &self.db }
    }

    /// Whether the role grants an action on a resource.
    pub(crate) fn allows(&self, resource: &Resource, action: &str) -> bool {
        if !self.exists() {
            return false;
        }
        let any = |sets: &[&[&str]]| sets.iter().any(|set| set.contains(&action));
        let cluster = *resource == Resource::Cluster;
        let same_database = resource.database() == Some(self.db.as_str());
        let user_database = resource
            .database()
            .is_some_and(|db| !matches!(db, "local" | "config"));
        let system_database = !cluster && !user_database;
        let database = !cluster;
        match self.role.as_str() {
            "read" => same_database && any(&[READ]),
            "readWrite" => same_database && any(&[READ, WRITE]),
            "dbAdmin" => same_database && any(&[DB_ADMIN]),
            "userAdmin" => same_database && any(&[USER_ADMIN]),
            "dbOwner" => same_database && any(&[READ, WRITE, DB_ADMIN, USER_ADMIN]),
            "readAnyDatabase" => (user_database && any(&[READ])) || (cluster && action == "listDatabases"),
            "readWriteAnyDatabase" => {
                (user_database && any(&[READ, WRITE])) || (cluster && action == "listDatabases")
            }
            "dbAdminAnyDatabase" => {
                (user_database && any(&[DB_ADMIN])) || (cluster && action == "listDatabases")
            }
            "userAdminAnyDatabase" => {
                (database && any(&[USER_ADMIN]))
                    || (cluster && any(&[&["authSchemaUpgrade", "invalidateUserCache", "listDatabases"]]))
            }
            "clusterMonitor" => {
                (cluster && any(&[CLUSTER_MONITOR]))
                    || (database
                        && any(&[&["collStats", "dbStats", "getShardVersion", "indexStats", "useUUID"]]))
                    || (system_database && any(&[READ]))
            }
            "clusterManager" => {
                (cluster && any(&[CLUSTER_MANAGER]))
                    || (database && any(&[SHARDING]))
                    || (system_database && any(&[READ, &["insert", "remove", "update"]]))
            }
            "hostManager" => {
                (cluster && any(&[HOST_MANAGER])) || (database && any(&[&["killCursors", "killAnyCursor"]]))
            }
            "clusterAdmin" => {
                let part = |role: &str| {
                    let role = RoleName {
                        role: role.to_owned(),
                        db: self.db.clone(),
                    };
                    role.allows(resource, action)
                };
                ["clusterMonitor", "clusterManager", "hostManager"]
                    .into_iter()
                    .any(part)
                    || (database && action == "dropDatabase")
            }
            "backup" => {
                (cluster && any(&[&["appendOplogNote", "getParameter", "listDatabases", "serverStatus"]]))
                    || (database && any(&[READ]))
            }
            "restore" => (cluster && any(&[&["getParameter"]])) || (database && any(&[RESTORE])),
            "enableSharding" => {
                database && any(&[&["enableSharding", "refineCollectionShardKey", "reshardCollection"]])
            }
            "searchCoordinator" => (user_database && any(&[READ])) || (cluster && action == "listDatabases"),
            "root" | "__system" => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(role: &str, db: &str, resource: &Resource, action: &str) -> bool {
        let role = RoleName {
            role: role.to_owned(),
            db: db.to_owned(),
        };
        role.allows(resource, action)
    }

    #[test]
    fn roles_grant_their_actions_only() {
        let shop = || Resource::Collection("shop".to_owned(), "items".to_owned());
        let config = || Resource::Collection("config".to_owned(), "shards".to_owned());
        for (expected, role, db, resource, action) in [
            (true, "read", "shop", shop(), "find"),
            (false, "read", "shop", shop(), "insert"),
            (false, "read", "other", shop(), "find"),
            (true, "readWrite", "shop", shop(), "insert"),
            (false, "readWrite", "shop", shop(), "collMod"),
            (false, "dbAdmin", "shop", shop(), "find"),
            (true, "dbOwner", "shop", shop(), "collMod"),
            (true, "readAnyDatabase", "admin", shop(), "find"),
            (false, "readAnyDatabase", "admin", config(), "find"),
            (false, "readAnyDatabase", "shop", shop(), "find"),
            (true, "clusterMonitor", "admin", config(), "find"),
            (true, "clusterMonitor", "admin", Resource::Cluster, "serverStatus"),
            (false, "clusterMonitor", "admin", Resource::Cluster, "killop"),
            (true, "clusterAdmin", "admin", Resource::Cluster, "killop"),
            (false, "clusterAdmin", "admin", shop(), "find"),
            (true, "root", "admin", config(), "find"),
        ] {
            assert_eq!(
                allows(role, db, &resource, action),
                expected,
                "{role}@{db} {action} {resource:?}"
            );
        }
    }

    #[test]
    fn roles_belong_to_databases() {
        let parse = |item: Bson| RoleName::parse_all(&[item], "shop").map_err(|error| error.code);
        assert!(parse("read".into()).is_ok());
        assert_eq!(parse("root".into()), Err(31));
        assert!(parse(doc! { "role": "root", "db": "admin" }.into()).is_ok());
        assert_eq!(parse("nonsense".into()), Err(31));
        assert_eq!(parse(1.into()), Err(2));
    }
}
