//! A client that ends in the middle of anything leaves no task, no connection and no count behind: dropped, or shut down, of a
//! standalone server, a replica set, a sharded cluster and a load balancer.

#[path = "leaks/moments.rs"]
mod moments;
#[path = "leaks/place.rs"]
mod place;
#[path = "leaks/records.rs"]
mod records;
#[path = "leaks/sockets.rs"]
mod sockets;
