//! Discovery: how each check of a server changes the description of the deployment, and how errors
//! of operations do ([Server Discovery and Monitoring]).
//!
//! [Server Discovery and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md

mod application_error;
pub mod events;
mod hosts;
mod update;

pub use application_error::{
    ApplicationError, ErrorAction, Phase, concerns_server, handle_application_error, handle_check_error,
};
pub use hosts::set_hosts;
pub use update::apply;

use std::cmp::Ordering;

use crate::proto::description::TopologyVersion;

/// Orders two values of `topologyVersion`. `None` if they are of different processes, or if one is
/// missing ("Topology Version Comparison").
pub fn compare_topology_versions(a: Option<TopologyVersion>, b: Option<TopologyVersion>) -> Option<Ordering> {
    let (a, b) = (a?, b?);
    (a.process_id == b.process_id).then(|| a.counter.cmp(&b.counter))
}
