//! The connection of an event.

use crate::{ServerAddress, bson::ObjectId};

/// The connection that a command was sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The address of the server.
    pub address: ServerAddress,
    /// The driver's ID of the connection, counted from 1 in each pool.
    pub connection_id: u32,
    /// The server's ID of the connection (`connectionId` in the hello reply). `None` if the reply
    /// does not contain it.
    pub server_connection_id: Option<i64>,
    /// The `serviceId` of the server behind a load balancer. `None` unless the client is in
    /// load-balanced mode.
    pub service_id: Option<ObjectId>,
}
