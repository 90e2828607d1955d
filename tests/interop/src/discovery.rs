//! Server discovery, and commands about the server.

use crate::checks::{Checks, code_name_of};
use crate::context::{Context, complaint};
use mongodb::Client;
use mongodb::bson::{Bson, doc};
use mongodb::error::Result;
use mongodb::event::EventHandler;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::{ServerApi, ServerApiVersion};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    hello(checks, context).await?;
    topology(checks, context).await?;
    rejected(checks, context).await;
    api_version(checks, context).await?;
    server(checks, context).await
}

async fn hello(checks: &mut Checks, context: &Context) -> Result<()> {
    let hello = context.admin(doc! { "hello": 1 }).await?;
    checks.is("hello: ok", hello.get("ok"), Some(Bson::Double(1.0)));
    checks.is(
        "hello: writable primary",
        hello.get_bool("isWritablePrimary").ok(),
        Some(true),
    );
    checks.is(
        "hello: limits",
        (
            hello.get_i32("maxBsonObjectSize").ok(),
            hello.get_i32("maxMessageSizeBytes").ok(),
            hello.get_i32("maxWriteBatchSize").ok(),
        ),
        (Some(16_777_216), Some(48_000_000), Some(100_000)),
    );
    checks.is(
        "hello: sessions",
        hello.get_i32("logicalSessionTimeoutMinutes").ok(),
        Some(30),
    );
    checks.is(
        "hello: minWireVersion",
        hello.get_i32("minWireVersion").ok(),
        Some(0),
    );
    let legacy = context.admin(doc! { "isMaster": 1 }).await?;
    checks.is("isMaster: ismaster", legacy.get_bool("ismaster").ok(), Some(true));
    checks.is(
        "isMaster: isWritablePrimary",
        legacy.get("isWritablePrimary"),
        None::<Bson>,
    );
    let set = |name: &str| hello.get(name).is_some();
    checks.is(
        "hello: fields of a set",
        [
            set("hosts"),
            set("primary"),
            set("me"),
            set("$clusterTime"),
            set("lastWrite"),
        ],
        [context.replica_set; 5],
    );
    if context.replica_set {
        checks.is(
            "hello: hosts",
            hello.get_array("hosts").map(Vec::len).ok(),
            Some(3),
        );
        checks.is("hello: primary", hello.get("primary"), hello.get("me"));
    }
    Ok(())
}

/// The topology that the driver discovers.
async fn topology(checks: &mut Checks, context: &Context) -> Result<()> {
    let seen = Arc::new(Mutex::new(String::new()));
    let mut options = context.options.clone();
    let noted = Arc::clone(&seen);
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        if let SdamEvent::TopologyDescriptionChanged(event) = event {
            let kind = format!("{:?}", event.new_description.topology_type());
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = kind;
        }
    }));
    let client = Client::with_options(options)?;
    checks.eq(
        "ping",
        client
            .database("admin")
            .run_command(doc! { "ping": 1 })
            .await
            .map(|reply| reply.get_f64("ok").ok()),
        Some(1.0),
    );
    let kind = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let expected = if context.replica_set {
        "ReplicaSetWithPrimary"
    } else {
        "Single"
    };
    checks.is("topology", kind.as_str(), expected);
    client.shutdown().await;
    Ok(())
}

async fn rejected(checks: &mut Checks, context: &Context) {
    let unknown = context.db.run_command(doc! { "nonsense": 1 }).await;
    if let Some(error) = checks.code("unknown command", 59, unknown) {
        checks.is("unknown command: name", code_name_of(&error), "CommandNotFound");
        checks.is("unknown command: labels", error.labels().len(), 0);
    }
    checks.code(
        "unknown command: case matters",
        59,
        context.db.run_command(doc! { "Find": "c" }).await,
    );
    checks.code(
        "unknown field",
        40415,
        context.db.run_command(doc! { "find": "c", "nonsense": 1 }).await,
    );
    checks.code(
        "wrong type of a field",
        14,
        context.db.run_command(doc! { "find": "c", "filter": 1 }).await,
    );
    checks.code(
        "missing field",
        40414,
        context.db.run_command(doc! { "insert": "c" }).await,
    );
    checks.code(
        "collection name of a wrong type",
        73,
        context.db.run_command(doc! { "find": 1 }).await,
    );
    checks.code(
        "admin only",
        13,
        context.db.run_command(doc! { "listDatabases": 1 }).await,
    );
}

async fn api_version(checks: &mut Checks, context: &Context) -> Result<()> {
    let mut options = context.options.clone();
    let mut api = ServerApi::builder().version(ServerApiVersion::V1).build();
    api.strict = Some(true);
    options.server_api = Some(api);
    let client = Client::with_options(options)?;
    let db = client.database(context.db.name());
    checks.eq(
        "stable API: ping",
        db.run_command(doc! { "ping": 1 }).await.map(|_| ()),
        (),
    );
    checks.code(
        "stable API: a command outside it",
        323,
        db.run_command(doc! { "distinct": "c", "key": "a" }).await,
    );
    client.shutdown().await;
    checks.code(
        "stable API: unknown version",
        322,
        context
            .db
            .run_command(doc! { "ping": 1, "apiVersion": "2" })
            .await,
    );
    Ok(())
}

async fn server(checks: &mut Checks, context: &Context) -> Result<()> {
    let info = context.admin(doc! { "buildInfo": 1 }).await?;
    let version = info
        .get_str("version")
        .map_err(|_| complaint("buildInfo has no version".to_owned()))?;
    let numbers: Vec<i32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    let array = info.get_array("versionArray").cloned().unwrap_or_default();
    checks.is(
        "buildInfo: versions agree",
        array.iter().take(3).filter_map(Bson::as_i32).collect::<Vec<_>>(),
        numbers,
    );
    let status = context.admin(doc! { "serverStatus": 1 }).await?;
    checks.is(
        "serverStatus: version",
        status.get_str("version").ok(),
        Some(version),
    );
    checks.is(
        "connectionStatus: the user of the connection string is authenticated",
        context
            .admin(doc! { "connectionStatus": 1 })
            .await?
            .get_document("authInfo")
            .ok()
            .and_then(|info| info.get_array("authenticatedUsers").ok().map(Vec::len)),
        Some(usize::from(context.options.credential.is_some())),
    );
    let set_status = context.admin(doc! { "replSetGetStatus": 1 }).await;
    if context.replica_set {
        checks.eq(
            "replSetGetStatus: members",
            set_status.map(|status| status.get_array("members").map(Vec::len).ok()),
            Some(3),
        );
    } else {
        checks.code("replSetGetStatus without a set", 76, set_status);
    }
    Ok(())
}
