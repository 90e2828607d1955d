//! Discovery and monitoring events (SDAM Logging and Monitoring specification).

use std::{sync::Arc, time::Duration};

use crate::{
    Error, ServerAddress,
    bson::{ObjectId, RawDocumentBuf},
    proto::description::{ServerDescription, TopologyDescription},
};

/// A discovery or monitoring event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SdamEvent {
    /// Monitoring of the deployment started.
    TopologyOpening {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
    },
    /// The description of the deployment changed.
    TopologyDescriptionChanged {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// Before.
        previous: Arc<TopologyDescription>,
        /// After.
        new: Arc<TopologyDescription>,
    },
    /// Monitoring of the deployment ended.
    TopologyClosed {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
    },
    /// A server was added to the deployment.
    ServerOpening {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
    },
    /// The description of a server changed.
    ServerDescriptionChanged {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
        /// Before.
        previous: Box<ServerDescription>,
        /// After.
        new: Box<ServerDescription>,
    },
    /// A server was removed from the deployment.
    ServerClosed {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
    },
    /// A check of a server started.
    ServerHeartbeatStarted {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
        /// Whether the server answers only when it has news.
        awaited: bool,
        /// The driver's number of the monitor's connection.
        driver_connection_id: u32,
        /// The server's number of that connection, once the handshake is over.
        server_connection_id: Option<i64>,
    },
    /// A check of a server succeeded.
    ServerHeartbeatSucceeded {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
        /// How long it took; with `awaited` that includes the server's waiting.
        duration: Duration,
        /// The reply.
        reply: RawDocumentBuf,
        /// Whether the server answered only when it had news.
        awaited: bool,
        /// The driver's number of the monitor's connection.
        driver_connection_id: u32,
        /// The server's number of that connection.
        server_connection_id: Option<i64>,
    },
    /// A check of a server failed.
    ServerHeartbeatFailed {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
        /// How long it took.
        duration: Duration,
        /// Why.
        failure: Error,
        /// Whether the server was to answer only when it had news.
        awaited: bool,
        /// The driver's number of the monitor's connection.
        driver_connection_id: u32,
        /// The server's number of that connection, if the handshake was over.
        server_connection_id: Option<i64>,
    },
}
