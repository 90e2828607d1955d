//! Failover under load, and connections that fail according to a script: acknowledged writes are
//! stored exactly once, errors have the expected kinds, and the client recovers.

mod failover;
mod ledger;
mod scripted;
