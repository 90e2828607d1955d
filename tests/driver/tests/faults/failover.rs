//! Failover under load: elections, stopped and restarted members and routers, network partitions,
//! members that hang or are slow. Every acknowledged write is stored exactly once, errors have the
//! expected kinds, and the same client works afterwards.

mod elections;
mod load;
mod partitions;
mod restarts;
mod routers;
mod slowness;
