//! What the tests of the driver share: a deployment to talk to, and servers that misbehave on purpose.

mod deployment;
pub mod dns;
mod encrypted;
mod messages;
mod misbehaving;
mod mongos;
pub mod name_server;
pub mod ocsp;
pub mod polling;
mod pool_tally;
mod proxied;
pub mod proxy;
mod recorder;
mod scripted;
pub mod socks5;
pub mod tap;
pub mod tasks;
pub mod tls;
pub mod trickle;
mod wire;
mod witness;

pub use deployment::{Deployment, replica_set, standalone};
pub use encrypted::Encrypted;
pub use messages::{Message, Messages};
pub use misbehaving::{Fault, MisbehavingServer};
pub use mongos::MockMongos;
pub use pool_tally::{Counts, PoolTally};
pub use proxied::Proxied;
pub use proxy::Proxy;
pub use recorder::{CommandRecorder, Watched, watched};
pub use scripted::{Answer, Request, ScriptedServer};
pub use wire::{read_request, reply_to};
pub use witness::Witness;
