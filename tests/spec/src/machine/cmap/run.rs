//! Runs the operations of a file on a pool.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use marula_driver::{
    Client, Error, ErrorKind, PoolError, ServerAddress,
    bson::from_extended_json,
    event::TopologyDescription,
    internals::{
        ConnectionSettings, Pool, PoolListener, PoolSettings, PooledConnection,
        cmap::ConnectionKey,
        errors,
        handshake::client_metadata,
        sdam::{self, ApplicationError, Phase},
    },
};
use marula_test_server::TestServer;
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    events::Events,
    file::{self, Operation, PoolOptions, Requirement, Step, Test},
};
use crate::case::Outcome;

/// The versions of the test server, latest first.
const VERSIONS: [&str; 7] = ["8.2.0", "8.0.0", "7.0.0", "6.0.0", "5.0.0", "4.4.0", "4.2.0"];

pub(super) fn run(content: &Value) -> Outcome {
    let test = match file::read(content) {
        Ok(test) => test,
        Err(why) => return Outcome::Failed(why),
    };
    let allowed = |version: &&str| test.run_on.is_empty() || test.run_on.iter().any(|on| on.allows(version));
    let Some(version) = VERSIONS.into_iter().find(allowed) else {
        return Outcome::Skipped("no version of the test server satisfies runOn".to_owned());
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => Outcome::from(runtime.block_on(steps(test, version))),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

impl Requirement {
    /// Returns whether a standalone server of this version satisfies the requirement.
    fn allows(&self, version: &str) -> bool {
        let version = numbers(version);
        self.min_server_version
            .as_deref()
            .is_none_or(|min| numbers(min) <= version)
            && self
                .max_server_version
                .as_deref()
                .is_none_or(|max| version <= numbers(max))
            && self
                .topologies
                .as_ref()
                .is_none_or(|names| names.iter().any(|name| name == "single"))
    }
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Clears the pool when a connection cannot be established, as the topology does.
#[derive(Default)]
struct Deployment(Mutex<Weak<Pool>>);

impl PoolListener for Deployment {
    fn handshake_failed(&self, address: &ServerAddress, key: ConnectionKey, error: &Error) {
        let pool = self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(pool) = pool else {
            return;
        };
        let topology = TopologyDescription::initial([address.clone()], true, None);
        let failure = ApplicationError {
            error,
            phase: Phase::BeforeHandshakeCompletes,
            generation: key.generation,
            pool_generation: pool.generation(key.service_id),
            service_id: key.service_id,
        };
        if sdam::handle_application_error(&topology, address, &failure).clear_pool {
            pool.clear(error, key.service_id, false);
        }
    }
}

async fn steps(test: Test, version: &str) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let server = TestServer::builder()
        .version(version)
        .start()
        .await
        .map_err(|error| text(&error))?;
    if let Some(fail_point) = &test.fail_point {
        let command = from_extended_json(&fail_point.to_string()).map_err(|error| text(&error))?;
        let client = Client::connect(server.uri())
            .await
            .map_err(|error| text(&error))?;
        client
            .database("admin")
            .run_command(command)
            .await
            .map_err(|error| format!("configureFailPoint failed: {error}"))?;
    }
    let address = server.addresses()[0];
    let address = ServerAddress::tcp(&address.ip().to_string(), address.port());
    let events = Arc::new(Events::default());
    let deployment = Arc::new(Deployment::default());
    let weak: Weak<Deployment> = Arc::downgrade(&deployment);
    let pool = Pool::new(
        address,
        pool_settings(&test.pool, &events),
        connection_settings(&test.pool)?,
        weak,
    );
    *deployment.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&pool);
    let run = Arc::new(TestRun {
        pool,
        events,
        connections: Mutex::default(),
        unlabelled: Mutex::default(),
    });
    let result = run.main(&test.operations).await;
    check_error(result, test.error.as_ref().map(|error| error.kind.as_str()))?;
    let outcome = run.events.check(&test.events, &test.ignore).await;
    run.pool.close();
    outcome
}

fn pool_settings(options: &PoolOptions, events: &Arc<Events>) -> PoolSettings {
    let default = PoolSettings::default();
    PoolSettings {
        max_pool_size: options.max_pool_size.unwrap_or(default.max_pool_size),
        min_pool_size: options.min_pool_size.unwrap_or(default.min_pool_size),
        max_connecting: options.max_connecting.unwrap_or(default.max_connecting),
        max_idle_time: options.max_idle_time,
        wait_queue_timeout: options.wait_queue_timeout,
        maintenance_interval: match options.background_interval {
            None | Some(0) => default.maintenance_interval,
            Some(millis) => u64::try_from(millis).ok().map(Duration::from_millis),
        },
        in_flight: None,
        listener: Some(events.listener()),
    }
}

fn connection_settings(options: &PoolOptions) -> Result<ConnectionSettings, String> {
    let metadata = client_metadata(options.app_name.as_deref()).map_err(|error| error.to_string())?;
    Ok(ConnectionSettings::new(Duration::ZERO, metadata))
}

/// Checks that the error of the main thread is the expected one.
fn check_error(result: Result<(), StepError>, expected: Option<&str>) -> Result<(), String> {
    match (result, expected) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(expected)) => Err(format!("no error, expected {expected}")),
        (Err(StepError::Test(why)), _) => Err(why),
        (Err(StepError::Pool(error)), expected) => {
            let kind = match error.kind() {
                ErrorKind::Pool(PoolError::Closed { .. }) => "PoolClosedError",
                ErrorKind::Pool(PoolError::Cleared { .. }) => "PoolClearedError",
                ErrorKind::Pool(PoolError::WaitQueueTimeout { .. }) => "WaitQueueTimeoutError",
                _ => "unexpected error",
            };
            match expected {
                Some(expected) if expected == kind => Ok(()),
                _ => Err(format!("{kind} ({error}), expected {expected:?}")),
            }
        }
    }
}

enum StepError {
    /// The pool returned an error.
    Pool(Error),
    /// The test file is invalid, or an event did not occur.
    Test(String),
}

impl From<String> for StepError {
    fn from(why: String) -> Self {
        Self::Test(why)
    }
}

type StepResult = Result<(), StepError>;

/// The state shared by the threads of a test.
struct TestRun {
    pool: Arc<Pool>,
    events: Arc<Events>,
    connections: Mutex<HashMap<String, PooledConnection>>,
    /// Connections without a label stay checked out until the end.
    unlabelled: Mutex<Vec<PooledConnection>>,
}

/// A thread of the test, which runs its steps in order.
struct Thread {
    steps: mpsc::UnboundedSender<Step>,
    work: JoinHandle<StepResult>,
}

impl TestRun {
    async fn main(self: &Arc<Self>, operations: &[Operation]) -> StepResult {
        let mut threads: HashMap<String, Thread> = HashMap::new();
        for Operation { thread, step } in operations {
            match (thread, step) {
                (Some(name), step) => {
                    let thread = threads.get(name).ok_or(format!("unknown thread {name}"))?;
                    // The steps of a failed thread are ignored. Its error is returned by
                    // waitForThread.
                    drop(thread.steps.send(step.clone()));
                }
                (None, Step::Start(name)) => {
                    let (steps, mut receiver) = mpsc::unbounded_channel();
                    let own = Arc::clone(self);
                    let work = tokio::spawn(async move {
                        while let Some(step) = receiver.recv().await {
                            own.step(&step).await?;
                        }
                        Ok(())
                    });
                    threads.insert(name.clone(), Thread { steps, work });
                }
                (None, Step::WaitForThread(name)) => {
                    let thread = threads.remove(name).ok_or(format!("unknown thread {name}"))?;
                    drop(thread.steps);
                    thread
                        .work
                        .await
                        .map_err(|error| StepError::Test(format!("{name}: {error}")))??;
                }
                (None, step) => self.step(step).await?,
            }
        }
        Ok(())
    }

    async fn step(&self, step: &Step) -> StepResult {
        match step {
            Step::Start(_) | Step::WaitForThread(_) => {
                return Err(StepError::Test(
                    "start and waitForThread require the main thread".to_owned(),
                ));
            }
            Step::Wait(time) => tokio::time::sleep(*time).await,
            Step::WaitForEvent { event, count } => self.events.wait(*count, |name| name == event).await?,
            Step::CheckOut { label } => {
                let connection = self.pool.check_out(None).await.map_err(StepError::Pool)?;
                match label {
                    Some(label) => {
                        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
                        connections.insert(label.clone(), connection);
                    }
                    None => self
                        .unlabelled
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(connection),
                }
            }
            Step::CheckIn { connection: label } => {
                let connection = self
                    .connections
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(label)
                    .ok_or(format!("unknown connection {label}"))?;
                drop(connection);
            }
            Step::Clear { interrupt } => self.pool.clear(&errors::lost_connection(), None, *interrupt),
            Step::Close => self.pool.close(),
            Step::Ready => self.pool.ready(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(operations: &Value, error: &Value, events: &Value) -> Outcome {
        run(
            &json!({ "version": 1, "style": "unit", "description": "d", "operations": operations, "error": error,
            "events": events, "ignore": ["ConnectionPoolCreated"] }),
        )
    }

    #[test]
    fn wrong_expectations_fail() {
        let close_and_check_out = json!([{ "name": "close" }, { "name": "checkOut" }]);
        let error = |kind: &str| json!({ "type": kind });
        let closed = json!([{ "type": "ConnectionPoolClosed", "address": 42 }]);
        assert_eq!(
            outcome(&close_and_check_out, &error("PoolClosedError"), &closed),
            Outcome::Passed
        );
        for (expected, events) in [
            (Value::Null, closed.clone()),
            (error("WaitQueueTimeoutError"), closed),
            (
                error("PoolClosedError"),
                json!([{ "type": "ConnectionPoolReady" }]),
            ),
        ] {
            let outcome = outcome(&close_and_check_out, &expected, &events);
            assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        }
        let ready = json!([{ "name": "ready" }]);
        let outcome = outcome(&ready, &error("PoolClosedError"), &json!([]));
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    }

    #[test]
    fn versions_are_compared_numerically() {
        let on = |min: &str, max: &str| Requirement {
            min_server_version: Some(min.to_owned()),
            max_server_version: Some(max.to_owned()),
            topologies: None,
        };
        assert!(on("4.9.0", "8.2.99").allows("8.2.0"));
        assert!(!on("4.9.0", "5.0").allows("8.2.0"));
        assert!(!on("4.10.0", "9").allows("4.9.0"));
    }
}
