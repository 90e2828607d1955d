//! Server Discovery and Monitoring, and Server Selection.

mod events;
mod monitoring;
mod replica_sets;
mod selection;
