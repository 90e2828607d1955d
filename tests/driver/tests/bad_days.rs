//! Failover under load: elections, killed and restarted members and routers, partitions, members that hang or are slow.
//! Every acknowledged write is stored exactly once, errors are of the kinds that such days explain, and the same client works
//! again afterwards.

#[path = "bad_days/elections.rs"]
mod elections;
#[path = "faults/ledger.rs"]
mod ledger;
#[path = "bad_days/load.rs"]
mod load;
#[path = "bad_days/partitions.rs"]
mod partitions;
#[path = "bad_days/restarts.rs"]
mod restarts;
#[path = "bad_days/routers.rs"]
mod routers;
#[path = "bad_days/slowness.rs"]
mod slowness;
