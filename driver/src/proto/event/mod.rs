//! What a client tells about its work: commands, pools, and the discovery of servers.
//!
//! The machines and shells make the events; an [`EventListener`] carries them to the application. A
//! client without listeners makes none, so they cost it nothing.

mod command;
mod connection;
mod listener;
mod pool;
mod sdam;

pub use command::{CommandEvent, CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent};
pub use connection::ConnectionInfo;
pub use listener::EventListener;
pub use pool::{CheckOutFailedReason, ConnectionClosedReason, PoolEvent, PoolOptions};
pub use sdam::SdamEvent;
