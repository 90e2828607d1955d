//! The privileges that each command requires, and the check whether a user's roles grant them.

use super::roles::{Resource, RoleName};
use super::{EXTERNAL, UserName};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::value::format;
use bson::{Bson, Document};

/// A privilege: an action on a resource.
type Privilege = (Resource, &'static str);

/// The command to check.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    /// The name in the command table, `key` is the name in the request.
    pub(crate) name: &'r str,
    pub(crate) key: &'r str,
    pub(crate) db: &'r str,
    pub(crate) body: &'r Document,
}

/// The rights of a user.
pub(crate) enum Rights {
    Everything,
    Roles(Vec<RoleName>),
}

impl Rights {
    /// The rights of a user. Users of `$external` in the server's settings have all rights.
    pub(crate) fn of(deployment: &Deployment, user: &UserName) -> Rights {
        match deployment.users.find(user) {
            Some(user) => Rights::Roles(user.roles),
            None if user.db == EXTERNAL && deployment.users.is_external(&user.name) => Rights::Everything,
            None => Rights::Roles(Vec::new()),
        }
    }

    pub(crate) fn allow(&self, resource: &Resource, action: &str) -> bool {
        match self {
            Rights::Everything => true,
            Rights::Roles(roles) => roles.iter().any(|role| role.allows(resource, action)),
        }
    }

    /// Whether a collection of the database may be read or changed, for `listDatabases`.
    pub(crate) fn has_access_to(&self, db: &str) -> bool {
        let database = Resource::Database(db.to_owned());
        ["find", "insert", "dbStats", "collMod", "viewUser"]
            .into_iter()
            .any(|action| self.allow(&database, action))
    }
}

/// Fails with 13 Unauthorized if the user's roles do not grant the privileges of the command.
pub(crate) fn check(rights: &Rights, user: &UserName, request: Request<'_>) -> Result<()> {
    let is_missing = |privilege: &Privilege| !rights.allow(&privilege.0, privilege.1);
    if !request.privileges(user).iter().any(is_missing) {
        return Ok(());
    }
    let mut shown = request.body.clone();
    for secret in ["pwd", "payload"] {
        if shown.contains_key(secret) {
            shown.insert(secret, "xxx");
        }
    }
    Err(Error::new(
        code::UNAUTHORIZED,
        format!(
            "not authorized on {} to execute command {}",
            request.db,
            format::document(&shown)
        ),
    ))
}

impl Request<'_> {
    /// The collection of the command, or its database.
    fn target(&self) -> Resource {
        match self.body.get(self.key) {
            Some(Bson::String(collection)) => self.collection(collection),
            _ => self.database(),
        }
    }

    fn collection(&self, name: &str) -> Resource {
        Resource::Collection(self.db.to_owned(), name.to_owned())
    }

    fn database(&self) -> Resource {
        Resource::Database(self.db.to_owned())
    }

    fn is_on(&self, field: &str) -> bool {
        self.body.get(field).is_some_and(crate::value::truthy)
    }

    fn documents(&self, field: &str) -> impl Iterator<Item = &Document> {
        let items = self.body.get_array(field).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(Bson::as_document)
    }

    /// All privileges that the command requires.
    fn privileges(&self, user: &UserName) -> Vec<Privilege> {
        let on = |actions: &[&'static str]| {
            actions
                .iter()
                .map(|action| (self.target(), *action))
                .collect::<Vec<_>>()
        };
        let cluster = |action| vec![(Resource::Cluster, action)];
        let mut privileges = match self.name {
            "find" | "count" | "distinct" | "mapReduce" => on(&["find"]),
            "aggregate" => self.of_pipeline(),
            "explain" => self.of_explained(user),
            "insert" => on(&["insert"]),
            "update" if self.documents("updates").any(upserts) => on(&["update", "insert"]),
            "update" => on(&["update"]),
            "delete" => on(&["remove"]),
            "findAndModify" if self.is_on("remove") => on(&["find", "remove"]),
            "findAndModify" if self.is_on("upsert") => on(&["find", "update", "insert"]),
            "findAndModify" => on(&["find", "update"]),
            "bulkWrite" => self.of_bulk(),
            "create" => {
                let mut privileges = on(&["createCollection"]);
                if let Ok(source) = self.body.get_str("viewOn") {
                    privileges.push((self.collection(source), "find"));
                }
                privileges
            }
            "drop" => on(&["dropCollection"]),
            "dropDatabase" => vec![(self.database(), "dropDatabase")],
            "renameCollection" => self.of_rename(),
            "createIndexes" => on(&["createIndex"]),
            "dropIndexes" => on(&["dropIndex"]),
            "reIndex" => on(&["reIndex"]),
            "convertToCapped" => on(&["convertToCapped"]),
            "collMod" => on(&["collMod"]),
            "collStats" => on(&["collStats"]),
            "compactStructuredEncryptionData" => on(&["compactStructuredEncryptionData"]),
            "cleanupStructuredEncryptionData" => on(&["cleanupStructuredEncryptionData"]),
            "validate" => on(&["validate"]),
            "listIndexes" => on(&["listIndexes"]),
            "createSearchIndexes" => on(&["createSearchIndexes"]),
            "updateSearchIndex" => on(&["updateSearchIndex"]),
            "dropSearchIndex" => on(&["dropSearchIndex"]),
            "listCollections" if self.is_on("nameOnly") && self.is_on("authorizedCollections") => Vec::new(),
            "listCollections" => vec![(self.database(), "listCollections")],
            "profile" => vec![(self.database(), "enableProfiler")],
            "dbStats" => vec![(self.database(), "dbStats")],
            "createUser" | "grantRolesToUser" | "revokeRolesFromUser" | "updateUser" => self.of_users(),
            "dropUser" | "dropAllUsersFromDatabase" => vec![(self.database(), "dropUser")],
            "usersInfo" if self.is_about(user) => Vec::new(),
            "usersInfo" => vec![(self.database(), "viewUser")],
            "rolesInfo" => vec![(self.database(), "viewRole")],
            "currentOp" if self.is_on("$ownOps") => Vec::new(),
            "currentOp" => cluster("inprog"),
            "killOp" => cluster("killop"),
            "killAllSessions" => cluster("killAnySession"),
            "serverStatus" => cluster("serverStatus"),
            "hostInfo" => cluster("hostInfo"),
            "getParameter" => cluster("getParameter"),
            "setParameter" => cluster("setParameter"),
            "getCmdLineOpts" => cluster("getCmdLineOpts"),
            "getLog" => cluster("getLog"),
            "getDefaultRWConcern" => cluster("getDefaultRWConcern"),
            "replSetGetStatus" => cluster("replSetGetStatus"),
            "replSetGetConfig" => cluster("replSetGetConfig"),
            "replSetStepDown" | "replSetFreeze" => cluster("replSetStateChange"),
            "listShards" => cluster("listShards"),
            "flushRouterConfig" => cluster("flushRouterConfig"),
            "enableSharding" | "shardCollection" => {
                let name = self.body.get_str(self.key).unwrap_or_default();
                let db = name.split('.').next().unwrap_or(name);
                vec![(Resource::Database(db.to_owned()), "enableSharding")]
            }
            "refineCollectionShardKey" => {
                let name = self.body.get_str(self.key).unwrap_or_default();
                let (db, collection) = name.split_once('.').unwrap_or((name, ""));
                let resource = Resource::Collection(db.to_owned(), collection.to_owned());
                vec![(resource, "refineCollectionShardKey")]
            }
            "checkMetadataConsistency" => on(&["checkMetadataConsistency"]),
            // The others require authentication only: they concern the connection, its session and
            // its cursors, return only what the user may read, or configure fail points.
            _ => Vec::new(),
        };
        if self.is_on("bypassDocumentValidation") {
            privileges.push((self.target(), "bypassDocumentValidation"));
        }
        privileges
    }

    fn of_pipeline(&self) -> Vec<Privilege> {
        let mut privileges = Vec::new();
        let first = self
            .documents("pipeline")
            .next()
            .and_then(|stage| stage.iter().next());
        let target = self.target();
        match first.map(|(name, argument)| (name.as_str(), argument)) {
            Some(("$currentOp", Bson::Document(options))) => {
                if options.get_bool("allUsers").unwrap_or(false) {
                    privileges.push((Resource::Cluster, "inprog"));
                }
            }
            Some(("$documents" | "$listLocalSessions", _)) => {}
            Some(("$collStats", _)) => privileges.push((target, "collStats")),
            Some(("$indexStats", _)) => privileges.push((target, "indexStats")),
            Some(("$changeStream", _)) => {
                privileges.push((target.clone(), "find"));
                privileges.push((target, "changeStream"));
            }
            _ => privileges.push((target, "find")),
        }
        let stages = self.body.get_array("pipeline").map_or(&[][..], Vec::as_slice);
        self.of_stages(stages, &mut privileges);
        privileges
    }

    /// Adds the privileges that stages require besides reading the input.
    fn of_stages(&self, stages: &[Bson], privileges: &mut Vec<Privilege>) {
        for (name, argument) in stages.iter().filter_map(Bson::as_document).flatten() {
            match (name.as_str(), argument) {
                ("$lookup" | "$graphLookup", Bson::Document(spec)) => {
                    privileges.extend(
                        spec.get_str("from")
                            .ok()
                            .map(|from| (self.collection(from), "find")),
                    );
                    self.of_stages(
                        spec.get_array("pipeline").map_or(&[][..], Vec::as_slice),
                        privileges,
                    );
                }
                ("$unionWith", Bson::String(from)) => privileges.push((self.collection(from), "find")),
                ("$unionWith", Bson::Document(spec)) => {
                    privileges.extend(
                        spec.get_str("coll")
                            .ok()
                            .map(|from| (self.collection(from), "find")),
                    );
                    self.of_stages(
                        spec.get_array("pipeline").map_or(&[][..], Vec::as_slice),
                        privileges,
                    );
                }
                ("$facet", Bson::Document(facets)) => {
                    for stages in facets.values().filter_map(Bson::as_array) {
                        self.of_stages(stages, privileges);
                    }
                }
                ("$out", target) => {
                    let target = self.output(target);
                    privileges.extend(["insert", "remove"].map(|action| (target.clone(), action)));
                }
                ("$merge", Bson::Document(spec)) => {
                    let target = self.output(spec.get("into").unwrap_or(&Bson::Null));
                    privileges.extend(["insert", "update"].map(|action| (target.clone(), action)));
                }
                ("$merge", target) => {
                    let target = self.output(target);
                    privileges.extend(["insert", "update"].map(|action| (target.clone(), action)));
                }
                _ => {}
            }
        }
    }

    fn output(&self, target: &Bson) -> Resource {
        match target {
            Bson::String(name) => self.collection(name),
            Bson::Document(spec) => Resource::Collection(
                spec.get_str("db").unwrap_or(self.db).to_owned(),
                spec.get_str("coll").unwrap_or_default().to_owned(),
            ),
            _ => self.database(),
        }
    }

    fn of_explained(&self, user: &UserName) -> Vec<Privilege> {
        let Some(Bson::Document(body)) = self.body.get(self.key) else {
            return Vec::new();
        };
        let key = body.keys().next().map_or("", String::as_str);
        let name = if key == "findandmodify" {
            "findAndModify"
        } else {
            key
        };
        if name == "explain" {
            return Vec::new();
        }
        let request = Request {
            name,
            key,
            db: self.db,
            body,
        };
        request.privileges(user)
    }

    fn of_bulk(&self) -> Vec<Privilege> {
        let namespaces: Vec<Resource> = self
            .documents("nsInfo")
            .filter_map(|info| info.get_str("ns").ok()?.split_once('.'))
            .map(|(db, collection)| Resource::Collection(db.to_owned(), collection.to_owned()))
            .collect();
        let mut privileges = Vec::new();
        for op in self.documents("ops") {
            let Some((kind, index)) = op.iter().next() else {
                continue;
            };
            let index = crate::value::number::Number::from_bson(index)
                .and_then(crate::value::number::Number::to_exact_i64);
            let Some(target) = index.and_then(|index| namespaces.get(usize::try_from(index).ok()?)) else {
                continue;
            };
            let action = match kind.as_str() {
                "insert" => "insert",
                "update" => "update",
                _ => "remove",
            };
            privileges.push((target.clone(), action));
            if action == "update" && upserts(op) {
                privileges.push((target.clone(), "insert"));
            }
        }
        privileges
    }

    fn of_rename(&self) -> Vec<Privilege> {
        let split = |field: &str| self.body.get_str(field).ok()?.split_once('.');
        let (Some((from, source)), Some((to, target))) = (split(self.key), split("to")) else {
            return Vec::new();
        };
        if from == to {
            return vec![(Resource::Database(from.to_owned()), "renameCollectionSameDB")];
        }
        let source = Resource::Collection(from.to_owned(), source.to_owned());
        let target = Resource::Collection(to.to_owned(), target.to_owned());
        vec![
            (source.clone(), "find"),
            (source, "dropCollection"),
            (target.clone(), "insert"),
            (target, "createIndex"),
        ]
    }

    /// Commands about users require the privilege to grant or revoke each of their roles.
    fn of_users(&self) -> Vec<Privilege> {
        let mut privileges = Vec::new();
        if self.name == "createUser" {
            privileges.push((self.database(), "createUser"));
        }
        for (field, action) in [("pwd", "changePassword"), ("customData", "changeCustomData")] {
            if self.name == "updateUser" && self.body.contains_key(field) {
                privileges.push((self.database(), action));
            }
        }
        let roles = self.body.get_array("roles").map_or(&[][..], Vec::as_slice);
        for role in roles.iter().filter_map(|role| RoleName::read(role, self.db).ok()) {
            let database = || Resource::Database(role.db.clone());
            if self.name != "revokeRolesFromUser" {
                privileges.push((database(), "grantRole"));
            }
            if matches!(self.name, "revokeRolesFromUser" | "updateUser") {
                privileges.push((database(), "revokeRole"));
            }
        }
        privileges
    }

    /// Whether `usersInfo` requests only this user.
    fn is_about(&self, user: &UserName) -> bool {
        match self.body.get(self.key) {
            Some(Bson::String(name)) => *name == user.name && self.db == user.db,
            Some(Bson::Document(spec)) => {
                spec.get_str("user").is_ok_and(|name| name == user.name)
                    && spec.get_str("db").is_ok_and(|db| db == user.db)
            }
            _ => false,
        }
    }
}

fn upserts(statement: &Document) -> bool {
    statement.get("upsert").is_some_and(crate::value::truthy)
}
