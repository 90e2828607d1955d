//! Discovery and monitoring events (SDAM Logging and Monitoring specification).

use std::{sync::Arc, time::Duration};

use crate::{
    Error, ServerAddress,
    bson::{ObjectId, RawDocumentBuf},
    proto::description::{ServerDescription, TopologyDescription},
};

/// Something that discovery learned or did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SdamEvent {
    /// The client began to watch its deployment.
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
    /// The client ended.
    TopologyClosed {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
    },
    /// A server became part of the deployment.
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
    /// A server is no part of the deployment any more.
    ServerClosed {
        /// Names the client's view of the deployment.
        topology_id: ObjectId,
        /// The server.
        address: ServerAddress,
    },
    /// A check of a server begins.
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
    /// The server answered.
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
    /// The check failed.
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
