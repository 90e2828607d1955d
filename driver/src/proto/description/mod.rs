//! Descriptions of servers and of the topology ([Server Discovery and Monitoring]). They are
//! immutable; the module `sdam` creates them.
//!
//! [Server Discovery and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md

mod hello;
mod server;
mod topology;

pub(crate) use hello::detail;
pub use hello::{HelloReply, ImplausibleFigure, MAX_MEMBERS, TopologyVersion};
pub use server::{ServerDescription, ServerType};
pub use topology::{TopologyDescription, TopologyType};
