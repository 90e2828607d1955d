//! Session entities.

use std::sync::Arc;

use marula_driver::{
    ClientSession,
    bson::{Bson, Document},
};
use tokio::sync::Mutex;

use super::{ClientEntity, Entity, settings};
use crate::unified::{
    run::TestRun,
    stop::{Step, Stop, failed},
};

/// A session, used by one operation at a time.
#[derive(Debug)]
pub(crate) struct SessionEntity {
    /// The `lsid`, which remains available after the session has ended.
    pub(crate) id: Document,
    pub(crate) session: Arc<Mutex<ClientSession>>,
}

/// Starts a session from a description that the schema has validated.
pub(super) async fn session(run: &TestRun, client: &ClientEntity, description: &Document) -> Step<Entity> {
    let options = description
        .get_document("sessionOptions")
        .cloned()
        .unwrap_or_default();
    let mut action = client.client.start_session();
    for (key, value) in &options {
        action = match (key.as_str(), value) {
            ("causalConsistency", Bson::Boolean(value)) => action.causal_consistency(*value),
            ("snapshot", Bson::Boolean(value)) => action.snapshot(*value),
            ("snapshotTime", Bson::String(id)) => match run.entities.get(id)? {
                Entity::Value(Bson::Timestamp(time)) => action.snapshot_time(time),
                other => {
                    return failed(format!(
                        "snapshotTime: entity \"{id}\" is a {}, not a timestamp",
                        other.kind()
                    ));
                }
            },
            ("defaultTimeoutMS", _) => return Err(Stop::Pending("timeoutMS".to_owned())),
            ("defaultTransactionOptions", Bson::Document(options)) => {
                action.default_transaction_options(settings::transaction_options(options)?)
            }
            _ => {
                return failed(format!(
                    "invalid sessionOptions.{key}: {}",
                    crate::unified::matcher::show(value)
                ));
            }
        };
    }
    let mut session = action
        .await
        .map_err(|error| format!("cannot start a session: {error}"))?;
    if let Some(time) = run.cluster_time.get() {
        // The cluster time makes each mongos refresh its metadata of the initial collections.
        session
            .advance_cluster_time(time)
            .map_err(|error| format!("cannot advance the cluster time: {error}"))?;
    }
    let Some(id) = session.id() else {
        return failed("the new session has no lsid");
    };
    Ok(Entity::Session(Arc::new(SessionEntity {
        id,
        session: Arc::new(Mutex::new(session)),
    })))
}
