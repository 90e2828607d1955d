//! Events of commands, pools and discovery ([Command Logging and Monitoring], [Connection
//! Monitoring and Pooling], [SDAM Logging and Monitoring]).
//!
//! Events are created only while a listener is interested in them.
//!
//! [Command Logging and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/command-logging-and-monitoring/command-logging-and-monitoring.md
//! [Connection Monitoring and Pooling]:
//! https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md
//! [SDAM Logging and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring-logging-and-monitoring.md

mod command;
mod connection;
mod listener;
mod pool;
mod sdam;

pub use command::{CommandEvent, CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent};
pub use connection::ConnectionInfo;
pub use listener::EventListener;
#[cfg(any(feature = "opentelemetry", feature = "tracing"))]
pub(crate) use listener::catch_panic;
pub use pool::{CheckOutFailedReason, ConnectionClosedReason, PoolEvent, PoolOptions};
pub use sdam::SdamEvent;
