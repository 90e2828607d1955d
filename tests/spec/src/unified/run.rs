//! The run of one test on one deployment.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use marula_driver::{
    Client, Error,
    bson::{Bson, Document, doc},
    options::{ClientOptions, ReadPreference},
};

use super::{
    data,
    deployment::{Deployment, Topology},
    entity::{Entities, Entity, create},
    event,
    file::{Test, TestFile},
    message, operation, span,
    stop::{Step, Stop, failed},
};

/// The time limit of a run.
const LIMIT: Duration = Duration::from_secs(120);
/// The time limit of the cleanup.
const CLEANUP_LIMIT: Duration = Duration::from_secs(5);

// Error codes of servers for unsupported commands and features.
const COMMAND_NOT_FOUND: i32 = 59;
const COMMAND_NOT_SUPPORTED: i32 = 115;
const NOT_IMPLEMENTED: i32 = 238;

/// Operations that begin transactions.
pub(crate) const TRANSACTIONS: [&str; 2] = ["startTransaction", "withTransaction"];

/// The state shared by the operations of a run.
#[derive(Debug)]
pub(crate) struct TestRun {
    pub(crate) topology: Topology,
    /// Whether the deployment is the one at `MONGODB_URI`, which may lack features that tests
    /// require.
    pub(crate) is_external: bool,
    pub(crate) uri: String,
    pub(crate) single_uri: String,
    pub(crate) member_uris: Vec<String>,
    /// The client for setup and verification.
    pub(crate) internal: Client,
    pub(crate) entities: Entities,
    /// The `$clusterTime` after the initial data, on deployments with several mongos.
    pub(crate) cluster_time: OnceLock<Document>,
    /// Whether results have no other fields than those that are expected: in tests of the legacy format.
    pub(crate) has_exact_results: bool,
    /// Whether the test sets fail points, so that server errors are expected.
    pub(crate) expects_failures: bool,
    /// The names of the fail points that have been set.
    pub(crate) fail_points: Mutex<BTreeSet<String>>,
}

/// Runs a test whose requirements are satisfied. The flag is true if the deployment can be reused.
pub(crate) async fn run(deployment: &Deployment, file: &TestFile, test: &Test) -> (Step, bool) {
    let internal = match internal_client(&deployment.single_uri) {
        Ok(client) => client,
        Err(stop) => return (Err(stop), true),
    };
    let run = Arc::new(TestRun {
        topology: deployment.target.topology,
        is_external: deployment.is_external(),
        uri: deployment.uri.clone(),
        single_uri: deployment.single_uri.clone(),
        member_uris: deployment.member_uris.clone(),
        internal,
        entities: Entities::default(),
        cluster_time: OnceLock::new(),
        has_exact_results: file.is_legacy,
        expects_failures: test.operations.iter().any(sets_fail_point),
        fail_points: Mutex::default(),
    });
    let body = std::panic::AssertUnwindSafe(body(&run, file, test)).catch_unwind();
    let result = match tokio::time::timeout(LIMIT, body).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => failed(format!("panicked: {}", panic_text(panic.as_ref()))),
        Err(_) => failed(format!("did not end within {LIMIT:?}")),
    };
    // A failed test may have left the deployment in any state.
    let reusable = clean_up(&run).await.is_ok() && !matches!(result, Err(Stop::Failed(_)));
    (result, reusable)
}

fn sets_fail_point(operation: &Document) -> bool {
    matches!(operation.get_str("name"), Ok("failPoint" | "targetedFailPoint"))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

fn internal_client(uri: &str) -> Step<Client> {
    let options =
        ClientOptions::parse(uri).map_err(|e| format!("connection string of the deployment: {e}"))?;
    super::entity::connect(options)
}

async fn body(run: &Arc<TestRun>, file: &TestFile, test: &Test) -> Step {
    if file.initial_data.is_empty() {
        data::drop_collections(run, &file.entities).await?;
    } else {
        data::prepare(run, &file.initial_data).await?;
    }
    save_cluster_time(run).await;
    if run.topology == Topology::Sharded && test.uses(&["distinct"]) && test.uses(&TRANSACTIONS) {
        data::prepare_distinct(run, &file.initial_data).await?;
    }
    for entity in &file.entities {
        create(run, entity).await?;
    }
    let ran = operations(run, test).await;
    for client in run.entities.clients() {
        client.log.close();
        if let Some(messages) = &client.messages {
            messages.close();
        }
    }
    disable_fail_points(run).await;
    ran?;
    for (id, thread) in run.entities.threads() {
        thread
            .wait()
            .await
            .map_err(|stop| stop.within(format!("thread \"{id}\"")))?;
    }
    for list in &test.events {
        let id = list.get_str("client").unwrap_or_default();
        let client = run.entities.client(id)?;
        event::check(list, &client.log, &run.entities)
            .map_err(|why| format!("expectEvents of {id}: {why}"))?;
    }
    for list in &test.messages {
        let id = list.get_str("client").unwrap_or_default();
        let client = run.entities.client(id)?;
        let Some(collector) = &client.messages else {
            return failed(format!("expectLogMessages of {id} without observeLogMessages"));
        };
        message::check(list, collector, &run.entities)
            .map_err(|why| format!("expectLogMessages of {id}: {why}"))?;
    }
    for list in &test.spans {
        let id = list.get_str("client").unwrap_or_default();
        let client = run.entities.client(id)?;
        let Some(recorder) = &client.spans else {
            return failed(format!(
                "expectTracingMessages of {id} without observeTracingMessages"
            ));
        };
        span::check(list, recorder, &run.entities)
            .map_err(|why| format!("expectTracingMessages of {id}: {why}"))?;
    }
    data::check_outcome(run, &test.outcome, file.is_legacy).await
}

/// Saves the cluster time. A mongos with an older time could reject transactions on the initial
/// data.
async fn save_cluster_time(run: &TestRun) {
    if !matches!(run.topology, Topology::Sharded | Topology::LoadBalanced) {
        return;
    }
    if let Ok(reply) = run
        .internal
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        && let Ok(time) = reply.get_document("$clusterTime")
    {
        // Set once per run.
        let _ = run.cluster_time.set(time.clone());
    }
}

async fn operations(run: &Arc<TestRun>, test: &Test) -> Step {
    for (index, operation) in test.operations.iter().enumerate() {
        operation::run_boxed(Arc::clone(run), operation.clone())
            .await
            .map_err(|stop| stop.within(format!("operation {index}")))?;
    }
    Ok(())
}

impl TestRun {
    /// The outcome after an unexpected error. A test is skipped if the external deployment does not
    /// support a command.
    pub(crate) fn unexpected(&self, what: &str, error: &Error) -> Stop {
        let is_unsupported = matches!(
            error.code(),
            Some(COMMAND_NOT_FOUND | COMMAND_NOT_SUPPORTED | NOT_IMPLEMENTED)
        );
        if self.is_external && is_unsupported {
            return Stop::Skipped(format!(
                "not supported by the deployment at MONGODB_URI: {error:#}"
            ));
        }
        Stop::Failed(format!("{what}: {error:#}"))
    }

    /// Records a fail point that must be disabled after the test.
    pub(crate) fn record_fail_point(&self, name: &str) {
        let mut names = self.fail_points.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(name.to_owned());
    }
}

/// Disables fail points on all servers: the primary may have changed, and a client may have
/// selected any mongos.
async fn disable_fail_points(run: &TestRun) {
    let names = std::mem::take(&mut *run.fail_points.lock().unwrap_or_else(PoisonError::into_inner));
    if names.is_empty() {
        return;
    }
    for uri in &run.member_uris {
        let Ok(mut options) = ClientOptions::parse(uri) else {
            continue;
        };
        options.server_selection_timeout = CLEANUP_LIMIT;
        let Ok(client) = Client::with_options(options) else {
            continue;
        };
        let nearest = ReadPreference::new(marula_driver::options::ReadPreferenceMode::Nearest);
        for name in &names {
            let off = doc! { "configureFailPoint": name, "mode": "off" };
            // Errors are ignored: the fail point may never have been set on this server, or the
            // server is down.
            let _ = client
                .database("admin")
                .run_command(off)
                .read_preference(nearest.clone())
                .await;
        }
        client.shutdown().await;
    }
}

/// Ends all sessions, cursors and clients of the test.
async fn clean_up(run: &TestRun) -> Result<(), tokio::time::error::Elapsed> {
    tokio::time::timeout(CLEANUP_LIMIT * 4, async {
        disable_fail_points(run).await;
        let (clients, others): (Vec<_>, Vec<_>) = run
            .entities
            .clear()
            .into_iter()
            .partition(|entity| matches!(entity, Entity::Client(_)));
        for entity in others {
            match entity {
                Entity::Cursor(cursor) => cursor.close(None).await,
                Entity::Session(entity) => entity.session.lock().await.end().await,
                _ => {}
            }
        }
        for entity in clients {
            if let Entity::Client(client) = entity {
                client.client.shutdown().await;
            }
        }
        run.internal.shutdown().await;
    })
    .await
}

/// Kills all sessions, and their open transactions, on the primary or on each mongos.
pub(crate) async fn kill_all_sessions(deployment: &Deployment) {
    let whole = std::slice::from_ref(&deployment.uri);
    let uris = match deployment.target.topology {
        Topology::Sharded | Topology::LoadBalanced => deployment.member_uris.as_slice(),
        Topology::Single | Topology::ReplicaSet => whole,
    };
    for uri in uris {
        let Ok(client) = Client::connect(uri).await else {
            continue;
        };
        let command = doc! { "killAllSessions": Bson::Array(Vec::new()) };
        // The command may kill itself (error 11601), and users may lack the privilege (error 13).
        let _ = client.database("admin").run_command(command).await;
        client.shutdown().await;
    }
}
