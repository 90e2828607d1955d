//! The descriptions of servers and of the deployment (Server Discovery and Monitoring
//! specification): immutable values, which the state machine `sdam` creates.

mod hello;
mod server;
mod topology;

pub use hello::{HelloReply, TopologyVersion};
pub use server::{ServerDescription, ServerType};
pub use topology::{TopologyDescription, TopologyType};
