//! `currentOp`, the stage `$currentOp`, and `killOp`.

use super::Call;
use crate::deployment::{Deployment, lock};
use crate::error::{Error, Result, code};
use crate::member::Member;
use crate::operations::Connected;
use crate::query::{Env, Filter};
use crate::value::number::Number;
use bson::{Bson, DateTime, Document, doc};
use std::time::SystemTime;

/// The options of `$currentOp`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    /// Whether to list the operations of all users.
    pub(crate) all_users: bool,
    /// Whether to list idle connections.
    pub(crate) idle_connections: bool,
}

impl Listing {
    /// Parses the argument of `$currentOp`.
    pub(crate) fn parse(spec: &Document) -> Result<Listing> {
        let mut listing = Listing {
            all_users: false,
            idle_connections: false,
        };
        for (name, value) in spec {
            let Bson::Boolean(value) = value else {
                return Err(Error::type_mismatch(format!(
                    "The '{name}' parameter of the $currentOp stage must be a boolean value, but found: {}",
                    crate::value::type_name(value)
                )));
            };
            match name.as_str() {
                "allUsers" => listing.all_users = *value,
                "idleConnections" => listing.idle_connections = *value,
                "localOps" | "truncateOps" | "targetAllNodes" | "backtrace" if !*value => {}
                "localOps" | "truncateOps" => {}
                "idleSessions" | "idleCursors" if !*value => {}
                "idleSessions" | "idleCursors" | "targetAllNodes" | "backtrace" => {
                    return Err(Error::not_served(format!("$currentOp with {name}")));
                }
                other => {
                    return Err(Error::failed_to_parse(format!(
                        "Unrecognized option '{other}' in $currentOp stage."
                    )));
                }
            }
        }
        Ok(listing)
    }
}

/// Returns the operations of this process, including the command itself.
pub(crate) fn list(call: &Call<'_>, listing: Listing) -> Vec<Document> {
    let own = call.member.operations.next_id();
    let connections = call.member.operations.connections();
    let user = lock(&call.client.session).user.clone();
    let shown = |connection: i32| {
        let user = user.as_ref();
        let theirs = connections
            .get(&connection)
            .and_then(|connected| connected.user.as_ref());
        listing.all_users || !call.deployment.users.required || theirs == user
    };
    let lister = Lister {
        deployment: call.deployment,
        member: call.member,
    };
    let running = call.member.operations.running();
    let mut found = vec![lister.active(
        own,
        call.client.id,
        connections.get(&call.client.id),
        call.body,
        SystemTime::now(),
    )];
    for (id, operation) in &running {
        if shown(operation.connection) {
            let connected = connections.get(&operation.connection);
            found.push(lister.active(
                *id,
                operation.connection,
                connected,
                &operation.body,
                operation.started,
            ));
        }
    }
    if listing.idle_connections {
        let busy =
            |id: i32| id == call.client.id || running.iter().any(|(_, running)| running.connection == id);
        for (id, connected) in &connections {
            if !busy(*id) && shown(*id) {
                found.push(lister.connection(*id, Some(connected), false));
            }
        }
    }
    found
}

struct Lister<'l> {
    deployment: &'l Deployment,
    member: &'l Member,
}

impl Lister<'_> {
    /// The fields of every connection.
    fn connection(&self, id: i32, connected: Option<&Connected>, active: bool) -> Document {
        let mut shown = doc! {
            "type": "op",
            "host": &self.deployment.hosts[self.member.index],
            "desc": format!("conn{id}"),
            "connectionId": id,
        };
        if let Some(connected) = connected {
            shown.insert("client", &connected.peer);
            if let Some(name) = &connected.app_name {
                shown.insert("appName", name);
            }
        }
        shown.insert("active", active);
        let now = DateTime::now().try_to_rfc3339_string().unwrap_or_default();
        shown.insert("currentOpTime", now.replace('Z', "+00:00"));
        if let Some(user) = connected.and_then(|connected| connected.user.as_ref()) {
            shown.insert(
                "effectiveUsers",
                vec![doc! { "user": &user.name, "db": &user.db }],
            );
        }
        shown.insert("threaded", true);
        shown
    }

    fn active(
        &self,
        opid: i32,
        connection: i32,
        connected: Option<&Connected>,
        body: &Document,
        started: SystemTime,
    ) -> Document {
        let mut shown = self.connection(connection, connected, true);
        let elapsed = started.elapsed().unwrap_or_default();
        let (name, first) = body
            .iter()
            .next()
            .map_or(("", &Bson::Null), |(name, value)| (name.as_str(), value));
        let db = body.get_str("$db").unwrap_or_default();
        let collection = match (name, first) {
            ("getMore", _) => body.get_str("collection").unwrap_or_default(),
            (_, Bson::String(collection)) => collection,
            _ => "$cmd",
        };
        let collection = match (name, first) {
            ("aggregate", Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_)) => "$cmd.aggregate",
            _ => collection,
        };
        let op = match name {
            "find" => "query",
            "getMore" => "getmore",
            "insert" => "insert",
            "update" => "update",
            "delete" => "remove",
            _ => "command",
        };
        shown.insert(
            "opid",
            if self.deployment.is_mongos() {
                Bson::from(format!("shard01:{opid}"))
            } else {
                Bson::from(opid)
            },
        );
        if let Some(lsid) = body.get("lsid") {
            shown.insert("lsid", lsid.clone());
        }
        shown.extend(doc! {
            "secs_running": elapsed.as_secs() as i64,
            "microsecs_running": elapsed.as_micros() as i64,
            "op": op,
            "ns": format!("{db}.{collection}"),
            "redacted": false,
            "command": body.clone(),
            "numYields": 0,
            "waitingForLock": false,
        });
        shown
    }
}

/// `currentOp`. All fields that are not options are a filter.
pub(crate) fn current_op(call: &Call<'_>) -> Result<Document> {
    let args = call.args();
    let listing = Listing {
        all_users: !args.flag("$ownOps", false)?,
        idle_connections: args.flag("$all", false)?,
    };
    let filter: Document = call
        .body
        .iter()
        .skip(1)
        .filter(|(name, _)| !matches!(name.as_str(), "$ownOps" | "$all" | "$truncateOps"))
        .filter(|(name, _)| !super::generic::is_generic_field(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let env = Env::of(call.deployment.profile());
    let filter = Filter::parse(&filter, &env)?;
    let mut found = Vec::new();
    for operation in list(call, listing) {
        if filter.matches(&operation, &env)? {
            found.push(Bson::Document(operation));
        }
    }
    Ok(doc! { "inprog": found })
}

/// `killOp`. A blocked operation fails with 11601 Interrupted. Succeeds whether or not there is
/// such an operation.
pub(crate) fn kill_op(call: &Call<'_>) -> Result<Document> {
    let missing = || {
        Error::new(
            code::MISSING_FIELD,
            "BSON field 'killOp.op' is missing but a required field",
        )
    };
    let id = match call.args().get("op").ok_or_else(missing)? {
        Bson::String(text) if call.deployment.is_mongos() => {
            text.rsplit(':').next().and_then(|id| id.parse().ok())
        }
        value => match Number::from_bson(value) {
            Some(id) => id.to_exact_i64(),
            None => {
                return Err(Error::type_mismatch(
                    "Did not provide \"op\" field of a numeric type",
                ));
            }
        },
    };
    if let Some(id) = id.and_then(|id| i32::try_from(id).ok()) {
        call.member.operations.kill(id);
    }
    Ok(doc! { "info": "attempting to kill op" })
}
