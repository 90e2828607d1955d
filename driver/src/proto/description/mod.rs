//! What is known of servers and of the deployment (Server Discovery and Monitoring specification):
//! immutable values that the machine `sdam` makes and everybody else reads.

mod hello;
mod server;
mod topology;

pub use hello::{HelloReply, TopologyVersion};
pub use server::{ServerDescription, ServerType};
pub use topology::{TopologyDescription, TopologyType};
