//! The events of a client: recording, and comparison with expected events.

mod expect;
mod log;

pub(crate) use expect::{Expected, check};
pub(crate) use log::{EventLog, Filter};

use marula_driver::event::{CommandEvent, PoolEvent, SdamEvent};

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Command(CommandEvent),
    Pool(PoolEvent),
    Sdam(SdamEvent),
}

impl Event {
    /// The event name in the test format.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Command(CommandEvent::Started(_)) => "commandStartedEvent",
            Self::Command(CommandEvent::Succeeded(_)) => "commandSucceededEvent",
            Self::Command(CommandEvent::Failed(_)) => "commandFailedEvent",
            Self::Command(_) => "unknown command event",
            Self::Pool(event) => match event {
                PoolEvent::PoolCreated { .. } => "poolCreatedEvent",
                PoolEvent::PoolReady { .. } => "poolReadyEvent",
                PoolEvent::PoolCleared { .. } => "poolClearedEvent",
                PoolEvent::PoolClosed { .. } => "poolClosedEvent",
                PoolEvent::ConnectionCreated { .. } => "connectionCreatedEvent",
                PoolEvent::ConnectionReady { .. } => "connectionReadyEvent",
                PoolEvent::ConnectionClosed { .. } => "connectionClosedEvent",
                PoolEvent::ConnectionCheckOutStarted { .. } => "connectionCheckOutStartedEvent",
                PoolEvent::ConnectionCheckOutFailed { .. } => "connectionCheckOutFailedEvent",
                PoolEvent::ConnectionCheckedOut { .. } => "connectionCheckedOutEvent",
                PoolEvent::ConnectionCheckedIn { .. } => "connectionCheckedInEvent",
                _ => "unknown pool event",
            },
            Self::Sdam(event) => match event {
                SdamEvent::TopologyOpening { .. } => "topologyOpeningEvent",
                SdamEvent::TopologyDescriptionChanged { .. } => "topologyDescriptionChangedEvent",
                SdamEvent::TopologyClosed { .. } => "topologyClosedEvent",
                SdamEvent::ServerOpening { .. } => "serverOpeningEvent",
                SdamEvent::ServerDescriptionChanged { .. } => "serverDescriptionChangedEvent",
                SdamEvent::ServerClosed { .. } => "serverClosedEvent",
                SdamEvent::ServerHeartbeatStarted { .. } => "serverHeartbeatStartedEvent",
                SdamEvent::ServerHeartbeatSucceeded { .. } => "serverHeartbeatSucceededEvent",
                SdamEvent::ServerHeartbeatFailed { .. } => "serverHeartbeatFailedEvent",
                _ => "unknown SDAM event",
            },
        }
    }

    /// The `eventType` in the test format.
    pub(crate) fn group(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Pool(_) => "cmap",
            Self::Sdam(_) => "sdam",
        }
    }
}
