//! How the description of the deployment changes with each check of a server, and what an operation's error says about
//! its server (Server Discovery and Monitoring specification).

pub mod events;
mod failure;
mod hosts;
mod update;

pub use failure::{ApplicationError, Phase, Verdict, concerns_server, judge, judge_check};
pub use hosts::set_hosts;
pub use update::apply;

use std::cmp::Ordering;

use crate::proto::description::TopologyVersion;

/// Orders two states of a server, as far as both come from the same process.
pub fn compare_topology_versions(a: Option<TopologyVersion>, b: Option<TopologyVersion>) -> Option<Ordering> {
    let (a, b) = (a?, b?);
    (a.process_id == b.process_id).then(|| a.counter.cmp(&b.counter))
}
