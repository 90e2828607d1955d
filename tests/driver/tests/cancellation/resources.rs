//! A client that is dropped or shut down at any moment leaves no task and no connection, and all counters
//! at zero: on a standalone server, a replica set, a sharded cluster and a load balancer.

mod moments;
mod place;
mod records;
mod sockets;
