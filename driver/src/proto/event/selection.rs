//! The steps of choosing a server, which are logged (Server Selection specification). No part of the public interface.

use std::{sync::Arc, time::Duration};

use crate::{Error, ServerAddress, proto::description::TopologyDescription};

/// One step of choosing a server for an operation.
#[derive(Clone, Debug)]
pub struct ServerSelectionEvent {
    /// The command's name.
    pub operation: String,
    /// The number of the operation.
    pub operation_id: i64,
    /// What is looked for.
    pub selector: String,
    /// The deployment at this moment.
    pub topology: Arc<TopologyDescription>,
    /// What happened.
    pub step: SelectionStep,
}

/// See [`ServerSelectionEvent`].
#[derive(Clone, Debug)]
pub enum SelectionStep {
    /// The search begins.
    Started,
    /// No server suits now. Told once per search.
    Waiting {
        /// Until the search ends in vain; `None`: never.
        remaining: Option<Duration>,
    },
    /// A server was found.
    Succeeded {
        /// The server.
        address: ServerAddress,
    },
    /// None was found.
    Failed {
        /// What the operation fails with.
        failure: Error,
    },
}
