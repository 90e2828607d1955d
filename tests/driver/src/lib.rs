//! Shared by the tests of the driver: deployments, proxies, recorders, and servers that break the
//! protocol.

mod answering;
mod deployment;
pub mod dns;
mod encrypted;
pub mod kms;
mod messages;
mod metadata;
mod misbehaving;
mod mongos;
pub mod name_server;
mod observer;
pub mod ocsp;
pub mod polling;
mod pool_tally;
mod proxied;
pub mod proxy;
pub mod query_analysis;
mod recorder;
mod scripted;
pub mod slow_writes;
pub mod socks5;
mod spans;
pub mod spec_tests;
pub mod tap;
mod target;
pub mod tasks;
pub mod tls;
mod wire;

pub use answering::AnsweringServer;
pub use deployment::{Deployment, replica_set, standalone};
pub use encrypted::Encrypted;
pub use messages::{Message, Messages};
pub use metadata::{HttpAnswer, MetadataService};
pub use misbehaving::{Fault, MisbehavingServer};
pub use mongos::MockMongos;
pub use observer::Observer;
pub use pool_tally::{Counts, PoolTally};
pub use proxied::{Proxied, Topology};
pub use proxy::Proxy;
pub use query_analysis::QueryAnalysis;
pub use recorder::{CommandId, CommandRecorder, RecordedClient, command_id, recorded};
pub use scripted::{Answer, Request, ScriptedServer};
pub use spans::{RecordedSpan, SpanRecorder};
pub use target::{Target, any_deployment, with_logical_clock};
pub use wire::{read_request, reply_to};
