//! A client that ends in the middle of anything leaves no task, no connection and no count behind: dropped, or shut down, of a
//! standalone server, a replica set, a sharded cluster and a load balancer.

mod moments;
mod place;
mod records;
mod sockets;
