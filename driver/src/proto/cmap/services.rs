//! The generation and the number of connections of each service behind a load balancer.

use std::collections::BTreeMap;

use super::ConnectionKey;
use crate::bson::ObjectId;

/// One entry per service with connections: the map from `serviceId` to generation and connection
/// count (Load Balancer specification, "Connection Pooling").
#[derive(Debug, Default)]
pub(super) struct Services(BTreeMap<ObjectId, Service>);

#[derive(Debug, Default)]
struct Service {
    generation: u64,
    connections: usize,
}

impl Services {
    /// Adds a connection and returns the generation of the service.
    pub(super) fn join(&mut self, id: ObjectId) -> u64 {
        let service = self.0.entry(id).or_default();
        service.connections += 1;
        service.generation
    }

    /// Removes a connection. The entry is removed with the last one.
    pub(super) fn leave(&mut self, key: ConnectionKey) {
        let Some(id) = key.service_id else {
            return;
        };
        if let Some(service) = self.0.get_mut(&id) {
            service.connections -= 1;
            if service.connections == 0 {
                self.0.remove(&id);
            }
        }
    }

    /// Increments the generation and returns the previous one. `None` if the service has no
    /// connections.
    pub(super) fn clear(&mut self, id: ObjectId) -> Option<u64> {
        let service = self.0.get_mut(&id)?;
        service.generation += 1;
        Some(service.generation - 1)
    }

    pub(super) fn generation(&self, id: ObjectId) -> u64 {
        self.0.get(&id).map_or(0, |service| service.generation)
    }
}
