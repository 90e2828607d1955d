//! Failover under load: elections, killed and restarted members and routers, partitions, members that hang or are slow.
//! Every acknowledged write is stored exactly once, errors are of the kinds that such days explain, and the same client works
//! again afterwards.

mod elections;
mod load;
mod partitions;
mod restarts;
mod routers;
mod slowness;
