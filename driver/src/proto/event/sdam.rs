//! Server discovery and monitoring events ([SDAM Logging and Monitoring]).
//!
//! [SDAM Logging and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring-logging-and-monitoring.md

use std::{sync::Arc, time::Duration};

use crate::{
    Error, ServerAddress,
    bson::{ObjectId, RawDocumentBuf},
    proto::description::{ServerDescription, TopologyDescription},
};

/// An event of server discovery and monitoring.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SdamEvent {
    /// Monitoring of the topology started.
    TopologyOpening {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
    },
    /// The topology description changed.
    TopologyDescriptionChanged {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The description before the change.
        previous: Arc<TopologyDescription>,
        /// The description after the change.
        new: Arc<TopologyDescription>,
    },
    /// Monitoring of the topology stopped.
    TopologyClosed {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
    },
    /// A server was added to the topology, and its monitoring started.
    ServerOpening {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
    },
    /// A server description changed. Descriptions that are equal by the rules of the specification
    /// emit no event.
    ServerDescriptionChanged {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
        /// The description before the change.
        previous: Box<ServerDescription>,
        /// The description after the change.
        new: Box<ServerDescription>,
    },
    /// A server was removed from the topology, and its monitoring stopped.
    ServerClosed {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
    },
    /// A check of a server (heartbeat) started.
    ServerHeartbeatStarted {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
        /// Whether the check is awaitable: the server replies when its state changes, or after
        /// `heartbeatFrequencyMS`.
        awaited: bool,
        /// The driver's ID of the monitor's connection.
        driver_connection_id: u32,
        /// The server's ID of the connection. `None` before the handshake.
        server_connection_id: Option<i64>,
    },
    /// A check of a server succeeded.
    ServerHeartbeatSucceeded {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
        /// The duration of the check. For an awaitable check it includes the time that the server
        /// waited.
        duration: Duration,
        /// The reply to `hello`.
        reply: RawDocumentBuf,
        /// Whether the check was awaitable.
        awaited: bool,
        /// The driver's ID of the monitor's connection.
        driver_connection_id: u32,
        /// The server's ID of the connection.
        server_connection_id: Option<i64>,
    },
    /// A check of a server failed.
    ServerHeartbeatFailed {
        /// Identifies the topology of one client.
        topology_id: ObjectId,
        /// The address of the server.
        address: ServerAddress,
        /// The duration of the check.
        duration: Duration,
        /// The error that the check failed with.
        failure: Error,
        /// Whether the check was awaitable.
        awaited: bool,
        /// The driver's ID of the monitor's connection.
        driver_connection_id: u32,
        /// The server's ID of the connection. `None` before the handshake.
        server_connection_id: Option<i64>,
    },
}
