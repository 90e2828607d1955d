//! A client that is dropped or shut down in any state leaves no task and no connection, and its
//! counters are zero: on a standalone server, a replica set, a sharded cluster and behind a load
//! balancer.

mod client_in_state;
mod records;
mod sockets;
mod states;
