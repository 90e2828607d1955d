//! How the description of the deployment changes with each check of a server, and what an operation's error says about
//! its server (Server Discovery and Monitoring specification).

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

/// Orders two states of a server, as far as both come from the same process.
pub fn compare_topology_versions(a: Option<TopologyVersion>, b: Option<TopologyVersion>) -> Option<Ordering> {
    let (a, b) = (a?, b?);
    (a.process_id == b.process_id).then(|| a.counter.cmp(&b.counter))
}
