//! Which connection an event is about.

use crate::{ServerAddress, bson::ObjectId};

/// The connection that a command ran on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The server.
    pub address: ServerAddress,
    /// The driver's number of the connection: 1 for the first of its pool, then always one more.
    pub connection_id: u32,
    /// The server's number of the connection, as it said in the handshake.
    pub server_connection_id: Option<i64>,
    /// The service behind a load balancer; `None` for other deployments.
    pub service_id: Option<ObjectId>,
}
