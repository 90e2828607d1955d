//! The services behind a load balancer: how many connections lead to each, and of which generation they are.

use std::collections::BTreeMap;

use super::ConnectionKey;
use crate::bson::ObjectId;

/// One entry per service with connections, as the specification's map from `serviceId` to generation and count.
#[derive(Debug, Default)]
pub(super) struct Services(BTreeMap<ObjectId, Service>);

#[derive(Debug, Default)]
struct Service {
    generation: u64,
    connections: usize,
}

impl Services {
    /// Counts one more connection, and returns the service's generation.
    pub(super) fn join(&mut self, id: ObjectId) -> u64 {
        let service = self.0.entry(id).or_default();
        service.connections += 1;
        service.generation
    }

    /// Counts one connection less. With the last one the service is forgotten.
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

    /// Begins a new generation. Returns the one before; `None` when no connection leads there.
    pub(super) fn clear(&mut self, id: ObjectId) -> Option<u64> {
        let service = self.0.get_mut(&id)?;
        service.generation += 1;
        Some(service.generation - 1)
    }

    pub(super) fn generation(&self, id: ObjectId) -> u64 {
        self.0.get(&id).map_or(0, |service| service.generation)
    }
}
